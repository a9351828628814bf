"""The state of models that are written as ONNX and as C: each run leaves what eager code leaves in buffers."""

import copy
import ctypes
import shutil
import subprocess

import numpy as np
import pytest

import ingot
from ingot import jit, nn
from ingot.ir.target import host
from ingot.jit import ExportError
from tests.jit.exporting.link.test_c_library import NUMBERS, tensors

on_linux = pytest.mark.skipif((host().arch, host().system) != ("x86_64", "linux"), reason="libraries run on Linux x86-64 here")
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


class Norms(nn.Module):
    """Statistics that training follows."""

    def __init__(self):
        super().__init__()
        self.norm, self.line = nn.BatchNorm1d(4), nn.Linear(4, 3)

    def forward(self, x):
        return self.line(self.norm(x))


class Cache(nn.Module):
    """Counters, something that is set anew, a buffer that is only written, a result that is a buffer as well."""

    def __init__(self):
        super().__init__()
        self.register_buffer("signed", ingot.ones(4))                # a word of C
        self.register_buffer("seen", ingot.zeros((), dtype=ingot.int64))
        self.register_buffer("last", ingot.zeros(4), persistent=False)
        self.register_buffer("cache", ingot.zeros(5, 4))

    def forward(self, x):
        self.signed = self.signed * 0.5 + x.abs().sum(0)
        self.seen += x.shape[0]
        self.last.copy_(x.amax(0))
        self.cache.copy_(self.cache.roll(1, 0))
        self.cache[0] = x[0]
        return x * self.signed, self.signed, self.cache.sum(0) + self.seen


class Fails(nn.Module):
    """Writes, then looks up what may not be there."""

    def __init__(self):
        super().__init__()
        self.register_buffer("count", ingot.zeros(3))
        self.table = nn.Embedding(5, 3)

    def forward(self, i):
        self.count += 1
        return self.table(i) + self.count


MODELS = {"norms": Norms, "cache": Cache}


def results(outputs):
    return [t.detach().numpy() for t in (outputs if isinstance(outputs, tuple) else (outputs,))]


def check(got, want):
    for a, b in zip(got, want, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


@pytest.fixture(params=MODELS)
def model(request):
    ingot.manual_seed(2)
    return MODELS[request.param]()


def test_onnx_models_take_and_give_their_state(model):
    onnx = pytest.importorskip("onnx")
    sessions = pytest.importorskip("onnxruntime")
    before = copy.deepcopy(model.state_dict())
    data = jit.to_onnx(model, ingot.randn(3, 4), dynamic={"x": {0: "n"}}, training=True, stateful=True)
    assert all(before[name].equal(t) for name, t in model.state_dict().items())
    options = sessions.SessionOptions()
    options.log_severity_level = 3
    session = sessions.InferenceSession(data, options)
    buffers = dict(model.named_buffers())
    assert [i.name for i in session.get_inputs()] == ["x"]
    assert {i.name for i in session.get_overridable_initializers()} == set(buffers)
    assert [o.name for o in onnx.load_from_string(data).graph.output][-len(buffers):] == [f"{name}.next" for name in buffers]
    state: dict = {}
    for n in (3, 5, 2, 7):
        x = ingot.randn(n, 4)
        names = [o.name for o in session.get_outputs()]
        found = dict(zip(names, session.run(None, {"x": x.numpy(), **state})))
        check([a for name, a in found.items() if not name.endswith(".next")], results(model(x)))
        state = {name: found[f"{name}.next"] for name in buffers}
        check([*state.values()], [t.detach().numpy() for t in dict(model.named_buffers()).values()])


def test_pytorchs_export_takes_stateful_too():
    pytest.importorskip("onnx")
    with pytest.raises(ExportError, match="keeps no state"):
        ingot.onnx.export(Cache(), (ingot.randn(3, 4),))
    assert ingot.onnx.export(Cache(), (ingot.randn(3, 4),), stateful=True).model_proto.graph.output


class Library:
    """A library with a state."""

    def __init__(self, written, size=1 << 16):
        self.lib, self.name = ctypes.CDLL(written.shared), written.header.rpartition("/")[2].removesuffix(".h")
        self.state = (ctypes.c_char * size)()
        self.call("init_state", self.state)

    def call(self, function, *args):
        return getattr(self.lib, f"{self.name}_{function}")(*args)

    def run(self, arrays, like):
        outs = [np.full_like(a, 77) for a in like]
        code = self.call("run", tensors([np.ascontiguousarray(a) for a in arrays]), tensors(outs), self.state)
        return code, outs


@on_linux
@pytest.mark.parametrize("is_loaded", [False, True])
def test_libraries_have_a_state(model, is_loaded, tmp_path):
    x = ingot.randn(3, 4)
    source = jit.export(model, (x,), tmp_path / "m.ingot", stateful=True) if is_loaded else model
    written = jit.to_c(source, (x,), str(tmp_path / f"net{int(is_loaded)}"), stateful=True)
    one, other = Library(written), Library(written)
    assert all(np.dtype(t.dtype.np) in NUMBERS for t in model.buffers())
    first = copy.deepcopy(model)
    for _ in range(4):
        x = ingot.randn(3, 4)
        want = results(model(x))
        code, found = one.run([x.numpy()], want)
        assert code == 0
        check(found, want)
    want = results(first(x))
    check(other.run([x.numpy()], want)[1], want)
    other.state = None
    assert other.run([x.numpy()], want)[0] == 1


@on_linux
@pytest.mark.skipif(COMPILER is None, reason="no C compiler")
def test_a_program_in_c_sees_the_members(tmp_path):
    written = jit.to_c(Cache(), (ingot.ones(2, 4),), str(tmp_path / "net"), stateful=True)
    program = tmp_path / "main.c"
    program.write_text("""
#include <stdio.h>
#include <stdlib.h>
#include "net.h"
int main(void) {
    float x[8] = {1, 1, 1, 1, 1, 1, 1, 1}, a[8], b[4], c[4];
    net_tensor in[] = {NET_IN0(x)}, out[] = {NET_OUT0(a), NET_OUT1(b), NET_OUT2(c)};
    net_state *state = malloc(sizeof *state);
    net_init_state(state);
    for (int i = 0; i < 3; i++) if (net_run(in, out, state)) return 1;
    printf("%g %lld %g %g\\n", state->_signed[0], (long long)state->seen[0], state->last[3], state->cache[8]);
    free(state);
    return 0;
}
""")
    made = tmp_path / "main"
    subprocess.run([COMPILER, "-Wall", "-Werror", str(program), written.object, "-o", str(made)], check=True)
    output = subprocess.run([str(made)], check=True, capture_output=True, text=True).stdout
    assert output.split() == ["3.625", "6", "1", "1"]


@on_linux
def test_a_run_that_fails_leaves_the_state_as_it_was(tmp_path):
    model = Fails()
    library = Library(jit.to_c(model, (ingot.tensor([1, 2]),), str(tmp_path / "net"), stateful=True))
    want = results(model(ingot.tensor([1, 2])))
    check(library.run([np.array([1, 2])], want)[1], want)
    before = bytes(library.state)
    assert library.run([np.array([1, 9])], want)[0] == 5
    assert bytes(library.state) == before
    want = results(model(ingot.tensor([0, 4])))
    check(library.run([np.array([0, 4])], want)[1], want)
