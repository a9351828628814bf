"""Objects that users get, as a terminal and a notebook show them: short, without addresses, and well-formed HTML."""

import copy
import json
import pickle
from html.parser import HTMLParser

import pytest

import ingot
from ingot import jit, nn, optim, profiler
from ingot.ir.draw import tables
from ingot.jit.inspect.shown import Explanation, Kernels, Listed, Stats
from ingot.utils import data

LINES, COLUMNS, BYTES = 30, 100, 100_000
WITH_HTML = ("profile", "profile of nothing", "stats", "explanation", "explanation before a call", "traced function",
             "traced module", "traced before a call", "kernels", "no kernels", "kernel", "graphs", "no graphs", "stages",
             "graph", "large graph", "summary", "deep summary", "exported program", "loaded model")


class Balanced(HTMLParser):
    """HTML in which every element is closed, in order."""

    VOID = frozenset(("meta", "br"))

    def __init__(self, text):
        super().__init__()
        self.open: list = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def deep(blocks=30):
    return nn.Sequential(*[nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.LayerNorm(8)) for _ in range(blocks)])


def step_of(net):
    """Return a training step, which makes gradients and states in its first calls."""
    opt = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

    def step(x, scale=1.0, *, name="a" * 200):
        opt.zero_grad()
        loss = net(x).square().mean() * scale
        loss.backward()
        opt.step()
        return loss

    return jit.trace(step)


def many_branches(x):
    for i in range(12):
        if x.sum() > i:
            x = x + 1
    return x


@pytest.fixture(scope="module")
def things(tmp_path_factory):
    """Return {name: object}."""
    ingot.manual_seed(0)
    x, new = ingot.randn(4, 8), jit.trace(lambda x: x * 2)
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
    step, large, module = step_of(net), step_of(deep(8)), jit.trace(nn.Linear(8, 4))
    branching = jit.trace(many_branches)
    for f in (step, large, module, branching):
        for _ in range(3):
            f(x)
    with jit.profile() as p:
        large(x)
    with jit.profile() as nothing:
        pass
    with profiler.profile() as eager:
        net(x)
    path = tmp_path_factory.mktemp("models") / f"{'long' * 30}.ingot"
    jit.export(net.eval(), (x,), path)
    stages, kernels = step.graphs, step.kernels
    kernels.update({f"{name}_{i}": k for i in range(9) for name, k in kernels.items()})
    graph = next(iter(stages.values()))["recorded"]
    opt = optim.Adam(net.parameters())
    return {
        "profile": p, "profile of nothing": nothing, "row": p.rows[0], "rows": p.rows, "jobs": p.jobs, "job": p.jobs[0],
        "events": p.events, "work": p.rows[0].work, "profile to enter": jit.profile(), "debug": jit.debug(nan=False),
        "stats": large.stats(), "explanation": large.explain(), "explanation before a call": new.explain(),
        "traced function": large, "traced module": module, "traced before a call": new, "entries": large._cache.all_entries(),
        "entry of many segments": branching._cache.all_entries()[0],
        "kernels": kernels, "no kernels": new.kernels, "kernel": next(iter(kernels.values())), "graphs": large.graphs,
        "no graphs": new.graphs, "stages": next(iter(stages.values())), "graph": graph, "node": graph.nodes[0],
        "value": graph.inputs[0], "large graph": next(iter(large.graphs.values()))["recorded"],
        "summary": nn.summary(net, x), "deep summary": nn.summary(deep(), x),
        "exported program": ingot.export.load(path), "loaded model": jit.load(path),
        "signature": jit.load(path).signature, "model's explanation": jit.load(path).explain(), "module": net, "optimizer": opt,
        "scheduler": optim.lr_scheduler.CosineAnnealingLR(opt, 10), "tensors": data.TensorDataset(*[x] * 60),
        "subset": data.Subset(data.TensorDataset(x), range(3)), "joined": data.ConcatDataset([data.TensorDataset(x)] * 40),
        "loader": data.DataLoader(data.TensorDataset(x), 2, shuffle=True), "sampler": data.RandomSampler(range(5)),
        "scaler": ingot.amp.GradScaler("cpu"), "eager profile": eager, "generator": ingot.Generator()}




def test_reprs_are_short_and_have_no_addresses(things):
    for name, thing in things.items():
        text = repr(thing)
        lines = text.splitlines()
        assert 0 < len(lines) <= LINES, f"{name}: {len(lines)} lines"
        assert max(map(len, lines)) <= COLUMNS, f"{name}: {max(lines, key=len)}"
        assert " at 0x" not in text and "\\n" not in text, f"{name}: {text}"


def test_html_is_well_formed_and_bounded(things):
    assert {n for n, thing in things.items() if hasattr(thing, "_repr_html_")} >= set(WITH_HTML)
    for name, thing in things.items():
        if hasattr(thing, "_repr_html_"):
            text = thing._repr_html_()
            Balanced(text)
            assert len(text) < BYTES, f"{name}: {len(text)} bytes"
            assert "background: #fff" not in text and "color: #000" not in text, f"{name}: colours of one theme alone"


def test_a_shortened_repr_says_how_to_see_the_rest(things):
    for name in ("profile", "explanation", "kernels", "deep summary"):
        text = repr(things[name])
        assert "print(" in text and "more" in text, f"{name}: {text}"
    assert things["rows"] == list(things["rows"]) and "more items" in repr(things["rows"])


def test_texts_and_dictionaries_stay_what_they_are_for_programs(things):
    stats, text, kernels = things["stats"], things["explanation"], things["kernels"]
    assert type(stats) is Stats and stats["calls"] == 4 and json.loads(json.dumps(stats)) == dict(stats)
    assert type(text) is Explanation and str(text) == "" + text and print(text) is None and len(text.splitlines()) > LINES
    assert type(kernels) is Kernels
    what, code = kernel = next(iter(kernels.values()))
    assert (what, code) == (kernel.text, kernel.code) and str(kernel) == f"{what}\n\n{code}"
    for thing in (stats, text, kernels, things["rows"][:3]):
        assert type(thing)(thing) == thing and copy.copy(thing) == thing
    for thing in (stats, text, kernels):
        again = pickle.loads(pickle.dumps(thing))
        assert again == thing and type(again) is type(thing) and repr(again) == repr(thing)


def test_counts_show_reasons_to_their_end_and_the_most_frequent_first():
    """The end of a reason is what a reader needs: a way out, and the line."""
    end = "keep it in tensors (where, masks), or use it outside at {0}:4 [{0}:1, in step]"
    misses = [f"item() gave {i}.0, a value not seen before; " + end.format(f"/home/someone/a/long/way/down/train_{i}.py")
              for i in range(9)]
    counts = dict.fromkeys(("calls", "compiles", "checks", "unrecorded", "graphs", "native_calls", "kernels", "in_place"), 1)
    stats = Stats(**counts, misses=misses, eager={"seldom: " + misses[0]: 2, "often": 1000, **dict.fromkeys(misses[1:], 1)})
    lines = repr(stats).splitlines()
    assert len(lines) <= LINES and max(map(len, lines)) <= COLUMNS
    text = " ".join(" ".join(lines).split())
    assert f"item() gave 8.0, a value not seen before; {end.format('train_8.py')}" in text
    assert text.index("1,000 times: often") < text.index("2 times: seldom") and "more: stats()['misses'] has them all" in text
    assert misses[8] in stats._repr_html_()


def told(traced):
    return " ".join(repr(traced).split())


def test_a_function_says_what_became_of_its_calls():
    def scaled(x, factor=2, words=("many",) * 9, *, name="n"):
        return x * factor

    traced = jit.trace(scaled)
    assert repr(traced).startswith("<traced scaled(x, factor=2, words=..., *, name='n') of test_reprs.py:")
    assert told(traced).endswith(": not called yet>")
    for _ in range(3):
        traced(ingot.ones(2))
    traced(ingot.ones(2, 2))
    assert told(traced).endswith(": 2 entries; 4 calls: 2 recorded, 2 replayed>")
    with ingot.compiler.set_stance("force_eager"):
        traced(ingot.ones(2))
    assert told(traced).endswith(": 2 entries; 5 calls: 2 recorded, 2 replayed, 1 eager>")
    failing = jit.trace(lambda x: x @ ingot.ones(5))
    with pytest.raises(RuntimeError, match="matmul"):
        failing(ingot.ones(2))
    assert told(failing).endswith(": 0 entries; 1 call: 1 raised>")


def test_an_explanation_before_the_first_call_says_how_to_record():
    traced = jit.trace(step_of)
    assert traced.explain().startswith("step_of: nothing is recorded yet. Call the function twice")
    assert "nothing is recorded yet" in repr(traced.kernels) and "nothing is recorded yet" in repr(traced.graphs)
    assert "nothing is recorded yet" in traced._repr_html_()


def test_a_traced_module_looks_like_the_module_and_tells_of_its_calls_in_html(things):
    assert repr(things["traced module"]) == repr(nn.Linear(8, 4))
    assert "3 calls: 1 recorded, 2 replayed" in things["traced module"]._repr_html_()


def test_lists_and_texts_at_the_limits():
    for n in (0, 1, 27, 28, 29, 30, 31, 1000):
        assert len(repr(Listed(range(n))).splitlines()) <= LINES
        text = "\n".join(map(str, range(n)))
        shown = tables.shortened(text, "print(x)").splitlines()
        assert len(shown) == min(n, LINES) and (n <= LINES or f"{n - 29:,} more lines: print(x) shows all of it" in shown[-1])
    assert tables.shortened("x" * 101, "print(x)") == "x" * 99 + "…\n... print(x) shows all of it"
    rows = [(f"<{i}>", "\x00&\ud800") for i in range(1000)]
    text = "\n".join(map(str, rows))
    for html in (tables.html_table(("a", "b"), rows, (0,), "t<", "all<"), tables.html_text(text, "all<", "t<")):
        Balanced(html)
        html.encode("utf-8")
        assert len(html) < 40_000 and "more" in html and "all&lt;" in html
