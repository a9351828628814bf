"""Checks of graphs and traced functions in every form in which people see them: pages, drawings, timelines, texts, HTML."""

import json
from html.parser import HTMLParser
from xml.etree import ElementTree

from ingot.ir.draw import view
from ingot.ir.graph.text import show
from ingot.jit.inspect.page import kernel_groups
from ingot.jit.inspect.profiling import Profile
from ingot.jit.inspect.work import works_of
from ingot.runtime.cpu.graph.timed import Moment

LINES, COLUMNS, BYTES = 30, 100, 200_000
DRAWN_PASSES = 150      # nodes of graphs between passes that are drawn here


class Balanced(HTMLParser):
    """HTML in which every element is closed in order, each name is unique, and every link leads to a name."""

    VOID = frozenset(("meta", "br", "img", "link", "input", "hr"))

    def __init__(self, text):
        super().__init__()
        self.open, self.names, self.links = [], set(), set()
        self.feed(text)
        self.close()
        assert not self.open
        assert {link[1:] for link in self.links} <= self.names, "every link leads somewhere"
        assert all(link.startswith("#") for link in self.links), "nothing is loaded"

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if "id" in found:
            assert found["id"] not in self.names, "names are unique"
            self.names.add(found["id"])
        self.links.update([found["href"]] if "href" in found else [])
        assert "src" not in found, "nothing is loaded"
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def check_repr(thing):
    """A repr is short and tells no address; its HTML is well-formed."""
    text = repr(thing)
    lines = text.splitlines()
    assert 0 < len(lines) <= LINES and max(map(len, lines)) <= COLUMNS, text
    assert " at 0x" not in text and "\\n" not in text, text
    if hasattr(thing, "_repr_html_"):
        html = thing._repr_html_()
        Balanced(html)
        assert len(html) < BYTES, f"{len(html)} bytes of HTML"


def check_graph(graph, groups=None):
    """A graph can be drawn: a box for each input and node, and a shade and a name for each group."""
    root = ElementTree.fromstring(view.svg(graph, groups))
    names = [e.get("id") for e in root.iter() if e.get("id")]
    with_names = [n for n in graph.nodes if n.outputs]
    assert len(names) == len(set(names)) == len(graph.inputs) + len(with_names)
    titles = {e.text for e in root.iter("{http://www.w3.org/2000/svg}title")}
    assert set(groups or ()) <= titles, "every group is drawn"
    text = view.dot(graph, groups)
    assert text.count("{") == text.count("}")
    assert view.to_networkx(graph).number_of_nodes() == len(graph.nodes)
    Balanced(view.html(graph))
    assert show(graph) and repr(graph)


def profile_of(jobs) -> Profile:
    """A profile of compiled segments in which every step took a microsecond; nothing runs."""
    profile = Profile()
    for job in jobs:
        compiled = job.compile()
        works = works_of(compiled.plan)
        profile.add(job, compiled, [Moment(w.step, 1000 * i, 1000) for i, w in enumerate(works)])
    return profile


def check_profile(profile, folder):
    """A profile is saved in every form, and shows each of its steps."""
    paths = {end: folder / f"p.{end}" for end in ("html", "json", "svg")}
    for path in paths.values():
        profile.save(path)
    page = paths["html"].read_text(encoding="utf-8")
    Balanced(page)
    assert all(row.work.name in page for row in profile.rows)
    assert len(json.loads(paths["json"].read_text())["traceEvents"]) == len(profile.events)
    ElementTree.parse(paths["svg"])
    for thing in (profile, profile.rows, profile.events, profile.jobs, *profile.rows[:5]):
        check_repr(thing)


def check_traced(traced, folder):
    """A traced function, or the one of a traced module, is shown in every form."""
    Balanced(traced._repr_html_())
    traced = getattr(traced, "_jit_trace", traced)
    jobs = traced._jobs()
    for job in jobs:
        plan = job.compile().plan
        check_graph(plan.graph, kernel_groups(plan))
    check_profile(profile_of(jobs), folder)
    stages = traced.graphs
    assert len(stages) == len(jobs)
    for found in stages.values():
        for graph in [g for g in found.values() if len(g.nodes) <= DRAWN_PASSES]:
            check_graph(graph)
    kernels = traced.kernels
    for thing in (traced, stages, *stages.values(), kernels, *list(kernels.values())[:3], traced.stats(), traced.explain(),
                  *traced._cache.all_entries()):
        check_repr(thing)
