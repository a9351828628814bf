"""Entry functions of a C library, as LLVM IR: they check tensors, take an arena, and run the step list.

    int <name>_run(const <name>_tensor *in, <name>_tensor *out)
    int <name>_run(const <name>_tensor *in, <name>_tensor *out, <name>_state *state)     of a model with a state, and
    int <name>_init_state(<name>_state *state)
    int <name>_init(const void *weights, size_t size)             if the weights are beside the library
    int <name>_set_threads(int threads)                           if more than one thread is allowed
    const char *<name>_message(int code)

They read blocks of data that `to_c` lays out:
- `ingot_steps`: the step list;
- `ingot_weights`, and `ingot_initial`, the initial state;
- `ingot_inputs` and `ingot_outputs`: expected tensors;
- `ingot_slots`: one cache line for each arena, whose first word is 1 while the arena is taken; and `ingot_arenas`;
- `ingot_messages`: a text of fixed room for each code.

A run checks all that its arguments say before it writes: pointers, dtypes, sizes, alignment, and that no output shares memory
with another tensor, with the descriptors, the state or the weights.
"""

from dataclasses import dataclass

from ....passes.codegen.llvm.loops import programs
from ....passes.codegen.llvm.pool import fork_join
from .c_checks import CHECK, CODES, SPANS, TENSOR_BYTES, aligned_text, apart_text, message_text, pointer_text, there_text

STAMP_BYTES = 64                 # at the start of a file of weights: identifies the model


@dataclass(frozen=True)
class Entry:
    """Parameters of the entry functions.

    name       prefix of all visible names
    reads      source of each array that the step list reads: ("in", number), ("weights", byte), or ("state", byte)
    writes     place of each array that it writes: ("out", number), or ("next", byte) at the end of the arena
    arena      bytes of an arena; there are `arenas` of them
    embedded   whether the weights are in the library, not in a file
    threads    most threads of a run
    once       derived weights, computed at the first run: arguments of its step list, as (kind, byte), and its arena
    state      bytes of the state
    state_align  alignment of the state
    updates    copies into the state at the end of a run: (kind and place, as in `writes`, byte of the state, bytes)
    """

    name: str
    inputs: int
    outputs: int
    reads: tuple
    writes: tuple
    arena: int
    arenas: int
    embedded: bool
    weight_bytes: int
    threads: int
    once: tuple | None = None
    state: int = 0
    state_align: int = 1
    updates: tuple = ()


def entry_text(e: Entry) -> str:
    """Return the module as text."""
    parts = [_HEAD, CHECK, SPANS, apart_text(e.inputs, e.outputs, _blocks(e)), _arena(e), _run(e), message_text(e.name)]
    if e.once is not None:
        parts.append(_prepare(e.once))
    if not e.embedded:
        parts.append(_init(e))
    if e.state:
        parts += [_COPY, _init_state(e)]
    if e.threads > 1:
        parts.append(_threads(e))
    return "\n".join(parts)


_HEAD = "\n".join(["@ingot_weights_at = internal global ptr null, align 8",
                   *[f"@ingot_{name} = external hidden global i8" for name in
                     ("steps", "weights", "stamp", "inputs", "outputs", "slots", "arenas", "pool_state", "once", "made",
                      "state", "initial", "messages")],
                   f"declare void @{programs.RUNNER}(ptr)", "declare void @ingot_pool_stop()",
                   "declare i32 @ingot_pool_try_acquire()"])

def _blocks(e: Entry) -> list:
    """Return the memory that outputs may not share besides that of tensors: (pointer, bytes)."""
    blocks = [("%in", e.inputs * TENSOR_BYTES), ("%out", e.outputs * TENSOR_BYTES)]
    blocks += [("%state", e.state)] if e.state else []
    return blocks + ([] if e.embedded else [("%weights", e.weight_bytes - STAMP_BYTES)])


def _arena(e: Entry) -> str:
    """Return the function that takes a free arena, polling until there is one."""
    return f"""
define internal i64 @take() nounwind {{
entry:
  br label %try
try:
  %i = phi i64 [ 0, %entry ], [ %next, %again ]
  %byte = mul i64 %i, 64
  %slot = getelementptr i8, ptr @ingot_slots, i64 %byte
  %pair = cmpxchg ptr %slot, i32 0, i32 1 acquire monotonic
  %won = extractvalue {{ i32, i1 }} %pair, 1
  br i1 %won, label %done, label %again
again:
  %i1 = add i64 %i, 1
  %next = urem i64 %i1, {e.arenas}
  br label %try
done:
  ret i64 %i
}}"""


def _run(e: Entry) -> str:
    """Return the function that users call."""
    lines, block = [], [("ptr", "@ingot_steps"), ("ptr", "%arena")]
    for number, (kind, where) in enumerate(e.reads):
        if kind == "in":
            lines += [f"  %r{number}p = getelementptr i8, ptr %in, i64 {TENSOR_BYTES * where}",
                      f"  %r{number} = load ptr, ptr %r{number}p, align 8"]
        else:
            base = {"weights": "%weights", "state": "%state"}.get(kind, "@ingot_made")
            lines.append(f"  %r{number} = getelementptr i8, ptr {base}, i64 {where}")
        block.append(("ptr", f"%r{number}"))
    for number, (kind, where) in enumerate(e.writes):
        lines += _written(f"%w{number}", kind, where)
        block.append(("ptr", f"%w{number}"))
    for number, (kind, value) in enumerate(block):
        lines += [f"  %b{number} = getelementptr i8, ptr %block, i64 {8 * number}",
                  f"  store {kind} {value}, ptr %b{number}, align 8"]
    base = "  %weights = getelementptr i8, ptr @ingot_weights, i64 0\n  br label %given" if e.embedded else f"""
  %weights = load atomic ptr, ptr @ingot_weights_at acquire, align 8
  %unset = icmp eq ptr %weights, null
  br i1 %unset, label %notready, label %given
notready:
  ret i32 {CODES.index("NOT_READY")}"""
    ready = "" if e.threads == 1 else f"""
  %threadsp = getelementptr i8, ptr @ingot_pool_state, i64 {fork_join.THREADS}
  %threads = load atomic i64, ptr %threadsp monotonic, align 8
  %cold = icmp eq i64 %threads, 0
  %now = select i1 %cold, i64 1, i64 %threads
  store atomic i64 %now, ptr %threadsp monotonic, align 8"""
    updates = []
    for number, (kind, where, to, size) in enumerate(e.updates):
        updates += [f"  %s{number} = getelementptr i8, ptr %state, i64 {to}",
                    f"  call void @copy(ptr %s{number}, ptr %w{e.writes.index((kind, where))}, i64 {size})"]
    state = pointer_text("state", e.state_align, "ins") if e.state else "  br label %ins"
    return f"""
define i32 @{e.name}_run(ptr %in, ptr %out{", ptr %state" if e.state else ""}) nounwind {{
entry:
  %block = alloca [{len(block)} x i64], align 64
{state}
ins:
  %badin = call i32 @check(ptr %in, ptr @ingot_inputs, i64 {e.inputs})
  %goodin = icmp eq i32 %badin, 0
  br i1 %goodin, label %outs, label %wrongin
wrongin:
  ret i32 %badin
outs:
  %badout = call i32 @check(ptr %out, ptr @ingot_outputs, i64 {e.outputs})
  %goodout = icmp eq i32 %badout, 0
  br i1 %goodout, label %place, label %wrongout
wrongout:
  ret i32 %badout
place:
{base}
given:
  %apart = call i1 @apart(ptr %in, ptr %out, ptr {"%state" if e.state else "null"}, ptr %weights)
  br i1 %apart, label %begin, label %shared
shared:
  ret i32 {CODES.index("OVERLAP")}
begin:{ready}{"" if e.once is None else chr(10) + "  call void @prepare(ptr %weights)"}
  %number = call i64 @take()
  %skip = mul i64 %number, {e.arena}
  %arena = getelementptr i8, ptr @ingot_arenas, i64 %skip
{chr(10).join(lines)}
  call void @{programs.RUNNER}(ptr %block)
  %status = load i64, ptr %arena, align 8
  %failed = icmp ne i64 %status, 0
  br i1 %failed, label %release, label %update
update:
{chr(10).join(updates)}
  br label %release
release:
  %slotbyte = mul i64 %number, 64
  %slot = getelementptr i8, ptr @ingot_slots, i64 %slotbyte
  store atomic i32 0, ptr %slot release, align 4
  %code = select i1 %failed, i32 {CODES.index("DATA")}, i32 0
  ret i32 %code
}}"""


def _written(name, kind, where) -> list:
    """Return code for the address of a written array: the data of an output, or the end of the arena."""
    if kind == "next":
        return [f"  {name} = getelementptr i8, ptr %arena, i64 {where}"]
    return [f"  {name}p = getelementptr i8, ptr %out, i64 {TENSOR_BYTES * where}", f"  {name} = load ptr, ptr {name}p, align 8"]


# Copies bytes without the system's memcpy, which LLVM would call for such a loop.
_COPY = """
define internal void @copy(ptr %to, ptr %from, i64 %size) nounwind noinline "no-builtins" {
entry:
  %whole = and i64 %size, -8
  br label %words
words:
  %i = phi i64 [ 0, %entry ], [ %i1, %word ]
  %more = icmp ult i64 %i, %whole
  br i1 %more, label %word, label %bytes
word:
  %f = getelementptr i8, ptr %from, i64 %i
  %t = getelementptr i8, ptr %to, i64 %i
  %w = load i64, ptr %f, align 1
  store i64 %w, ptr %t, align 1
  %i1 = add i64 %i, 8
  br label %words
bytes:
  %j = phi i64 [ %i, %words ], [ %j1, %byte ]
  %last = icmp ult i64 %j, %size
  br i1 %last, label %byte, label %done
byte:
  %g = getelementptr i8, ptr %from, i64 %j
  %u = getelementptr i8, ptr %to, i64 %j
  %b = load i8, ptr %g, align 1
  store i8 %b, ptr %u, align 1
  %j1 = add i64 %j, 1
  br label %bytes
done:
  ret void
}"""


def _init_state(e: Entry) -> str:
    """Return the function that fills in the initial state."""
    return f"""
define i32 @{e.name}_init_state(ptr %state) nounwind {{
entry:
{pointer_text("state", e.state_align, "good")}
good:
  call void @copy(ptr %state, ptr @ingot_initial, i64 {e.state})
  ret i32 0
}}"""


def _prepare(once) -> str:
    """Return the function that computes derived weights once, in the first thread; others wait for it."""
    arguments, arena = once
    lines = []
    for number, (kind, where) in enumerate(arguments, 2):
        base = "%weights" if kind == "weights" else "@ingot_made"
        lines += [f"  %p{number} = getelementptr i8, ptr {base}, i64 {where}",
                  f"  %b{number} = getelementptr i8, ptr %block, i64 {8 * number}",
                  f"  store ptr %p{number}, ptr %b{number}, align 8"]
    return f"""
define internal void @prepare(ptr %weights) nounwind {{
entry:
  %block = alloca [{2 + len(arguments)} x i64], align 64
  br label %look
look:
  %state = load atomic i32, ptr @ingot_state acquire, align 4
  %done = icmp eq i32 %state, 2
  br i1 %done, label %out, label %try
try:
  %pair = cmpxchg ptr @ingot_state, i32 0, i32 1 acquire monotonic
  %mine = extractvalue {{ i32, i1 }} %pair, 1
  br i1 %mine, label %make, label %look
make:
  store ptr @ingot_once, ptr %block, align 8
  %arenap = getelementptr i8, ptr %block, i64 8
  %arena = getelementptr i8, ptr @ingot_made, i64 {arena}
  store ptr %arena, ptr %arenap, align 8
{chr(10).join(lines)}
  call void @{programs.RUNNER}(ptr %block)
  store atomic i32 2, ptr @ingot_state release, align 4
  br label %out
out:
  ret void
}}"""


def _init(e: Entry) -> str:
    """Return the function that takes the weights: the content of the file, which must stay in place."""
    return f"""
define i32 @{e.name}_init(ptr %weights, i64 %size) nounwind {{
entry:
{there_text("weights", "there")}
there:
  %fits = icmp eq i64 %size, {e.weight_bytes}
  br i1 %fits, label %next, label %wrong
next:
  %i = phi i64 [ 0, %there ], [ %i1, %look ]
  %more = icmp ult i64 %i, {STAMP_BYTES}
  br i1 %more, label %look, label %ours
look:
  %ap = getelementptr i8, ptr %weights, i64 %i
  %bp = getelementptr i8, ptr @ingot_stamp, i64 %i
  %a = load i64, ptr %ap, align 1
  %b = load i64, ptr %bp, align 8
  %i1 = add i64 %i, 8
  %equal = icmp eq i64 %a, %b
  br i1 %equal, label %next, label %wrong
ours:
{aligned_text("weights", STAMP_BYTES, "good")}
good:
  %start = getelementptr i8, ptr %weights, i64 {STAMP_BYTES}
  store atomic ptr %start, ptr @ingot_weights_at release, align 8
  ret i32 0
wrong:
  ret i32 {CODES.index("WEIGHTS")}
}}"""


def _threads(e: Entry) -> str:
    """Set how many threads a run uses; those that wait are ended."""
    return f"""
define i32 @{e.name}_set_threads(i32 %wanted) nounwind {{
entry:
  %low = icmp slt i32 %wanted, 1
  %least = select i1 %low, i32 1, i32 %wanted
  %high = icmp sgt i32 %least, {e.threads}
  %count = select i1 %high, i32 {e.threads}, i32 %least
  br label %wait
wait:
  %mine = call i32 @ingot_pool_try_acquire()
  %got = icmp ne i32 %mine, 0
  br i1 %got, label %set, label %wait
set:
  call void @ingot_pool_stop()
  %threadsp = getelementptr i8, ptr @ingot_pool_state, i64 {fork_join.THREADS}
  %long = sext i32 %count to i64
  store atomic i64 %long, ptr %threadsp monotonic, align 8
  %spinp = getelementptr i8, ptr @ingot_pool_state, i64 {fork_join.SPIN}
  store i64 1500, ptr %spinp, align 8
  %busyp = getelementptr i8, ptr @ingot_pool_state, i64 {fork_join.BUSY}
  store atomic i32 0, ptr %busyp release, align 4
  ret i32 %count
}}"""
