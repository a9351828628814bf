"""LLVM IR as text: `Module` gathers functions and declarations, `Function` appends instructions in SSA form.

Writing the text needs no LLVM. Values carry their types, so an instruction is one short call:

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
instruction carries fast-math flags unless the caller sets them.
"""

from contextlib import contextmanager
from dataclasses import dataclass

from .....ir.target import Target
from .instructions import Instructions
from .types import I64, PTR, VOID, Value, bytes_of, constant

_NO_UNROLL = "\n!0 = distinct !{!0, !1}\n!1 = !{!\"llvm.loop.unroll.disable\"}\n!2 = !{i32 1}\n"
_RARE = "!3 = !{!\"branch_weights\", i32 1, i32 1000}\n"


class Module:
    """One unit of compilation: functions, the declarations they need, and constant tables."""

    def __init__(self, target: Target):
        self.target = target
        self._functions: dict = {}
        self._declared: dict = {}
        self._globals: dict = {}

    def function(self, name: str, params, ret: str = VOID, internal: bool = False) -> "Function":
        """Start a function. `params` are (type, name) pairs; a type may carry attributes: ("ptr noalias", "x")."""
        if name in self._functions:
            raise ValueError(f"the module has a function {name!r} already")
        function = self._functions[name] = Function(self, name, params, ret, internal)
        return function

    def task(self, name: str) -> "Function":
        """Start a function of the pool's task type: void (ptr arg, i64 chunk, i64 worker)."""
        return self.function(name, [(PTR, "arg"), (I64, "chunk"), (I64, "worker")])

    def declare(self, name: str, ret: str, types, variadic: bool = False) -> str:
        """Declare an external function or intrinsic once, and return its name."""
        if name not in self._functions and name not in self._declared:
            tail = ["..."] if variadic else []
            self._declared[name] = f"declare {ret} @{name}({', '.join([*types, *tail])})"
        return name

    def table(self, name: str, element: str, numbers, align: int = 64) -> Value:
        """Define a read-only array of constants, and return its pointer."""
        numbers = list(numbers)
        items = ", ".join(str(constant(element, number)) for number in numbers)
        self._globals[name] = f"@{name} = internal constant [{len(numbers)} x {element}] [{items}], align {align}"
        return Value(PTR, f"@{name}")

    def function_table(self, name: str, functions) -> Value:
        """Define a read-only array of pointers to functions of this module (null for None), and return its pointer."""
        items = ", ".join("ptr null" if function is None else f"ptr @{function}" for function in functions)
        self._globals[name] = f"@{name} = internal constant [{len(functions)} x ptr] [{items}], align 64"
        return Value(PTR, f"@{name}")

    def text_constant(self, name: str, text: bytes) -> Value:
        """Define a zero-terminated string, and return its pointer."""
        escaped = "".join(f"\\{byte:02X}" for byte in text + b"\0")
        self._globals[name] = f'@{name} = internal constant [{len(text) + 1} x i8] c"{escaped}"'
        return Value(PTR, f"@{name}")

    def variable(self, name: str) -> Value:
        """Declare an external variable, and return its pointer."""
        self._globals[name] = f"@{name} = external global i8"
        return Value(PTR, f"@{name}")

    def has(self, name: str) -> bool:
        """Return whether this module defines a function."""
        return name in self._functions

    def text(self) -> str:
        """Return the module as LLVM IR."""
        attributes = (f'attributes #0 = {{ nounwind "target-cpu"="{self.target.llvm_cpu}" '
                      f'"prefer-vector-width"="{8 * self.target.vector_bytes}" "no-trapping-math"="true" }}\n')
        declared = [line for name, line in sorted(self._declared.items()) if not self.has(name)]
        parts = [*self._globals.values(), *declared, *(function.text() for function in self._functions.values())]
        return "\n".join(parts) + "\n" + attributes + _NO_UNROLL + _RARE


@dataclass(frozen=True)
class ModuleWriter:
    """Writer of one module; its fields determine the text."""

    target: Target

    def write(self, module: Module):
        """Add the functions to the module."""
        raise NotImplementedError

    def text(self) -> str:
        """Return the module as LLVM IR."""
        module = Module(self.target)
        self.write(module)
        return module.text()


@dataclass(frozen=True)
class ElementWriter(ModuleWriter):
    """Writer of a module for one type of elements."""

    element: str

    @property
    def lanes(self) -> int:
        """Count of elements in a vector."""
        return self.target.lanes(bytes_of(self.element))


class Loop:
    """State of `with f.loop(...)`: `index` and `carried` inside, `results` after it. The body calls `next`."""

    def __init__(self, index, carried):
        self.index = index
        self.carried = carried
        self.results = tuple(carried)
        self.again = None
        self._stated = not carried

    def next(self, *values, again=None):
        """State the next iteration's carried values, once in a loop that carries any. A false `again` (an i1) ends it."""
        if len(values) != len(self.carried):
            raise ValueError(f"the loop carries {len(self.carried)} values, next() got {len(values)}")
        self.results, self.again = tuple(values), again
        self._stated = True


class Function(Instructions):
    """One function being written. Methods append an instruction and return its value."""

    def __init__(self, module, name, params, ret, internal):
        super().__init__(module)
        self.name, self.ret_type, self.internal = name, ret, internal
        self._signature = ", ".join(f"{type_} %{param}" for type_, param in params)
        self.params = tuple(Value(type_.split()[0] if type_.startswith(PTR) else type_, f"%{param}")
                            for type_, param in params)
        self.block = "entry"

    def text(self) -> str:
        """Return the function as LLVM IR."""
        linkage = "internal " if self.internal else ""
        tail = "noinline " if self.internal else ""
        head = f"define {linkage}{self.ret_type} @{self.name}({self._signature}) {tail}#0 {{\nentry:"
        return "\n".join([head, *self._entry, *self._lines, "}\n"])

    def lanes(self, element: str) -> int:
        """Return how many elements of a type fill one vector register of the target."""
        return self.module.target.lanes(bytes_of(element))

    # --- control flow ---
    def new_block(self, hint: str = "b") -> str:
        """Return a fresh block label, not placed yet."""
        self._count += 1
        return f"{hint}{self._count}"

    def place(self, label: str):
        """Start the block `label`; the block before it must have ended."""
        self._lines.append(f"{label}:")
        self.block = label

    def jump(self, label: str):
        """Branch to a block."""
        self.do(f"br label %{label}")

    def jump_if(self, condition: Value, yes: str, no: str, is_rare=False):
        """Branch to one of two blocks; `is_rare` says that the first one is unlikely."""
        self.do(f"br i1 {condition.name}, label %{yes}, label %{no}{', !prof !3' * is_rare}")

    def ret(self, value: Value | None = None):
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

    def choose(self, condition: Value, then, otherwise=None, is_rare=False) -> tuple:
        """Branch and return the merged values: functions return a tuple or None. `is_rare`: the condition seldom holds."""
        yes, no, done = self.new_block("then"), self.new_block("else"), self.new_block("done")
        self.jump_if(condition, yes, no, is_rare)
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
        """Run the body of the case that equals an i64 selector; bodies return no values."""
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
        """Write `for index in range(low, high, step)` with a positive step; bounds may be ints or i64."""
        if isinstance(low, int) and isinstance(high, int) and isinstance(step, int) and low < high <= low + step:
            loop = Loop(self.index(low), tuple(carry))
            yield loop
            self._check_next(loop)
            return
        yield from self._real_loop(low, high, step, tuple(carry))

    def vectors(self, count, lanes: int, body):
        """Call body(at, mask) for each vector of `count` elements. The mask is None except in a last partial vector."""
        whole = self.bit_and(count, -lanes)
        with self.loop(0, whole, lanes) as loop:
            body(loop.index, None)
        rest = self.sub(count, whole)
        with self.when(self.compare("sgt", rest, 0)):
            body(whole, self.mask(rest, lanes))

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
        again = self.compare("slt", following, high)
        if loop.again is not None:
            again = self.bit_and(again, loop.again)
        last = self.block
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
