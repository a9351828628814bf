"""Writing LLVM IR as text: `Module` gathers functions and declarations, `Function` appends instructions in SSA form.

No LLVM is needed to make the text. Values carry their types, so an instruction is one short call:

    m = Module(target)
    f = m.function("axpy", [("ptr", "x"), ("ptr", "y"), ("i64", "n")])
    x, y, n = f.params
    width = f.lanes("float")                                 # 16 on AVX-512, 8 on AVX2, 4 on SSE2
    a = constant(vector(width, "float"), 2.0)
    with f.loop(0, f.bit_and(n, -width), width) as loop:
        at = loop.index
        v = f.fma(a, f.load(a.type, f.at(x, at, "float")), f.load(a.type, f.at(y, at, "float")))
        f.store(v, f.at(y, at, "float"))
    f.ret()
    text = m.text()

Index arithmetic (`add`, `sub`, `mul`, ... on i64) folds Python ints, so sizes may be ints or run-time values alike. No
instruction carries fast-math flags unless asked: what is written is what is computed.
"""

from contextlib import contextmanager

from ....ir.target import Target
from .types import (I1, I8, I32, I64, PTR, VOID, Value, bytes_of, constant, element_of, iota, is_float, lanes_of, like,
                    mangled, null, poison, vector, zero)

_NO_UNROLL = "\n!0 = distinct !{!0, !1}\n!1 = !{!\"llvm.loop.unroll.disable\"}\n!2 = !{i32 1}\n"


class Module:
    """One unit of compilation: text of functions, the declarations they need, constant tables."""

    def __init__(self, target: Target):
        self.target = target
        self._functions = []
        self._declared = {}
        self._globals = {}
        self._extra_attributes = ""

    def function(self, name: str, params, ret: str = VOID, internal: bool = False) -> "Function":
        """Start a function. `params` are (type, name) pairs; a name may carry attributes: ("ptr noalias", "x")."""
        function = Function(self, name, params, ret, internal)
        self._functions.append(function)
        return function

    def task(self, name: str) -> "Function":
        """Start a function of the pool's task type: void (ptr arg, i64 chunk, i64 worker)."""
        return self.function(name, [(PTR, "arg"), (I64, "chunk"), (I64, "worker")])

    def declare(self, name: str, ret: str, types, variadic: bool = False) -> str:
        """Declare an external function or intrinsic once; gives its name."""
        if not any(function.name == name for function in self._functions):
            tail = ["..."] if variadic else []
            self._declared[name] = f"declare {ret} @{name}({', '.join([*types, *tail])})"
        return name

    def table(self, name: str, element: str, numbers, align: int = 64) -> Value:
        """A read-only array of constants; gives the pointer to it."""
        numbers = list(numbers)
        items = ", ".join(str(constant(element, number)) for number in numbers)
        self._globals[name] = f"@{name} = internal constant [{len(numbers)} x {element}] [{items}], align {align}"
        return Value(PTR, f"@{name}")

    def text_constant(self, name: str, text: bytes) -> Value:
        """A zero-terminated string; gives the pointer to it."""
        escaped = "".join(f"\\{byte:02X}" for byte in text + b"\0")
        self._globals[name] = f'@{name} = internal constant [{len(text) + 1} x i8] c"{escaped}"'
        return Value(PTR, f"@{name}")

    def variable(self, name: str) -> Value:
        """An outside variable; gives the pointer to it."""
        self._globals[name] = f"@{name} = external global i8"
        return Value(PTR, f"@{name}")

    def has(self, name: str) -> bool:
        """True when this module defines a function of that name."""
        return any(function.name == name for function in self._functions)

    def text(self) -> str:
        """The whole module as LLVM IR."""
        attributes = (f'attributes #0 = {{ nounwind "target-cpu"="{self.target.llvm_cpu}" '
                      f'"prefer-vector-width"="{8 * self.target.vector_bytes}" "no-trapping-math"="true" }}\n')
        declared = [line for name, line in sorted(self._declared.items()) if not self.has(name)]
        parts = [*self._globals.values(), *declared, *(function.text() for function in self._functions)]
        return "\n".join(parts) + "\n" + attributes + _NO_UNROLL


class Loop:
    """Inside `with f.loop(...)`: `index`, `carried` values; call `next` with their successors; then read `results`."""

    def __init__(self, index, carried):
        self.index = index
        self.carried = carried
        self.results = tuple(carried)
        self._stated = not carried

    def next(self, *values):
        """State the carried values of the next round; needed once in a loop that carries any."""
        if len(values) != len(self.carried):
            raise ValueError(f"the loop carries {len(self.carried)} values, next() got {len(values)}")
        self.results = tuple(values)
        self._stated = True


class Function:
    """One function being written. Methods append an instruction and give its value."""

    def __init__(self, module, name, params, ret, internal):
        self.module, self.name, self.ret_type, self.internal = module, name, ret, internal
        self._signature = ", ".join(f"{type_} %{param}" for type_, param in params)
        self.params = tuple(Value(type_.split()[0] if type_.startswith(PTR) else type_, f"%{param}")
                            for type_, param in params)
        self._lines = []
        self._entry = []
        self._count = 0
        self.block = "entry"

    # --- raw text ---
    def op(self, type_: str, text: str) -> Value:
        """Append an instruction that gives a value of `type_`."""
        self._count += 1
        name = f"%t{self._count}"
        self._lines.append(f"  {name} = {text}")
        return Value(type_, name)

    def do(self, text: str):
        """Append an instruction without a value."""
        self._lines.append("  " + text)

    def comment(self, text: str):
        """Append a comment line."""
        self._lines.append("  ; " + text)

    def text(self) -> str:
        """This function as LLVM IR."""
        linkage = "internal " if self.internal else ""
        tail = "noinline " if self.internal else ""
        head = f"define {linkage}{self.ret_type} @{self.name}({self._signature}) {tail}#0 {{\nentry:"
        return "\n".join([head, *self._entry, *self._lines, "}\n"])

    def lanes(self, element: str) -> int:
        """Elements of a type that fill one vector register of the target."""
        return self.module.target.lanes(bytes_of(element))

    # --- control flow ---
    def new_block(self, hint: str = "b") -> str:
        """A fresh block label, not placed yet."""
        self._count += 1
        return f"{hint}{self._count}"

    def place(self, label: str):
        """Start the block `label`; the block before it must have ended."""
        self._lines.append(f"{label}:")
        self.block = label

    def jump(self, label: str):
        """Go to a block."""
        self.do(f"br label %{label}")

    def jump_if(self, condition: Value, yes: str, no: str):
        """Go to one of two blocks."""
        self.do(f"br i1 {condition.name}, label %{yes}, label %{no}")

    def ret(self, value: Value | None = None):
        """Return."""
        self.do(f"ret {value}" if value is not None else "ret void")

    def phi(self, type_: str, *incoming) -> Value:
        """Merge (value, block label) pairs at the start of a block."""
        pairs = ", ".join(f"[ {self.value(type_, value).name}, %{label} ]" for value, label in incoming)
        return self.op(type_, f"phi {type_} {pairs}")

    @contextmanager
    def when(self, condition: Value):
        """Run the body only where an i1 is true."""
        yes, done = self.new_block("then"), self.new_block("done")
        self.jump_if(condition, yes, done)
        self.place(yes)
        yield
        self.jump(done)
        self.place(done)

    def choose(self, condition: Value, then, otherwise=None) -> tuple:
        """if/else: each function gives a tuple of values (or None); the merged values come back."""
        yes, no, done = self.new_block("then"), self.new_block("else"), self.new_block("done")
        self.jump_if(condition, yes, no)
        ends = []
        for label, body in ((yes, then), (no, otherwise)):
            self.place(label)
            values = (body() if body is not None else None) or ()
            ends.append((values, self.block))
            self.jump(done)
        self.place(done)
        (left, left_block), (right, right_block) = ends
        return tuple(self.phi(self.typed(a, b), (a, left_block), (b, right_block))
                     for a, b in zip(left, right, strict=True))

    def switch(self, selector: Value, cases: dict, default=None):
        """Run the body of the case that equals an i64 selector; bodies give no values."""
        done = self.new_block("done")
        labels = {number: self.new_block("case") for number in cases}
        other = self.new_block("default") if default else done
        table = " ".join(f"i64 {number}, label %{label}" for number, label in labels.items())
        self.do(f"switch {selector}, label %{other} [ {table} ]")
        for number, body in cases.items():
            self.place(labels[number])
            body()
            self.jump(done)
        if default:
            self.place(other)
            default()
            self.jump(done)
        self.place(done)

    @contextmanager
    def loop(self, low, high, step=1, carry=()):
        """for index in range(low, high, step) with positive step; may run zero times. Values may be ints or i64."""
        if isinstance(low, int) and isinstance(high, int) and isinstance(step, int) and low < high <= low + step:
            loop = Loop(self.index(low), tuple(carry))
            yield loop
            self._check_next(loop)
            return
        yield from self._real_loop(low, high, step, tuple(carry))

    def _real_loop(self, low, high, step, carry):
        body, done = self.new_block("loop"), self.new_block("end")
        low, high, before = self.index(low), self.index(high), self.block
        self.jump_if(self.compare("slt", low, high), body, done)
        self.place(body)
        slot = len(self._lines)
        self._lines.extend([""] * (1 + len(carry)))
        loop = Loop(self._fresh(I64), tuple(self._fresh(value.type) for value in carry))
        yield loop
        self._check_next(loop)
        following = self.op(I64, f"add nsw i64 {loop.index.name}, {self.index(step).name}")
        again, last = self.compare("slt", following, high), self.block
        self.do(f"br i1 {again.name}, label %{body}, label %{done}, !llvm.loop !0")
        rows = [(loop.index, low, following), *zip(loop.carried, carry, loop.results, strict=True)]
        for offset, (phi, first, after) in enumerate(rows):
            self._lines[slot + offset] = f"  {phi.name} = phi {phi.type} [ {first.name}, %{before} ], [ {after.name}, %{last} ]"
        self.place(done)
        loop.results = tuple(self.phi(first.type, (first, before), (after, last))
                             for first, after in zip(carry, loop.results, strict=True))

    @staticmethod
    def _check_next(loop):
        if not loop._stated:
            raise ValueError("a loop that carries values must call next() once")

    def _fresh(self, type_):
        self._count += 1
        return Value(type_, f"%t{self._count}")

    # --- values ---
    def value(self, type_: str, number) -> Value:
        """A Value as it is; a Python number as a constant of `type_`."""
        return number if isinstance(number, Value) else constant(type_, number)

    def index(self, number) -> Value:
        """An i64 from an int or a Value."""
        return self.value(I64, number)

    @staticmethod
    def typed(*values) -> str:
        """The type of the first of `values` that is not a Python number; i64 when all are ints, double for floats."""
        for value in values:
            if isinstance(value, Value):
                return value.type
        return I64 if all(isinstance(value, int) for value in values) else "double"

    def binary(self, opcode: str, a, b) -> Value:
        """A two-operand instruction by LLVM's opcode (flags may be part of it: "add nsw")."""
        type_ = self.typed(a, b)
        return self.op(type_, f"{opcode} {type_} {self.value(type_, a).name}, {self.value(type_, b).name}")

    def intrinsic(self, name: str, type_: str, *args, ret: str | None = None) -> Value:
        """A call of an LLVM intrinsic overloaded on one type: intrinsic("fma", "<16 x float>", a, b, c)."""
        args = [self.value(type_, arg) for arg in args]
        return self.call(f"llvm.{name}.{mangled(type_)}", ret or type_, *args)

    def call(self, name: str, ret: str, *args) -> Value | None:
        """Call a function by name, declaring it in the module when it is not defined there."""
        if not self.module.has(name):
            self.module.declare(name, ret, [arg.type for arg in args])
        text = f"call {ret} @{name}({', '.join(map(str, args))})"
        return self.do(text) if ret == VOID else self.op(ret, text)

    def call_pointer(self, pointer: Value, ret: str, *args) -> Value | None:
        """Call through a function pointer."""
        text = f"call {ret} {pointer.name}({', '.join(map(str, args))})"
        return self.do(text) if ret == VOID else self.op(ret, text)

    # --- integers; Python ints fold ---
    def add(self, a, b):
        """a + b, for indices and other integers; no overflow expected."""
        return self._fold("add nsw", a, b, lambda x, y: x + y, right_unit=0, left_unit=0)

    def sub(self, a, b):
        """a - b."""
        return self._fold("sub nsw", a, b, lambda x, y: x - y, right_unit=0)

    def mul(self, a, b):
        """a * b."""
        if 0 in (a, b) and (isinstance(a, int) or isinstance(b, int)):
            return 0
        return self._fold("mul nsw", a, b, lambda x, y: x * y, right_unit=1, left_unit=1)

    def div(self, a, b):
        """a // b of non-negative integers."""
        return self._fold("udiv", a, b, lambda x, y: x // y, right_unit=1)

    def mod(self, a, b):
        """a % b of non-negative integers."""
        return self._fold("urem", a, b, lambda x, y: x % y)

    def bit_and(self, a, b):
        """Bitwise and; bit_and(n, -16) rounds down to a multiple of 16."""
        return self._fold("and", a, b, lambda x, y: x & y)

    def min(self, a, b):
        """The smaller of two signed integers."""
        return min(a, b) if isinstance(a, int) and isinstance(b, int) else self.intrinsic("smin", self.typed(a, b), a, b)

    def max(self, a, b):
        """The larger of two signed integers."""
        return max(a, b) if isinstance(a, int) and isinstance(b, int) else self.intrinsic("smax", self.typed(a, b), a, b)

    def ceil_div(self, a, b):
        """(a + b - 1) // b of non-negative integers."""
        return self.div(self.add(a, self.sub(b, 1)), b)

    def _fold(self, opcode, a, b, compute, right_unit=None, left_unit=None):
        if isinstance(a, int) and isinstance(b, int):
            return compute(a, b)
        if right_unit is not None and isinstance(b, int) and b == right_unit:
            return a
        if left_unit is not None and isinstance(a, int) and a == left_unit:
            return b
        return self.binary(opcode, a, b)

    # --- floats ---
    def fadd(self, a, b):
        """a + b."""
        return self.binary("fadd", a, b)

    def fsub(self, a, b):
        """a - b."""
        return self.binary("fsub", a, b)

    def fmul(self, a, b):
        """a * b."""
        return self.binary("fmul", a, b)

    def fdiv(self, a, b):
        """a / b."""
        return self.binary("fdiv", a, b)

    def fneg(self, a):
        """-a."""
        return self.op(a.type, f"fneg {a}")

    def fma(self, a, b, c):
        """a * b + c rounded once (on a target without the instruction: slow, but the same bits)."""
        return self.intrinsic("fma", self.typed(a, b, c), a, b, c)

    def compare(self, predicate: str, a, b) -> Value:
        """icmp or fcmp by LLVM's predicate: slt, eq, ..., olt, une, ..."""
        type_ = self.typed(a, b)
        opcode = "fcmp" if is_float(type_) else "icmp"
        text = f"{opcode} {predicate} {type_} {self.value(type_, a).name}, {self.value(type_, b).name}"
        return self.op(like(type_, I1), text)

    def select(self, condition: Value, a, b) -> Value:
        """a where the condition holds, else b; lane by lane for a vector condition."""
        type_ = self.typed(a, b)
        return self.op(type_, f"select {condition}, {self.value(type_, a)}, {self.value(type_, b)}")

    def cast(self, opcode: str, a: Value, type_: str) -> Value:
        """A conversion by LLVM's opcode: sext, zext, trunc, sitofp, uitofp, fptosi, fpext, fptrunc, bitcast, ..."""
        return a if a.type == type_ else self.op(type_, f"{opcode} {a} to {type_}")

    def bitcast(self, a: Value, type_: str) -> Value:
        """The same bits as another type of the same size."""
        return self.cast("bitcast", a, type_)

    # --- vectors ---
    def splat(self, a: Value, lanes: int) -> Value:
        """A scalar in every lane."""
        if lanes == 1:
            return a
        type_ = vector(lanes, a.type)
        first = self.op(type_, f"insertelement {poison(type_)}, {a}, i64 0")
        return self.op(type_, f"shufflevector {first}, {poison(type_)}, {zero(vector(lanes, I32))}")

    def shuffle(self, a: Value, b: Value, lanes) -> Value:
        """Lanes of a (0 .. n-1) and b (n .. 2n-1) in the order given; -1 leaves a lane undefined."""
        lanes = list(lanes)
        mask = ", ".join("i32 poison" if lane < 0 else f"i32 {lane}" for lane in lanes)
        type_ = vector(len(lanes), element_of(a.type))
        return self.op(type_, f"shufflevector {a}, {b}, <{len(lanes)} x i32> <{mask}>")

    def extract(self, a: Value, lane) -> Value:
        """One lane as a scalar."""
        return a if lanes_of(a.type) == 1 else self.op(element_of(a.type), f"extractelement {a}, {self.index(lane)}")

    def insert(self, a: Value, scalar: Value, lane) -> Value:
        """A vector with one lane replaced."""
        return self.op(a.type, f"insertelement {a}, {scalar}, {self.index(lane)}")

    def mask(self, count, lanes: int) -> Value:
        """<lanes x i1>: true in the lanes below `count` (any i64; may be negative or more than `lanes`)."""
        count = self.min(self.max(count, 0), lanes)
        narrow = self.cast("trunc", self.index(count), I32) if isinstance(count, Value) else constant(I32, count)
        return self.compare("slt", iota(lanes), self.splat(narrow, lanes))

    # --- memory ---
    def at(self, pointer: Value, offset, type_: str = I8) -> Value:
        """The address `offset` elements of `type_` after a pointer."""
        if isinstance(offset, int) and offset == 0:
            return pointer
        return self.op(PTR, f"getelementptr {type_}, {pointer}, {self.index(offset)}")

    def load(self, type_: str, pointer: Value, align: int | None = None) -> Value:
        """Load; the alignment is the element's own unless stated."""
        return self.op(type_, f"load {type_}, {pointer}, align {align or bytes_of(element_of(type_))}")

    def store(self, a: Value, pointer: Value, align: int | None = None, nontemporal: bool = False):
        """Store; the alignment is the element's own unless stated."""
        hint = ", !nontemporal !2" if nontemporal else ""
        self.do(f"store {a}, {pointer}, align {align or bytes_of(element_of(a.type))}{hint}")

    def load_masked(self, type_: str, pointer: Value, mask: Value, other=0) -> Value:
        """Load the lanes where the mask holds; the others are `other` and their memory is not touched."""
        other = self.value(type_, other) if other != 0 else zero(type_)
        align = Value(I32, str(bytes_of(element_of(type_))))
        return self.call(f"llvm.masked.load.{mangled(type_)}.p0", type_, pointer, align, mask, other)

    def store_masked(self, a: Value, pointer: Value, mask: Value):
        """Store the lanes where the mask holds."""
        align = Value(I32, str(bytes_of(element_of(a.type))))
        self.call(f"llvm.masked.store.{mangled(a.type)}.p0", VOID, a, pointer, align, mask)

    def gather(self, type_: str, pointers: Value, mask: Value | None = None) -> Value:
        """Load one element per lane from a vector of pointers."""
        mask = mask or constant(like(type_, I1), True)
        align = Value(I32, str(bytes_of(element_of(type_))))
        name = f"llvm.masked.gather.{mangled(type_)}.{mangled(pointers.type)}"
        return self.call(name, type_, pointers, align, mask, zero(type_))

    def prefetch(self, pointer: Value, locality: int = 3, write: bool = False):
        """Ask for a cache line; 3 keeps it near, 0 lets it go soon."""
        args = (Value(I32, str(int(write))), Value(I32, str(locality)), Value(I32, "1"))
        self.call("llvm.prefetch.p0", VOID, pointer, *args)

    def local(self, size: int, align: int = 64) -> Value:
        """Room on the stack, in bytes, for the length of the function."""
        self._count += 1
        self._entry.append(f"  %s{self._count} = alloca [{size} x i8], align {align}")
        return Value(PTR, f"%s{self._count}")


__all__ = ["Function", "Loop", "Module", "Value", "bytes_of", "constant", "element_of", "iota", "is_float", "lanes_of",
           "like", "mangled", "null", "poison", "vector", "zero"]
