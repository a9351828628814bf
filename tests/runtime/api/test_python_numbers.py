"""Python and NumPy numbers beside tensors: those that do not fit raise, those that fit keep their digits."""

import math

import numpy as np
import pytest

import ingot
import ingot.nn.functional as F
from ingot import jit

INTEGERS = [ingot.uint8, ingot.int8, ingot.int16, ingot.int32, ingot.int64]


def _assign(x, key, value):
    x[key] = value
    return x


# Every way in which a number enters a tensor with a dtype.
STORES = {
    "full": lambda d, v: ingot.full((2,), v, dtype=d),
    "full_like": lambda d, v: ingot.full_like(ingot.zeros(2, dtype=d), v),
    "tensor": lambda d, v: ingot.tensor([v, 0], dtype=d),
    "fill_": lambda d, v: ingot.zeros(2, dtype=d).fill_(v),
    "setitem": lambda d, v: _assign(ingot.zeros(2, dtype=d), 0, v),
    "setitem mask": lambda d, v: _assign(ingot.zeros(2, dtype=d), ingot.tensor([True, False]), v),
    "setitem index": lambda d, v: _assign(ingot.zeros(2, dtype=d), ingot.tensor([0]), v),
    "masked_fill": lambda d, v: ingot.zeros(2, dtype=d).masked_fill(ingot.tensor([True, False]), v),
    "index_fill": lambda d, v: ingot.zeros(2, dtype=d).index_fill(0, ingot.tensor([0]), v),
    "scatter": lambda d, v: ingot.zeros(2, dtype=d).scatter(0, ingot.tensor([0]), v),
    "pad": lambda d, v: ingot.nn.functional.pad(ingot.zeros(1, dtype=d), (1, 0), value=v),
    "where": lambda d, v: ingot.where(ingot.tensor([True, False]), v, ingot.zeros(2, dtype=d)),
}


@pytest.mark.parametrize("how", STORES)
@pytest.mark.parametrize("d", INTEGERS, ids=str)
def test_a_number_that_does_not_fit_raises(how, d):
    info = ingot.iinfo(d)
    for value in (info.max, info.min, 0, 1):
        assert STORES[how](d, value)[0].item() == value
    for value in (info.max + 1, -info.max - 2, 10 ** 30):
        with pytest.raises(ingot.IngotError, match=r"does not fit|too large|64 bits"):
            STORES[how](d, value)


@pytest.mark.parametrize("how", [h for h in STORES if h != "where"])
def test_floats_are_cut_to_integers_and_nan_has_none(how):
    assert STORES[how](ingot.int32, 2.75)[0].item() == 2
    for value in (math.nan, math.inf, 3e10):
        with pytest.raises(ingot.IngotError):
            STORES[how](ingot.int32, value)


@pytest.mark.parametrize("how", STORES)
def test_small_negative_numbers_wrap_in_unsigned_tensors(how):
    assert STORES[how](ingot.uint8, -1)[0].item() == 255


@pytest.mark.parametrize("value", [10, 0.5, 0, float("nan")])
def test_a_bool_holds_whether_a_number_is_not_zero(value):
    x, mask = ingot.tensor([True, False, False]), ingot.tensor([False, True, True])
    want = [True, bool(value), bool(value)]
    assert x.masked_fill(mask, value).tolist() == x.masked_fill_(mask, value).tolist() == want


@pytest.mark.parametrize("kind", [ingot.int32, ingot.float32])
def test_a_scaled_operand_has_the_room_of_the_sum(kind):
    x, bytes_ = ingot.tensor([3, 3], dtype=kind), ingot.tensor([1, 200], dtype=ingot.uint8)
    assert x.add(bytes_, alpha=2).tolist() == x.clone().add_(bytes_, alpha=2).tolist() == [5, 403]
    assert x.sub(bytes_, alpha=-1).tolist() == x.clone().sub_(bytes_, alpha=-1).tolist() == [4, 203]
    assert jit.trace(lambda x, y: ingot.rsub(y, x, alpha=3))(x, bytes_).tolist() == [0, -597]


def test_factors_and_quotients_have_the_room_of_the_sum():
    x, bytes_ = ingot.tensor([3.0, 3.0]), ingot.tensor([1, 200], dtype=ingot.uint8)
    assert x.addcmul(bytes_, bytes_).tolist() == x.clone().addcmul_(bytes_, bytes_).tolist() == [4, 40003]
    assert x.addcdiv(ingot.tensor(2.0, dtype=ingot.float64), bytes_).dtype is ingot.float32


def test_numbers_beyond_every_dtype_raise():
    with pytest.raises(ingot.IngotError, match="int64"):
        ingot.tensor(2 ** 63)
    with pytest.raises(ingot.IngotError, match="int64"):
        ingot.tensor([2 ** 63, 1])
    with pytest.raises(ingot.IngotError, match="imaginary"):
        ingot.full((1,), 1 + 2j, dtype=ingot.float32)
    assert ingot.tensor([1.5, 2 ** 70]).dtype is ingot.float32


def test_bounds_of_clamp_beyond_the_dtype_limit_nothing():
    x = ingot.tensor([0, 100, 255], dtype=ingot.uint8)
    assert x.clamp(-1, 300).tolist() == [0, 100, 255]
    assert ingot.tensor([-128, 127], dtype=ingot.int8).clamp(-1000, 1000).tolist() == [-128, 127]
    assert ingot.nn.functional.hardtanh(x).tolist() == [0, 1, 1]


@pytest.mark.parametrize("low, high, names", [(None, -1, "uint8.*<=.*-1"), (300, None, "uint8.*>=.*300"), (2, -1, "0 to 255")])
def test_bounds_of_clamp_that_no_value_of_the_dtype_fulfils_are_errors(low, high, names):
    with pytest.raises(ingot.IngotError, match=names):
        ingot.tensor([0, 100, 255], dtype=ingot.uint8).clamp(low, high)


def test_logit_takes_eps_below_it_even_where_the_bounds_cross():
    x = ingot.tensor([0.1, 0.45, 0.55, 0.7], dtype=ingot.float64)
    low = float(np.log(0.6 / 0.4))
    np.testing.assert_allclose(ingot.logit(x, 0.6).numpy(), [low, low, low, -low])
    np.testing.assert_allclose(ingot.logit(x, 0.2).numpy()[0], np.log(0.2 / 0.8))


# Numbers of NumPy count as Python's.

OPERATIONS = [
    lambda x, n: x * n, lambda x, n: n * x, lambda x, n: x + n, lambda x, n: n - x, lambda x, n: x / n, lambda x, n: n / x,
    lambda x, n: x // n, lambda x, n: x ** n, lambda x, n: n ** x, lambda x, n: x > n, lambda x, n: ingot.add(x, n),
    lambda x, n: x.clamp(0, n), lambda x, n: ingot.full((2,), n), lambda x, n: ingot.where(x > 1, x, n),
    lambda x, n: x.masked_fill(x > 1, n), lambda x, n: x.lerp(x + 1, n), lambda x, n: x ** (n / 4), lambda x, n: x.pow(n + 3),
    lambda x, n: ingot.addmm(x, x[:, None], x[None], beta=n, alpha=n), lambda x, n: ingot.logit(x / 4, n / 8),
    lambda x, n: ingot.addmv(x, ingot.eye(3), x, beta=n, alpha=n), lambda x, n: ingot.bernoulli(x, n / 2),
]


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.float16, np.int64, np.int32, np.uint8])
@pytest.mark.parametrize("i", range(len(OPERATIONS)))
def test_numpy_numbers_do_not_change_the_dtype(i, kind):
    x, number = ingot.tensor([1.0, 2.0, 3.0]), kind(2)
    got, want = OPERATIONS[i](x, number), OPERATIONS[i](x, number.item())
    assert got.dtype is want.dtype
    assert got.tolist() == want.tolist()


def test_numpy_integers_are_dims_and_sizes():
    x = ingot.ones(2, 3)
    assert x.sum(np.int64(0)).shape == (3,)
    assert x.reshape(np.int64(3), 2).shape == (3, 2)
    assert x[np.int64(0)].shape == (3,)


# Universal functions of numpy.

@pytest.mark.parametrize("name", ["sin", "exp", "absolute", "negative", "isnan", "sqrt", "rint", "arctan"])
def test_ufuncs_of_one_tensor(name):
    x = ingot.tensor([0.5, -1.5, 2.5]).abs()
    got = getattr(np, name)(x)
    assert isinstance(got, ingot.Tensor)
    np.testing.assert_allclose(got.numpy(), getattr(np, name)(x.numpy()), rtol=1e-6)


@pytest.mark.parametrize("name", ["add", "multiply", "power", "maximum", "equal", "left_shift", "matmul", "arctan2"])
def test_ufuncs_of_an_array_and_a_tensor(name):
    kind = np.int64 if name == "left_shift" else np.float32
    a = np.array([1, 2, 3], kind)
    x = ingot.from_numpy(np.array([3, 2, 1], kind))
    for pair in ((a, x), (x, a), (x, x)):
        got = getattr(np, name)(*pair)
        assert isinstance(got, ingot.Tensor)
        np.testing.assert_allclose(got.numpy(), getattr(np, name)(*[np.asarray(v) for v in pair]), rtol=1e-6)


def test_ufuncs_keep_the_gradient():
    x = ingot.tensor([0.5, 1.0], requires_grad=True)
    np.sin(x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.cos([0.5, 1.0]), rtol=1e-6)


def test_ufuncs_with_out_and_reductions():
    out, x = np.zeros(2, np.float32), ingot.tensor([1.0, 2.0])
    assert np.exp(x, out=out) is out and out[0] == np.exp(np.float32(1))
    assert np.add.reduce(x).item() == 3.0
    fraction, whole = np.modf(ingot.tensor([1.5]))
    assert (fraction.item(), whole.item()) == (0.5, 1.0)


# Low precision.

LOW = [ingot.float16, ingot.bfloat16]
SCALED = {"x * n": lambda x, n: x * n, "n * x": lambda x, n: n * x, "x / n": lambda x, n: x / n, "n / x": lambda x, n: n / x,
          "mul": lambda x, n: ingot.mul(x, n), "0-d tensor": lambda x, n: x * ingot.tensor(n)}


@pytest.mark.parametrize("d", LOW, ids=str)
@pytest.mark.parametrize("how", SCALED)
@pytest.mark.parametrize("size", [7, 70_000])
def test_a_number_keeps_its_digits_with_low_precision(how, d, size):
    x = ingot.linspace(0.5, 3.0, size).to(d)
    wide = x.float().numpy()
    want = ingot.from_numpy(np.asarray(SCALED[how](wide, np.float32(0.1)) if how not in ("mul", "0-d tensor")
                                       else wide * np.float32(0.1), np.float32)).to(d)
    assert ingot.equal(SCALED[how](x, 0.1), want)


@pytest.mark.parametrize("d", LOW, ids=str)
@pytest.mark.parametrize("how", ["add", "sub", "mul", "div", "pow", "fmod"])
def test_low_precision_does_not_depend_on_the_size(how, d):
    x = ingot.linspace(0.5, 3.0, 70_000).to(d)
    large = getattr(x, how)(0.3)
    small = ingot.cat([getattr(x[i:i + 7], how)(0.3) for i in range(0, 700, 7)])
    assert ingot.equal(small, large[:700])


STEPS = {
    "addcmul": lambda x, y, z: ingot.addcmul(x, y, z, value=0.3), "addcdiv": lambda x, y, z: ingot.addcdiv(x, y, z, value=0.3),
    "lerp": lambda x, y, z: ingot.lerp(x, y, 0.3), "lerp by tensor": ingot.lerp,
    "hardswish": lambda x, y, z: ingot.nn.functional.hardswish(x), "glu": lambda x, y, z: ingot.nn.functional.glu(x),
    "softplus": lambda x, y, z: ingot.nn.functional.softplus(x, 2.0), "elu": lambda x, y, z: ingot.nn.functional.elu(x, 0.3),
    "huber_loss": lambda x, y, z: ingot.nn.functional.huber_loss(x, y, reduction="none"),
    "addmm": lambda x, y, z: ingot.addmm(x[:4], x[:4] @ x[:4].T * 0 + 1, y[:4], beta=0.3, alpha=0.7),
}


@pytest.mark.parametrize("d", LOW, ids=str)
@pytest.mark.parametrize("how", STEPS)
def test_functions_of_several_steps_round_once(how, d):
    generator = np.random.default_rng(5)
    args = [ingot.tensor(generator.uniform(0.5, 2.0, (8, 6)).astype(np.float32)).to(d) for _ in range(3)]
    want = STEPS[how](*[a.double() for a in args]).to(d)
    got = STEPS[how](*args)
    assert got.dtype is d
    room = 2.0 ** (-10 if d is ingot.float16 else -7) * (1 if how != "addmm" else 2)
    np.testing.assert_allclose(got.float().numpy(), want.float().numpy(), rtol=room, err_msg=f"{how} seed 5")


@pytest.mark.parametrize("how", ["gelu", "silu", "mish", "hardswish"])
def test_low_precision_gradients_of_several_steps(how):
    generator = np.random.default_rng(6)
    fn = getattr(ingot.nn.functional, how)
    x = ingot.tensor(generator.uniform(-2, 2, 200).astype(np.float32)).to(ingot.bfloat16)
    low, wide = x.clone().requires_grad_(), x.double().requires_grad_()
    fn(low).backward(ingot.ones_like(low))
    fn(wide).backward(ingot.ones_like(wide))
    np.testing.assert_allclose(low.grad.float().numpy(), wide.grad.numpy(), rtol=2 ** -7, atol=1e-6, err_msg="seed 6")


# Rules of integers.

def test_integers_to_negative_powers():
    base, power = ingot.tensor([1, -1, -1, 2, 0]), ingot.tensor([-3, -3, -2, -1, -1])
    assert (base ** power).tolist() == [1, -1, 1, 0, 0]
    traced = ingot.jit.trace(lambda a, b: a ** b + 0)
    assert [traced(base, power).tolist() for _ in range(3)][-1] == [1, -1, 1, 0, 0]


def test_factors_of_integer_products_are_cut():
    m = ingot.tensor([[1, 2], [3, 4]])
    assert ingot.addmm(m, m, m, beta=2.7, alpha=1.6).tolist() == [[9, 14], [21, 30]]
    assert ingot.addbmm(m, m[None], m[None], beta=2.7, alpha=1.6).tolist() == [[9, 14], [21, 30]]
    with pytest.raises(TypeError, match="integers"):
        ingot.addr(m, m[0], m[0], beta=0.5)
    with pytest.raises(TypeError, match="integer"):
        ingot.addcmul(m, m, m, value=0.5)
    with pytest.raises(TypeError, match="floating"):
        ingot.lerp(m, m, 0.5)


def test_sums_of_integers_count_in_int64():
    x = ingot.full((2, 3), 100, dtype=ingot.uint8)
    assert x.sum_to_size(1, 3).tolist() == [[200] * 3]
    for kind in (ingot.uint8, ingot.int8, ingot.int32, ingot.bool):       # as in PyTorch, a sum over nothing is no sum
        some = x.to(kind)
        assert [some.sum_to_size(size).dtype for size in ((1, 3), (3,), (), (2, 3))] == [ingot.int64] * 3 + [kind]
        assert ingot.ones((), dtype=kind).sum_to_size(()).dtype is ingot.int64
    assert ingot.einsum("ij->i", x).tolist() == [300, 300]
    assert ingot.unravel_index(ingot.tensor([5], dtype=ingot.int8), (4, 1000))[1].dtype is ingot.int64
    assert ingot.square(ingot.tensor([True])).dtype is ingot.int64


@pytest.mark.parametrize("d", ["float16", "bfloat16"])
@pytest.mark.parametrize("fn", [lambda x: x + 0.1, lambda x: 0.3 - x, lambda x: x <= 0.1, lambda x: x == 0.3, lambda x: x > 0.7,
                                lambda x: x * 0.1, lambda x: x / 0.3, lambda x: ingot.maximum(x, ingot.full_like(x, 0.7)),
                                lambda x: F.threshold(x, 0.1, 0.3), lambda x: F.hardshrink(x, 0.3)])
def test_traced_and_eager_code_agree_on_numbers_with_low_precision(fn, d):
    x = ingot.cat([ingot.tensor([0.1, 0.3, 0.7]), ingot.linspace(-2, 2, 40_000)]).to(getattr(ingot, d))
    traced = jit.trace(fn)
    traced(x)
    for _ in range(3):
        assert ingot.equal(traced(x), fn(x))


@pytest.mark.parametrize("dtype, alpha, expected", [("bool", 256, [1, 1]), ("bool", 0, [1, 0]), ("uint8", -1, [0, 1]),
                                                    ("uint8", 255, [0, 1]), ("int8", -128, [-127, 0])])
def test_alpha_is_a_number_of_the_sums_dtype(dtype, alpha, expected):
    kind = getattr(ingot, dtype)
    x, y = ([1, 0], [1, 1]) if dtype == "bool" else ([1, expected[1]], [1, 0])
    found = ingot.tensor(x, dtype=kind).add(ingot.tensor(y, dtype=kind), alpha=alpha)
    assert found.dtype is kind and found.tolist() == expected


def test_factors_that_no_dtype_holds_are_refused():
    with pytest.raises(TypeError, match="alpha=256 is no number"):
        ingot.ones(1, dtype=ingot.uint8).add(ingot.ones(1, dtype=ingot.uint8), alpha=256)
