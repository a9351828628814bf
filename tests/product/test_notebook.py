"""The notebook of examples/ runs from top to bottom, and shows short texts and well-formed HTML."""

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import ingot
import notebook_cells
from drawn_forms import Balanced

NOTEBOOK = Path(ingot.__file__).parent / "examples" / "notebook.ipynb"
SHOWN = {       # beginning of a cell, or its last line: how its text begins
    "nn.summary(net, x)": "layer", "step.explain()": "step: nothing is recorded yet", "step.stats()": "count",
    "profile": "[0-9]+ steps in", "step.kernels": "kernel ", "step.graphs": "segment", "step": "<traced step\\(x, y\\) of ",
    'wave.graphs["wave"]["recorded"]': "<graph wave: 1 inputs, 3 nodes"}


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    """Return what each cell shows, and the folder that it ran in."""
    folder = tmp_path_factory.mktemp("notebook")
    done = subprocess.run([sys.executable, notebook_cells.__file__, str(NOTEBOOK)], capture_output=True, text=True, cwd=folder,
                          timeout=100)
    assert done.returncode == 0, done.stderr[-3000:]
    assert not done.stderr.strip(), "reprs that raise are warnings of IPython"
    return json.loads(done.stdout), folder


def test_every_result_is_short_as_text_and_has_html(cells):
    seen = set()
    for cell in cells[0]:
        last = cell["source"].rstrip().splitlines()[-1]
        assert bool(cell["shown"]) == (last in SHOWN), last
        if cell["shown"]:
            text, html = cell["shown"]["text/plain"], cell["shown"]["text/html"]
            assert len(text.splitlines()) <= 30 and " at 0x" not in text and "\\n" not in text
            assert max(map(len, text.splitlines())) <= 100
            Balanced(html)
            assert len(html) < 60_000, last
            if last not in seen:
                assert re.match(SHOWN[last], text), f"{last}: {text}"
            seen.add(last)
    assert seen == set(SHOWN), "every kind of result"


def test_a_function_of_a_cell_names_its_cell(cells):
    shown = [c["shown"]["text/plain"] for c in cells[0] if c["source"].endswith("step") and c["shown"]]
    assert len(shown) == 2 and shown[0].endswith("not called yet>") and "20 calls: 2 recorded" in shown[1]
    profile = next(c for c in cells[0] if c["source"].endswith("profile"))["shown"]["text/plain"]
    assert "In[2]:" in shown[1] + profile, "the number of the cell, not a file of the kernel"


PLACES = {      # a cell that prints messages, and the places in them; {n} is its number
    "misses": ("""@jit.trace
def careless(x):
    return x * float(str(x.sum().item()))
for i in range(3):
    careless(ingot.full((2,), float(i)))
print(careless.stats()["misses"], careless.stats(), careless.explain(), sep="\\n")""",
               {"[In[{n}]:1, in careless]", "at In[{n}]:3"}),
    "refused": ("""@jit.trace
def threaded(x):
    threading.Thread(target=print).start()
try:
    threaded(ingot.ones(2))
except Exception as e:
    print(e)""", {"at In[{n}]:3"}),
    "overwritten": ("""x = ingot.ones(2, requires_grad=True)
y = x.exp()
y.mul_(2)
try:
    y.sum().backward()
except Exception as e:
    print(e)""", {"at In[{n}]:3"}),
    "symbolic trace": ("""def branching(x):
    return x if x.sum() > 0 else -x
try:
    fx.symbolic_trace(branching)
except Exception as e:
    print(e)""", {'File "In[{n}]", line 2'}),
    "not a number": ("""try:
    with jit.debug(nan=True):
        ingot.zeros(2) / ingot.zeros(2)
except Exception as e:
    print(e)""", {"at In[{n}]:3"}),
    "profile": ("""with jit.profile() as p:
    careless(ingot.ones(2))
print(p)""", {"In[2]:3"}),
}


def test_messages_name_cells_as_ipython_does(tmp_path):
    sources = ["import threading, ingot; from ingot import fx, jit", *[source for source, _ in PLACES.values()]]
    notebook = tmp_path / "messages.ipynb"
    notebook.write_text(json.dumps({"cells": [{"cell_type": "code", "source": [source]} for source in sources]}))
    done = subprocess.run([sys.executable, "-W", "ignore", notebook_cells.__file__, str(notebook)], capture_output=True,
                          text=True, cwd=tmp_path, timeout=100)
    assert done.returncode == 0, done.stderr[-3000:]
    for n, (cell, (name, (_, places))) in enumerate(zip(json.loads(done.stdout)[1:], PLACES.items()), 2):
        assert "ipython-input" not in cell["printed"], name
        for place in places:
            assert place.format(n=n) in cell["printed"], f"{name}: {cell['printed']}"


def test_the_page_has_the_source_of_the_cells(cells):
    page = (cells[1] / "step.html").read_text(encoding="utf-8")
    Balanced(page)
    assert "loss = nn.functional.cross_entropy(net(x), y)" in page and "not there any more" not in page


def test_the_notebook_holds_no_results():
    found = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    assert all(c.get("outputs", []) == [] and c.get("execution_count") is None for c in found)


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("nbconvert") is None, reason="the extra `notebook` is not installed")
def test_nbconvert_executes_it(tmp_path):
    copied = shutil.copy(NOTEBOOK, tmp_path)        # a kernel works in the folder of its notebook
    done = subprocess.run([sys.executable, "-m", "nbconvert", "--execute", "--to", "html", copied], capture_output=True,
                          text=True, timeout=110)
    assert done.returncode == 0, done.stderr[-3000:]
    page = (tmp_path / "notebook.html").read_text(encoding="utf-8")
    assert "Traceback" not in page and "object at 0x" not in page and page.count("<svg") >= 1
    assert "nothing is recorded yet" in page and "GFLOP/s" in page
