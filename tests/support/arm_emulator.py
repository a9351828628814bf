"""Runs functions of an AArch64 shared library in an emulator (unicorn), to see that a library made elsewhere computes."""

import struct

import numpy as np

BASE, HEAP, STACK, RETURN = 0x10000000, 0x40000000, 0x70000000, 0x7F000000
LOAD, DYNAMIC = 1, 2
RELATIVE, GLOB_DAT = 1027, 1025


class Library:
    """A library in the emulator's memory: segments loaded, relocations applied."""

    def __init__(self, unicorn, path):
        self.arm = __import__("unicorn.arm64_const", fromlist=["*"])
        self.cpu = unicorn.Uc(unicorn.UC_ARCH_ARM64, unicorn.UC_MODE_ARM)
        control = self.arm.UC_ARM64_REG_CPACR_EL1
        self.cpu.reg_write(control, self.cpu.reg_read(control) | 3 << 20)          # vectors may be used
        data = path.read_bytes()
        segments = [struct.unpack_from("<IIQQQQQQ", data, 64 + 56 * i) for i in range(struct.unpack_from("<H", data, 56)[0])]
        end = max(s[3] + s[6] for s in segments)
        self.cpu.mem_map(BASE, -(-end // 0x10000) * 0x10000)
        for kind, _, offset, address, _, size, *_ in segments:
            if kind == LOAD:
                self.cpu.mem_write(BASE + address, data[offset:offset + size])
        for start, size in ((HEAP, 1 << 24), (STACK - (1 << 20), 1 << 20), (RETURN, 0x1000)):
            self.cpu.mem_map(start, size)
        start, size = next((s[2], s[5]) for s in segments if s[0] == DYNAMIC)
        tags = dict(struct.unpack_from("<QQ", data, start + i) for i in range(0, size, 16))
        self.symbols, self.free = dict(self._symbols(data, tags)), HEAP
        for i in range(0, tags[8], 24):
            offset, info, addend = struct.unpack_from("<QQq", data, tags[7] + i)
            assert info & 0xFFFFFFFF in (RELATIVE, GLOB_DAT)
            if info & 0xFFFFFFFF == RELATIVE:
                self.cpu.mem_write(BASE + offset, struct.pack("<Q", BASE + addend))

    @staticmethod
    def _symbols(data, tags):
        for i in range(struct.unpack_from("<I", data, tags[4] + 4)[0]):
            name, _, _, section, value, _ = struct.unpack_from("<IBBHQQ", data, tags[6] + 24 * i)
            if section:
                yield data[tags[5] + name:data.index(b"\0", tags[5] + name)].decode(), value

    def put(self, data) -> int:
        """Copies bytes into memory; gives where they are."""
        at = self.free
        self.cpu.mem_write(at, bytes(data))
        self.free = -(-(at + len(data)) // 64) * 64
        return at

    def tensors(self, arrays, numbers) -> tuple:
        """(the address of tensors over copies of arrays, the addresses of the copies)."""
        places = [self.put(a.tobytes()) for a in arrays]
        rows = [struct.pack("<Qii8q", at, numbers[a.dtype], a.ndim, *a.shape, *[0] * (8 - a.ndim))
                for at, a in zip(places, arrays)]
        return self.put(b"".join(rows)), places

    def read(self, at, like) -> np.ndarray:
        """The array at an address."""
        return np.frombuffer(bytes(self.cpu.mem_read(at, like.nbytes)), like.dtype).reshape(like.shape)

    def call(self, name, *arguments) -> int:
        """Call a function and return its status."""
        arm = self.arm
        for register, value in zip((arm.UC_ARM64_REG_X0, arm.UC_ARM64_REG_X1), arguments):
            self.cpu.reg_write(register, value)
        self.cpu.reg_write(arm.UC_ARM64_REG_SP, STACK - 4096)
        self.cpu.reg_write(arm.UC_ARM64_REG_LR, RETURN)
        self.cpu.emu_start(BASE + self.symbols[name], RETURN)
        return self.cpu.reg_read(arm.UC_ARM64_REG_X0) & 0xFFFFFFFF
