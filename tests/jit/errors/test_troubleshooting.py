"""docs/troubleshooting.md has an entry for each message of traces, and no entry for a message that is gone."""

import re
from pathlib import Path

import pytest

import ingot
from message_sites import ROOMS, sites

PAGE = Path(ingot.__file__).parent / "docs/troubleshooting.md"
SITES = [site for site in sites((*ROOMS, "custom_ops", "inspect", "torchscript")) if re.search(r"[a-z]", site.text)]
SECTIONS = {section.partition("\n")[0]: section for section in PAGE.read_text().split("\n### ")[1:]}
ENTRIES = {text: title for title, section in SECTIONS.items() for text in re.findall(r"^- `(.*)`$", section, re.M)}
FORWARDED = {       # functions that put a common beginning before a text which has an entry
    "recorder/record.py refuse", "host/host_call.py _refuse"}


def squeeze(text) -> str:
    return " ".join(text.split())


def matches(entry, site) -> bool:
    """Return whether the text of an entry is a part of a message; dots of the entry stand for anything."""
    pattern = ".*".join(re.escape(squeeze(part)) for part in entry.split("..."))
    return re.search(pattern, squeeze(site.text)) is not None


@pytest.mark.parametrize("site", SITES, ids=lambda site: f"{site.name}:{site.text[:40]}")
def test_a_message_has_an_entry(site):
    assert site.name in FORWARDED or any(matches(entry, site) for entry in ENTRIES), site.text


@pytest.mark.parametrize("entry", ENTRIES)
def test_an_entry_has_a_message(entry):
    wrapped = "it returns ..., which a trace could not make again"         # of `UnrepeatableError`, around what it is given
    assert entry == wrapped or any(matches(entry, site) for site in SITES)


def test_an_entry_says_a_way_out():
    for title, section in SECTIONS.items():
        words = [line for line in section.splitlines()[1:] if line and not line.startswith(("- `", "#"))]
        assert sum(len(line.split()) for line in words) >= 8, title
