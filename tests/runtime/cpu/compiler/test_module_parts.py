"""Large modules cut into parts that threads compile at once: the joined object is as good as that of the whole."""

import ctypes
import struct

import pytest

from ingot.ir.errors import FileError
from ingot.ir.target import host
from ingot.runtime.cpu.compiler import compile as compiler
from ingot.runtime.cpu.compiler import elf, module_parts

pytestmark = pytest.mark.skipif(not host().llvm_triple.endswith("linux-gnu"), reason="objects here are not ELF for Linux")

COUNT = 7
BODY = "\n".join([f"  %x{i + 1} = mul i64 %x{i}, {2 * i + 3}\n  %y{i + 1} = xor i64 %x{i + 1}, %n" for i in range(30)])


def step(i):
    """Write a large function that calls the next one and reads a number from a constant."""
    onward = f"  %r = call i64 @step_{i + 1}(i64 %y30)" if i + 1 < COUNT else "  %r = add i64 %y30, 1"
    return f"""define internal i64 @step_{i}(i64 %n) noinline #0 {{
entry:
  %at = getelementptr i64, ptr @numbers, i64 {i}
  %x0 = load i64, ptr %at
{BODY}
{onward}
  ret i64 %r
}}
"""


TEXT = f"""@numbers = internal constant [{COUNT} x i64] [{', '.join(f'i64 {11 * i + 5}' for i in range(COUNT))}], align 64
@steps = internal constant [{COUNT} x ptr] [{', '.join(f'ptr @step_{i}' for i in range(COUNT))}], align 64
declare i64 @llvm.smax.i64(i64, i64)
{"".join(map(step, range(COUNT)))}define i64 @through_table(i64 %n, i64 %which) #0 {{
  %at = getelementptr ptr, ptr @steps, i64 %which
  %f = load ptr, ptr %at
  %r = call i64 %f(i64 %n)
  %m = call i64 @llvm.smax.i64(i64 %r, i64 %r)
  ret i64 %m
}}
define i64 @direct(i64 %n) #0 {{
  %r = call i64 @step_0(i64 %n)
  ret i64 %r
}}
define i64 @twice(i64 %n) #0 {{
  %a = call i64 @direct(i64 %n)
  %r = add i64 %a, %a
  ret i64 %r
}}

attributes #0 = {{ nounwind }}
"""


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(module_parts, "_LEAST_LINES", 1)


def functions_of(data):
    """Return the functions of an object as Python callables."""
    found = elf.load(data, lambda name: pytest.fail(f"{name} is asked for outside"))
    return {name: ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * (1 + (name == "through_table")))(address)
            for name, address in found.items()}


def answers(functions):
    return ([functions["through_table"](9, i) for i in range(COUNT)], functions["direct"](4), functions["twice"](4))


@pytest.mark.parametrize("most", [2, 3, 5, 10, 40])
def test_parts_do_the_same_as_the_whole_module(small_parts, most):
    texts = module_parts.split(TEXT, most)
    assert len(texts) == min(most, COUNT + 3)
    joined = module_parts.join(compiler._at_once(texts, host()))
    whole = compiler._at_once([TEXT], host())[0]
    assert answers(functions_of(joined)) == answers(functions_of(whole))


def test_parts_export_only_symbols_of_the_whole_module(small_parts):
    joined = elf.Object(module_parts.join(compiler._at_once(module_parts.split(TEXT, 4), host())))
    assert sorted(s.name for s in joined.symbols if s.binding) == ["direct", "through_table", "twice"]
    local = [s.binding for s in joined.symbols]
    assert local == sorted(local), "local symbols stand first"


def test_outside_symbols_of_parts_are_resolved_once(small_parts):
    text = TEXT.replace("%m = call i64 @llvm.smax.i64(i64 %r, i64 %r)", "%m = call i64 @labs(i64 %r)").replace(
        "%r = add i64 %a, %a", "%r = call i64 @labs(i64 %a)") + "\ndeclare i64 @labs(i64)\n"
    joined = elf.Object(module_parts.join(compiler._at_once(module_parts.split(text, 10), host())))
    assert [s.name for s in joined.symbols if s.binding and not s.section] == ["labs"]


@pytest.mark.parametrize("text, why", [
    (TEXT, "it is small"),
    (TEXT.replace("@numbers = internal constant", "@numbers = internal global"), "memory that is written has one place"),
    ("define void @alone() {\n  ret void\n}\n", "there is one function"),
])
def test_modules_that_are_not_split(text, why, monkeypatch):
    if why != "it is small":
        monkeypatch.setattr(module_parts, "_LEAST_LINES", 1)
    assert module_parts.split(text, 8) == [text], why


def test_modules_are_compiled_in_parts_with_several_threads(small_parts, monkeypatch):
    seen = []
    at_once = compiler._at_once
    monkeypatch.setattr(compiler, "_at_once", lambda texts, target: seen.append(len(texts)) or at_once(texts, target))
    monkeypatch.setattr(compiler, "usable_cpus", lambda: 3)
    monkeypatch.setattr(compiler.config, "current", lambda: type("Settings", (), {"num_threads": 0}))
    functions = functions_of(compiler._run_llvm(TEXT, host(), None))
    assert seen == [3]
    assert (functions["twice"](4) - 2 * functions["direct"](4)) % 2 ** 64 == 0


def test_errors_in_a_part_are_reported(small_parts):
    with pytest.raises(compiler.GraphError, match="not valid"):
        compiler._at_once(module_parts.split(TEXT.replace("xor i64", "xor i63"), 4), host())


def test_groups_of_sections_are_refused():
    data = bytearray(compiler._at_once([TEXT], host())[0])
    at, = struct.unpack_from("<Q", data, 40)
    struct.pack_into("<I", data, at + 64 * 3 + 4, 17)
    with pytest.raises(FileError, match="groups"):
        module_parts.join([bytes(data), bytes(data)])
