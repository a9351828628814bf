"""Profiles: counts, unchanged results, and consistent files."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

import ingot
from ingot import jit, nn, optim
from ingot.jit.inspect.work import works_of


def network():
    ingot.manual_seed(3)
    return nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(256, 8), nn.GELU(), nn.Linear(8, 3))


def training():
    """Return a step and its arguments."""
    net = network()
    opt = optim.Adam(net.parameters(), lr=1e-2)

    def step(x, y):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        opt.step()
        return loss

    return step, (ingot.randn(5, 1, 8, 8, generator=ingot.Generator().manual_seed(1)), ingot.tensor([0, 1, 2, 1, 0]))


@pytest.fixture(scope="module")
def profiled():
    """Return (the traced step, its profile over four calls)."""
    step, args = training()
    traced = jit.trace(step)
    for _ in range(2):
        traced(*args)
    with jit.profile() as p:
        for _ in range(4):
            traced(*args)
    return traced, p


def test_every_step_is_counted(profiled):
    traced, p = profiled
    job, = p.jobs
    assert job in traced._jobs(), "one segment: the step from the second call on, when the optimizer has its state"
    expected = [w.name for w in works_of(job.compile().plan)]
    assert [row.work.name for row in p.rows] == expected
    assert {row.calls for row in p.rows} == {4}
    assert all(row.seconds > 0 for row in p.rows)
    assert len(p.events) == 4 * len(expected)


def test_flops_are_those_of_the_mathematics(profiled):
    linear = 2 * 5 * 256 * 8
    counted = [row.work.flops for row in profiled[1].rows if any(n.op.name == "matmul" for n in row.work.nodes)]
    assert sum(linear <= f < 1.1 * linear for f in counted) == 3, "of the first linear layer: forward and two gradients"


def test_results_are_the_same_with_a_clock():
    losses = []
    for watched in (False, True):
        step, args = training()
        traced = jit.trace(step)
        if watched:
            with jit.profile():
                losses.append([float(traced(*args)) for _ in range(5)])
        else:
            losses.append([float(traced(*args)) for _ in range(5)])
    assert losses[0] == losses[1]


def test_times_add_up(profiled):
    """Steps of one call follow each other, and do not overlap."""
    p = profiled[1]
    ends = 0
    for _, _, began, took, _ in p.events:
        assert began >= ends - 1000, "nanoseconds; ticks are scaled to them"
        ends = began + took


def test_views_and_small_functions():
    @jit.trace
    def f(x):
        return (x * 2 + 1).transpose(0, 1)

    x = ingot.arange(6.0).reshape(2, 3)
    f(x), f(x)
    with jit.profile() as p:
        y = f(x)
    assert y.tolist() == [[1.0, 7.0], [3.0, 9.0], [5.0, 11.0]]
    assert sum(row.calls for row in p.rows) == 1


def test_nothing_ran():
    with jit.profile() as p:
        pass
    assert p.rows == [] and "0 steps" in str(p)


def test_the_table(profiled):
    lines = str(profiled[1]).splitlines()
    assert re.fullmatch(r"\d+ steps in .* ms on \d+ threads?; this machine: \d+ GFLOP/s, \d+ GB/s", lines[0])
    assert lines[1].split() == ["calls", "each", "share", "GB/s", "GFLOP/s", "roofline", "what", "lines"]
    assert len(lines) == 2 + len(profiled[1].rows)
    assert any("test_profiling.py" in line for line in lines)


def test_the_timeline(profiled, tmp_path):
    p = profiled[1]
    p.save(tmp_path / "t.json")
    made = json.loads((tmp_path / "t.json").read_text())
    assert len(made["traceEvents"]) == len(p.events)
    for e in made["traceEvents"]:
        assert e["ph"] == "X" and e["dur"] >= 0 and {"name", "ts", "pid", "tid", "args"} <= e.keys()


class Page(HTMLParser):
    """Return link targets, ids, and whether every element is closed."""

    VOID = frozenset(("meta", "br", "img", "link", "input", "hr"))

    def __init__(self, text):
        super().__init__()
        self.links, self.names, self.open = set(), set(), []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if "id" in attrs:
            assert attrs["id"] not in self.names, "names are unique"
            self.names.add(attrs["id"])
        self.links.update({attrs["href"]} if "href" in attrs else ())
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.open = self.open[:-1] if tag not in self.VOID else self.open

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_well_formed(profiled, tmp_path):
    p = profiled[1]
    p.save(tmp_path / "p.html")
    text = (tmp_path / "p.html").read_text(encoding="utf-8")
    page = Page(text)
    assert not page.open
    assert {link[1:] for link in page.links} <= page.names, "every link leads somewhere"
    assert all(link.startswith("#") for link in page.links) and "http://" not in text.replace("http://www.w3.org", ""), \
        "nothing is loaded from elsewhere"
    for row in p.rows:
        assert row.work.name in text
    assert "loss.backward()" in text, "the user's lines are shown"


def test_other_files_are_refused(profiled, tmp_path):
    with pytest.raises(ValueError, match=r"\.html .* or \.json .*'p.txt'"):
        profiled[1].save(tmp_path / "p.txt")


def test_explain_with_times(profiled):
    traced, _ = profiled
    plain, timed = traced.explain(), traced.explain(profile=True)
    assert timed.startswith(plain) and "GFLOP/s" in timed[len(plain):]


def test_made_up_values_do_not_reach_host_functions():
    seen = []

    def keep(x):
        seen.append(x.numpy().copy())
        return x + 1

    @jit.trace
    def f(x):
        return jit.host(keep)(x * 2) * 3

    x = ingot.ones(2)
    for _ in range(2):
        f(x)
    with pytest.raises(jit.TraceError, match=r"host functions.*jit\.profile"):
        f.explain(profile=True)
    with jit.profile() as p:
        assert f(x).tolist() == [9.0, 9.0]
    assert all(np.array_equal(a, [2.0, 2.0]) for a in seen) and any(row.work.kind == "call" for row in p.rows)
