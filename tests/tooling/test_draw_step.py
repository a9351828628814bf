"""The picture in README is what the code draws now."""

import importlib.util
from pathlib import Path
from xml.etree import ElementTree

import ingot

TOOL = Path(ingot.__file__).parent / "tools" / "draw_step.py"


def test_the_picture_is_what_the_code_draws():
    spec = importlib.util.spec_from_file_location("draw_step", TOOL)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert tool.PICTURE.read_text(encoding="utf-8") == tool.picture(), "python tools/draw_step.py writes it again"
    assert "light-dark(" in tool.picture() and ElementTree.parse(tool.PICTURE).getroot().get("width")
