"""Complex numbers and Fourier transforms: values as numpy has them, gradients by differences, the same when traced."""

import numpy as np
import pytest

import ingot
from ingot import jit, nn
from ingot.ir.errors import ArgumentError, DTypeError, IngotError, ShapeError
from outcomes import plain

NORMS = (None, "ortho", "forward")


def pairs(*shape, seed=0):
    """Return real numbers for `view_as_complex`, which gives a tensor of this shape."""
    return np.random.default_rng([seed, *shape]).standard_normal((*shape, 2)) + 0.1


def weighed(out):
    """Return a real number that depends on all real and imaginary parts of a result, each with its own weight."""
    flat = ingot.view_as_real(out) if out.is_complex() else out
    weights = np.random.default_rng(5).standard_normal(tuple(flat.shape))
    return (flat * ingot.tensor(weights)).sum()


GRADIENTS = {
    "mul": lambda z, w: z * w,
    "div": lambda z, w: z / w,
    "power": lambda z, w: z**3 + w ** (1 + 0.5j),
    "power of both": lambda z, w: z ** w,
    "inverse functions": lambda z, w: z.acosh() + w.acos() * z.asinh() + w.atanh() * z.asin() + z.atan(),
    "covariance": lambda z, w: ingot.cov(z) + ingot.corrcoef(w),
    "renorm": lambda z, w: ingot.renorm(z, 2, 0, 0.5) * w,
    "l1_loss": lambda z, w: nn.functional.l1_loss(z, w, reduction="none"),
    "matmul": lambda z, w: z @ w.T,
    "einsum": lambda z, w: ingot.einsum("ij,kj->ik", z, w),
    "outer": lambda z, w: ingot.outer(z[0], w[1]),
    "exp": lambda z, w: z.exp() + w.sin() * z.tanh(),
    "log": lambda z, w: z.log() + w.sqrt(),
    "sigmoid": lambda z, w: z.sigmoid(),
    "abs": lambda z, w: z.abs() * w.abs(),
    "logaddexp": lambda z, w: ingot.logaddexp(z, w),
    "lerp": lambda z, w: ingot.lerp(z, w, w * z),
    "angle": lambda z, w: z.angle(),
    "conj": lambda z, w: z.conj() * w,
    "real": lambda z, w: z.real * w.imag,
    "sgn": lambda z, w: z.sgn(),
    "adjoint": lambda z, w: z.mH @ w,
    "numbers": lambda z, w: (2 + 1j) * z - w * 3j + 1,
    "real operand": lambda z, w: z * w.real + z.imag / w,
    "parts": lambda z, w: ingot.complex(z.real * 2, w.imag),
    "polar": lambda z, w: ingot.polar(z.abs(), w.real),
    "cast": lambda z, w: z.real.to(ingot.complex128) * w,
    "sum": lambda z, w: z.sum(0) * w.mean(),
    "prod": lambda z, w: z.prod(1),
    "cumsum": lambda z, w: z.cumsum(1) * w,
    "index": lambda z, w: z[1:, ::2] * w[0, 0],
    "where": lambda z, w: ingot.where(z.real > 0, z, w),
    "cat": lambda z, w: ingot.cat([z, w * 1j], 1),
    "norm": lambda z, w: z.norm(),
    "var": lambda z, w: z.var(1) + w.std(),
    "written": lambda z, w: (lambda out: (out.__setitem__((slice(None), 0), z[:, 0] * w[:, 1]), out * 1j)[1])(z * 2),
    "vdot": lambda z, w: ingot.vdot(z[0], w[0]) + ingot.linalg.vecdot(z, w).sum(),
    "several results": lambda z, w: sum(part.sum() * (i + 1j) for i, part in enumerate((z * w).unbind(1))),
    "rotary": lambda z, w: ingot.view_as_real(z * ingot.polar(ingot.ones(3, dtype=ingot.float64), ingot.arange(3.0).double())),
    "spectral convolution": lambda z, w: ingot.fft.irfft2(ingot.fft.rfft2(z.real) * w[:, :2], s=(2, 3)),
}


def _positive(z):
    return z @ z.mH + ingot.eye(2, dtype=ingot.float64)


def _joined(*parts):
    return sum((part.sum() * (i + 1 + 0.5j) for i, part in enumerate(parts)))


LINALG = {
    "inv": lambda z, w: ingot.linalg.inv(z @ w.T), "det": lambda z, w: ingot.linalg.det(z @ w.T),
    "slogdet": lambda z, w: _joined(*ingot.linalg.slogdet(z @ w.T)), "pinv": lambda z, w: ingot.linalg.pinv(z) @ w,
    "solve": lambda z, w: ingot.linalg.solve(z @ w.T, w), "solve_ex": lambda z, w: ingot.linalg.solve_ex(z @ w.T, w)[0],
    "inv_ex": lambda z, w: ingot.linalg.inv_ex(z @ w.T)[0], "cholesky": lambda z, w: ingot.linalg.cholesky(_positive(z)),
    "cholesky_ex": lambda z, w: ingot.linalg.cholesky_ex(_positive(z), upper=True)[0],
    "qr": lambda z, w: _joined(*ingot.linalg.qr(z.T)), "qr of wide ones": lambda z, w: _joined(*ingot.linalg.qr(z)),
    "svd": lambda z, w: (lambda u, s, vh: _joined(u.abs(), s, vh.abs(), u @ vh))(*ingot.linalg.svd(z, full_matrices=False)),
    "svdvals": lambda z, w: ingot.linalg.svdvals(z.T), "eigvalsh": lambda z, w: ingot.linalg.eigvalsh(_positive(z)),
    "eigh": lambda z, w: (lambda e, v: _joined(e, v.abs(), (v * e.exp()) @ v.mH))(*ingot.linalg.eigh(_positive(z))),
    "eig": lambda z, w: (lambda e, v: _joined(e.square(), v.abs()))(*ingot.linalg.eig(z @ w.T)),
    "eig of real ones": lambda z, w: (lambda e, v: _joined(e.square(), v.abs()))(*ingot.linalg.eig(z.real @ w.imag.T)),
    "eigvals": lambda z, w: ingot.linalg.eigvals(z @ w.T).square().sum(),
    "polar": lambda z, w: _joined(*ingot.linalg.polar(z.T)),
    "matrix_sqrth": lambda z, w: ingot.linalg.matrix_sqrth(_positive(z)),
    "lu": lambda z, w: _joined(*ingot.linalg.lu(z)[1:]), "lu of tall ones": lambda z, w: _joined(*ingot.linalg.lu(z.T)[1:]),
    "lu_solve": lambda z, w: ingot.linalg.lu_solve(*ingot.linalg.lu_factor(z @ w.T), w, adjoint=True),
    "triangular": lambda z, w: ingot.linalg.solve_triangular(z @ w.T, w, upper=True),
    "reflections": lambda z, w: ingot.linalg.householder_product(z.T, w[:, 0]) @ w,
    "ormqr": lambda z, w: ingot.ormqr(z.T, w[:, 0], w.T, transpose=True), "matrix_exp": lambda z, w: ingot.matrix_exp(z @ w.T),
}
SCANS = {"logcumsumexp": lambda z, w: ingot.logcumsumexp(z, 1) * ingot.logcumsumexp(w, 0),
         "cumprod": lambda z, w: z.cumprod(0) * w.cumprod(1)}
GRADIENTS.update(LINALG | SCANS)
for _name in ("fft", "ifft", "hfft", "irfft"):
    for _norm in NORMS:
        for _n in (None, 2, 5):
            GRADIENTS[f"{_name} {_norm} {_n}"] = lambda z, w, f=_name, k=_norm, n=_n: getattr(ingot.fft, f)(z, n, norm=k)
for _name in ("rfft", "ihfft"):
    for _norm in NORMS:
        for _n in (None, 2, 6):
            GRADIENTS[f"{_name} {_norm} {_n}"] = lambda z, w, f=_name, k=_norm, n=_n: (
                getattr(ingot.fft, f)(z.real, n, norm=k) * w[0, 0]
            )
for _name in ("fftn", "ifft2", "irfftn"):
    GRADIENTS[_name] = lambda z, w, f=_name: getattr(ingot.fft, f)(z, s=(3, 4), norm="ortho")
GRADIENTS["hfftn"] = lambda z, w: ingot.fft.hfftn(z, s=(3, 4), norm="ortho")
GRADIENTS["ihfft2"] = lambda z, w: ingot.fft.ihfft2(z.real, s=(3, 4)) * w[0, 0]
GRADIENTS["rfftn"] = lambda z, w: ingot.fft.rfftn(z.real, dim=(1, 0))


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_agree_with_differences(name, order):
    rng = np.random.default_rng(order)
    at = [pairs(2, 3), pairs(2, 3, seed=1)]
    directions, inner = ([rng.standard_normal(a.shape) for a in at] for _ in range(2))

    def value(arrays):
        leaves = [ingot.tensor(a, requires_grad=True) for a in arrays]
        total = weighed(GRADIENTS[name](*map(ingot.view_as_complex, leaves)))
        if order == 2:
            grads = ingot.autograd.grad(total, leaves, create_graph=True, allow_unused=True)
            total = sum(
                ((g * ingot.tensor(i)).sum() for g, i in zip(grads, inner) if g is not None),
                ingot.zeros((), dtype=ingot.float64),
            )
        return leaves, total

    leaves, total = value(at)
    slope = 0.0
    if total.requires_grad:
        grads = ingot.autograd.grad(total, leaves, allow_unused=True)
        slope = sum(float((g.numpy() * d).sum()) for g, d in zip(grads, directions) if g is not None)
    eps = 1e-5
    up, down = (value([a + sign * eps * d for a, d in zip(at, directions)])[1].item() for sign in (1, -1))
    numeric = (up - down) / (2 * eps)
    assert slope == pytest.approx(numeric, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("name", GRADIENTS)
def test_traced_is_eager(name):
    def step(x, y):
        leaves = [x.clone().requires_grad_(), y.clone().requires_grad_()]
        out = GRADIENTS[name](*map(ingot.view_as_complex, leaves))
        return (out, *ingot.autograd.grad(weighed(out), leaves, allow_unused=True))

    args = ingot.tensor(pairs(2, 3)), ingot.tensor(pairs(2, 3, seed=1))
    want, traced = step(*args), jit.trace(step)
    for _ in range(3):
        for a, b in zip(traced(*args), want):
            assert (a is None) == (b is None)
            if a is not None:
                np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-12, atol=1e-12)


def test_the_gradient_of_a_complex_number_is_that_of_both_parts():
    z = ingot.tensor([3 + 4j, 0j], requires_grad=True)
    z.abs().sum().backward()
    np.testing.assert_allclose(z.grad.numpy(), [0.6 + 0.8j, 0])


@pytest.mark.parametrize(("name", "dims"), [("hfft2", (-2, -1)), ("hfftn", (0, 2)), ("hfftn", None)])
@pytest.mark.parametrize("norm", NORMS)
def test_hermitian_transforms_along_dims_are_one_after_the_other(name, dims, norm):
    z = ingot.complex(*(ingot.tensor(np.random.default_rng(i).standard_normal((3, 4, 5))) for i in (1, 2)))
    along = {} if dims is None else {"dim": dims}
    *others, last = dims or (0, 1, 2)
    want = ingot.fft.hfft(ingot.fft.fftn(z, dim=others, norm=norm), dim=last, norm=norm)
    got = getattr(ingot.fft, name)(z, norm=norm, **along)
    np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-10, atol=1e-10)
    back = getattr(ingot.fft, "i" + name)(got, norm=norm, **along)      # half of numbers with the symmetry
    np.testing.assert_allclose(getattr(ingot.fft, name)(back, norm=norm, **along).numpy(), got.numpy(), rtol=1e-10, atol=1e-10)
    out = ingot.empty(0, dtype=ingot.float64)
    assert getattr(ingot.fft, name)(z, norm=norm, out=out, **along) is out and ingot.equal(out, got)


@pytest.mark.parametrize(
    "name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fftn", "ifftn", "rfftn", "irfftn", "fft2", "rfft2"]
)
@pytest.mark.parametrize("dtype", [ingot.float32, ingot.float64])
def test_transforms_are_numpys(name, dtype):
    real = name in ("rfft", "ihfft", "rfftn", "rfft2")
    x = np.random.default_rng(1).standard_normal((3, 4, 5)) + (
        0 if real else 1j * np.random.default_rng(2).standard_normal((3, 4, 5))
    )
    t = ingot.tensor(x).to(dtype if real else ingot.complex64 if dtype is ingot.float32 else ingot.complex128)
    ours, theirs = getattr(ingot.fft, name), getattr(np.fft, name)
    several = name[-1] in "n2"
    for sizes in (None, (6, 2) if several else 7, (2, 3) if several else 3):
        axes = {} if not several else {"dim": (0, 2)} if name[-1] == "n" else {}
        numpys = {} if not several else {"axes": axes.get("dim", (-2, -1))}
        for norm in NORMS:
            want = theirs(x, sizes, norm=norm, **numpys)
            got = ours(t, sizes, norm=norm, **axes)
            assert got.dtype.itemsize == dtype.itemsize * (2 if got.is_complex() else 1)
            np.testing.assert_allclose(got.numpy(), want, rtol=1e-4, atol=1e-4 if dtype is ingot.float32 else 1e-12)


def test_frequencies_and_shifts():
    for n in (1, 4, 5):
        np.testing.assert_allclose(ingot.fft.fftfreq(n, 0.5).numpy(), np.fft.fftfreq(n, 0.5), rtol=1e-6)
        np.testing.assert_allclose(ingot.fft.rfftfreq(n, 2.0).numpy(), np.fft.rfftfreq(n, 2.0), rtol=1e-6)
        x = np.arange(3.0 * n).reshape(3, n)
        for dim in (None, 1, (0, 1)):
            assert plain(ingot.fft.fftshift(ingot.tensor(x), dim)) == plain(ingot.tensor(np.fft.fftshift(x, dim)))
            assert plain(ingot.fft.ifftshift(ingot.tensor(x), dim)) == plain(ingot.tensor(np.fft.ifftshift(x, dim)))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"center": False},
        {"hop_length": 3},
        {"win_length": 6},
        {"normalized": True},
        {"onesided": False},
        {"pad_mode": "constant"},
        {"pad_mode": "replicate"},
        {"pad_mode": "circular"},
    ],
)
def test_short_time_transforms(options):
    x = ingot.randn(2, 40, dtype=ingot.float64)
    window = ingot.hann_window(options.get("win_length", 8), dtype=ingot.float64) + 0.1
    spectra = ingot.stft(x, 8, window=window, return_complex=True, **options)
    hop, weights = options.get("hop_length", 2), np.pad(window.numpy(), (8 - len(window)) // 2)
    modes = {"replicate": "edge", "circular": "wrap"}
    rows = (
        x.numpy()
        if options.get("center") is False
        else np.pad(x.numpy(), ((0, 0), (4, 4)), modes.get(options.get("pad_mode"), options.get("pad_mode", "reflect")))
    )
    frames = np.stack([rows[:, i : i + 8] * weights for i in range(0, rows.shape[1] - 7, hop)], 1)
    whole = np.fft.fft(frames, norm="ortho" if "normalized" in options else None)
    want = whole if "onesided" in options else whole[..., :5]
    np.testing.assert_allclose(spectra.numpy(), want.transpose(0, 2, 1), atol=1e-12)
    assert ingot.stft(x[0], 8, window=window, return_complex=False, **options).shape == (*want.transpose(0, 2, 1).shape[1:], 2)
    back = {k: v for k, v in options.items() if k != "pad_mode"}
    found = ingot.istft(spectra, 8, window=window, **back)
    np.testing.assert_allclose(found.numpy(), x.numpy()[:, : found.shape[1]], atol=1e-10)


def test_short_time_transforms_of_complex_numbers():
    z, window = ingot.view_as_complex(ingot.tensor(pairs(40))), ingot.hann_window(8, dtype=ingot.float64) + 0.1
    spectra = ingot.stft(z, 8, window=window, return_complex=True)
    assert spectra.shape[0] == 8
    np.testing.assert_allclose(ingot.istft(spectra, 8, window=window, return_complex=True).numpy(), z.numpy(), atol=1e-10)
    whole, half = (ingot.stft(z.real, 8, window=window, onesided=s, return_complex=True) for s in (False, True))
    np.testing.assert_allclose(*[ingot.istft(s, 8, window=window).numpy() for s in (whole, half)], atol=1e-12)
    with pytest.raises(ArgumentError, match="8 frequencies, not 5"):
        ingot.istft(half, 8, window=window, return_complex=True)


@pytest.mark.parametrize("n_fft, length", [(8, 8), (8, 4), (8, 5), (9, 4)])
def test_stft_begins_with_the_window_at_the_first_number(n_fft, length):
    x = np.random.default_rng(3).standard_normal(23)
    window, before = np.hanning(length), (n_fft - length) // 2
    rows = [np.pad(x[at:at + length] * window, (before, n_fft - length - before)) for at in range(0, 24 - length, 3)]
    found = ingot.stft(ingot.tensor(x), n_fft, 3, length, ingot.tensor(window), center=False, align_to_window=True,
                       return_complex=True)
    np.testing.assert_allclose(found.numpy().T, np.fft.rfft(rows), atol=1e-12)
    with pytest.raises(ValueError, match="align_to_window goes with center=False"):
        ingot.stft(ingot.tensor(x), n_fft, align_to_window=True, return_complex=True)



def test_equal_complex_numbers_have_a_spread_with_the_gradient_zero():
    z = ingot.full((3,), 1 + 2j, requires_grad=True)
    z.std().backward()
    assert (z.grad == 0).all()


REFUSED = {
    "imag of real": (lambda: ingot.ones(2).imag, DTypeError),
    "a last dimension of 3": (lambda: ingot.view_as_complex(ingot.ones(3)), ShapeError),
    "pairs of half": (lambda: ingot.view_as_complex(ingot.ones(3, 2).half()), DTypeError),
    "half": (lambda: ingot.fft.fft(ingot.ones(2, dtype=ingot.float16)), DTypeError),
    "rfft of complex": (lambda: ingot.fft.rfft(ingot.ones(2) * 1j), DTypeError),
    "nothing": (lambda: ingot.fft.fft(ingot.ones(3, 0)), ShapeError),
    "norm": (lambda: ingot.fft.fft(ingot.ones(3), norm="half"), IngotError),
    "one dim twice": (lambda: ingot.fft.fftn(ingot.ones(3, 3), dim=(0, -2)), IngotError),
    "erf": (lambda: ingot.erf(ingot.ones(3) * 1j), DTypeError),
    "parts of half": (lambda: ingot.complex(ingot.ones(2).half(), ingot.ones(2).half()), DTypeError),
    "a length of half": (lambda: ingot.polar(ingot.ones(2).half(), ingot.ones(2).half()), DTypeError),
    "writing a part": (lambda: (ingot.ones(3) * 1j).real.zero_(), ShapeError),
    "stft without saying": (lambda: ingot.stft(ingot.ones(40), 8), IngotError),
    "windows with gaps": (
        lambda: ingot.istft(
            ingot.stft(ingot.ones(40), 8, 8, window=ingot.hann_window(8), return_complex=True),
            8,
            8,
            window=ingot.hann_window(8),
        ),
        IngotError,
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refusals(what):
    call, error = REFUSED[what]
    with pytest.raises(error):
        call()


def test_resolving_a_conjugate_changes_nothing():
    z = ingot.view_as_complex(ingot.tensor(pairs(3)))
    for x in (z, z.conj()):
        assert (x.resolve_conj() == x).all()


@pytest.mark.parametrize("part", [ingot.view_as_real, lambda z: z.real, lambda z: z.imag])
@pytest.mark.parametrize("kind", [nn.Parameter, nn.Buffer])
def test_parts_of_complex_numbers_can_be_trained(part, kind):
    z = ingot.complex(ingot.ones(2, 3), ingot.ones(2, 3))
    own = kind(part(z))
    if own.requires_grad:
        (own * 2).sum().backward()
        ingot.optim.Adam([own], 0.5).step()
    else:
        own.sub_(0.5)
    np.testing.assert_allclose(own.detach().numpy(), np.full(own.shape, 0.5), rtol=1e-6)
    assert part(z).min() == 1.0


def test_any_part_counts_for_a_bool():
    z = ingot.tensor([1j, 0, 2, -0.0j])
    assert z.bool().tolist() == z.to(ingot.bool).tolist() == z.tile(20000)[:4].bool().tolist() == [True, False, True, False]
    assert jit.trace(lambda z: z.bool())(z).tolist() == [True, False, True, False]


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("part", ["real", "imag"])
@pytest.mark.parametrize("value", ["number", "tensor", "one for all rows"])
def test_parts_are_set(part, value, traced):
    given = np.random.default_rng(4).standard_normal((2, 3, 2)) @ [1, 1j]
    rows = ingot.arange(6, dtype=ingot.float64).view(2, 3)
    new = {"number": 2.5, "tensor": rows.float(), "one for all rows": rows[1]}[value]

    def change(z):
        z = z * 1
        setattr(z, part, new)
        return z

    run = jit.trace(change) if traced else change
    want = given.copy()
    setattr(want, part, new.numpy() if value != "number" else new)
    for _ in range(1 + traced):
        np.testing.assert_array_equal(run(ingot.tensor(given)).numpy(), want)


def test_gradients_of_parts_that_are_set():
    z, r = ingot.tensor([1 + 2j, 3 + 4j], requires_grad=True), ingot.tensor([5.0, 6.0], requires_grad=True)
    w = z * 1
    w.real = r
    (w.real * 2 + w.imag * 3).sum().backward()
    assert z.grad.tolist() == [3j, 3j] and r.grad.tolist() == [2, 2]
    x = ingot.ones(2)
    x.real = 3
    assert x.tolist() == [3, 3]
    with pytest.raises(RuntimeError, match="imag takes a complex tensor"):
        x.imag = 3
