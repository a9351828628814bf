"""Replays that cannot go on: what is missing or raises is an error at once, and leaves nothing half done."""

import pytest

import ingot
from ingot import jit
from ingot.jit.replay import Replay
from side_by_side import vec


def branching(seen):
    """A function that gives a value from before a question, and writes after it; the tensor to which it writes."""
    written = ingot.zeros(2)

    def fn(x):
        y = x * 3.0
        if x.sum() > 0:
            written.add_(1.0)
            jit.host(seen.append)(x.sum())
        return y
    return fn, written


def test_a_value_that_is_missing_is_an_error_before_anything_is_written(monkeypatch):
    seen: list = []
    fn, written = branching(seen)
    traced = jit.trace(fn)
    for _ in range(3):
        traced(vec(1.0, 2.0))

    def forgetful(self, stretch, work):
        found = work.job.run(self.env, self.symbols)
        self.env.update({slot: found[at] for at, slot in work.keep if stretch.question and slot == stretch.question[0]})
        return found

    with monkeypatch.context() as broken:
        broken.setattr(Replay, "_run", forgetful)
        with pytest.raises(jit.TraceError, match="missing where it is used"):
            traced(vec(1.0, 2.0))
    assert written.tolist() == [3.0, 3.0] and len(seen) == 3
    assert traced(vec(1.0, 2.0)).tolist() == [3.0, 6.0] and written.tolist() == [4.0, 4.0]


@pytest.mark.parametrize("broken", ["go", "answer", "commit", "_write", "_result"])
def test_what_raises_in_a_replay_is_raised_once(monkeypatch, broken):
    fn, written = branching([])
    traced, calls = jit.trace(fn), []
    for _ in range(3):
        traced(vec(1.0, 2.0))

    def fails(*args):
        calls.append(args)
        raise RuntimeError("broken")

    with monkeypatch.context() as patch:
        patch.setattr(Replay, broken, fails)
        with pytest.raises(RuntimeError, match="broken"):
            traced(vec(1.0, 2.0))
    assert len(calls) == 1
    before = written.tolist()
    assert traced(vec(1.0, 2.0)).tolist() == [3.0, 6.0] and written.tolist() == [v + 1 for v in before]
