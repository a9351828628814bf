"""Functions of images whose height and width are free: one recording holds for all sizes, in traces and in exported models."""

import cProfile
import math
import warnings

import pytest

import ingot
from ingot import jit, nn

F = nn.functional
SIZES = ((8, 10), (12, 14), (9, 7), (7, 13), (20, 10), (16, 33), (11, 24))


def unet(resize):
    """A net that goes down and up again, whose way up is as large as the other however the size divides."""
    ingot.manual_seed(5)
    down, up = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(7, 2, 3, padding=1)

    def forward(x):
        y = resize(F.max_pool2d(down(x), 2).relu(), x)
        high, wide = x.shape[2] - y.shape[2], x.shape[3] - y.shape[3]
        y = F.pad(y, [wide // 2, wide - wide // 2, high // 2, high - high // 2])
        return up(ingot.cat([x, y], 1))

    return forward


def windows(x, n=4):
    """Windows of n by n, around what is padded to a multiple."""
    x = F.pad(x, (0, math.ceil(x.shape[3] / n) * n - x.shape[3], 0, (n - x.shape[2] % n) % n))
    b, c, h, w = x.shape
    return x.view(b, c, h // n, n, w // n, n).permute(0, 2, 4, 1, 3, 5).reshape(-1, c, n, n)


def turned(x):
    angle = ingot.tensor(0.3)
    theta = ingot.stack([angle.cos(), -angle.sin(), angle * 0, angle.sin(), angle.cos(), angle * 0]).view(1, 2, 3)
    return F.grid_sample(x, F.affine_grid(theta.expand(x.shape[0], 2, 3), x.shape, align_corners=False), align_corners=False)


WAYS = {
    "nearest": lambda y, x: F.interpolate(y, scale_factor=2),
    "linear": lambda y, x: F.interpolate(y, scale_factor=2.0, mode="bilinear"),
    "corners": lambda y, x: F.interpolate(y, scale_factor=2.0, mode="bilinear", align_corners=True),
    "to_size": lambda y, x: F.interpolate(y, size=x.shape[2:], mode="bilinear"),
    "cubic": lambda y, x: F.interpolate(y, x.shape[-2:], mode="bicubic"),
    "area": lambda y, x: F.interpolate(y, x.shape[-2:], mode="area"),
    "int": lambda y, x: F.interpolate(y, size=(int(y.shape[2] * 2.0), int(2.0 * y.shape[3])), mode="nearest"),
}
FUNCTIONS = {
    **{f"unet {name}": unet(way) for name, way in WAYS.items()},
    "interpolate 1.3": lambda x: F.interpolate(x, scale_factor=1.3),
    "interpolate 0.5": lambda x: F.interpolate(x, scale_factor=(0.5, 0.75), mode="bilinear", antialias=True),
    "interpolate recomputed": lambda x: F.interpolate(x, scale_factor=1.7, mode="bilinear", recompute_scale_factor=True),
    "windows": windows, "turned": turned,
    "linspace": lambda x: x * ingot.linspace(-1, 1, x.shape[-1]) + ingot.linspace(0.5, x.shape[2] - 0.5, x.shape[2])[:, None],
    "logspace": lambda x: x * ingot.logspace(0, 1, x.shape[-1]),
    "part": lambda x: x[..., int(0.25 * x.shape[-1]):math.ceil(x.shape[-1] / 3 * 2)],
    "whole": lambda x: x[..., :int(float(x.shape[-1])) // 2 + round(x.shape[2] * 0.3) - round(x.shape[2] * 0.3)],
    "one_hot": lambda x: F.one_hot(ingot.arange(x.shape[-1]) % 5, x.shape[-1]) + x[0, 0, 0],
    "hann_window": lambda x: x * ingot.hann_window(x.shape[-1]) + ingot.signal.windows.gaussian(x.shape[2])[:, None],
    "kaiser_window": lambda x: x * ingot.kaiser_window(x.shape[-1], periodic=False),
    "triangles": lambda x: (ingot.tril_indices(x.shape[2], x.shape[2], 1).sum(1) * x.shape[2]
                            + ingot.triu_indices(x.shape[3], x.shape[3], -2).sum(1) + x[0, 0, 0, 0].long()),
    "triangle of pairs": lambda x: x[0, 0, 0][ingot.triu_indices(x.shape[3], x.shape[3], 1)].prod(0),
    "combinations": lambda x: ingot.combinations(x[0, 0, 0]),
    "block_diag": lambda x: ingot.block_diag(x[0, 0], x[0, 1]),
    "as_strided": lambda x: x.as_strided((x.shape[2], 4), (x.shape[3], 1)) * 2,
    "float quotients": lambda x: x[..., :int(x.shape[3] // 1.5)] * (x.shape[2] % 2.5) + x.shape[3] // 0.7,
    "vander": lambda x: ingot.vander(x[0, 0, 0], x.shape[2]),
    "padded": lambda x: F.pad(x, (0, 40 - x.shape[3], 1, int(x.shape[2] / 2)), mode="constant", value=2.0),
    "unpooled": lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2, output_size=x.shape),
}

# Limits of ONNX at free sizes: no means of even bins, no wider filters, no memory; and no Bessel functions at all.
HERE = ("unet area", "interpolate 0.5", "unpooled", "vander", "kaiser_window", "as_strided")
ABROAD = {name: fn for name, fn in FUNCTIONS.items() if name not in HERE}


def images():
    ingot.manual_seed(7)
    return [ingot.randn(2, 3, *size) for size in SIZES]


@pytest.mark.parametrize("fn", FUNCTIONS.values(), ids=FUNCTIONS)
def test_two_recordings_for_all_sizes(fn):
    traced = jit.trace(fn)
    for x in images():
        want, got = fn(x), traced(x)
        assert got.shape == want.shape
        ingot.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)
    assert traced.stats()["compiles"] <= 2, traced.stats()["misses"]


# An export runs in a process of its own: two of three are slow.
@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow if i % 3 else ()) for i, n in enumerate(FUNCTIONS)])
def test_one_exported_graph_for_all_sizes(name, tmp_path):
    fn = FUNCTIONS[name]
    model = jit.export(fn, images()[:1], tmp_path / "m.ingot", dynamic={0: {2: "height", 3: "width"}})
    for x in images():
        ingot.testing.assert_close(model(x), fn(x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("fn", ABROAD.values(), ids=ABROAD)
def test_one_onnx_model_for_all_sizes(fn):
    with warnings.catch_warnings(action="ignore"):          # of a width of 1
        model = jit.from_onnx(jit.to_onnx(fn, images()[:1], dynamic={0: {2: "height", 3: "width"}}))
    for x in images():
        ingot.testing.assert_close(model(x), fn(x), rtol=1e-4, atol=1e-5)


@pytest.mark.peer
@pytest.mark.parametrize("fn", ABROAD.values(), ids=ABROAD)
def test_onnx_runtime_agrees_at_all_sizes(fn):
    ort = pytest.importorskip("onnxruntime")
    data = jit.to_onnx(fn, images()[:1], dynamic={0: {2: "height", 3: "width"}}, verify=False)
    session = ort.InferenceSession(data, providers=["CPUExecutionProvider"])
    for x in images():
        got = session.run(None, {session.get_inputs()[0].name: x.numpy()})[0]
        ingot.testing.assert_close(ingot.from_numpy(got), fn(x), rtol=1e-4, atol=1e-4)


def test_a_size_that_another_way_is_taken_for_is_found():
    """ONNX has nobody who would ask: sizes that break what a recording relied on are tried."""
    with pytest.raises(jit.ExportError, match=r"does not give what eager gives.*\(13, 3\).*free_image_sizes.*asks whether"):
        jit.to_onnx(lambda x: x * 2 if x.shape[0] == 13 else x, ingot.ones(4, 3), dynamic={"x": {0: "n"}})


def test_sizes_of_one_that_mean_another_thing_are_said():
    with pytest.warns(UserWarning, match=r"\(1, 3\).*good for sizes of 2 and more"):
        jit.to_onnx(lambda x: x.sum() * ingot.linspace(2, 1, x.shape[0]), ingot.ones(4, 3), dynamic={"x": {0: "n"}})


def test_an_export_under_a_profiler(tmp_path):
    profile = cProfile.Profile()
    model = profile.runcall(jit.export, windows, images()[:1], tmp_path / "m.ingot", dynamic={0: {2: "height", 3: "width"}})
    assert model(images()[1]).shape == windows(images()[1]).shape


def test_draws_up_to_a_size():
    traced = jit.trace(lambda x: ingot.randint(x.shape[0], 2 * x.shape[0], (50,)))
    for n in (3, 8, 5, 100):
        ingot.manual_seed(n)
        want = ingot.randint(n, 2 * n, (50,))
        ingot.manual_seed(n)
        assert (traced(ingot.zeros(n)) == want).all()
    assert traced.stats()["compiles"] <= 2
