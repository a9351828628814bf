"""The profiler as PyTorch's users know it: what becomes an event, that results stay the same, steps, tables and files."""

import gzip
import json

import numpy as np
import pytest

import ingot
from ingot import jit, nn, optim, profiler
from ingot.autograd import profiler as older
from ingot.profiler import ProfilerAction, record_function, schedule


def training(momentum=0.9):
    """A step of a small network; its loss and its weights."""
    ingot.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 2))
    opt = optim.SGD(net.parameters(), lr=0.1, momentum=momentum)
    x = ingot.tensor(np.random.default_rng(0).standard_normal((4, 6)), dtype=ingot.float32)

    def step():
        opt.zero_grad()
        with record_function("forward"):
            loss = (2 * net(x) + 1)[:, 0].square().mean()
        loss.backward()
        opt.step()
        return loss

    return step, net


def names(events):
    return {e.name for e in events}


def test_operators_backward_and_optimizer_are_events():
    step, _ = training()
    with profiler.profile(record_shapes=True, profile_memory=True, with_stack=True, with_flops=True) as p:
        step()
    events = p.events()
    assert {"linear", "tanh", "mul", "add", "mean", "forward", "LinearBackward0", "TanhBackward0",
            "Optimizer.step#SGD.step"} <= names(events)
    first = next(e for e in events if e.name == "linear")
    assert first.cpu_parent.name == "forward" and first.input_shapes == [[4, 6], [5, 6], [5]]
    assert first.own_memory == 4 * 5 * 4 and first.flops == 2 * 4 * 5 * 6
    assert first.stack[0].startswith(__file__)
    for e in events:
        assert e.ended >= e.began and e.self_cpu_time_total >= 0
        for c in e.cpu_children:
            assert e.began <= c.began and c.ended <= e.ended
    whole = sum(e.cpu_time_total for e in events if e.cpu_parent is None)
    np.testing.assert_allclose(events.self_cpu_time_total, whole)
    linear = next(a for a in p.key_averages() if a.key == "linear")
    assert linear.count == 2 and linear.cpu_time == linear.cpu_time_total / 2
    assert [a.count for a in p.key_averages(group_by_input_shape=True) if a.key == "linear"] == [1, 1]


@pytest.mark.parametrize("traced", [False, True])
def test_results_are_the_same_bits(traced):
    outcomes = []
    for watched in (False, True):
        step, net = training()
        run = jit.trace(step) if traced else step
        losses = []
        for _ in range(4):
            if watched:
                with profiler.profile(profile_memory=True):
                    losses.append(run())
            else:
                losses.append(run())
        outcomes.append([t.detach().numpy() for t in (*losses, *net.parameters())])
    for a, b in zip(*outcomes):
        np.testing.assert_array_equal(a, b)


def test_compiled_code_shows_its_steps():
    step, _ = training()
    traced = jit.trace(step)
    for _ in range(2):
        traced()
    with profiler.profile() as p:
        traced()
    whole = [e for e in p.events() if e.kind == "compiled" and e.cpu_parent is None]
    assert whole and any(e.cpu_children for e in whole)
    assert not any(e.kind == "operator" for e in p.events())
    step()     # nothing is left open


def test_steps_follow_the_schedule():
    found, rounds = [], []
    plan = schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=1)
    N, W, R, S = ProfilerAction
    assert [plan(i) for i in range(11)] == [N, N, W, R, S, N, W, R, S, N, N]
    with profiler.profile(schedule=plan, on_trace_ready=lambda p: rounds.append([e.name for e in p.events()])) as p:
        for i in range(11):
            ingot.ones(i + 1).exp()
            found.append(p.current_action)
            p.step()
    assert found == [plan(i) for i in range(11)]
    assert [[n for n in r if n.startswith("ProfilerStep")] for r in rounds] == [["ProfilerStep#3", "ProfilerStep#4"],
                                                                              ["ProfilerStep#7", "ProfilerStep#8"]]
    assert all(r.count("exp") == 2 for r in rounds)
    with pytest.raises(ValueError, match="active"):
        schedule(wait=0, warmup=0, active=0)


def test_table_and_files(tmp_path):
    with profiler.profile(with_stack=True, on_trace_ready=profiler.tensorboard_trace_handler(tmp_path / "log", "me")) as p:
        (ingot.ones(8).exp() * 2).sum()
    p.add_metadata("model", "small")
    table = p.key_averages().table(sort_by="self_cpu_time_total", row_limit=2)
    assert table.count("\n") == 7 and "Self CPU time total" in table
    with pytest.raises(ValueError, match="sort_by"):
        p.key_averages().table(sort_by="size")
    p.export_chrome_trace(tmp_path / "t.json.gz")
    data = json.loads(gzip.decompress((tmp_path / "t.json.gz").read_bytes()))
    assert data["model"] == "small" and {"exp", "mul", "sum"} <= {e["name"] for e in data["traceEvents"]}
    assert len(list((tmp_path / "log").glob("me.*.pt.trace.json"))) == 1
    p.export_stacks(str(tmp_path / "stacks.txt"))
    assert all(line.startswith(__file__) for line in (tmp_path / "stacks.txt").read_text().splitlines())


def test_marks_for_other_profilers_leave_programs_as_they_are():
    for kind in (older.emit_nvtx, older.emit_itt):
        with kind(enabled=True, record_shapes=True):
            assert kind()(lambda x: x + 1)(ingot.ones(1)) == 2


def test_the_older_profile_and_ranges_as_decorators():
    @older.record_function("doubled")
    def double(x):
        return 2 * x

    double(ingot.ones(2))     # without a profile nothing happens
    with older.profile() as p:
        double(double(ingot.ones(2)))
    ranges = [e for e in p.function_events if e.name == "doubled"]
    assert len(ranges) == 2 and all([c.name for c in e.cpu_children] == ["mul"] for e in ranges)
    with older.profile(enabled=False) as p:
        double(ingot.ones(2))
    assert not p.function_events


def test_an_error_leaves_the_clock_in_order():
    with pytest.raises(ValueError), profiler.profile() as p, record_function("bad"):
        ingot.ones(2) + ingot.ones(3)
    assert all(e.ended >= e.began for e in p.events())
    with profiler.profile() as p:
        ingot.ones(2).exp()
    assert "exp" in names(p.events()) and "bad" not in names(p.events())
