"""Arguments that overlap in memory, and arguments whose values decide what a library function does in Python."""

import cProfile
import math
import operator
import random

import numpy as np
import pytest

import ingot
from ingot import jit, nn
from ingot.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from side_by_side import plain


def same(fn, *argument_lists):
    """Check that a traced function agrees with the function for every list of arguments, twice over; return it."""
    traced = jit.trace(fn)
    for i, arguments in enumerate([*argument_lists, *argument_lists]):
        for got, want in zip(traced(*arguments), fn(*arguments), strict=True):
            assert (got.shape, got.dtype) == (want.shape, want.dtype), i
            np.testing.assert_array_equal(got.detach().numpy(), want.detach().numpy(), err_msg=f"call {i}")
    return traced


# Overlapping memory: read freely, never written.


def text(i):
    return ingot.arange(12.0).reshape(3, 4) * (i + 1)


def test_overlapping_parts_of_a_tensor_are_arguments_of_their_own():
    pairs = [(c[:, :-1], c[:, 1:]) for c in map(text, range(3))]
    assert same(lambda x, y: ((x * y).sum(), x + y), *pairs).stats()["compiles"] == 1


def test_an_argument_may_be_a_part_of_a_captured_tensor():
    data = text(0).reshape(12)
    traced = same(lambda x: (x * data[2:6] * data.view(3, 4)[0],), *[(data[i: i + 4],) for i in range(3)])
    assert traced.stats()["compiles"] == 1
    data += 1
    np.testing.assert_array_equal(traced(data[:4])[0].numpy(), (data[:4] * data[2:6] * data[:4]).numpy())


def test_an_argument_and_another_name_of_the_same_part():
    part = text(0)[1]
    other = part.detach()

    def f(x):
        x.add_(1)
        return x * other

    traced = jit.trace(f)
    for i in range(3):
        np.testing.assert_array_equal(traced(part).numpy(), np.square(np.arange(4, 8) + i + 1.0))


@pytest.mark.parametrize("write", [lambda x, y, data: x.add_(1), lambda x, y, data: y.mul_(2), lambda x, y, data: data.zero_()],
                         ids=["first", "second", "captured"])
def test_overlapping_arguments_are_written(write):
    """The function also reaches their memory otherwise, and later calls have other memory."""
    def life(wrap):
        data, other, got = ingot.arange(6.0), ingot.arange(6.0) * 3, []

        def f(x, y):
            z = x + y
            write(x, y, data)
            return z, x * data[:3]
        f = wrap(f)
        for i in range(8):
            memory = other if i in (2, 5, 6) else data
            got.append((plain(f(memory[:3], memory[1:4])), plain(data), plain(other)))
            data.add_(2)
        return got
    assert life(jit.trace) == life(lambda f: f)


def test_memory_written_before_another_part_is_reached():
    data = ingot.arange(6.0)

    def f(x):
        x.add_(1)
        return data * 2

    with pytest.raises(jit.TraceError, match="came in as several tensors"):
        jit.trace(f)(data[:3])


# Values that a library function reads.

LENGTHS = [[5, 3, 2], [1, 5, 2], [4, 4, 4], [5, 3, 1], [2, 2, 1], [3, 1, 4], [5, 2, 3]]


def test_lengths_of_packed_sequences_become_symbols():
    ingot.manual_seed(0)
    lstm = nn.LSTM(3, 4, batch_first=True, bidirectional=True)

    def f(x, lengths):
        out, (h, c) = lstm(pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False))
        return *pad_packed_sequence(out, batch_first=True), h, c

    x = ingot.randn(3, 5, 3)
    traced = same(f, *[(x, ingot.tensor(n)) for n in LENGTHS])
    assert traced.stats()["compiles"] <= 5


def test_a_packed_sequence_is_an_argument_whose_sizes_are_guarded():
    ingot.manual_seed(0)
    lstm = nn.LSTM(3, 4)
    packs = [(pack_padded_sequence(ingot.randn(5, 3, 3), ingot.tensor(n), enforce_sorted=False),) for n in LENGTHS]
    same(lambda packed: lstm(packed)[1], *packs)


def test_the_size_of_a_sparse_tensor_made_from_indices_is_guarded():
    indices = [ingot.tensor(i) for i in ([[0, 1], [1, 2]], [[0, 3], [1, 4]])]
    same(lambda i: (ingot.sparse_coo_tensor(i, ingot.ones(2)).to_dense(),), *[(i,) for i in indices])


def test_one_hot_checks_its_classes_at_every_call():
    traced = jit.trace(lambda x: nn.functional.one_hot(x, 3))
    assert traced(ingot.tensor([2, 0])).tolist() == [[0, 0, 1], [1, 0, 0]]
    assert traced(ingot.tensor([1, 1])).tolist() == [[0, 1, 0], [0, 1, 0]]
    for bad in ([3, 0], [0, -1]):
        with pytest.raises(IndexError, match="out of range"):
            traced(ingot.tensor(bad))


# Branches that were recorded later: what they rely on is guarded as well.

FACTOR = 3.0


def deep(x):
    return x * FACTOR


def test_a_global_that_only_a_later_branch_reads_through_a_function(monkeypatch):
    def f(x):
        return x * 1 if x.sum() > 0 else deep(x)

    traced, up, down = jit.trace(f), ingot.ones(2), -ingot.ones(2)
    for x in (up, down, up, down):
        assert traced(x).tolist() == f(x).tolist()
    monkeypatch.setitem(globals(), "FACTOR", 5.0)
    assert traced(down).tolist() == [-5, -5]
    assert traced(up).tolist() == [1, 1]


class Branches(nn.Module):
    """A module with one child for positive sums, another for the rest."""

    def __init__(self):
        super().__init__()
        self.positive, self.negative = nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.0))

    def forward(self, x):
        return self.positive(x) if x.sum() > 0 else self.negative(x)


@pytest.mark.parametrize("change", [
    lambda m: setattr(m.negative[0], "weight", nn.Parameter(ingot.zeros(2, 2))),
    lambda m: m.negative.append(nn.Linear(2, 3)),
    lambda m: m.negative.requires_grad_(False),
], ids=["weight", "child", "requires_grad"])
def test_a_module_that_only_a_later_branch_runs(change):
    ingot.manual_seed(0)
    model, up, down = Branches(), ingot.ones(2), -ingot.ones(2)
    traced = jit.trace(model)
    for x in (up, down, up, down):
        assert traced(x).tolist() == model(x).tolist()
    change(model)
    for x in (down, up, down):
        assert traced(x).tolist() == model(x).tolist()
        assert traced(x).requires_grad is model(x).requires_grad


def test_a_gradient_that_only_a_later_branch_accumulates_into():
    def make():
        first, second = ingot.ones(2).requires_grad_(), ingot.ones(2).requires_grad_()

        def f(x):
            w = first if x.sum() > 0 else second
            (w * x).sum().backward()
            return w.grad * 1

        return f, second

    (eager, mine), (fn, yours) = make(), make()
    traced = jit.trace(fn)
    for i, sign in enumerate((1, -1, -1, 1, -1)):
        x = ingot.ones(2) * sign * (i + 1)
        assert traced(x).tolist() == eager(x).tolist(), i
        if i == 2:
            mine.grad = yours.grad = None


# Tools that look on.


def after_the_recording():
    return 1


def test_recording_under_a_profiler():
    profile = cProfile.Profile()
    profile.enable()
    try:
        traced = same(lambda x: (x * 2,), (text(0),))
        after_the_recording()
    finally:
        profile.disable()
    assert traced.stats()["compiles"] == 1
    assert any(entry.code is after_the_recording.__code__ for entry in profile.getstats())


def test_prints_of_calls_under_a_profiler(capsys):
    """Code that pauses the tracker restores the profiler."""
    traced, profile = jit.trace(lambda x: print(x.sum().item())), cProfile.Profile()
    traced(ingot.ones(3))
    profile.runcall(traced, ingot.ones(3))
    assert capsys.readouterr().out == "3.0\n" * 2


def test_the_reason_for_a_recording_shows_what_was_read():
    traced = jit.trace(lambda x: x * x.tolist()[0] if x.numpy()[0] < 9 else x)
    traced(vec := ingot.tensor([1.5, 2.0]))
    traced(vec + 1)
    assert "numpy() gave float32 [2.5, 3.0]" in traced.stats()["misses"][1]
    traced = jit.trace(lambda x: x * float(str(x[0].item())))
    traced(vec)
    traced(vec + 1)
    assert "item() gave 2.5," in traced.stats()["misses"][1]


def test_the_reason_for_a_recording_compares_with_the_latest():
    """The reason is not that of an older entry, which may have been out of date for long."""
    state = {}

    def fn(x):
        state.setdefault("calls", 1.0)
        return x * operator.index(x.sum().long())

    traced = jit.trace(fn)
    for i in range(4):
        traced(ingot.full((2,), float(i)))
    assert traced.stats()["misses"][-1].startswith("int() gave 6, a value not seen before; a number that item() gives")


# (how a number becomes whole, how many recordings are enough for 48 numbers; None where each has its own)
ROUNDINGS = [(int, 10), (math.floor, 12), (math.ceil, 12), (math.trunc, 10), (round, 20), (lambda v: int(v // 1), 14),
             (lambda v: math.ceil(math.sqrt(abs(v) + 1)), 10), (lambda v: round(v, 1), None)]


@pytest.mark.parametrize("number", range(len(ROUNDINGS)))
def test_a_number_that_becomes_whole_is_recorded_once_for_each_whole_number(number):
    whole, enough = ROUNDINGS[number]
    values = [-2.5, -1.75, -1.0, -0.5, -0.25, 0.0, 0.2, 0.5, 0.7, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 40.3]
    traced = jit.trace(lambda x, v: x * whole(v))
    for v in [*values, *[v + 0.0625 for v in values], *[v + 0.03125 for v in values]]:
        assert traced(ingot.ones(1), v).item() == np.float32(whole(v))
    if enough is not None:
        assert traced.stats()["compiles"] <= enough, traced.stats()["misses"]


RELATIVES = {                   # tensors over one memory, of a leaf w and of c, which was computed from it
    "leaf": lambda w, c: w,
    "view": lambda w, c: w.view_as(w),
    "detached": lambda w, c: w.detach(),
    "another leaf": lambda w, c: w.detach().requires_grad_(),
    "part": lambda w, c: w[1:],
    "computed": lambda w, c: c,
    "view of that": lambda w, c: c.view(1, 3)[0],
    "part of that": lambda w, c: c[:2],
    "none of it": lambda w, c: ingot.ones(3),
}
USES = {
    "products": lambda w, *args: sum((a * a).sum() for a in args),
    "the leaf": lambda w, *args: (w * w).sum(),
    "all": lambda w, *args: (w * w).sum() + sum((a.sum() * (i + 2)) for i, a in enumerate(args)),
    "first and last": lambda w, *args: (args[0].sum() * args[-1].sum()),
    "twice": lambda w, *args: ((args[0] * args[0]), (args[0] * args[0]))[1].sum(),
}


@pytest.mark.parametrize("seed", range(60))
def test_gradients_of_arguments_over_one_memory_are_counted_once(seed):
    rng = random.Random(seed)
    names = [rng.choice([*RELATIVES]) for _ in range(rng.randint(1, 3))]
    names += [rng.choice(names), *rng.sample(names, 1)][:rng.randint(1, 2)]         # some come twice
    rng.shuffle(names)
    use = rng.choice([*USES])

    def life(wrap):
        w, found = ingot.linspace(0.5, 1.5, 3).requires_grad_(), []
        step = wrap(lambda *args: USES[use](w, *args))
        for _ in range(3):
            c = w * 2
            made = {name: RELATIVES[name](w, c) for name in dict.fromkeys(names)}
            loss = step(*[made[name] for name in names])
            if loss.requires_grad:
                loss.backward()
            leaves = [t for t in made.values() if t.is_leaf]
            found.append((loss.item(), str(w.grad), [str(t.grad) for t in leaves]))
        return found

    assert life(jit.trace) == life(lambda f: f), (names, use)
