"""Replays that cannot go on: missing values and errors raise at once, and leave nothing half done."""

import pytest

import ingot
from ingot import jit
from ingot.jit.replay.replay import Replay
from side_by_side import vec


def branching(seen):
    """Return a function that gives a value from before a question and writes after it, and the tensor that it writes."""
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

    def forgetful(self, segment, work):
        found = work.job.run(self.env, self.symbols)
        self.env.update({slot: found[at] for at, slot in work.keep if segment.question and slot == segment.question[0]})
        return found

    with monkeypatch.context() as broken:
        broken.setattr(Replay, "_run", forgetful)
        with pytest.raises(jit.TraceError, match="missing where it is used"):
            traced(vec(1.0, 2.0))
    assert written.tolist() == [3.0, 3.0] and len(seen) == 3
    assert traced(vec(1.0, 2.0)).tolist() == [3.0, 6.0] and written.tolist() == [4.0, 4.0]


@pytest.mark.parametrize("broken", ["go", "answer", "_write_tensors", "_write", "_result"])
def test_an_error_in_a_replay_is_raised_once(monkeypatch, broken):
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
    assert len(calls) == 1 + broken.startswith("_"), "what has begun to write is tried once more: it may be an interrupt"
    before = written.tolist()
    assert traced(vec(1.0, 2.0)).tolist() == [3.0, 6.0] and written.tolist() == [v + 1 for v in before]


EYE = ingot.eye(2)
REFUSES = {      # of x[3] and i[1], what raises for an i of 9 and not for one of 1
    "index": lambda x, i: x[i],
    "gather": lambda x, i: x.gather(0, i),
    "scatter": lambda x, i: x.scatter(0, i, 1.0),
    "index_put": lambda x, i: x.index_put((i,), x[0]),
    "embedding": lambda x, i: ingot.nn.functional.embedding(i, x[:, None]),
    "cross_entropy": lambda x, i: ingot.nn.functional.cross_entropy(x[None], i),
    "nll_loss": lambda x, i: ingot.nn.functional.nll_loss(x[None], i),
    "integer division": lambda x, i: 7 // (i - 9),
    "remainder": lambda x, i: i % (9 - i),
    "inv": lambda x, i: ingot.linalg.inv(EYE * (9 - i)),
    "solve": lambda x, i: ingot.linalg.solve(EYE * (9 - i), x[:2]),
    "cholesky": lambda x, i: ingot.linalg.cholesky(EYE * (8 - i)),
    "poisson": lambda x, i: ingot.poisson(x[0] * (8 - i)),
    "in a view of it": lambda x, i: x[i].reshape(-1)[:0],
    "in the branch of a value": lambda x, i: x[i] if x.sum() > 0 else x,
}


@pytest.mark.parametrize("sizes", [(3,), (3, 4, 5)])
@pytest.mark.parametrize("name", REFUSES)
def test_unread_operators_raise_as_well(name, sizes):
    """`try: cholesky(x)` tests whether it can be done."""
    def fn(x, i):
        try:
            REFUSES[name](x, i)
        except (ingot.IngotError, IndexError):
            return x * 0
        return x * 2

    traced = jit.trace(fn)
    for n in sizes:
        for i in (1, 1, 9, 1, 9):
            args = ingot.ones(n), ingot.tensor([i])
            assert traced(*args).tolist() == fn(*args).tolist() == ([0.0] * n if i == 9 else [2.0] * n), (n, i)
