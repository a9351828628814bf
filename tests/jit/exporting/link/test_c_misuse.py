"""Wrong calls of C libraries give a code and touch nothing."""

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import c_misuse
import ingot
from c_misuse import CORRECT, Call, Caller, calls, check, code_of, values
from c_models import MODELS, VALUES, Counter, Model
from ingot import jit
from ingot.jit.exporting.link.c_checks import MEANINGS

pytestmark = c_misuse.needs_linux_x86
COMPILER = shutil.which("gcc") or shutil.which("cc")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler (gcc, cc) on this machine")


def state_of(library, model):
    """Return the first state of a model, or None."""
    if not model.state_bytes:
        return None
    state = c_misuse.buffer(bytes(model.state_bytes))
    assert library.model_init_state(ctypes.c_void_p(state.ctypes.data)) == 0
    return bytes(state)


@pytest.mark.parametrize("name", MODELS)
def test_wrong_calls_give_a_code(name, tmp_path):
    model = Model(name, tmp_path)
    library = ctypes.CDLL(model.written.shared)
    caller = Caller(library.model_run, model.inputs, model.outputs, state_of(library, model))
    for call in [CORRECT, *calls(model.inputs, model.outputs, model.state_bytes, 8)]:
        check(caller(call), call, model.outputs)


@pytest.mark.drawn
@pytest.mark.parametrize("name", VALUES)
def test_values_give_a_result_or_a_code(name, tmp_path):
    model = Model(name, tmp_path)
    caller = Caller(ctypes.CDLL(model.written.shared).model_run, model.inputs, model.outputs)
    for call in [CORRECT, *values(model.inputs, 30)]:
        check(caller(call), call, model.outputs)


def test_outputs_over_weights(tmp_path):
    model = Model("free sizes", tmp_path, embed=False)
    library, data, room = ctypes.CDLL(model.written.shared), Path(model.written.weights).read_bytes(), 64
    caller, size = Caller(library.model_run, model.inputs, model.outputs), model.outputs[0].nbytes
    memory = caller.memory["weights"] = c_misuse.buffer(bytes(room) + data + bytes(room))
    assert library.model_init(ctypes.c_void_p(memory.ctypes.data + room), ctypes.c_size_t(len(data))) == 0
    weights = room + 64                                     # behind the stamp
    for start, code in ((weights, "OVERLAP"), (room + len(data) - 4, "OVERLAP"), (weights - size + 4, "OVERLAP"),
                        (weights - size, "OK"), (room + len(data), "OK")):
        edit = c_misuse.Edit("out", 0, "data", c_misuse.At("weights", 0, start))
        check(caller(Call(f"an output at byte {start}", (edit,), code)), Call("", (), code), model.outputs)


def test_wrong_weights_and_states(tmp_path):
    written = Model("free sizes", tmp_path, embed=False).written
    library, data = ctypes.CDLL(written.shared), Path(written.weights).read_bytes()
    memory = np.zeros(len(data) + 64, np.uint8)
    start = -memory.ctypes.data % 64
    whole = len(data)
    for offset, size, changed, code in (
            (0, whole, -1, "OK"), (4, whole, -1, "ALIGNMENT"), (0, whole - 1, -1, "WEIGHTS"), (0, 0, -1, "WEIGHTS"),
            (0, 1 << 63, -1, "WEIGHTS"), (0, whole, 0, "WEIGHTS"), (0, whole, 39, "WEIGHTS"), (0, whole, 63, "WEIGHTS")):
        memory[start + offset:][:len(data)] = np.frombuffer(data, np.uint8)
        if changed >= 0:
            memory[start + offset + changed] ^= 1
        at = ctypes.c_void_p(memory.ctypes.data + start + offset)
        assert library.model_init(at, ctypes.c_size_t(size)) == code_of(code), (offset, size, changed)
    assert library.model_init(None, ctypes.c_size_t(len(data))) == code_of("NULL")
    (tmp_path / "s").mkdir()
    library = ctypes.CDLL(Model("state", tmp_path / "s").written.shared)
    assert library.model_init_state(None) == code_of("NULL")
    assert library.model_init_state(ctypes.c_void_p(memory.ctypes.data + start + 4)) == code_of("ALIGNMENT")


def test_codes_have_messages(tmp_path):
    library = ctypes.CDLL(jit.to_c(lambda x: x + 1, ingot.ones(2), tmp_path / "model").shared)
    library.model_message.restype = ctypes.c_char_p
    assert [library.model_message(code).decode() for code in range(len(MEANINGS))] == [*MEANINGS.values()]
    for code in (-1, len(MEANINGS), 1 << 30):
        assert library.model_message(code) == b"no code of this library"


@needs_compiler
def test_names_of_a_model_stay_in_comments(tmp_path):
    name = "a*/int evil;\\\n/*b"
    net = Counter()
    net.register_buffer(name, net._buffers.pop("last"))
    net.__class__ = type("Odd", (Counter,), {"last": property(lambda self: self._buffers[name])})
    written = jit.to_c(net, {"x": ingot.ones(3, 4)}, tmp_path / "model", stateful=True)
    subprocess.run([COMPILER, "-Wall", "-Werror", "-fsyntax-only", "-x", "c", written.header], check=True)
    code = subprocess.run([COMPILER, "-E", "-x", "c", written.header], check=True, capture_output=True, text=True).stdout
    assert "int_evil" in code and "int evil" not in code


@needs_compiler
@pytest.mark.parametrize("count, fits", [(1, False), (2, True)])
def test_compilers_see_arrays_that_are_too_short(count, fits, tmp_path):
    written = jit.to_c(lambda a, b: a + b, (ingot.ones(2), ingot.ones(2)), tmp_path / "model")
    source = tmp_path / "main.c"
    source.write_text(f"""
#include "model.h"
int main(void) {{
    float x[2] = {{0}}, y[2];
    model_tensor in[{count}] = {{MODEL_IN0(x)}}, out[MODEL_OUTPUTS] = {{MODEL_OUT0(y)}};
    return model_run(in, out);
}}
""")
    built = subprocess.run([COMPILER, "-O1", "-Wall", "-Werror", str(source), written.object, "-o", str(tmp_path / "main")],
                           capture_output=True, text=True)
    assert (built.returncode == 0) == fits, built.stderr
    plus = shutil.which("g++")
    if plus is not None and fits:
        subprocess.run([plus, "-Wall", "-Werror", "-fsyntax-only", "-x", "c++", str(source)], check=True)
