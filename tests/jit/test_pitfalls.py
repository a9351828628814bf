"""Programs that surprise tracing compilers. Each gives what eager gives, at every call, or a TraceError: nothing else."""

import contextvars
import random

import numpy as np
import pytest

import ingot
from ingot import jit
from ingot.jit.errors.recompile_limit import FREE
from side_by_side import plain, refused, same, vec

SCALE = 2.0
TABLE = {"k": 1.5}
LOG = []


# Python reads a tensor.


def test_branch_on_a_value():
    def make():
        return lambda x: x + 1 if x.sum() > 0 else x * 10

    t = same(make, lambda i: (vec(1.0, (-1.0) ** i * 5),), calls=6)
    assert t.stats()["compiles"] == 2


def test_while_loop_on_a_value():
    def make():
        def fn(x):
            n = 0
            while x.sum() < 20:
                x = x * 2
                n += 1
            return x, n

        return fn

    t = same(make, lambda i: (vec(1.0 + i, 1.0),), calls=6)
    assert t.stats()["compiles"] <= 5


def test_item_used_as_a_number():
    same(lambda: lambda x: x * x[0].item(), lambda i: (vec(float(i), 2.0),))


def test_int_of_a_tensor_as_a_size():
    same(lambda: lambda x: x[: int(x[0])] * 2, lambda i: (vec(float(i % 2 + 1), 2.0, 3.0),), calls=6)


def test_tolist_in_python():
    same(lambda: lambda x: sum(x.tolist()), lambda i: (vec(float(i), 2.0),))


def test_length_of_a_tensor():
    same(lambda: lambda x: x / len(x), lambda i: (ingot.ones(i + 1),))


def test_nested_branches():
    def make():
        def fn(x):
            if x[0] > 0:
                if x[1] > 0:
                    return x + 1
                return x + 2
            return x + 3

        return fn

    t = same(make, lambda i: (vec(1.0 - 2 * (i % 2), 1.0 - 2 * (i // 2 % 2)),), calls=8)
    assert t.stats()["compiles"] == 3


# Python state.


def test_a_global_that_changes():
    def make():
        return lambda x: x * SCALE

    def args(i):
        global SCALE
        SCALE = 2.0 + i
        return (vec(),)

    same(make, args)


def test_an_item_of_a_global_dict_that_changes():
    def args(i):
        TABLE["k"] = 1.0 + i
        return (vec(),)

    same(lambda: lambda x: x * TABLE["k"], args)


def test_a_closure_that_changes():
    def make():
        box = 1.0

        def fn(x):
            return x * box

        return fn

    eager, traced = make(), jit.trace(make())
    for i in range(4):
        for f in (eager, traced.fn):
            f.__closure__[0].cell_contents = float(i)
        assert plain(traced(vec())) == plain(eager(vec()))


def test_an_attribute_that_changes():
    class Config:
        scale = 1.0
        deep = None

    cfg = Config()
    cfg.deep = Config()

    def fn(x):
        return x * cfg.scale + cfg.deep.scale

    traced = jit.trace(fn)
    for i in range(4):
        cfg.scale, cfg.deep.scale = float(i), 10.0 * i
        assert plain(traced(vec())) == plain(fn(vec()))


def test_an_attribute_of_self():
    class Model:
        def __init__(self):
            self.k = 1.0
            self.w = vec(1.0, 1.0, 1.0)

        def run(self, x):
            return self.helper(x) * self.k

        def helper(self, x):
            return x + self.w

    m = Model()
    traced = jit.trace(m.run)
    for i in range(4):
        m.k = float(i)
        if i == 2:
            m.w = vec(5.0, 6.0, 7.0)
        assert plain(traced(vec())) == plain(m.run(vec()))


def test_a_captured_tensor_is_read_by_reference():
    w = vec(1.0, 2.0, 3.0)
    traced = jit.trace(lambda x: x * w)
    for i in range(4):
        w.fill_(float(i))
        assert plain(traced(vec())) == plain(vec() * w)
    assert traced.stats()["compiles"] == 1


def test_default_and_keyword_arguments():
    def fn(x, k=2.0, *, flag=False):
        return x * k if flag else x + k

    traced = jit.trace(fn)
    for kwargs in ({}, {"k": 3.0}, {"flag": True}, {"k": 3.0, "flag": True}, {}):
        assert plain(traced(vec(), **kwargs)) == plain(fn(vec(), **kwargs))


def test_appending_to_an_outside_list_is_repeated():
    def fn(x):
        LOG.append(1)
        return x * 2

    traced, before = jit.trace(fn), len(LOG)
    for i in range(3):
        traced(vec())
        assert len(LOG) == before + i + 1


def test_python_randomness_is_refused():
    refused(lambda x: x * random.getrandbits(80), vec())
    refused(lambda x: x * np.random.bytes(2)[0], vec())


def test_objects_made_inside_are_fine():
    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b

        def swap(self):
            self.a, self.b = self.b, self.a

    def make():
        def fn(x):
            p = Pair(x, x * 2)
            p.swap()
            items = []
            items.append(p.a)
            return items[0] - p.b

        return fn

    same(make, lambda i: (vec(float(i), 1.0),))


# Containers and modules.


def test_a_list_that_changes_in_place():
    scales = [1.0, [2.0]]

    def fn(x):
        for s in scales[:1] + scales[1]:
            x = x * s
        return x

    traced = jit.trace(fn)
    for i in range(4):
        scales[0], scales[1][0] = float(i), 3.0 * i
        assert plain(traced(vec())) == plain(fn(vec()))


def test_modules_train_eval_and_replaced_parts():
    from ingot import nn

    net = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, 2))
    traced = jit.trace(net)

    def check():
        x = vec()
        ingot.manual_seed(5)
        want = net(x)
        ingot.manual_seed(5)
        assert plain(traced(x)) == plain(want)

    for change in (lambda: None, lambda: None, net.eval, net.train, lambda: setattr(net[1], "p", 0.25),
                   lambda: setattr(net[0], "weight", nn.Parameter(ingot.ones(4, 3))),
                   lambda: net[2].weight.data.fill_(2.0), lambda: net.__setitem__(1, nn.ReLU()),
                   lambda: net.load_state_dict({k: v * 2 for k, v in net.state_dict().items()})):
        change()
        check()
        check()


def test_lists_made_inside_and_closures_over_them_are_fine():
    def make():
        def fn(x):
            items = [x]
            count = 0

            def push(v):
                nonlocal count
                count += 1
                items.append(v)

            for k in range(3):
                push(items[-1] * k)
            return sum(v.sum() for v in items) * count

        return fn

    same(make, lambda i: (vec(float(i), 1.0),))


# The host.


def test_printing_a_tensor_prints_at_every_call(capsys):
    def fn(x):
        y = x * 2
        print("y is", y)
        return y + 1

    traced = jit.trace(fn)
    for i in range(4):
        got = plain(traced(vec(float(i), 1.0)))
        ours = capsys.readouterr().out
        assert got == plain(fn(vec(float(i), 1.0)))
        assert ours == capsys.readouterr().out


def test_host_functions_run_at_every_call():
    seen = []

    @jit.host
    def keep(v):
        seen.append(v.tolist())

    @jit.host
    def cumulative(v):
        return ingot.tensor(np.cumsum(v.numpy()))

    def fn(x):
        keep(x * 2)
        return cumulative(x) + 1

    traced = jit.trace(fn)
    for i in range(4):
        x = vec(float(i), 2.0, 3.0)
        got, ours = plain(traced(x)), seen.copy()
        seen.clear()
        assert got == plain(fn(x)) and ours == seen
        seen.clear()


VARIABLE = contextvars.ContextVar("VARIABLE", default=0.0)


def test_a_host_function_between_kernels_is_called_as_by_its_caller():
    @jit.host
    def written(x, into):
        into.copy_(x.double().sum())            # goes through the thread's own context
        x.numpy() / 0.0                         # numpy says so, if the caller asked for it
        return x + into + VARIABLE.get()

    fn = jit.trace(lambda x: written(x * 2, ingot.zeros(())) * 3)
    token = VARIABLE.set(1.5)
    try:
        for i in range(1, 4):
            with pytest.warns(RuntimeWarning, match="zero"):
                assert fn(vec(float(i), 1.0)).tolist() == [(2 * v + 2.0 * (i + 1) + 1.5) * 3 for v in (float(i), 1.0)]
    finally:
        VARIABLE.reset(token)


def test_a_host_function_may_not_return_a_number():
    refused(lambda x: x * jit.host(lambda v: v.sum().item())(x), vec(), match="may return tensors")


def test_recording_too_often_is_said_once_with_the_reason(recordings_cost_time):
    traced = jit.trace(lambda x, k: x * float(str(k)))
    with pytest.warns(jit.TracerWarning, match="recorded 3 times for one reason, and 0 .* a recording needs k == 1.0") as said:
        for i in range(3):
            traced(vec(), float(i))
    assert len(said) == 1 and traced.stats()["compiles"] == 3
    for i in range(80):
        traced(vec(), float(i))
    assert traced.stats()["compiles"] <= FREE          # the other calls ran as they are


def test_hooks_on_saved_tensors_are_refused_inside():
    w = vec(1.0, 2.0).requires_grad_()

    def fn(x):
        with ingot.autograd.graph.saved_tensors_hooks(lambda t: t * 2, lambda t: t / 2):
            return (x * w).exp()

    refused(fn, vec(1.0, 2.0), match="uses saved_tensors_hooks.*around calls of the traced function")


def test_warnings_name_the_line_of_the_user(recordings_cost_time):
    class Holder:
        pass

    holder = Holder()

    def stores_objects(x):
        holder.value = lambda: x
        return x * 2

    def reads_values(x):
        return x * float(str(x.sum().item()))

    for function in (stores_objects, reads_values):
        traced = jit.trace(function)
        with pytest.warns(jit.TracerWarning) as seen:
            for i in range(70):
                traced(ingot.full((2,), float(i)))
        assert [w.filename for w in seen] == [__file__]
