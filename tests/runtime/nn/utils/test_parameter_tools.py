"""nn.utils and nn.init: clipping, vectors, fusion, parametrizations, packing, initial values."""

import copy

import numpy as np
import pytest

import ingot
import private_names  # noqa: F401
from ingot import nn
from ingot._utils import _flatten_dense_tensors, _unflatten_dense_tensors
from ingot.nn.utils import parametrize
from ingot.nn.utils import rnn as seq


def with_gradients(*values):
    out = []
    for v in values:
        p = ingot.zeros(len(v)).requires_grad_()
        p.grad = ingot.tensor(v)
        out.append(p)
    return out


@pytest.mark.parametrize("norm,total", [(2.0, 13.0), (1.0, 19.0), (float("inf"), 12.0)])
def test_gradients_are_scaled_to_a_norm(norm, total):
    a, b = with_gradients([3.0, 4.0], [12.0, 0.0])
    assert nn.utils.clip_grad_norm_([a, b], total / 2, norm).item() == pytest.approx(total)
    np.testing.assert_allclose(a.grad.numpy(), [1.5, 2], rtol=1e-5)
    nn.utils.clip_grad_norm_([a, b], 1e6)
    np.testing.assert_allclose(b.grad.numpy(), [6, 0], rtol=1e-5)


def test_the_total_norm_of_order_minus_infinity_is_the_least():
    given = [ingot.tensor(v) for v in ([3.0, -0.5], [2.0, 7.0])]
    assert nn.utils.get_total_norm(given, -float("inf")).item() == 0.5


def test_clipping_corner_cases():
    (a,) = with_gradients([float("nan"), 1.0])
    with pytest.raises(RuntimeError, match="total norm"):
        nn.utils.clip_grad_norm_(a, 1.0, error_if_nonfinite=True)
    assert nn.utils.clip_grad_norm_([ingot.ones(1).requires_grad_()], 1.0).item() == 0

    @ingot.jit.trace
    def clipped(p, g):
        p.grad = g.clone()
        return nn.utils.clip_grad_norm_(p, 1.0, error_if_nonfinite=True)

    for i in range(4):          # the norm decides by whether it is finite
        assert clipped(a, ingot.tensor([3.0 + i, 0.0])) == 3 + i
    with pytest.raises(RuntimeError, match="of the gradients is inf"):
        clipped(a, ingot.tensor([float("inf"), 0.0]))
    assert clipped.stats()["compiles"] <= 3, clipped.stats()["misses"]
    (b,) = with_gradients([-3.0, 0.5])
    nn.utils.clip_grad_value_(b, 1)
    assert b.grad.tolist() == [-1, 0.5]


@pytest.mark.parametrize("dtypes", [("float32",), ("float64",), ("float16",), ("float32", "float64", "bfloat16")])
@pytest.mark.parametrize("norm", [2.0, 1.0, float("inf")])
def test_many_gradients_are_clipped_as_each_by_operators(norm, dtypes):
    def new_parameters():
        ingot.manual_seed(1)
        parameters = []
        for i, shape in enumerate([(), (7,), (33, 40), (0, 3), (4, 5, 6)] * 2):
            p = ingot.zeros(shape, dtype=getattr(ingot, dtypes[i % len(dtypes)])).requires_grad_()
            p.grad = ingot.randn(shape).to(p.dtype) * 3
            parameters.append(p)
        parameters[2].grad = ingot.randn(40, 33).to(parameters[2].dtype).T
        parameters[6].grad[0] = float("nan") if norm == 1.0 else 2.0
        return parameters

    def clipped(how):
        parameters = new_parameters()
        versions = [p.grad._version for p in parameters]
        how(parameters)
        assert all(p.grad._version > v for p, v in zip(parameters, versions))
        return [p.grad.double().numpy().tobytes() for p in parameters]

    def by_operators(parameters):
        total = ingot.stack([p.grad.norm(norm) for p in parameters]).norm(norm)
        scale = (2.0 / (total + 1e-6)).clamp(max=1.0)
        for p in parameters:
            p.grad.copy_(p.grad * scale.to(p.dtype))

    if len(dtypes) == 1 and norm != float("inf"):
        assert clipped(lambda parameters: nn.utils.clip_grad_norm_(parameters, 2.0, norm)) == clipped(by_operators)
    assert clipped(lambda parameters: nn.utils.clip_grad_value_(parameters, 0.5)) == clipped(
        lambda parameters: [p.grad.copy_(p.grad.clamp(-0.5, 0.5)) for p in parameters])


def test_parameters_as_a_vector():
    m = nn.Linear(2, 3)
    v = nn.utils.parameters_to_vector(m.parameters())
    assert v.shape == (9,)
    nn.utils.vector_to_parameters(ingot.arange(9.0), m.parameters())
    assert m.weight.tolist() == [[0, 1], [2, 3], [4, 5]] and m.bias.tolist() == [6, 7, 8]
    with pytest.raises(ValueError, match="9 elements"):
        nn.utils.vector_to_parameters(ingot.ones(3), m.parameters())


def test_tensors_as_a_vector():
    tensors = [ingot.arange(6.0).view(2, 3).t(), ingot.tensor(7.0), ingot.zeros(0, 2), ingot.tensor([8.0])]
    flat = _flatten_dense_tensors(tensors)
    assert flat.tolist() == [0, 3, 1, 4, 2, 5, 7, 8]
    parts = _unflatten_dense_tensors(flat, tensors)
    assert isinstance(parts, tuple) and all(ingot.equal(a, b) for a, b in zip(parts, tensors))
    flat.mul_(2)        # they are views
    assert parts[3].tolist() == [16]


@pytest.mark.parametrize("kind", ["conv", "transposed", "linear"])
def test_batch_norm_is_folded_into_the_layer_before(kind):
    ingot.manual_seed(0)
    layer = {"conv": lambda: nn.Conv2d(2, 3, 3), "transposed": lambda: nn.ConvTranspose2d(2, 3, 3),
             "linear": lambda: nn.Linear(2, 3)}[kind]().eval()
    bn = (nn.BatchNorm1d if kind == "linear" else nn.BatchNorm2d)(3).eval()
    for t, low, high in ((bn.running_mean, -1, 1), (bn.running_var, 0.5, 2), (bn.weight, 0.5, 2), (bn.bias, -1, 1)):
        t.data.uniform_(low, high)
    x = ingot.randn(*((4, 2) if kind == "linear" else (4, 2, 5, 5)))
    if kind == "linear":
        fused = nn.utils.fuse_linear_bn_eval(layer, bn)
    else:
        fused = nn.utils.fuse_conv_bn_eval(layer, bn, transpose=kind == "transposed")
    np.testing.assert_allclose(fused(x).detach().numpy(), bn(layer(x)).detach().numpy(), rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="evaluation mode"):
        (nn.utils.fuse_linear_bn_eval if kind == "linear" else nn.utils.fuse_conv_bn_eval)(layer.train(), bn)


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).t()

    def right_inverse(self, x):
        return x.triu()


class Doubled(nn.Module):
    def forward(self, x):
        return 2 * x

    def right_inverse(self, x):
        return x / 2


def test_a_parametrized_weight_is_computed_and_trained():
    m = nn.Linear(3, 3)
    before = m.weight.detach().clone()
    parametrize.register_parametrization(m, "weight", Symmetric())
    assert parametrize.is_parametrized(m, "weight") and not parametrize.is_parametrized(m, "bias")
    np.testing.assert_array_equal(m.weight.detach().numpy(), m.weight.detach().numpy().T)
    np.testing.assert_array_equal(m.weight.triu().detach().numpy(), before.triu().numpy())
    assert sorted(m.state_dict()) == ["bias", "parametrizations.weight.original"]
    m(ingot.ones(1, 3)).sum().backward()
    assert m.parametrizations.weight.original.grad is not None
    m.weight = ingot.eye(3)
    np.testing.assert_array_equal(m.weight.detach().numpy(), np.eye(3))
    assert type(m).__name__ == "ParametrizedLinear" and isinstance(m, nn.Linear)
    parametrize.remove_parametrizations(m, "weight")
    assert type(m) is nn.Linear and isinstance(m.weight, nn.Parameter) and m.weight.requires_grad


def test_parametrizations_are_chained_copied_and_cached():
    m = nn.Linear(2, 2)
    w = m.weight.detach().clone()
    parametrize.register_parametrization(m, "weight", Doubled())
    parametrize.register_parametrization(m, "weight", Doubled())
    np.testing.assert_allclose(m.weight.detach().numpy(), w.numpy() * 2, rtol=1e-6)     # of the value so far
    np.testing.assert_allclose(m.parametrizations.weight.original.detach().numpy(), w.numpy() / 2, rtol=1e-6)
    m.weight = w
    np.testing.assert_allclose(m.parametrizations.weight.original.detach().numpy(), w.numpy() / 4, rtol=1e-6)
    other = copy.deepcopy(m)
    other.parametrizations.weight.original.data.zero_()
    assert m.weight.detach().numpy().any() and not other.weight.detach().numpy().any()
    with parametrize.cached():
        assert m.weight is m.weight
    assert m.weight is not m.weight
    with pytest.raises(ValueError, match="no parameter or buffer"):
        parametrize.register_parametrization(m, "nothing", Doubled())


class By(nn.Module):
    """A parametrization made of two functions."""

    def __init__(self, forward, right_inverse=None):
        super().__init__()
        self.way = forward
        if right_inverse is not None:
            self.right_inverse = right_inverse

    def forward(self, x):
        return self.way(x)


WRONG = {
    "several": (lambda x: (x, x), None, "must give a tensor, got tuple"),
    "dtype": (lambda x: x.double(), None, "keep shape and dtype"),
    "shape": (lambda x: x[:-1], None, "keep shape and dtype"),
    "inverse of several": (lambda x: x, lambda x: (x, x), "right_inverse .* must give a tensor"),
    "inverse of another dtype": (lambda x: x, lambda x: x.double(), "right_inverse .* keep shape and dtype"),
    "inverse of another shape": (lambda x: x, lambda x: x[:-1], "right_inverse .* keep shape and dtype"),
}


@pytest.mark.parametrize("name", WRONG)
def test_parametrizations_that_change_shapes_are_refused(name):
    forward, right_inverse, message = WRONG[name]
    m = nn.Linear(3, 4)
    parametrize.register_parametrization(m, "weight", By(lambda x: x + 1))
    before = m.weight.tolist()
    with pytest.raises(ValueError, match=message):
        parametrize.register_parametrization(m, "weight", By(forward, right_inverse))
    assert len(m.parametrizations.weight) == 1 and m.weight.tolist() == before
    if right_inverse is None:
        parametrize.register_parametrization(m, "weight", By(forward), unsafe=True)
        assert m.parametrizations.weight.unsafe and len(m.parametrizations.weight) == 2


def test_further_parametrizations_follow_those_without_an_inverse():
    m = nn.Linear(3, 4)
    w = m.weight.detach().clone()
    parametrize.register_parametrization(m, "weight", By(lambda x: x + 1))
    parametrize.register_parametrization(m, "weight", Doubled())
    np.testing.assert_allclose(m.weight.detach().numpy(), (w.numpy() + 1) * 2, rtol=1e-6)


def test_spectral_norm_bounds_the_largest_singular_value():
    ingot.manual_seed(0)
    m = nn.utils.parametrizations.spectral_norm(nn.Linear(6, 4), n_power_iterations=30)
    assert np.linalg.svd(m.weight.detach().numpy(), compute_uv=False)[0] == pytest.approx(1, rel=1e-3)
    old = nn.utils.spectral_norm(nn.Linear(6, 4), n_power_iterations=30)
    old(ingot.ones(1, 6)).sum().backward()
    assert old.weight_orig.grad is not None
    nn.utils.remove_spectral_norm(old)
    assert np.linalg.svd(old.weight.detach().numpy(), compute_uv=False)[0] == pytest.approx(1, rel=1e-3)


MAPS = ["matrix_exp", "cayley", "householder"]
MATRICES = [(4, 4), (5, 3), (3, 5), (2, 4, 3)]


def exponential(a):
    values, vectors = np.linalg.eigh(1j * a)
    return ((vectors * np.exp(-1j * values)[..., None, :]) @ vectors.conj().swapaxes(-1, -2)).real


def reflections(x):
    q = np.eye(len(x))
    for v in np.tril(x, -1).T + np.eye(*x.shape).T:
        q = q @ (np.eye(len(x)) - 2 * np.outer(v, v) / (v @ v))
    return q[:, :x.shape[1]] * np.sign(np.diag(x))


def skew(x):
    n, k = x.shape
    lower = np.pad(np.tril(x), ((0, 0), (0, n - k)))
    return lower - lower.T


def cayley(a):
    return np.linalg.solve(np.eye(len(a)) - a / 2, np.eye(len(a)) + a / 2)


MAPS_IN_NUMPY = {"matrix_exp": lambda x: exponential(skew(x))[:, :x.shape[1]], "householder": reflections,
                 "cayley": lambda x: cayley(skew(x))[:, :x.shape[1]]}


def a_matrix(shape, dtype=ingot.float64):
    m = nn.Module()
    m.weight = nn.Parameter(ingot.randn(shape, dtype=dtype))
    return m


def assert_orthogonal(w):
    w = w.detach() if w.shape[-2] >= w.shape[-1] else w.detach().mT
    assert ingot.allclose(w.mH @ w, ingot.eye(w.shape[-1], dtype=w.dtype), atol=1e-9)


@pytest.mark.parametrize("trace", [False, True])
@pytest.mark.parametrize("orthogonal_map", MAPS)
@pytest.mark.parametrize("shape", MATRICES)
def test_orthogonal_parametrization_stays_orthogonal(shape, orthogonal_map, trace):
    ingot.manual_seed(0)
    m = a_matrix(shape)
    plain = m.weight.detach().clone()
    nn.utils.parametrizations.orthogonal(m, "weight", orthogonal_map)
    signs = (m.weight * plain).sum()                    # it starts from the orthogonal part of the old weight
    assert_orthogonal(m.weight)
    assert signs > 0 and sorted(m.state_dict()) == ["parametrizations.weight.0.base", "parametrizations.weight.original"]
    opt = ingot.optim.SGD(m.parameters(), lr=0.1)

    def step():
        opt.zero_grad()
        ((m.weight - 1) ** 3).sum().backward()
        opt.step()

    step, before = (ingot.jit.trace(step) if trace else step), m.weight.detach().clone()
    for _ in range(3):
        step()
    assert_orthogonal(m.weight)
    assert not ingot.allclose(m.weight, before, atol=1e-3)


@pytest.mark.parametrize("orthogonal_map", MAPS)
@pytest.mark.parametrize("shape", [(4, 4), (5, 3)])
def test_orthogonal_maps_use_their_formulas(shape, orthogonal_map):
    ingot.manual_seed(0)
    m = nn.utils.parametrizations.orthogonal(a_matrix(shape), "weight", orthogonal_map)
    chain, rng = m.parametrizations.weight, np.random.default_rng(0)
    x = rng.standard_normal(shape)
    x[np.arange(shape[1]), np.arange(shape[1])] = np.sign(rng.standard_normal(shape[1]))
    chain.original.data.copy_(ingot.from_numpy(x))
    np.testing.assert_allclose(m.weight.detach().numpy(), chain[0].base.numpy() @ MAPS_IN_NUMPY[orthogonal_map](x), atol=1e-12)


def test_orthogonal_without_a_base_is_assigned_through_reflections_alone():
    ingot.manual_seed(0)
    m = nn.utils.parametrizations.orthogonal(a_matrix((5, 3)), use_trivialization=False)
    goal = ingot.linalg.qr(ingot.randn(5, 3, dtype=ingot.float64))[0]
    m.weight = goal
    assert ingot.allclose(m.weight, goal) and list(m.state_dict()) == ["parametrizations.weight.original"]
    free = nn.utils.parametrizations.orthogonal(a_matrix((4, 4)), orthogonal_map="cayley", use_trivialization=False)
    assert_orthogonal(free.weight)
    with pytest.raises(NotImplementedError, match="cayley and use_trivialization=False"):
        free.weight = ingot.eye(4, dtype=ingot.float64)


@pytest.mark.parametrize("orthogonal_map", [None, "matrix_exp", "cayley"])
@pytest.mark.parametrize("shape", MATRICES)
def test_unitary_matrices(shape, orthogonal_map):
    ingot.manual_seed(0)
    m = nn.utils.parametrizations.orthogonal(a_matrix(shape, ingot.complex128), "weight", orthogonal_map)
    assert_orthogonal(m.weight)
    m.parametrizations.weight.original.data.add_(ingot.randn(shape, dtype=ingot.complex128))
    assert_orthogonal(m.weight)


def test_orthogonal_refuses_wrong_arguments():
    orthogonal = nn.utils.parametrizations.orthogonal
    linear = nn.Linear(2, 2)
    for match, m, args in [("one of 'matrix_exp', 'cayley', 'householder', got 'qr'", linear, ("weight", "qr")),
                           ("matrix or a batch", linear, ("bias",)), ("Linear has no parameter", linear, ("w",)),
                           ("complex matrices", a_matrix((2, 2), ingot.complex64), ("weight", "householder"))]:
        with pytest.raises(ValueError, match=match):
            orthogonal(m, *args)


def test_weight_norm_of_a_vector_has_a_norm_for_each_element():
    old, new = nn.Linear(2, 3), nn.Linear(2, 3)
    new.load_state_dict(old.state_dict())
    want = old.bias.tolist()
    nn.utils.weight_norm(old, "bias")
    nn.utils.parametrizations.weight_norm(new, "bias")
    assert old.bias_g.tolist() == new.parametrizations.bias.original0.tolist() == [abs(b) for b in want]
    assert old.bias.tolist() == new.bias.tolist() == pytest.approx(want)


def test_weight_norm_and_its_removal():
    m = nn.Linear(3, 2)
    w = m.weight.detach().numpy().copy()
    nn.utils.weight_norm(m)
    assert sorted(m.state_dict()) == ["bias", "weight_g", "weight_v"] and m.weight_g.shape == (2, 1)
    m.weight_g.data.mul_(2)
    m(ingot.ones(1, 3))
    np.testing.assert_allclose(m.weight.detach().numpy(), 2 * w, rtol=1e-5)
    nn.utils.remove_weight_norm(m)
    assert sorted(m.state_dict()) == ["bias", "weight"]


# Sequences.


def test_packing_round_trips():
    rows = [ingot.arange(float(n)).reshape(n, 1) + 10 * n for n in (2, 4, 1)]
    padded = seq.pad_sequence(rows, batch_first=True, padding_value=-1)
    assert padded.shape == (3, 4, 1) and padded[2, 1, 0].item() == -1
    assert seq.pad_sequence(rows, padding_side="left")[0, 0, 0].item() == 0
    packed = seq.pack_sequence(rows, enforce_sorted=False)
    assert packed.batch_sizes.tolist() == [3, 2, 1, 1] and packed.sorted_indices.tolist() == [1, 0, 2]
    back, lengths = seq.pad_packed_sequence(packed, batch_first=True, padding_value=-1)
    np.testing.assert_array_equal(back.numpy(), padded.numpy())
    assert lengths.tolist() == [2, 4, 1]
    for a, b in zip(seq.unpack_sequence(packed), rows):
        np.testing.assert_array_equal(a.numpy(), b.numpy())
    assert seq.pad_packed_sequence(packed, total_length=6)[0].shape == (6, 3, 1)
    with pytest.raises(ValueError, match="lengths that fall"):
        seq.pack_sequence(rows)
    with pytest.raises(ValueError, match="total_length"):
        seq.pad_packed_sequence(packed, total_length=2)


def test_packing_carries_gradients():
    x = ingot.ones(3, 2, 1).requires_grad_()
    packed = seq.pack_padded_sequence(x, [3, 1])
    (seq.pad_packed_sequence(packed)[0] * 2).sum().backward()
    assert x.grad[:, :, 0].tolist() == [[2, 2], [2, 0], [2, 0]]


# Initial values.


def test_orthogonal_eye_dirac_and_sparse():
    q = nn.init.orthogonal_(ingot.empty(5, 3), gain=2.0).numpy()
    np.testing.assert_allclose(q.T @ q, 4 * np.eye(3), atol=1e-5)
    np.testing.assert_array_equal(nn.init.eye_(ingot.empty(2, 3)).numpy(), np.eye(2, 3))
    kernel = nn.init.dirac_(ingot.empty(4, 2, 3, 3), groups=2)
    x = ingot.randn(1, 4, 5, 5)
    np.testing.assert_allclose(nn.functional.conv2d(x, kernel, padding=1, groups=2).numpy(), x.numpy(), rtol=1e-6)
    zeros = (nn.init.sparse_(ingot.empty(10, 4), 0.3).numpy() == 0).sum(0)
    assert (zeros == 3).all()


def test_gains_and_bad_arguments():
    assert nn.init.calculate_gain("leaky_relu", 0.2) == pytest.approx((2 / 1.04) ** 0.5)
    assert nn.init.calculate_gain("tanh") == pytest.approx(5 / 3)
    with pytest.raises(ValueError, match="unsupported nonlinearity"):
        nn.init.calculate_gain("nothing")
    with pytest.raises(ValueError, match="2 dimensions"):
        nn.init.xavier_uniform_(ingot.empty(3))
    with pytest.warns(FutureWarning, match="deprecated"):
        nn.init.xavier_uniform(ingot.empty(3, 3))


def test_truncated_normal_stays_in_its_bounds():
    ingot.manual_seed(0)
    t = nn.init.trunc_normal_(ingot.empty(10000), mean=1.0, std=2.0, a=0.0, b=2.0).numpy()
    assert t.min() >= 0 and t.max() <= 2 and abs(t.mean() - 1) < 0.03


def test_states_of_the_older_weight_norm_are_loaded():
    """Checkpoints of audio models use these names."""
    old = nn.utils.weight_norm(nn.Linear(4, 3))
    state = old.state_dict()
    new = nn.utils.parametrizations.weight_norm(nn.Linear(4, 3))
    new.load_state_dict(state)
    assert set(state) == {"weight_g", "weight_v", "bias"}
    assert (new(ingot.ones(4)) - old(ingot.ones(4))).abs().max() < 1e-6
    again = copy.deepcopy(new)
    again.load_state_dict(new.state_dict())
    again.load_state_dict(state)


def test_the_parameter_of_a_removed_parametrization_is_the_one_that_optimizers_know():
    class Symmetric(nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).mT

    layer = nn.Linear(3, 3)
    parametrize.register_parametrization(layer, "weight", Symmetric())
    original, value = layer.parametrizations.weight.original, layer.weight.detach().clone()
    parametrize.remove_parametrizations(layer, "weight")
    assert layer.weight is original and ingot.equal(layer.weight, value)
