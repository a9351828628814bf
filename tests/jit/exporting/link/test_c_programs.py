"""Programs in C that call libraries wrongly, under tools that watch each access to memory, and on AArch64 in an emulator."""

import os
import shutil
import subprocess

import pytest

from c_misuse import CORRECT, calls, check, needs_linux_x86, outcomes, program, values
from c_models import MODELS, VALUES, Model

pytestmark = [needs_linux_x86, pytest.mark.timeout(600)]
CC, CROSS = shutil.which("gcc"), shutil.which("aarch64-linux-gnu-gcc")
EMULATOR = shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static")
VALGRIND = shutil.which("valgrind")


def sanitizer_is_there() -> bool:
    """Return whether the compiler has the library of the address sanitizer."""
    return CC is not None and os.path.isabs(subprocess.run([CC, "-print-file-name=libasan.so"], capture_output=True,
                                                           text=True).stdout.strip())


# By name: (tool that is missing or None, compiler, its options, command before the program, target, whether memory is fenced).
TOOLS = {
    "fences": (None if CC else "gcc", CC, [], [], "native", True),
    # Valgrind knows no AVX-512.
    "valgrind": (None if CC and VALGRIND else "gcc or valgrind", CC, ["-g"],
                 [VALGRIND, "-q", "--error-exitcode=9", "--leak-check=full"], "x86-64-v3", False),
    "address sanitizer": (None if sanitizer_is_there() else "the address sanitizer of gcc", CC,
                          ["-g", "-fsanitize=address,undefined"], [], "native", False),
    "aarch64": (None if CROSS and EMULATOR else "qemu-aarch64 or aarch64-linux-gnu-gcc", CROSS, ["-static"], [EMULATOR],
                "aarch64", True),
}


def table_of(name, model) -> list:
    if name in MODELS:
        return [CORRECT, *calls(model.inputs, model.outputs, model.state_bytes, 8)]
    return [CORRECT, *values(model.inputs, 20)]


def run_with(tool, name, folder, embed=True):
    missing, compiler, options, command, target, is_fenced = TOOLS[tool]
    if missing:
        pytest.skip(f"{missing} is not on this machine")
    model = Model(name, folder, target=target, embed=embed)
    table = table_of(name, model)
    source, made = folder / "main.c", folder / "main"
    source.write_text(program(table, model.inputs, model.outputs, model.state_bytes, model.written.weights, is_fenced))
    # The sanitizer watches a shared library, as programs load it; the others an object.
    library = [model.written.shared, f"-Wl,-rpath,{folder}"] if "sanitizer" in tool else [model.written.object]
    words = [compiler, "-O1", "-w", *options, f"-I{folder}", str(source), *library, "-o", str(made), "-lm", "-lpthread"]
    subprocess.run(words, check=True, capture_output=True, text=True)
    ran = subprocess.run([*command, str(made)], capture_output=True, text=True)
    assert ran.returncode == 0 and not ran.stderr, (ran.returncode, ran.stderr[-3000:])
    found = outcomes(ran.stdout, model.outputs)
    for call, outcome in zip(table, found, strict=True):
        check(outcome, call, model.outputs)


@pytest.mark.slow
@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("name", [*MODELS, *VALUES])
def test_programs_that_call_wrongly(name, tool, tmp_path):
    run_with(tool, name, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("name", ["free sizes", "state"])
def test_programs_that_load_their_weights(name, tool, tmp_path):
    run_with(tool, name, tmp_path, embed=False)
