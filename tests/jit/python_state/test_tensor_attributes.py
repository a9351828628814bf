"""Attributes that users give tensors, in traced functions: reads are guarded, and writes are repeated at each call."""

import pytest

import ingot
from ingot import jit, nn
from outcomes import plain
from side_by_side import vec


class Holder:
    def __init__(self, held):
        self.held = held

    @property
    def tensors(self):
        return [t for t in self.held if t is not None]


def net():
    made = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 2)))
    for p in made.parameters():
        p.detach().fill_(0.5)
    return made


# Reads. What holds the tensors, and a function that reads `tag` of them.


def in_a_loop(found):
    def read(x):
        total = x
        for t in found():
            total = total + t.tag * x
        return total
    return read


def by_an_inner_name(found):
    def read(x):
        for t in found():
            again = t
            x = x * again.tag
        return x
    return read


def if_there_is_one(found):
    def read(x):
        for t in found():
            x = x * getattr(t, "tag", 3.0)
        return x
    return read


def in_a_function(found):
    def one(x, t):
        return x + t.tag

    def read(x):
        for t in found():
            x = one(x, t)
        return x
    return read


def holders():
    module, below, alone, several = net(), net(), ingot.ones(2), [ingot.ones(2), ingot.ones(3)]
    attribute, table = Holder(several), {"a": ingot.ones(1)}
    return {
        "parameters": (list(module.parameters()), module.parameters),
        "below": (list(below[1].parameters()), lambda: [p for m in below[1].modules() for p in m._parameters.values()]),
        "by hand": ([below[1][0].weight], lambda: [below[1][0].weight]),
        "variable": ([alone], lambda: [alone]),
        "list": (several, lambda: several),
        "property": (several, lambda: attribute.tensors),
        "table": ([table["a"]], table.values),
    }


READS = [in_a_loop, by_an_inner_name, if_there_is_one, in_a_function]


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("where", holders())
def test_what_is_read_counts(where, read):
    tensors, found = holders()[where]
    fn = read(found)
    traced = jit.trace(fn)
    for tag in (1.0, 1.0, 2.0, 3.0, 3.0, 1.0, None, 5.0):
        for t in tensors:
            t.tag = tag
            if tag is None:
                t.tag = -1.0
                if read is if_there_is_one:
                    del t.tag
        assert plain(traced(vec(1.0, 2.0))) == plain(fn(vec(1.0, 2.0))), tag


# Writes. Some are changed outside between calls.


def to_what_it_was(t, x):
    t.tag = 1


def a_result(t, x):
    t.tag = x * 2


def a_result_of_before(t, x):
    t.tag = getattr(t, "tag", 0.0) + x


def none_then_more(t, x):
    t.tag = None
    t.tag = x if t.tag is None else t.tag + x


def by_its_name(t, x):
    setattr(t, "tag", x + 1)  # noqa: B010


WRITES = [to_what_it_was, a_result, a_result_of_before, none_then_more, by_its_name]


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("where", holders())
def test_what_is_written_is_there_after_each_call(where, write):
    def run(wrap):
        tensors, found = holders()[where]

        def fn(x):
            for t in found():
                write(t, x)
            return x * 2

        step, seen = wrap(fn), []
        for i in range(7):
            if i in (3, 5):
                for t in tensors:
                    t.tag = float(i)
            seen.append((plain(step(vec(1.0, float(i)))), [plain(t.tag) for t in tensors]))
        return seen

    assert run(jit.trace) == run(lambda fn: fn)


def test_an_optimizer_that_keeps_its_sums_at_the_parameters():
    class Summing:
        def __init__(self, module):
            self.module = module
            for p in self.params:
                p.summed = None

        @property
        def params(self):
            return [p for p in self.module.parameters() if p.requires_grad]

        def clear(self):
            for p in self.params:
                p.summed = None

        def add(self):
            for p in self.params:
                if p.summed is not None:
                    p.summed += p.grad
                else:
                    p.summed = p.grad.clone()
                p.summed.is_done = False

        def give(self):
            for p in self.params:
                if p.summed.is_done:
                    raise RuntimeError("it was given before")
                p.grad = (p.summed * 0.5).view_as(p)
                p.summed.is_done = True

    def run(wrap):
        module = net()
        sums, opt = Summing(module), ingot.optim.SGD(module.parameters(), lr=0.1)

        def step(x):
            sums.clear()
            for _ in range(2):
                opt.zero_grad()
                module(x).square().mean().backward()
                sums.add()
            sums.give()
            opt.step()

        stepped = wrap(step)
        for i in range(5):
            stepped(vec(1.0, float(i)))
            with pytest.raises(RuntimeError, match="before"):
                sums.give()
        return [plain(p.detach()) for p in module.parameters()], [plain(p.summed) for p in module.parameters()]

    assert run(jit.trace) == run(lambda fn: fn)


# Tensors that are others at each call.


def test_what_arguments_lack_counts():
    def scale(t):
        return getattr(t, "scale", 1.0)

    def fn(x, y):
        for t in (x, y):
            x = x * scale(t)
        return x

    traced = jit.trace(fn)
    for tag in (None, None, 2.0, None):
        x, y = vec(1.0, 2.0), vec(3.0, 4.0)
        if tag is not None:
            y.scale = tag
        assert plain(traced(x, y)) == plain(fn(x, y)), tag


def test_what_tensors_have_that_are_looked_up_at_each_call():
    holder = Holder(None)

    def fn(x):
        return x * holder.held.tag + holder.held

    traced = jit.trace(fn)
    for i in range(7):
        holder.held = vec(float(i))
        holder.held.tag = float(i // 2)
        assert plain(traced(vec(2.0))) == plain(fn(vec(2.0))), i


@pytest.mark.parametrize("several", [False, True])
def test_arguments_get_no_attributes(several):
    def fn(x, y):
        for t in (x, y) if several else (x,):
            t.tag = 1
        return x + y

    with pytest.raises(jit.TraceError, match="sets the attribute tag of a tensor that is an argument"):
        jit.trace(fn)(vec(1.0), vec(2.0))


# Tensors that a function makes.


KEPT = Holder("kept")


def marked(t, **attributes):
    for name, value in attributes.items():
        setattr(t, name, value)
    return t


MADE = {
    "number": lambda x: marked(x * 2, tag=5),
    "private": lambda x: marked(x * 2, _tag="text"),
    "of a size": lambda x: marked(x * 2, tag=len(x)),
    "tensor": lambda x: marked(x * 2, tag=x + 1),
    "tensor with one": lambda x: marked(x * 2, tag=marked(x + 1, tag=7)),
    "containers": lambda x: marked(x * 2, tag=[1, {"a": x - 1}, (x, 2.0)]),
    "object": lambda x: marked(x * 2, tag=KEPT),
    "object of its own": lambda x: marked(x * 2, tag=Holder([x + 2])),
    "view": lambda x: marked(x[1:], tag=3),
    "parameter": lambda x: marked(nn.Parameter(x * 2), tag=x - 1),
    "several": lambda x: (marked(x * 2, tag=1), x + 1, {"a": marked(x.sum(), tag=None)}),
}


def seen(t):
    if isinstance(t, Holder):
        return t is KEPT, seen(t.held)
    if isinstance(t, (tuple, list, dict)):
        return [seen(v) for v in (t.values() if isinstance(t, dict) else t)]
    if not isinstance(t, ingot.Tensor):
        return t
    return plain(t.detach()), *[seen(getattr(t, name, "none")) for name in ("tag", "_tag")]


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_results_have_the_attributes_that_they_were_given(make):
    traced = jit.trace(make)
    for i in range(6):
        x = vec(*[1.0 + i] * (2 + i % 3))
        y = traced(x)
        assert seen(y) == seen(make(x)), i
        if isinstance(getattr(y, "tag", None), list):
            y.tag.append("later")
