"""Fourier transforms and complex numbers in ONNX models: done to real and imaginary parts, with what onnxruntime gives."""

import numpy as np
import pytest

pytest.importorskip("onnx", reason="needs the onnx package")

import onnx

import ingot
from ingot.jit import ExportError, from_onnx, to_onnx

WINDOW = ingot.hann_window(16)
MEL = ingot.rand(9, 6)


def spectrum(x):
    return ingot.stft(x, 16, 8, window=WINDOW, return_complex=True)


def log_mel(x):
    bands = ((spectrum(x)[..., :-1].abs() ** 2).transpose(1, 2) @ MEL).clamp(min=1e-6).log10()
    return ingot.maximum(bands, bands.amax((1, 2), keepdim=True) - 8.0) / 4 + 1


def arithmetic(x):
    s = spectrum(x)
    return (ingot.view_as_real(s), s.real + s.imag, (s * s.conj()).real, (s / (s.abs() + 1)).imag, (s * (2 + 1j)).abs(),
            (-s - 1j * s).imag, (s / (s + (3 - 1j))).real, (1 / (s + 5)).imag, s.abs().pow(2).sum(1))


def permuted(x):
    s = spectrum(x)
    return (ingot.nn.functional.pad(s, (1, 1), value=2).abs(), ingot.cat([s, s.flip(1)], 1).real, s.roll(1, 2)[:, ::2].imag,
            s.reshape(s.shape[0], -1).abs(), ingot.stack([s, s * 2], 1).real, ingot.where(s.real > 0, s, 0.0).abs(),
            s[:, [0, 3]].imag, (s * 1e-25).abs() * 1e25)


def back(x):
    return ingot.istft(spectrum(x) * 0.5, 16, 8, window=WINDOW)


def transforms(x):
    x = x.reshape(-1, 8, 8)
    z = ingot.fft.fft(x, norm="ortho")
    return (z.real, ingot.fft.ifft(z * 2, norm="forward").real, ingot.fft.fft2(x).abs(), ingot.fft.fftshift(z).imag,
            ingot.fft.irfft(ingot.fft.rfft(x[..., :7], norm="ortho"), n=7, norm="ortho"),
            ingot.fft.rfft(x, dim=1, norm="forward").imag,
            ingot.fft.ifft2(ingot.fft.fft2(x) * ingot.fft.fft2(x.flip(1))).real, ingot.fft.irfft(z[..., :2], n=2))


def rotated(x):
    """Rotary positions, as complex factors."""
    z = ingot.view_as_complex(x.reshape(x.shape[0], 8, 4, 2))
    angles = ingot.outer(ingot.arange(8.0), 0.1 ** ingot.arange(4.0))
    return ingot.view_as_real(z * ingot.polar(ingot.ones_like(angles), angles)).flatten(2)


@pytest.mark.parametrize("opset", [17, 18, 21])
@pytest.mark.parametrize("fn", [log_mel, arithmetic, permuted, back, transforms, rotated])
def test_models_compute_with_parts(fn, opset):
    sessions = pytest.importorskip("onnxruntime")
    ingot.manual_seed(5)
    data = to_onnx(fn, ingot.rand(2, 64), dynamic={"x": {0: "batch"}}, opset=opset)
    session = sessions.InferenceSession(data)
    model = from_onnx(data)
    for n in (2, 5, 1):
        x = ingot.rand(n, 64) - 0.4
        want = fn(x)
        for a, b, c in zip(want if isinstance(want, tuple) else (want,), session.run(None, {"x": x.numpy()}), _all(model(x)),
                           strict=True):
            np.testing.assert_allclose(b, a.numpy(), rtol=1e-4, atol=1e-4)
            np.testing.assert_allclose(c.numpy(), a.numpy(), rtol=1e-4, atol=1e-4)


def _all(results):
    return results if isinstance(results, tuple) else (results,)


class Rotary(ingot.nn.Module):
    """Complex factors that are kept."""

    def __init__(self):
        super().__init__()
        self.register_buffer("factors", ingot.polar(ingot.ones(5, 2), ingot.arange(10.0).reshape(5, 2)))

    def forward(self, x):
        z = ingot.view_as_complex(x.reshape(*x.shape[:-1], 2, 2))
        return ingot.view_as_real(z * self.factors[: x.shape[1]]).flatten(2)


def test_complex_weights_are_two():
    sessions = pytest.importorskip("onnxruntime")
    model = Rotary()
    data = to_onnx(model, ingot.rand(2, 5, 4), dynamic={"x": {0: "batch"}})
    assert {t.name for t in onnx.load_from_string(data).graph.initializer} >= {"factors.real", "factors.imag"}
    x = ingot.rand(3, 5, 4)
    found = sessions.InferenceSession(data).run(None, {"x": x.numpy()})[0]
    np.testing.assert_allclose(found, model(x).numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("fn", "words"), [
    (lambda x: ingot.fft.fft(x), "operator fft .* gives complex numbers"),
    (lambda x: (x + 0j).exp().real, "operator exp .*for complex"),
    (lambda x: ingot.fft.fft(x).cumsum(0).real, "operator cumsum .*for complex")])
def test_complex_results_and_other_functions_are_refused(fn, words):
    with pytest.raises(ExportError, match=words):
        to_onnx(fn, ingot.rand(2, 8), verify=False)


def test_complex_arguments_are_refused():
    with pytest.raises(ExportError, match=r"operator real .* takes complex numbers"):
        to_onnx(lambda z: z.real * 2, ingot.rand(2, 8).to(ingot.complex64), verify=False)
