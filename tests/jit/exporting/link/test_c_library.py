"""`to_c`: programs in C give what eager gives, without Python, from several threads; libraries for other machines are sound."""

import ctypes
import importlib.util
import shutil
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest

import ingot
from arm_emulator import Library
from c_misuse import NUMBERS, needs_linux_x86, tensors
from ingot import jit, nn
from ingot.ir.errors import IngotError
from ingot.ir.target import cpu, supports
from ingot.jit import ExportError

EXAMPLE = Path(ingot.__file__).parent / "examples" / "c"
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler (cc, gcc, clang) on this machine")
pytestmark = needs_linux_x86


def mlp(seed=0):
    ingot.manual_seed(seed)
    return nn.Sequential(nn.Linear(12, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 5), nn.Softmax(-1)).eval()


def cnn(seed=0):
    ingot.manual_seed(seed)
    return nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
                         nn.Conv2d(16, 16, 3, stride=2, groups=16), nn.ReLU6(), nn.Conv2d(16, 24, 1),
                         nn.MaxPool2d(2), nn.Flatten(), nn.Linear(96, 4)).eval()


class Words(nn.Module):
    """Lookups and attention."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(11, 16)
        self.attention = nn.MultiheadAttention(16, 2, batch_first=True)

    def forward(self, words):
        x = self.table(words)
        return self.attention(x, x, x, need_weights=False)[0], x.sum(-1)


def words(seed=0):
    ingot.manual_seed(seed)
    return Words().eval()


class Boxes(nn.Module):
    """The head of a detector: six numbers for each anchor of each place, the places in rows."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 24, 3, 2, 1)

    def forward(self, x):
        found = self.conv(x).permute(0, 2, 3, 1).reshape(2, -1, 6)
        return (found, *found.sigmoid().split([4, 2], -1))


class Planes(nn.Module):
    """A small U-Net: mirrored borders, means of windows, planes of twice the size, patches."""

    def __init__(self):
        super().__init__()
        self.down, self.up = nn.Conv2d(3, 8, 3, padding=1, padding_mode="reflect"), nn.Conv2d(11, 4, 3, padding=1)

    def forward(self, x):
        small = nn.functional.avg_pool2d(self.down(x).relu(), 3, 2, 1)
        large = nn.functional.interpolate(small, size=x.shape[2:], mode="bilinear")
        made = self.up(ingot.cat([large, nn.functional.pad(x, (2, 2, 2, 2), mode="replicate")[:, :, 2:-2, 2:-2]], 1))
        return made, nn.functional.unfold(made, 2, stride=2), made.sort(1).values, nn.functional.adaptive_avg_pool2d(made, 5)


class Counts(nn.Module):
    """Whole numbers: masks from lengths and places, counts, quotients, the last step of each row."""

    def forward(self, x):
        places = ingot.arange(x.shape[1])
        lengths = (x > 3).sum(1) + 1
        mask = places < lengths[:, None]
        causal = places[:, None] >= places
        return (mask.sum(1), x.masked_fill(~mask, -1), (x[:, :, None] * causal).sum(1), x // 3, -x % 4, (x + 9) // (x + 1),
                x.float().masked_fill(~mask, 0).sum(1) / mask.sum(1), x[ingot.arange(x.shape[0]), lengths - 1],
                x[:, places // 2])


CASES = {"mlp": (mlp, lambda: ingot.randn(3, 12)), "cnn": (cnn, lambda: ingot.randn(2, 3, 11, 11)),
         "words": (words, lambda: ingot.randint(0, 11, (2, 7))), "boxes": (Boxes, lambda: ingot.randn(2, 3, 9, 12)),
         "counts": (Counts, lambda: ingot.randint(0, 9, (3, 6))), "planes": (Planes, lambda: ingot.randn(2, 3, 12, 14))}


def results_of(fn, x):
    with ingot.no_grad():
        found = fn(x)
    return [t.numpy() for t in (found if isinstance(found, tuple) else (found,))]


def close(got, want):
    for a, b in zip(got, want):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", CASES)
def test_the_library_gives_what_eager_gives(name, threads, tmp_path):
    make, inputs = CASES[name]
    fn, x = make(), inputs()
    want = results_of(fn, x)
    written = jit.to_c(fn, x, tmp_path / "model", threads=threads)
    library = ctypes.CDLL(written.shared)
    if threads > 1:
        assert library.model_set_threads(2) == 2
        assert library.model_set_threads(99) == threads
    got = [np.full(a.shape, 7, a.dtype) for a in want]
    assert library.model_run(tensors([x.numpy()]), tensors(got)) == 0
    close(got, want)


def test_a_library_takes_the_branch_of_its_input(tmp_path):
    fn = lambda x: ingot.cond(x.sum() > 0, lambda: (x.sin(), x.sum()), lambda: (x.cos(), x.amax()))
    library = ctypes.CDLL(jit.to_c(fn, ingot.ones(2, 5), tmp_path / "model").shared)
    for x in (ingot.randn(2, 5) + 2, ingot.randn(2, 5) - 2):
        want = results_of(fn, x)
        got = [np.zeros(a.shape, a.dtype) for a in want]
        assert library.model_run(tensors([x.numpy()]), tensors(got)) == 0
        close(got, want)


def test_several_threads_at_once(tmp_path):
    fn = cnn()
    library = ctypes.CDLL(jit.to_c(fn, ingot.randn(2, 3, 11, 11), tmp_path / "model", concurrency=2).shared)
    inputs = [ingot.randn(2, 3, 11, 11) for _ in range(6)]
    wanted = [results_of(fn, x) for x in inputs]
    bad = []

    def work(x, want):
        for _ in range(30):
            got = [np.zeros(a.shape, a.dtype) for a in want]
            if library.model_run(tensors([x.numpy()]), tensors(got)) or not np.allclose(got[0], want[0], atol=1e-5):
                bad.append(1)

    threads = [threading.Thread(target=work, args=pair) for pair in zip(inputs, wanted)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not bad


def test_wrong_tensors_give_error_codes(tmp_path):
    library = ctypes.CDLL(jit.to_c(words(), ingot.randint(0, 11, (2, 7)), tmp_path / "model").shared)
    x, outs = np.zeros((2, 7), np.int64), [np.zeros((2, 7, 16), np.float32), np.zeros((2, 7), np.float32)]
    assert library.model_run(tensors([x]), tensors(outs)) == 0
    assert library.model_run(None, tensors(outs)) == 1
    assert library.model_run(tensors([x.astype(np.float64)]), tensors(outs)) == 2
    assert library.model_run(tensors([x[0]]), tensors(outs)) == 3
    assert library.model_run(tensors([np.zeros((2, 8), np.int64)]), tensors(outs)) == 4
    assert library.model_run(tensors([x]), tensors([outs[0][:1], outs[1]])) == 4
    assert library.model_run(tensors([x + 11]), tensors(outs)) == 5, "an index out of range is no crash"
    assert library.model_run(tensors([x]), tensors(outs)) == 0


def test_weights_in_a_separate_file(tmp_path):
    fn, x = mlp(), ingot.randn(3, 12)
    written = jit.to_c(fn, x, tmp_path / "model", embed=False)
    library = ctypes.CDLL(written.shared)
    got = np.zeros((3, 5), np.float32)
    assert library.model_run(tensors([x.numpy()]), tensors([got])) == 6
    data = np.fromfile(written.weights, np.uint8)
    assert f"WEIGHTS_SIZE {data.size}" in Path(written.header).read_text()
    memory = np.zeros(data.size + 64, np.uint8)
    start = -memory.ctypes.data % 64
    memory[start:start + data.size] = data
    init = library.model_init
    init.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    assert init(memory[start:].ctypes.data, data.size - 1) == 7
    other = Path(jit.to_c(mlp(1), x, tmp_path / "other", embed=False).weights).read_bytes()
    assert init(other, len(other)) == 7, "weights of another model"
    assert init(memory[start:].ctypes.data, data.size) == 0
    assert library.model_run(tensors([x.numpy()]), tensors([got])) == 0
    close([got], results_of(fn, x))


@needs_compiler
@pytest.mark.parametrize("how", ["object", "library"])
def test_the_example_program(how, tmp_path):
    spec = importlib.util.spec_from_file_location("digits_to_c", EXAMPLE / "digits.py")
    source = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(source)
    _, predicted, labels = source.main(tmp_path, epochs=1)
    parts = [str(tmp_path / "digits.o")] if how == "object" else [f"-L{tmp_path}", "-ldigits", f"-Wl,-rpath,{tmp_path}"]
    words = [COMPILER, "-O1", "-Wall", "-Werror", "-std=c11", f"-I{tmp_path}", str(EXAMPLE / "digits.c"), *parts, "-lm"]
    built = subprocess.run([*words, "-o", str(tmp_path / "digits")], capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    ran = subprocess.run([tmp_path / "digits", tmp_path / "pictures.bin"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    rows = [line.split() for line in ran.stdout.splitlines()]
    assert [int(digit) for digit, _ in rows] == predicted.argmax(1).tolist()
    np.testing.assert_allclose([float(p) for _, p in rows], predicted.max(1), rtol=1e-4)
    assert (predicted.argmax(1) == labels).mean() > 0.6


def test_a_loaded_model_becomes_a_library(tmp_path):
    fn, x = cnn(), ingot.randn(2, 3, 11, 11)
    loaded = jit.export(fn, x, tmp_path / "model.ingot")
    want = results_of(fn, x)
    got = np.zeros_like(want[0])
    library = ctypes.CDLL(jit.to_c(loaded, path=tmp_path / "other", name="net").shared)
    assert library.net_run(tensors([x.numpy()]), tensors([got])) == 0
    close([got], want)


@pytest.mark.parametrize("target", ["native", "x86-64-v3"])
def test_a_loaded_model_of_free_sizes_becomes_a_library_for_some(target, tmp_path):
    if target != "native" and not supports(cpu(target)):
        pytest.skip(f"this machine does not run {target}")
    fn = cnn()
    loaded = jit.export(fn, ingot.randn(2, 3, 11, 11), tmp_path / "model.ingot", dynamic={"input": {0: "batch"}})
    with pytest.raises(IngotError, match="sizes batch may change"):
        jit.to_c(loaded, path=tmp_path / "model")
    for n in (1, 5):
        x = ingot.randn(n, 3, 11, 11)
        want = results_of(fn, x)
        got = np.zeros((n, 4), np.float32)
        library = ctypes.CDLL(jit.to_c(loaded, x, tmp_path / f"model{n}", name=f"net{n}", target=target).shared)
        assert library[f"net{n}_run"](tensors([x.numpy()]), tensors([got])) == 0
        close([got], want)


@pytest.mark.parametrize("target", ["x86-64", "x86-64-v3"])
@pytest.mark.parametrize("name", CASES)
def test_libraries_for_lesser_machines_run_here(name, target, tmp_path):
    if not supports(cpu(target)):
        pytest.skip(f"this machine does not run {target}")
    fn, x = CASES[name][0](), CASES[name][1]()
    want = results_of(fn, x)
    library = ctypes.CDLL(jit.to_c(fn, x, tmp_path / "model", target=target).shared)
    for _ in range(2):
        got = [np.full(a.shape, 7, a.dtype) for a in want]
        assert library.model_run(tensors([x.numpy()]), tensors(got)) == 0
        close(got, want)


def test_an_aarch64_object_is_valid(tmp_path):
    written = jit.to_c(cnn(), ingot.randn(2, 3, 11, 11), tmp_path / "model", target="aarch64")
    for path, kind in ((written.object, 1), (written.shared, 3)):
        head = Path(path).read_bytes()[:20]
        assert head[:6] == b"\x7fELF\x02\x01" and (head[16], head[18]) == (kind, 183)
    linker = shutil.which("aarch64-linux-gnu-ld") or shutil.which("ld.lld")
    if linker is not None:
        subprocess.run([linker, "-shared", written.object, "-o", str(tmp_path / "linked.so")], check=True)


@pytest.mark.peer
@pytest.mark.parametrize("name", CASES)
def test_a_library_for_aarch64_computes(name, tmp_path):
    unicorn = pytest.importorskip("unicorn")
    fn, x = CASES[name][0](), CASES[name][1]()
    want = results_of(fn, x)
    library = Library(unicorn, Path(jit.to_c(fn, x, tmp_path / "model", target="aarch64").shared))
    inputs, _ = library.tensors([x.numpy()], NUMBERS)
    for _ in range(2):
        outputs, places = library.tensors([np.full(a.shape, 7, a.dtype) for a in want], NUMBERS)
        assert library.call("model_run", inputs, outputs) == 0
        close([library.read(at, a) for at, a in zip(places, want)], want)


def test_operators_that_need_python_are_named(tmp_path):
    with pytest.raises(ExportError, match=r"svd.* \(test_c_library.py:\d+\)"):
        jit.to_c(lambda x: ingot.linalg.svdvals(x) * 2, ingot.randn(4, 9), tmp_path / "m")
    with pytest.raises(IngotError, match="identifier"):
        jit.to_c(mlp(), ingot.randn(3, 12), tmp_path / "m", name="no-name")
    assert not list(tmp_path.iterdir())
