"""The benchmarks: their arithmetic, their pictures, that every workload's libraries agree."""

import time
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import ingot
import mock_cuda
import tiny_language_models
from ingot.benchmarks import __main__ as program
from ingot.benchmarks import cases, device, generation, groups, harness, libraries, picture, programs, result, vision
from ingot.benchmarks.harness import Case, Plan
from ingot.benchmarks.result import Result
from ingot.runtime.cpu.calls import peaks

TINY = Plan(threads=2, quick=True, tiny=True, peers=())
EVERY = groups.chosen([])
SLOW = {"import", "chain_compile", "equal_layers", "depth", "loop_gradient", "peak_memory",        # they start processes
        *groups.GROUPS["distributed"].WORKLOADS}
SLOW_ON_NUMPY = {"gpu_resnet50", "gpu_training", "gpu_tiles"}
FOR_GPUS = [pytest.param(w, marks=pytest.mark.slow if w in SLOW_ON_NUMPY else ()) for w in groups.GROUPS["gpu"].WORKLOADS]
PEAKS = {"flops": 100e9, "bytes": 10e9, "bytes read": 10e9, "bytes x + y": 9e9}


# Every workload.


@pytest.fixture(autouse=True)
def shallow(monkeypatch):
    """Residual networks of every kind of block, each kind once: what repeats them is a number."""
    build = vision.resnet
    monkeypatch.setattr(vision, "resnet", lambda lib, depths, *args, **options: build(lib, [2, *[1] * len(depths[1:])], *args,
                                                                                      **options))


def assert_agrees(group, name, plan):
    """Every library can do every case of a workload, and they agree."""
    for item in groups.GROUPS[group].WORKLOADS[name](plan):
        found = harness.check(item) if isinstance(item, Case) else item
        assert not found.failed, f"{group}/{name}, {item.name}: {found.failed}"
        if isinstance(item, Result) and item.note.startswith("not run"):
            continue
        if isinstance(item, Case):
            assert set(found.first) == set(item.calls)
            assert item.tolerance is None or len(found.errors) == len(item.calls)
        else:
            assert item.seconds and min(item.seconds.values()) > 0


@pytest.mark.parametrize(("group", "name"), [pytest.param(*w, marks=pytest.mark.slow if w[1] in SLOW else ()) for w in EVERY])
def test_traced_and_eager_agree(group, name):
    assert_agrees(group, name, TINY)


@pytest.fixture
def precision():
    """Restore the precision of float32 products, and the choice of convolutions, afterwards."""
    cudnn = ingot.backends.cudnn
    products, convolutions, chooses = ingot.get_float32_matmul_precision(), cudnn.allow_tf32, cudnn.benchmark
    yield
    ingot.set_float32_matmul_precision(products)
    cudnn.allow_tf32, cudnn.benchmark = convolutions, chooses


@pytest.mark.parametrize("name", FOR_GPUS)
def test_work_for_a_gpu_on_the_mock(name, tmp_path, monkeypatch, precision):
    """Every workload runs, with the results of eager mode; nothing is timed there."""
    monkeypatch.setenv("INGOT_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(device, "ceilings", lambda plan: PEAKS)
    with mock_cuda.installed():
        found = list(groups.GROUPS["gpu"].WORKLOADS[name](Plan(threads=1, quick=True, tiny=True, peers=())))
        for item in found:
            if isinstance(item, Case):
                checked = harness.check(item)
                assert not checked.failed and set(checked.first) == {"ingot", "ingot eager"}, f"{item.name}: {checked.failed}"
                assert all(isinstance(call, harness.Queued) for call in item.calls.values())
    assert found and not any(r.note.startswith("not run") for r in found)


@pytest.mark.peer
@pytest.mark.parametrize(("group", "name"), [w for w in EVERY if w[1] not in SLOW])
def test_peers_agree(group, name):
    pytest.importorskip("torch")
    assert_agrees(group, name, Plan(quick=True, tiny=True, peers=("numpy", "torch")))


def test_every_workload_is_named_once_and_says_what_it_is():
    names = [w for _, w in EVERY]
    assert len(names) == len(set(names)) and not set(names) & set(groups.GROUPS)
    for group, name in EVERY:
        assert groups.GROUPS[group].WORKLOADS[name].__doc__, f"{group}/{name} has no docstring"


# Choosing.


def test_names_choose_groups_and_workloads():
    assert groups.chosen(["training"]) == [w for w in EVERY if w[0] == "training"]
    assert groups.chosen(["gemm", "small"]) == [w for w in EVERY if w[0] == "small" or w[1] == "gemm"]


def test_unknown_names_are_refused_with_a_list(capsys):
    with pytest.raises(SystemExit) as stopped:
        program.main(["gemm", "gem"])
    assert stopped.value.code == 2
    output = capsys.readouterr().err
    assert "no such benchmark: gem\n" in output and "cross_entropy" in output


@pytest.mark.parametrize("order", [["--threads", "0"], ["--threads", "two"], ["--peers", "tensorflow"]])
def test_wrong_option_values_are_refused(order, capsys):
    with pytest.raises(SystemExit) as stopped:
        program.main(order)
    assert stopped.value.code == 2
    assert order[1] in capsys.readouterr().err


def test_a_listing_measures_nothing(capsys):
    assert program.main(["--list"]) == 0
    output = capsys.readouterr().out
    assert all(name in output for _, name in EVERY)


def test_peers_that_are_not_installed_are_left_out(monkeypatch):
    monkeypatch.setitem(libraries.PACKAGES, "torch", "no_such_package_1")
    libraries.installed.cache_clear()
    try:
        plan = Plan(quick=True, peers=("torch", "numpy"))
        assert libraries.present(plan) == ["numpy"]
        assert [lib.name for lib in libraries.libraries(plan)] == ["ingot"]
    finally:
        libraries.installed.cache_clear()


# Checking.


def case_of(**calls):
    return Case("work", {k.replace("_", " "): c for k, c in calls.items()})


def test_a_library_that_disagrees_or_raises_is_named_and_not_timed():
    def broken():
        raise NotImplementedError("no such\nkernel")

    case = case_of(numpy=lambda: np.arange(4.0), ingot=lambda: ingot.arange(4.0), torch_fused=lambda: np.arange(4.0) + 0.01,
                   jax=broken)
    found = harness.measure(case, Plan(tiny=True))
    assert set(found.seconds) == {"numpy", "ingot"}
    assert found.failed["jax"] == "NotImplementedError: no such"
    assert found.failed["torch fused"] == "differs from numpy by 3.3e-03 of the largest value"


def test_a_difference_from_torch_counts_against_ingot():
    found = harness.check(case_of(ingot=lambda: 1.0, ingot_eager=lambda: 1.0, torch=lambda: 1.1))
    assert found.reference == "torch" and set(found.failed) == {"ingot", "ingot eager"}


def test_calls_in_a_row_are_compared_where_work_changes_its_state():
    def counter(step):
        state = [0.0]

        def call():
            state[0] += step(state[0])
            return state[0]
        return call

    def same(x):
        return 1.0

    def late(x):
        return 1.0 if x < 2 else 1.5

    twice = Case("steps", {"numpy": counter(same), "ingot": counter(late)})
    assert not harness.check(twice).failed
    thrice = Case("steps", {"numpy": counter(same), "ingot": counter(late)}, checks=3)
    assert set(harness.check(thrice).failed) == {"ingot"}


def compiling(at):
    """A call of which the one with this number takes long; and the list of those made."""
    made = []

    def call():
        made.append(None)
        time.sleep(0.03 if len(made) == at else 0.0)
        return 1.0
    return call, made


@pytest.mark.parametrize("at", [1, 2, 3])
def test_first_calls_are_those_until_all_is_compiled(at):
    call, made = compiling(at)
    assert harness.check(Case("steps", {"ingot": call}, checks=3)).first["ingot"] >= 0.03 and len(made) == 3
    call, made = compiling(at)
    found = programs.first_and_most(call, 3)
    assert found["seconds"] >= 0.03 and len(made) == 6


@pytest.mark.parametrize(("a", "b", "apart"), [
    ([1.0, 2.0], [1.0, 4.0], 0.5),
    (np.ones((2, 3)), np.ones((3, 2)), np.inf),
    ((np.ones(2), np.zeros(2)), (np.ones(2), np.zeros(2)), 0.0),
    (np.array([np.nan]), np.array([1.0]), np.inf),
    ({"x": np.array([True])}, {"x": np.array([False])}, 1e30),
    (np.zeros((0, 3)), np.zeros((0, 3)), 0.0),
])
def test_difference(a, b, apart):
    assert harness.difference(a, b) == pytest.approx(apart)


# Timing.


def test_timing_interleaves_and_takes_medians(monkeypatch):
    clock, order = [0.0], []

    def call(name, seconds):
        def run():
            order.append(name)
            clock[0] += seconds.pop(0) if len(seconds) > 1 else seconds[0]
        return run

    monkeypatch.setattr(harness.time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(harness, "rest", lambda least: None)
    times = harness.time_interleaved({"a": call("a", [1.0, 5.0, 9.0, 2.0]), "b": call("b", [1.0])}, Plan(quick=True))
    assert order == ["a", "b", "a", "b", "b", "a"], "two rounds at least, however slow, and each the other way round"
    assert times == {"a": 7.0, "b": 1.0}


def test_short_calls_are_repeated_until_they_can_be_timed(monkeypatch):
    clock = [0.0]

    def call():
        clock[0] += 1e-5

    monkeypatch.setattr(harness.time, "perf_counter", lambda: clock[0])
    count, took = harness.repeats_for(call, 0.01)
    assert 1000 <= count <= 2000 and took == pytest.approx(count * 1e-5)


def test_a_hiccup_is_not_taken_for_the_length_of_a_call(monkeypatch):
    clock, slow = [0.0], [0.02]

    def call():
        clock[0] += slow.pop() if slow else 1e-5

    monkeypatch.setattr(harness.time, "perf_counter", lambda: clock[0])
    assert harness.repeats_for(call, 0.01)[0] >= 1000


# Results.


def work_result(**changes):
    fields = {"name": "work", "seconds": {"ingot": 2.0, "ingot eager": 4.0, "torch": 3.0, "jax": 5.0}, "group": "kernels",
              "threads": 1, "peaks": PEAKS}
    return Result(**fields | changes)


def test_ratios():
    r = work_result()
    assert (r.best_peer, r.ratio, r.eager_ratio, r.ratio_to("jax")) == ("torch", 1.5, 0.75, 2.5)
    alone = work_result(seconds={"ingot": 1.0})
    assert (alone.best_peer, alone.ratio, alone.eager_ratio) == (None, None, None)


def test_shares_of_the_peak_that_limits():
    assert work_result(flops=100e9, bytes=1e9).share == pytest.approx(0.5), "arithmetic limits"
    assert work_result(flops=1e9, bytes=10e9).share == pytest.approx(0.5), "memory limits"
    assert work_result(flops=50e9).share == pytest.approx(0.25)
    assert work_result(bytes=5e9).share == pytest.approx(0.25)
    assert work_result().share is None
    assert work_result(flops=1e9, peaks={}).share is None


def test_judgements_of_expected_ratios():
    bars = {"best": 1.5, "jax": 3.0, "eager": 1.0, "peak": 0.4, "most": 1e-3, "numpy": 1.0}
    assert work_result(bars=bars, flops=100e9).judgements() == [
        (">= 1.5", True), (">= 3 jax", False), (">= 1 eager", False), (">= 40% of peak", True), ("<= 1 ms", False)]


@pytest.mark.parametrize(("value", "unit", "words"), [
    (1.5, "s", "1.5 s"), (0.0123, "s", "12.3 ms"), (4.56e-6, "s", "4.56 us"), (7.2e-8, "s", "72 ns"), (2.5e6, "B", "2.5 MB"),
    (123456.0, "B", "123 kB")])
def test_figures_in_words(value, unit, words):
    assert result.in_words(value, unit) == words


def test_geometric_mean():
    assert result.geometric_mean([0.5, 2.0]) == pytest.approx(1.0)
    assert result.geometric_mean([]) is None


def test_tables_tell_what_failed_and_what_was_missed():
    rows = [work_result(bars={"best": 2.0}),
            work_result(name="other", seconds={"torch": 1.0}, failed={"ingot": "differs by 1"})]
    lines = result.table(rows).splitlines()
    assert lines[0].split()[:2] == ["workload", "ingot"] and "MISSED" in lines[1] and "FAILED" in lines[2]
    assert lines[3] == "  other: ingot differs by 1"
    output = result.summary(rows, {"kernels": 1.6})
    assert output == ("kernels, 1 thread: 2 rows, geometric mean 1.50 (bar 1.6, MISSED), eager 0.75, 0 of 1 bars reached, "
                      "1 FAILED")


# Work and machine.


def test_flops_of_layers():
    nn = ingot.nn
    network = nn.Sequential(nn.Conv2d(4, 6, 3, groups=2), nn.Flatten(), nn.Linear(6 * 16, 5))
    x = ingot.zeros(2, 4, 6, 6)
    assert cases.direct_flops(network, [x]) == 2 * (2 * 6 * 16) * (2 * 9) + 2 * 2 * 5 * 96
    assert network(x).shape == (2, 5), "the hooks are gone"
    lstm = nn.LSTM(3, 4, batch_first=True)
    assert cases.direct_flops(lstm, [ingot.zeros(2, 5, 3)]) == 2 * 10 * (16 * 3 + 16 * 4)


def test_running_statistics_are_not_trivial():
    weights = libraries.weights_of(ingot.nn.BatchNorm2d(8))
    assert len(set(weights["running_var"])) == 8 and weights["running_var"].min() > 0 and weights["running_mean"].any()


def test_the_peaks_of_this_machine():
    before = ingot.get_num_threads()
    found = peaks.measured(1, rounds=2, floats=1 << 20, fma_rounds=20_000)
    assert ingot.get_num_threads() == before
    assert 0.1e9 < found["flops"] < 1e12 and 0.05e9 < found["bytes read"] <= found["bytes"] < 1e13


# Pictures.


def drawn(svg):
    """The texts of an SVG, and the bars."""
    root = ElementTree.fromstring(svg)
    name = "{http://www.w3.org/2000/svg}"
    return [t.text for t in root.iter(name + "text")], [r for r in root.iter(name + "rect") if r.get("opacity")]


def test_bars_go_right_where_ingot_is_faster():
    rows = [work_result(name="fast <&>"), work_result(name="slow", seconds={"ingot": 4.0, "torch": 1.0}),
            work_result(name="fast <&>", threads=2), work_result(name="alone", seconds={"ingot": 1.0})]
    words, bars = drawn(picture.ratios_picture(rows, "a machine"))
    assert "fast <&>" in words and "slow" in words and "alone" not in words
    faster, faster2, slower = bars
    middle = picture.LEFT + picture.WIDTH / 2
    assert float(faster.get("x")) == pytest.approx(middle) and faster.get("opacity") < faster2.get("opacity")
    assert float(slower.get("x")) + float(slower.get("width")) == pytest.approx(middle, abs=0.2)
    assert (faster.get("fill"), slower.get("fill")) == (picture.GOOD, picture.POOR)


def test_a_bar_that_is_missed_is_amber():
    _, (bar,) = drawn(picture.ratios_picture([work_result(bars={"best": 2.0})], ""))
    assert bar.get("fill") == picture.FAIR


def test_the_roofline_names_its_dots():
    rows = [work_result(flops=100e9, bytes=1e9), work_result(name="copy", flops=1e9, bytes=10e9)]
    words, _ = drawn(picture.roofline_picture(rows, ""))
    assert "1  work: 50%" in words and "2  copy: 50%" in words


def test_failures_are_drawn_as_such():
    rows = [work_result(name="wrong", seconds={"ingot eager": 1.0, "torch": 5.0}, failed={"ingot": "differs"}),
            work_result(name="eager", seconds={"ingot eager": 2.0, "torch": 5.0, "numpy": 1.0})]
    words, bars = drawn(picture.ratios_picture(rows, ""))
    assert "FAILED" in words and "2.50  torch" in words
    assert [b.get("fill") for b in bars] == [picture.POOR, picture.GOOD]


@pytest.mark.parametrize("draw", [picture.ratios_picture, picture.roofline_picture])
def test_pictures_of_nothing_say_so(draw):
    (words,), _ = drawn(draw([work_result(seconds={"ingot": 1.0})], ""))
    assert words.startswith(("Nothing", "No workload"))


def test_language_models_are_measured(tmp_path, monkeypatch, capsys):
    tiny_language_models.write(tmp_path / "m.gguf", "llama", **{"llama.context_length": 4096})
    for name, value in {"TOKENS": 4, "PROMPT": 20, "TURNS": 1, "SUMMED": 1000}.items():
        monkeypatch.setattr(generation, name, value)
    before = ingot.get_num_threads()
    try:
        assert generation.main([str(tmp_path / "m.gguf"), "--threads", "1"]) == 0
    finally:
        ingot.set_num_threads(before)
    out = capsys.readouterr().out
    assert "MB of weights at" in out and "ingot      1 threads: " in out and "tokens/s of a prompt of 20" in out
