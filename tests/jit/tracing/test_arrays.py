"""NumPy arrays as arguments of traced functions, and arrays, lists and numbers that these read and return."""

import threading
import warnings

import numpy as np
import pytest

import ingot
from ingot import jit, nn
from ingot.jit import TraceError
from ingot.jit.tracing.arrays import EXTREME, HELD, KEY, LENGTH, SIZES, named, uses_in

NET = nn.Sequential(nn.Linear(4, 3), nn.Tanh())
SCALE = 2.0


def to_tensor(x, dtype=ingot.float32):
    return ingot.as_tensor(x, dtype=dtype)


class Agent:
    def __init__(self, net):
        self.net = net

    def prepared(self, observation):
        return to_tensor(observation).unsqueeze(0)

    def act(self, observation, greedy=True):
        if observation is None:
            return None
        with ingot.no_grad():
            out = self.net(self.prepared(observation))[0]
        return out.argmax() if greedy else out


def rebound(x):
    x = ingot.from_numpy(x)
    if x.ndim > 1:
        x = x.sum(0)
    return x * 2


def by_branch(x, flag):
    t = ingot.tensor(x) if flag else ingot.from_numpy(x) * 3
    return t + 1


def in_a_loop(x):
    total = ingot.zeros(4)
    for i in range(3):
        total = total + ingot.as_tensor(x) * i
    return total


def with_mean(x):
    mean = x.mean()
    return ingot.from_numpy(x) - float(mean)


def after_an_error(x):
    try:
        x = ingot.from_numpy(x).missing
    except AttributeError:
        x = ingot.tensor(x / 2)
    return x


def hidden(x):
    def inner():
        return ingot.from_numpy(x)
    return inner() + x[0]


def stores(x):
    made = TABLE
    made[x] = 1.0


CLOSED_OVER = np.float32(2.0)
TABLE = ingot.arange(12.0).reshape(6, 2)
NAMES = np.arange(6)


class Odd:
    def __getitem__(self, key):
        return key.sum()


# (function of an array, what it does with it besides making tensors of it: nothing, SIZES, or None for all the rest)
USES = [
    (lambda x: ingot.from_numpy(x), set()), (lambda x: ingot.tensor(x, dtype=ingot.float64) + 1, set()),
    (lambda x: ingot.as_tensor(x, dtype=ingot.float32, device="cpu").sum(), set()),
    (lambda x: ingot.as_tensor(data=x), set()), (lambda x: ingot.asarray(x), set()), (lambda x: ingot.Tensor(x), set()),
    (lambda x: ingot.FloatTensor(x), set()), (lambda x: ingot.LongTensor(x), set()), (lambda x: to_tensor(x), set()),
    (lambda x: to_tensor(dtype=ingot.float64, x=x), set()), (lambda x: NET(ingot.from_numpy(x).unsqueeze(0)), set()),
    (rebound, set()), (in_a_loop, set()), (lambda x: (x, ingot.from_numpy(x)), {HELD}),
    (lambda x: isinstance(x, np.ndarray) and ingot.from_numpy(x), set()),
    (lambda x: ingot.from_numpy(x).sum() if x.ndim == 1 else 0, set()), (lambda x: ingot.from_numpy(x) / x.shape[0], {SIZES}),
    (lambda x: ingot.from_numpy(x) / len(x), {LENGTH}), (lambda x: ingot.from_numpy(x).requires_grad_().exp(), set()),
    (lambda x: ingot.from_numpy(x).numpy(), set()), (lambda x: ingot.from_numpy(x / 2), None),
    (lambda x: ingot.tensor([x, x]), None), (lambda x: ingot.from_numpy(x)[int(x[0])], None),
    (lambda x: ingot.tensor(x.astype(np.float64)), None), (lambda x: ingot.from_numpy(x) * float(x.max()), None),
    (lambda x: ingot.tensor(np.asarray(x)), None), (lambda x: ingot.tensor(sorted(x)), None),
    (lambda x: ingot.from_numpy(x) + eval("x[0]"), None), (lambda x: ingot.from_numpy(x) + locals()["x"][0], None),
    (lambda x: ingot.from_numpy(x) + memoryview(x)[0], None), (with_mean, None), (after_an_error, None), (hidden, None),
    (lambda x: next(ingot.from_numpy(v) for v in (x, x)), None),
    (lambda x, *rest: ingot.from_numpy(x) + bytearray(x)[0], None),
    (lambda x: TABLE[x], {KEY}), (lambda x: TABLE.long()[x, 0], {KEY}), (lambda x: TABLE[:, x].sum(), {KEY}),
    (lambda x: TABLE.detach().view(-1)[x] / len(x), {KEY, LENGTH}), (stores, {KEY}), (lambda x: TABLE.T[x], {KEY}),
    (lambda x: TABLE.numpy()[x], None), (lambda x: TABLE.tolist()[x], {KEY}), (lambda x: NAMES[x], None),
    (lambda x: ingot.tensor(x) * max(x, x)[0], None),
    (lambda x: ingot.tensor(x) * max(x, key=abs), None),
    (lambda x: TABLE[[x, x]], None), (lambda x: x[TABLE], None), (lambda x: TABLE.shape[x], None), (lambda x: Odd()[x], None),
]


def arrays(seed, n=8, shape=(4,), dtype=np.float32):
    r = np.random.default_rng(seed)
    return [(r.random(shape) * 3).astype(dtype) for _ in range(n)]


def plain(result):
    if isinstance(result, ingot.Tensor):
        return "tensor", result.dtype.name, result.detach().numpy().copy()
    if isinstance(result, np.ndarray):
        return "array", result.dtype.name, result.copy()
    if isinstance(result, (list, tuple)):
        return type(result).__name__, "", [plain(x) for x in result]
    if isinstance(result, dict):
        return "dict", [*result], [plain(x) for x in result.values()]
    return type(result).__name__, "", repr(result)


def same(a, b):
    if a[:2] != b[:2]:
        return False
    if isinstance(a[2], np.ndarray):
        return a[2].shape == b[2].shape and np.array_equal(a[2], b[2], equal_nan=True)
    return len(a[2]) == len(b[2]) and all(map(same, a[2], b[2])) if isinstance(a[2], list) else a[2] == b[2]


@pytest.mark.parametrize("number", range(len(USES)))
def test_uses_of_an_array_are_found(number):
    fn, uses = USES[number]
    x = arrays(0, 1)[0]
    assert uses_in(fn, named(fn, (x,), {}), "x") == uses


DTYPES = np.float32, np.float64, np.int64
EACH = [pytest.param(number, dtype, marks=[] if i == number % 3 else pytest.mark.slow)
        for number in range(len(USES)) for i, dtype in enumerate(DTYPES)]


@pytest.mark.parametrize("number, dtype", EACH)
def test_each_call_takes_its_own_array(number, dtype):
    """Dtypes take turns; the slow run takes all."""
    fn, uses = USES[number]
    traced = jit.trace(fn)
    for x in arrays(number, dtype=dtype):
        try:
            expected = plain(fn(x.copy()))
        except Exception as error:
            with pytest.raises(type(error)):
                traced(x.copy())
        else:
            assert same(plain(traced(x)), expected)
    if uses is not None:
        assert traced.stats()["compiles"] <= 1, traced.stats()["misses"]


@pytest.mark.parametrize("n", [1, 3])
def test_methods_keywords_and_branches(n):
    agent = Agent(NET)
    act, branch = jit.trace(agent.act), jit.trace(by_branch)
    for i, x in enumerate(arrays(n, 12)):
        assert act(None) is None
        assert same(plain(act(x, greedy=i % 2 == 0)), plain(agent.act(x, i % 2 == 0)))
        assert same(plain(act(observation=x)), plain(agent.act(x)))
        assert same(plain(branch(x, i % 3 == 0)), plain(by_branch(x, i % 3 == 0)))
    assert act.stats()["compiles"] <= 4, act.stats()["misses"]
    assert branch.stats()["compiles"] == 2


def test_sizes_of_arrays_become_symbolic_like_those_of_tensors():
    fn = jit.trace(lambda x: (ingot.from_numpy(x) * 2).sum(0))
    for n in range(1, 40):
        x = np.random.default_rng(n).random((n, 3))
        assert same(plain(fn(x)), plain((ingot.from_numpy(x) * 2).sum(0)))
    assert fn.stats()["compiles"] <= 3


def test_arrays_and_numbers_of_one_call():
    fn = jit.trace(lambda x, lr, t: ingot.from_numpy(x) * lr + t)
    for i, x in enumerate(arrays(3, 10)):
        t = ingot.full((4,), float(i))
        assert same(plain(fn(x, i / 7, t)), plain(ingot.from_numpy(x) * (i / 7) + t))
    assert fn.stats()["compiles"] <= 3


@pytest.mark.parametrize("x", [
    np.zeros((0, 4), np.float32), np.float32(3).reshape(()), np.arange(12, dtype=np.float32).reshape(3, 4).T,
    np.arange(12, dtype=np.float32)[::-2], np.array([np.nan, np.inf, -np.inf, -0.0], np.float32), np.array([True, False]),
    np.array([1 + 2j, 3], np.complex64), np.broadcast_to(np.float32(1), (3, 4)), np.arange(3, dtype=np.uint8),
    np.frombuffer(bytes(13), np.uint8)[1:].view(np.float32), np.frombuffer(bytearray(13), np.uint8)[1:].view(np.float32),
    np.arange(4, dtype=">f4"), np.array(["a"]), np.array([1, "a"], object), np.array([1], "M8[s]")], ids=str)
def test_arrays_of_every_kind(x):
    def fn(a):
        return ingot.tensor(a) * 1, ingot.as_tensor(a)

    traced = jit.trace(fn)
    for _ in range(3):
        try:
            expected = plain(fn(x))
        except Exception as error:
            with pytest.raises(type(error)):
                traced(x)
        else:
            assert same(plain(traced(x)), expected)


def test_writes_reach_the_array():
    def fn(x):
        t = ingot.from_numpy(x)
        t += 1
        return t.sum().item(), x

    traced, x = jit.trace(fn), np.zeros(3, np.float32)
    for i in range(1, 5):
        total, given = traced(x)
        assert total == 3 * i and given is x and x.tolist() == [i] * 3
    assert traced.stats()["compiles"] == 1


def test_results_over_the_memory_of_an_array():
    fn = jit.trace(lambda x: (ingot.from_numpy(x), ingot.from_numpy(x)[1:], ingot.tensor(x), ingot.from_numpy(x).numpy()))
    for x in arrays(5, 4, dtype=np.int64):
        whole, part, copy, array = fn(x)
        x += 1
        assert (whole.numpy() == x).all() and (part.numpy() == x[1:]).all() and (array == x).all()
        assert (copy.numpy() == x - 1).all() and not np.shares_memory(copy.numpy(), x)


@pytest.mark.parametrize("x_is_y", [False, True])
def test_two_arguments_over_the_same_memory(x_is_y):
    """Reading is fine; writing agrees with eager mode or is refused."""
    def read(x, y):
        return ingot.from_numpy(x) + ingot.from_numpy(y)

    def write(x, y):
        t, u = ingot.from_numpy(x), ingot.from_numpy(y)
        t += 1
        return t + u

    for fn in (read, write):
        traced = jit.trace(fn)
        for i in range(4):
            alike = x_is_y != (i % 2 == 0)
            x = np.full(6, i, np.float32)
            y = x[:] if alike else x.copy()
            z = x.copy()
            expected = fn(z, z[:] if alike else z.copy())
            if alike and fn is write:
                with pytest.raises(TraceError, match="several tensors"):
                    traced(x, y)
            else:
                assert same(plain(traced(x, y)), plain(expected))


def test_a_captured_tensor_over_the_same_array():
    array = np.zeros(3, np.float32)
    buffer = ingot.from_numpy(array)

    def fn(x):
        t = ingot.from_numpy(x)
        buffer.add_(1)
        return t + buffer

    traced = jit.trace(fn)
    assert traced(np.ones(3, np.float32)).tolist() == [2] * 3
    with pytest.raises(TraceError, match="several tensors"):
        traced(array)
    before = array.copy()
    assert traced(np.ones(3, np.float32)).tolist() == (before + 2).tolist()


def test_tensors_over_one_array_are_distinct():
    """The same holds for tensors that users made of one array."""
    def fn(t, u):
        t.add_(1)
        return t + u

    traced, array = jit.trace(fn), np.zeros(3, np.float32)
    assert traced(ingot.zeros(3), ingot.zeros(3)).tolist() == [1] * 3
    with pytest.raises(TraceError, match="several tensors"):
        traced(ingot.from_numpy(array), ingot.from_numpy(array))


def test_a_name_that_is_rebound_later():
    space = {"ingot": ingot, "make": ingot.from_numpy}
    exec("def fn(x): return make(x) * 2", space)
    fn = jit.trace(space["fn"])
    a, b, c = arrays(6, 3)
    assert (fn(a).numpy() == a * 2).all() and (fn(b).numpy() == b * 2).all()
    space["make"] = lambda x: ingot.tensor(x[::-1].copy())
    for x in (a, b, c):
        assert (fn(x).numpy() == x[::-1] * 2).all()
    space["make"] = ingot.tensor
    for x in (c, b):
        assert (fn(x).numpy() == x * 2).all()


def test_advice_for_arrays_whose_content_counts():
    fn = jit.trace(lambda x: ingot.from_numpy(x / 2))
    for x in arrays(7, 3):
        fn(x)
    assert "begin with `x = ingot.as_tensor(x)`" in fn.stats()["misses"][-1]


def test_one_content_is_one_recording():
    fn = jit.trace(lambda x, t: t * float(x.sum()))
    x = arrays(8, 1)[0]
    for i in range(5):
        assert same(plain(fn(x.copy(), ingot.full((2,), i))), plain(ingot.full((2,), i) * float(x.sum())))
    assert fn.stats()["compiles"] == 1


def test_threads_with_arrays_of_their_own():
    fn, wrong = jit.trace(lambda x: (ingot.from_numpy(x) * 2).numpy()), []

    def work(seed):
        for x in arrays(seed, 40):
            if not (fn(x) == x * 2).all():
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_old_constructors_make_new_memory_at_each_call():
    fn = jit.trace(lambda x: (ingot.Tensor([1.0, 2.0]).add_(x.sum()), ingot.Tensor([x[0], x[1]]), ingot.Tensor(x)))
    for values in arrays(9, 4, (2,)):
        x = ingot.tensor(values)
        made, listed, copied = fn(x)
        assert np.allclose(made.numpy(), values.sum() + [1, 2]) and (listed.numpy() == values).all()
        assert (copied.numpy() == values).all()


def test_the_constructor_of_a_tensor_looks_at_it_in_traces_too():
    def fn(x, w):
        y = ingot.Tensor(x)
        y.add_(1)
        (ingot.Tensor(w) * y).sum().backward()
        return y * 2, ingot.Tensor(x.long())

    traced, weights = jit.trace(fn), [ingot.ones(3, requires_grad=True) for _ in range(2)]
    for i in range(4):
        given = [ingot.arange(3.0) + i for _ in range(2)]
        results = [f(x, w) for f, x, w in zip((fn, traced), given, weights)]
        for found, want in zip(results[1], results[0]):
            assert ingot.equal(found, want) and found.dtype is want.dtype
        assert ingot.equal(*given) and ingot.equal(weights[0].grad, weights[1].grad)


# Values that go straight to the results.


def helper(t):
    return t.tolist()


def through_a_variable(t):
    rows = t.numpy()
    kept = t.sum()
    return {"rows": rows, "sum": kept}


def in_with(t):
    with ingot.no_grad():
        return (t * 2).numpy()


def in_a_container(t):
    return [float(t.sum()), (t.tolist(), t[0].item())], {"a": t.numpy()}


def written_later(t):
    t = t * 2
    array = t.numpy()
    t += 1
    return array


def copied_first(t):
    t = t * 2
    values = t.tolist()
    t += 1
    return values, t.tolist()


def looked_at(t):
    array = t.numpy()
    return array, array.sum()


def changed(t):
    array = (t * 2).numpy()
    array = array + 1
    return array


def in_a_branch(t):
    return float(t.sum()) if t.ndim else t.tolist()


def shadowed(t):
    float = str
    return float(t.sum().item())


def by_math(t):
    import math
    return math.floor(t.sum())


def counted(t):
    return int(t.sum() * 1000) + 0, int(t.sum() * 1000)


def listed_later(t):
    array = t.numpy()
    return array.tolist(), t + 1


# (what is returned of a tensor, how many recordings are enough; None where each value has its own)
RESULTS = [
    (lambda t: t.numpy(), 1), (lambda t: (t * 2).numpy(), 1), (lambda t: t.tolist(), 1), (lambda t: t.sum().tolist(), 1),
    (lambda t: float(t.sum()), 1), (lambda t: float(t.sum().double()), 1), (lambda t: float((t > 1).sum()), 1),
    (lambda t: int(t.sum() * 1000) if t.ndim else 0, 2), (helper, 1), (lambda t: helper(t), 1), (through_a_variable, 1),
    (in_with, 1), (in_a_container, 1), (written_later, 1), (copied_first, 1), (ingot.no_grad()(lambda t: t.exp().numpy()), 1),
    (lambda t: (t > 1).tolist(), 1), (lambda t: ((t > 1).any().tolist(), True, t.tolist()), 2),
    (lambda t: ((t > 2).sum().tolist(), 0, 1, 2, 3, 4), 5), (lambda t: t[0].double().tolist(), 1),
    (lambda t: [float(v) for v in t], None), (looked_at, None), (changed, None), (in_a_branch, None), (shadowed, None),
    (by_math, None), (counted, None), (lambda t: float(t.sum()) * 2, None), (lambda t: sorted(t.tolist()), None),
    (lambda t: str(t.numpy()), None), (lambda t: round(float(t.sum()), 2), None), (lambda t: {float(t.sum()): 1}, None),
    (lambda t: np.asarray(t), None), (lambda t: np.asarray(t, np.float64), None), (lambda t: t.__array__(np.float64), None),
    (lambda t: np.array(t), None), (lambda t: np.float32(t.sum()), None), (lambda t: complex(t.sum()), None),
    (lambda t: range(int(t.sum())), None), (lambda t: t.numpy()[0], None), (lambda t: t.numpy().copy(), None),
    (lambda t: bool(t.any()), 2), (lambda t: t.numpy().tolist(), 1), (lambda t: t.sum().cpu().numpy().item(), 1),
    (lambda t: {"sum": t.sum().detach().cpu().numpy().tolist(), "all": [t.numpy().tolist()]}, 1),
    (lambda t: max(t.numpy().tolist()), None), (lambda t: [*t.numpy().tolist(), 1], None), (listed_later, None),
    (lambda t: t.half().numpy().tolist(), 1), (lambda t: t.numpy().item(0), None), (lambda t: np.asarray(t).tolist(), None),
    (lambda t: sum(map(ingot.Tensor.numpy, t[:, None])).tolist(), None),
 (lambda t: t.mean().numpy().item() * 2 > 3, 2), (listed_later, None),
]


@pytest.mark.parametrize("number", range(len(RESULTS)))
def test_each_call_returns_its_own_values(number):
    fn, enough = RESULTS[number]
    traced = jit.trace(fn)
    for values in arrays(number, 10):
        assert same(plain(traced(ingot.tensor(values))), plain(fn(ingot.tensor(values))))
    if enough is not None:
        assert traced.stats()["compiles"] <= enough, traced.stats()["misses"]


def test_returned_arrays_do_not_share_memory_with_the_next_call():
    fn = jit.trace(lambda t: (t * 2).numpy())
    returned = [(x, fn(ingot.tensor(x))) for x in arrays(1, 6)]
    assert all((y == x * 2).all() for x, y in returned)
    returned[-1][1][:] = 7
    assert (fn(ingot.tensor(returned[0][0])) == returned[0][0] * 2).all()


def test_a_returned_array_shares_a_buffers_memory_as_in_eager_mode():
    buffer = ingot.zeros(3)

    def fn(t):
        buffer.copy_(t)
        return buffer.numpy()

    traced = jit.trace(fn)
    for i in range(4):
        array = traced(ingot.full((3,), float(i)))
        assert array.tolist() == [i] * 3 and np.shares_memory(array, buffer.numpy())


def test_a_loop_of_an_agent_is_recorded_once():
    agent = Agent(nn.Linear(4, 2))
    act = jit.trace(agent.act)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for x in arrays(2, 100, dtype=np.float64):
            assert same(plain(act(x)), plain(agent.act(x)))
    assert act.stats()["compiles"] == 1


INDEXED = {
    "rows": lambda t, i: t[i],
    "of a result": lambda t, i: t.double()[i] + 1,
    "among others": lambda t, i: t[i, 1] * t[:, 0][i],
    "twice": lambda t, i: t[i] @ t[i].T,
}


@pytest.mark.parametrize("name", INDEXED)
@pytest.mark.parametrize("dtype", [np.int64, np.int32])
def test_arrays_that_index_tensors_are_inputs(name, dtype):
    traced, r = jit.trace(INDEXED[name]), np.random.default_rng(0)
    for n in (3, 3, 5, 3, 5, 6, 1):
        t, i = ingot.rand(6, 2), r.integers(-6, 6, n).astype(dtype)
        assert same(plain(traced(t, i)), plain(INDEXED[name](t, i)))
    assert traced.stats()["compiles"] <= 4, traced.stats()["misses"]
    with pytest.raises(IndexError):
        traced(ingot.rand(6, 2), np.array([1, 7, 2]).astype(dtype))


def test_an_array_that_indexes_a_write_is_an_input():
    @jit.trace
    def put(i):
        board[i] = 1.0
        return board.sum()

    board = ingot.zeros(8)
    for n in range(5):
        put(np.array([n, n + 3]))
    assert board.tolist() == [1.0] * 8 and put.stats()["compiles"] == 1


def test_an_index_array_without_dimensions_counts_by_its_value():
    traced = jit.trace(lambda t, i: t[i])
    t = ingot.arange(6.0)
    assert [traced(t, np.array(i)).item() for i in (1, 4, 2)] == [1.0, 4.0, 2.0]


# Lists of ints.


def of_each(x, lengths):
    return [x[:n] for n in lengths]


def of_the_first(x, lengths):
    return x * lengths[0]


def of_another_too(x, lengths):
    return ingot.tensor(lengths) * sorted(lengths)[-1]


def added_to(x, lengths):
    lengths.append(3)
    return ingot.tensor(lengths)


def written(x, lengths):
    return ingot.as_tensor(lengths).add_(1), ingot.as_tensor(lengths)


# (function of a tensor and a list of ints, recordings at most for ever other lists of other lengths)
LISTS = {
    "tensor": (lambda x, n: x.sum() * ingot.tensor(n), 2), "dtype": (lambda x, n: ingot.as_tensor(n, dtype=ingot.float32), 2),
    "key": (lambda x, n: x[n], 2), "total": (lambda x, n: x * sum(n), 2), "length": (lambda x, n: x * len(n), 2),
    "written": (written, 2), "numbers": (lambda x, n: (x, max(n), min(n), sum(n), len(n)), 2),
    "mask": (lambda x, n: ingot.arange(max(n)) < ingot.tensor(n)[:, None], 8), "rows": (lambda x, n: x[:min(n)], 8),
    "mean": (lambda x, n: x / max(n) + sum(n) / len(n), 2), "branch": (lambda x, n: x + 1 if max(n) > 6 else x - 1, 3),
    "text": (lambda x, n: (x, f"{max(n)} {len(n)}"), 12), "each": (of_each, 8), "first": (of_the_first, 8),
    "another": (of_another_too, 12), "added": (added_to, 12), "returned": (lambda x, n: (x, n), 8),
    "compared": (lambda x, n: (x, n == [1, 2], n is None), 12), "larger": (lambda x, n: x * max(n, [3])[0], 12),
}


def test_extremes_of_a_list_are_a_use():
    def fn(x):
        return ingot.arange(max(x)) * sum(x)

    assert uses_in(fn, named(fn, ([1, 2],), {}), "x") == {EXTREME}


@pytest.mark.parametrize("kind", [list, tuple])
@pytest.mark.parametrize("name", LISTS)
def test_lists_of_ints_are_inputs(name, kind):
    fn, most = LISTS[name]
    r, traced = np.random.default_rng(0), jit.trace(fn)
    for i in range(12):
        numbers = kind([int(n) for n in r.integers(1, 9, r.integers(1, 5))])
        theirs, x = kind(numbers), ingot.arange(12.0) + i
        try:
            expected = plain(fn(x.clone(), theirs))
        except (TypeError, AttributeError, IndexError) as error:
            with pytest.raises(type(error)):
                traced(x.clone(), numbers)
            return
        assert same(plain(traced(x.clone(), numbers)), expected), numbers
        assert numbers == theirs
    assert traced.stats()["compiles"] <= most, traced.stats()["misses"]


@pytest.mark.parametrize("make", [lambda n: [n, 2], lambda n: np.array([n, 2])])
@pytest.mark.parametrize("fn", [
    lambda a, b: ingot.as_tensor(a).sum() * int(b[0]), lambda a, *b: ingot.tensor(a) * int(b[0][0])])
def test_one_array_as_two_arguments_counts_by_all_its_uses(fn, make):
    traced = jit.trace(fn)
    for n in (1, 2, 3, 4):
        x = make(n)
        assert traced(x, x).tolist() == fn(x, x).tolist()
