"""Gradient rules on a device, in one kernel for each operator of elements: the gradients of the CPU, in few launches."""

import pytest

import ingot
import ingot.nn.functional as F
import mock_cuda
from ingot.runtime.cuda.graph import eager

RUNS = 5


@pytest.fixture(scope="module")
def cuda():
    with mock_cuda.installed() as mock:
        yield mock


FUNCTIONS = {
    "relu": F.relu, "gelu": F.gelu, "silu": F.silu, "tanh": ingot.tanh, "sigmoid": ingot.sigmoid, "softplus": F.softplus,
    "elu": F.elu, "mish": F.mish, "hardswish": F.hardswish, "exp": ingot.exp, "sqrt": lambda x: x.abs().sqrt(),
    "power": lambda x: x.abs() ** 2.5, "cube": lambda x: x ** 3, "clamp": lambda x: x.clamp(-0.5, 0.5),
    "scaled": lambda x: x * 0.3 + 1, "quotient of a number": lambda x: 2.0 / (x.abs() + 1), "atan": ingot.atan,
    "group norm": lambda x: F.group_norm(x.view(2, 4, -1), 2), "where": lambda x: ingot.where(x > 0, x, x * x),
}
PAIRS = {
    "product": ingot.mul, "quotient": lambda x, y: x / (y.abs() + 1), "power": lambda x, y: (x.abs() + 0.5) ** y,
    "hypot": ingot.hypot, "atan2": ingot.atan2, "huber": F.huber_loss, "smooth": F.smooth_l1_loss,
    "lerp": lambda x, y: x.lerp(y, 0.3), "addcmul": lambda x, y: x.addcmul(x, y, value=0.5),
    "with itself": lambda x, y: x * x * y, "xlogy": lambda x, y: ingot.xlogy(x, y.abs()),
    "cross entropy": lambda x, y: F.binary_cross_entropy_with_logits(x, y.sigmoid()), "broadcast": lambda x, y: x * y[:1],
}


def gradients(f, operands, device):
    leaves = [t.detach().to(device).requires_grad_() for t in operands]
    out = f(*leaves)
    out.backward(ingot.ones_like(out) * 0.7)
    return [t.grad.cpu() for t in leaves]


def check(f, count, dtype):
    for run in range(RUNS):
        ingot.manual_seed(run)
        operands = [ingot.randn(4, 12).to(dtype) for _ in range(count)]
        for want, got in zip(gradients(f, operands, "cpu"), gradients(f, operands, "cuda"), strict=True):
            tolerance = {ingot.float32: 2e-5, ingot.float64: 1e-11, ingot.bfloat16: 3e-2}[dtype]
            ingot.testing.assert_close(got, want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [ingot.float32, ingot.float64, ingot.bfloat16])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_one(name, dtype, cuda):
    check(FUNCTIONS[name], 1, dtype)


@pytest.mark.parametrize("dtype", [ingot.float32, ingot.float64, ingot.bfloat16])
@pytest.mark.parametrize("name", PAIRS)
def test_functions_of_two(name, dtype, cuda):
    check(PAIRS[name], 2, dtype)


BY_UNITS = {name: FUNCTIONS[name] for name in ("gelu", "silu", "tanh", "sigmoid", "softplus", "mish", "exp")} | {
    "gelu by tanh": lambda x: F.gelu(x, approximate="tanh"), "softmax": lambda x: x.softmax(-1),
    "log-softmax": lambda x: x.log_softmax(-1)}


@pytest.mark.parametrize("dtype", [ingot.float32, ingot.bfloat16])
@pytest.mark.parametrize("name", BY_UNITS)
def test_special_units_give_traced_functions_the_bits_of_eager_ones(name, dtype, cuda):
    """With their gradients, in one kernel with what follows."""
    f = BY_UNITS[name]

    def run(x, g):
        y = f(x)
        return y, y * g, ingot.autograd.grad(y, x, g)[0]

    step = ingot.jit.trace(run)
    for seed in range(RUNS):
        ingot.manual_seed(seed)
        x, g = [(ingot.randn(6, 40) * 8).to(dtype).cuda() for _ in range(2)]
        x.requires_grad_()
        for want, got in zip(run(x, g), step(x, g), strict=True):
            assert ingot.equal(want, got), f"{name} {dtype} seed {seed}"


@pytest.mark.parametrize(("name", "launches"), [("relu", 1), ("gelu", 1), ("silu", 1), ("mish", 1)])
def test_one_launch_each(name, launches, cuda):
    x, g = ingot.randn(50, device="cuda").requires_grad_(), ingot.randn(50, device="cuda")
    for _ in range(RUNS):
        y = FUNCTIONS[name](x)
        ingot.cuda.synchronize()
        before = len(cuda.launches)
        ingot.autograd.grad(y, x, g)
        ingot.cuda.synchronize()
        assert len(cuda.launches) == before + launches


def test_gradients_that_are_one_number_and_seconds(cuda):
    for run in range(RUNS):
        ingot.manual_seed(run)
        x = ingot.randn(4, 12)
        found = []
        for device in ("cpu", "cuda"):
            leaf = x.to(device).requires_grad_()
            first, = ingot.autograd.grad(F.silu(leaf).sum(), leaf, create_graph=True)
            second, = ingot.autograd.grad((first * first).sum(), leaf)
            found.append((first.detach().cpu(), second.cpu()))
        for want, got in zip(*found):
            ingot.testing.assert_close(got, want, rtol=2e-5, atol=2e-5)


def test_values_that_were_overwritten_are_not_read(cuda):
    for _ in range(RUNS):
        x = ingot.randn(9, device="cuda").requires_grad_()
        h = x * 2
        y = F.silu(h)
        h.add_(1.0)
        with pytest.raises(ingot.IngotError, match=r"in place|overwritten"):
            y.sum().backward()


def test_rules_of_one_operator_are_planned_once(cuda):
    x = ingot.randn(9, device="cuda").requires_grad_()
    for _ in range(RUNS):
        (x * 0.5).sum().backward()
    assert any(op.name == "mul" for op, _ in eager._plain_rules)
