"""Objects of AArch64 in memory: relocations mean what the processor's ELF supplement says, and loaded code computes."""

import random
import struct

import pytest

from ingot.ir.errors import FileError
from ingot.ir.target import cpu
from ingot.runtime.cpu.compiler import compile as compiler
from ingot.runtime.cpu.compiler import elf
from ingot.runtime.cpu.compiler.relocations import AARCH64, FIELDS, STUBS

PAGE = 4096
ARM = cpu("aarch64")
BASE, OUTSIDE, STACK, RETURN = 0x5_0000_0000, 0x7FFF_1234_5000, 0x6000_0000, 0x7F000000
PROGRAM = """
@constants = internal constant [4 x double] [double 1.5, double 2.5, double 3.5, double 4.5], align 16
@count = internal global i64 5, align 8
@pointer = internal global ptr @count, align 8
@outside_word = external global i64
declare i64 @outside_function(i64)
define internal i64 @step(i64 %x) noinline { %y = mul i64 %x, 3
  ret i64 %y }
define i64 @work(i64 %n, ptr %out) {
  %place = getelementptr [4 x double], ptr @constants, i64 0, i64 %n
  %d = load double, ptr %place
  store double %d, ptr %out
  %p = load ptr, ptr @pointer
  %c = load i64, ptr %p
  %next = add i64 %c, 1
  store i64 %next, ptr %p
  %again = load i64, ptr @count
  %s = call i64 @step(i64 %again)
  %w = load i64, ptr @outside_word
  %sum = add i64 %s, %w
  %f = call i64 @outside_function(i64 %sum)
  ret i64 %f
}
"""

# Fields of relocated words by the processor's manual: (bits of the field in the word, its meaning as a target).


def signed(value, bits):
    return value - (1 << bits) if value >> (bits - 1) else value


def page_of(word, at):
    pages = signed((word >> 5 & 0x7FFFF) << 2 | word >> 29 & 3, 21)
    return (at & ~(PAGE - 1)) + pages * PAGE


def low_of(shift):
    return lambda word, at: (word >> 10 & 0xFFF) << shift


READ = {
    "call": (283, 0x94000000, lambda word, at: at + 4 * signed(word & 0x3FFFFFF, 26), lambda t: t),
    "jump": (282, 0x14000000, lambda word, at: at + 4 * signed(word & 0x3FFFFFF, 26), lambda t: t),
    "page": (275, 0x90000001, page_of, lambda t: t & ~(PAGE - 1)),
    "page of a slot": (311, 0x90000001, page_of, lambda t: t & ~(PAGE - 1)),
    "low bits": (277, 0x91000021, low_of(0), lambda t: t & (PAGE - 1)),
    "byte": (278, 0x39400021, low_of(0), lambda t: t & (PAGE - 1)),
    "half": (284, 0x79400021, low_of(1), lambda t: t & (PAGE - 1)),
    "word": (285, 0xB9400021, low_of(2), lambda t: t & (PAGE - 1)),
    "double": (286, 0xF9400021, low_of(3), lambda t: t & (PAGE - 1)),
    "vector": (299, 0x3DC00021, low_of(4), lambda t: t & (PAGE - 1)),
    "slot": (312, 0xF9400021, low_of(3), lambda t: t & (PAGE - 1)),
}
MASKS = {"call": 0x3FFFFFF, "jump": 0x3FFFFFF, "page": 0x60FFFFE0, "page of a slot": 0x60FFFFE0}


@pytest.mark.parametrize("name", READ)
def test_fields_encode_their_target(name):
    kind, instruction, read, meant = READ[name]
    for seed in range(300):
        r = random.Random(seed)
        at = 4 * r.randrange(1 << 14)
        target = 16 * r.randrange(1 << 22) - (1 << 25)
        whole = bytearray(at + 4)
        whole[at:] = struct.pack("<I", instruction)
        FIELDS[AARCH64].store(whole, at, kind, target)
        word, = struct.unpack_from("<I", whole, at)
        assert read(word, at) == meant(target), f"seed {seed}: {name} at {at:#x} to {target:#x}"
        mask = MASKS.get(name, 0x3FFC00)
        assert word & ~mask == instruction & ~mask, f"seed {seed}: bits beside the field have changed"


@pytest.mark.parametrize("kind, at, target", [(283, 0, 1 << 27), (283, 0, -(1 << 27) - 4), (282, 0, 6), (275, 0, 1 << 33),
                                              (286, 0, 12), (299, 0, 8), (999, 0, 0)])
def test_targets_out_of_range_are_refused(kind, at, target):
    with pytest.raises(FileError):
        FIELDS[AARCH64].store(bytearray(8), at, kind, target)


def test_distances_of_four_and_eight_bytes():
    body = bytearray(16)
    FIELDS[AARCH64].store(body, 8, 260, -40)
    FIELDS[AARCH64].store(body, 4, 261, 1000)
    assert struct.unpack_from("<q", body, 8) == (-48,) and struct.unpack_from("<i", body, 4) == (996,)


def made(text, passes=None):
    """Return an object of AArch64 as loaded in memory, and its symbols."""
    image = elf.Image(elf.Object(compiler.emit_object(text, ARM, passes), AARCH64))
    outside = {"outside_word": OUTSIDE, "outside_function": OUTSIDE + 64}
    data = image.build(BASE, lambda name: outside[name])
    where = {s.name: image.address(n, BASE, lambda name: outside[name]) for n, s in enumerate(image.source.symbols)
             if s.section and s.binding == 1}
    return image, data, where


@pytest.fixture
def emulator():
    """Return a processor with code and data of `made` in it: run(image, data, address, x0, x1) gives x0."""
    unicorn = pytest.importorskip("unicorn")
    arm = pytest.importorskip("unicorn.arm64_const")
    machine = unicorn.Uc(unicorn.UC_ARCH_ARM64, unicorn.UC_MODE_ARM)
    machine.reg_write(arm.UC_ARM64_REG_CPACR_EL1, machine.reg_read(arm.UC_ARM64_REG_CPACR_EL1) | 3 << 20)
    machine.mem_map(STACK - 0x100000, 0x100000)
    machine.mem_map(RETURN, PAGE)
    machine.mem_map(OUTSIDE, PAGE)
    machine.mem_write(OUTSIDE, struct.pack("<Q", 1000))
    machine.mem_write(OUTSIDE + 64, struct.pack("<II", 0x91001C00, 0xD65F03C0))       # add x0, x0, #7; ret

    def put(image, data):
        machine.mem_map(BASE, image.code_bytes, unicorn.UC_PROT_READ | unicorn.UC_PROT_EXEC)
        if image.bytes > image.code_bytes:
            machine.mem_map(BASE + image.code_bytes, image.bytes - image.code_bytes)
        machine.mem_write(BASE, bytes(data))

    def run(address, *arguments):
        for register, value in zip((arm.UC_ARM64_REG_X0, arm.UC_ARM64_REG_X1), arguments):
            machine.reg_write(register, value)
        machine.reg_write(arm.UC_ARM64_REG_SP, STACK - 4096)
        machine.reg_write(arm.UC_ARM64_REG_LR, RETURN)
        machine.emu_start(address, RETURN)
        return machine.reg_read(arm.UC_ARM64_REG_X0)

    machine.put, machine.run = put, run
    return machine


@pytest.mark.peer
@pytest.mark.parametrize("passes", [None, "O3"])
def test_loaded_code_reads_writes_and_calls(emulator, passes):
    image, data, where = made(PROGRAM, passes)
    kinds = {r.kind for r in image.source.relocations}
    assert kinds & {275, 277, 286} and kinds & {282, 283}, "the program has the relocations that are tried here"
    assert image.stubs, "a call outside goes through a stub"
    emulator.put(image, data)
    out = STACK - 64
    for calls, n in enumerate((0, 3)):
        assert emulator.run(where["work"], n, out) == 3 * (6 + calls) + 1000 + 7
        assert struct.unpack("<d", emulator.mem_read(out, 8)) == (1.5 + n,)


@pytest.mark.peer
def test_a_table_of_functions_holds_addresses(emulator):
    text = """
@table = constant [2 x ptr] [ptr @twice, ptr @same]
define i64 @twice(i64 %x) { %y = add i64 %x, %x
  ret i64 %y }
define i64 @same(i64 %x) { ret i64 %x }
define i64 @choose(i64 %n, i64 %x) { %p = getelementptr [2 x ptr], ptr @table, i64 0, i64 %n
  %f = load ptr, ptr %p
  %r = tail call i64 %f(i64 %x)
  ret i64 %r }
"""
    image, data, where = made(text)
    emulator.put(image, data)
    assert emulator.run(where["choose"], 0, 21) == 42 and emulator.run(where["choose"], 1, 21) == 21


def test_stubs_jump_to_the_address_in_their_slot():
    for seed in range(100):
        r = random.Random(seed)
        at, slot = 4 * r.randrange(1 << 20), 8 * r.randrange(1 << 20)
        adrp, load, jump, _ = struct.unpack("<4I", STUBS[AARCH64].code(at, slot))
        assert adrp & 0x9F00001F == 0x90000010 and load & 0xFFC003FF == 0xF9400211 and jump == 0xD61F0220, f"seed {seed}"
        assert page_of(adrp, at) + low_of(3)(load, at) == slot, f"seed {seed}"


def test_damaged_objects_are_refused():
    data = compiler.emit_object(PROGRAM, ARM)
    for seed in range(300):
        r = random.Random(seed)
        broken = bytearray(data)
        for _ in range(r.randrange(1, 4)):
            broken[r.randrange(len(broken))] = r.randrange(256)
        try:
            image = elf.Image(elf.Object(bytes(broken), AARCH64))
            assert len(image.build(BASE, lambda name: OUTSIDE)) == image.bytes
        except (FileError, struct.error, IndexError, KeyError):
            continue        # what `load` makes one error of


def test_an_object_for_another_machine_is_refused():
    with pytest.raises(FileError, match="relocatable object for machine"):
        elf.Object(compiler.emit_object(PROGRAM, ARM), elf.MACHINES["x86_64"])
    assert all(m in FIELDS and m in STUBS for m in elf.MACHINES.values())
