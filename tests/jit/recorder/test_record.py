"""`copy.copy` and `copy.deepcopy` of tensors, modules and state dicts inside of traced functions."""

import copy

import pytest

import ingot
from ingot import jit, nn, optim
from ingot.ir.errors import AutogradError
from side_by_side import numbers, plain

CALLS = 6


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)
        self.last.bias.requires_grad_(False)

    def forward(self, x):
        return self.last(self.norm(self.first(x)).tanh())


def a_copied_module(net, x):
    return copy.deepcopy(net)(x).sum(), None


def a_copied_module_is_trained(net, x):
    inner = copy.deepcopy(net)
    opt = optim.SGD([p for p in inner.parameters() if p.requires_grad], lr=0.1)
    for _ in range(2):
        loss = inner(x).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    with ingot.no_grad():
        for p, q in zip(net.parameters(), inner.parameters()):
            p.lerp_(q, 0.5)
    return loss.detach(), [p.requires_grad for p in inner.parameters()]


def weights_are_put_back(net, x):
    before = copy.deepcopy(net.state_dict())
    with ingot.no_grad():
        net.first.weight.add_(x.sum())
        y = net(x)
    net.load_state_dict(before)
    return y, net.first.weight.detach().clone()


def best_weights_are_kept(net, x):
    kept = copy.deepcopy(net.state_dict())
    with ingot.no_grad():
        net.first.weight.mul_(1.5)
    return kept["first.weight"], net.first.weight.sum()


def a_copy_is_written(net, x):
    c = copy.deepcopy(x)
    c += 1
    return c, x * 1


def the_original_is_written(net, x):
    y = x * 2
    c = copy.deepcopy(y)
    y += 1
    return c, y


def a_copied_leaf_has_its_own_gradient(net, x):
    w = x.detach().requires_grad_()
    (w * w).sum().backward()
    c = copy.deepcopy(w)
    (c * 3).sum().backward()
    return c.grad, w.grad, c.requires_grad


def a_copied_parameter_with_a_gradient(net, x):
    net(x).sum().backward()
    c = copy.deepcopy(net.first.weight)
    net.zero_grad()
    return c.grad, type(c).__name__, c.is_leaf


def one_tensor_twice(net, x):
    y = x * 2
    a, b = copy.deepcopy([y, y])
    a += 1
    return b, a is b


def one_memory_twice(net, x):
    y = x * 2
    a, b = copy.deepcopy([y, y.detach()])
    a += 1
    return b, y


def a_row_and_what_it_is_of(net, x):
    y = x * 2
    a, row = copy.deepcopy([y, y[0]])
    a += 1
    return row * 1, y


def a_row(net, x):
    row = copy.deepcopy(x[0])
    row += 1
    return row * 1, x * 1


def turned(net, x):
    c = copy.deepcopy(x.t())
    return c, c.is_contiguous()


def attributes_go_along(net, x):
    y = x + 1
    y.tag = [1, 2]
    c = copy.deepcopy(y)
    c.tag.append(3)
    return c, (y.tag, c.tag)


def a_shallow_copy(net, x):
    y = x * 2
    c = copy.copy(y)
    c += 1
    return y * 1, c is y


def a_shallow_copy_of_a_parameter(net, x):
    c = copy.copy(net.first.weight)
    with ingot.no_grad():
        c.mul_(0.5)
    return net.first.weight * 1, type(c).__name__


def a_shallow_copy_of_a_dictionary(net, x):
    table = copy.copy(net.state_dict())
    table["first.bias"] = x.sum()
    return table["first.bias"], net.first.bias * 1


# The function, and how often it may be recorded.
FUNCTIONS = dict.fromkeys((
    a_copied_module, a_copied_module_is_trained, weights_are_put_back, best_weights_are_kept, a_copy_is_written,
    the_original_is_written, a_copied_leaf_has_its_own_gradient, one_tensor_twice,
    one_memory_twice, a_row, a_row_and_what_it_is_of, turned, attributes_go_along, a_shallow_copy,
    a_shallow_copy_of_a_parameter, a_shallow_copy_of_a_dictionary), 1) | {a_copied_parameter_with_a_gradient: 2}


def life(f, wrap):
    ingot.manual_seed(1)
    net, got = Net(), []
    step = wrap(lambda x: f(net, x))
    for i in range(CALLS):
        x = ingot.arange(12, dtype=ingot.float32).view(4, 3) / (i + 1)
        got.append((numbers(step(x)), plain(x), numbers(dict(net.state_dict())),
                    [plain(p.grad) for p in net.parameters()]))
    return got, step


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_copies_are_operators_of_the_trace(f):
    expected, _ = life(f, lambda step: step)
    got, traced = life(f, jit.trace)
    assert got == expected
    assert traced.stats()["compiles"] <= FUNCTIONS[f], traced.stats()["misses"]


def test_copies_of_what_was_computed_are_refused_alike():
    def f(w):
        return copy.deepcopy(w * 2)
    for call in (f, jit.trace(f)):
        with pytest.raises(AutogradError, match="only leaf tensors"):
            call(ingot.ones(2, requires_grad=True))


def test_copies_have_symbolic_sizes():
    traced = jit.trace(lambda x: copy.deepcopy(x * 2) + 1)
    for n in (2, 3, 4, 5, 6):
        assert traced(ingot.ones(n)).tolist() == [3.0] * n
    assert traced.stats()["compiles"] <= 2


NEW = {
    "zeros_like": ingot.zeros_like,
    "full_like": lambda x: ingot.full_like(x, 2.0),
    "randn_like": ingot.randn_like,
    "empty": lambda x: ingot.empty(1, 2, 3, 4, memory_format=ingot.channels_last),
    "requires grad": lambda x: ingot.rand_like(x, requires_grad=True),
}


@pytest.mark.parametrize("make", NEW.values(), ids=NEW)
def test_new_tensors_in_another_order_of_dims_are_no_views(make):
    def f(x):
        t = make(x)
        return t._base is None, t._is_view(), t.is_leaf, t.requires_grad, t.stride(), t, t.detach_().mul_(2)

    traced = jit.trace(f)
    for call in range(3):
        x = (ingot.arange(6.0) + call).reshape(3, 2).t()
        assert plain(with_seed(traced, x)) == plain(with_seed(f, x))


def with_seed(f, x):
    ingot.manual_seed(0)
    return f(x)
