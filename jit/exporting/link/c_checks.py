"""Checks of the arguments of a C library, as LLVM IR, with the codes that they give and the texts of these.

Nothing is read through a pointer before it is checked. The library holds each expected tensor as bytes (`expected_bytes`).
"""

import math
import struct

TENSOR_BYTES, MOST_DIMS = 80, 8
EXPECTED_BYTES = TENSOR_BYTES + 16      # a descriptor, the bytes of the data, the low bits of its address that must be 0
_MESSAGE_BYTES = 128
MEANINGS = {
    "OK": "",
    "NULL": "a pointer is NULL",
    "DTYPE": "a tensor has another dtype",
    "RANK": "a tensor has another rank",
    "SHAPE": "a tensor has other sizes",
    "DATA": "a value cannot be computed with, such as an index out of range",
    "NOT_READY": "the weights were not given yet",
    "WEIGHTS": "these are not the weights of this model",
    "ALIGNMENT": "a pointer is not aligned",
    "OVERLAP": "an output shares memory with another argument",
}
CODES = tuple(MEANINGS)


def expected_bytes(spec, number: int) -> bytes:
    """Return an expected tensor with dtype `number`, as the checks read it."""
    sizes = [*spec.shape, *[0] * (MOST_DIMS - len(spec.shape))]
    size = spec.dtype.itemsize * math.prod(spec.shape)
    return struct.pack(f"<Qii{MOST_DIMS}qQQ", 0, number, len(spec.shape), *sizes, size, spec.dtype.itemsize - 1)


def message_bytes() -> bytes:
    """Return the texts of all codes, and one for other numbers."""
    return b"".join(text.encode().ljust(_MESSAGE_BYTES, b"\0") for text in (*MEANINGS.values(), "no code of this library"))


# Finds the tensor %i, and the expected one.
_ROW = f"""  %byte = mul i64 %i, {TENSOR_BYTES}
  %wbyte = mul i64 %i, {EXPECTED_BYTES}
  %t = getelementptr i8, ptr %tensors, i64 %byte
  %w = getelementptr i8, ptr %wanted, i64 %wbyte"""

# Compares the address, dtype, rank and sizes of tensors with the expected ones.
CHECK = f"""
define internal i32 @check(ptr %tensors, ptr %wanted, i64 %count) nounwind {{
entry:
  %first = ptrtoint ptr %tensors to i64
  %missing = icmp eq ptr %tensors, null
  br i1 %missing, label %null, label %whole
whole:
  %odd = and i64 %first, 7
  %even = icmp eq i64 %odd, 0
  br i1 %even, label %next, label %align
next:
  %i = phi i64 [ 0, %whole ], [ %i1, %good ]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %look, label %ok
look:
{_ROW}
  %data = load i64, ptr %t, align 8
  %nodata = icmp eq i64 %data, 0
  br i1 %nodata, label %null, label %types
types:
  %tdp = getelementptr i8, ptr %t, i64 8
  %wdp = getelementptr i8, ptr %w, i64 8
  %td = load i32, ptr %tdp, align 4
  %wd = load i32, ptr %wdp, align 4
  %samed = icmp eq i32 %td, %wd
  br i1 %samed, label %ranks, label %dtype
ranks:
  %trp = getelementptr i8, ptr %t, i64 12
  %wrp = getelementptr i8, ptr %w, i64 12
  %tr = load i32, ptr %trp, align 4
  %wr = load i32, ptr %wrp, align 4
  %samer = icmp eq i32 %tr, %wr
  br i1 %samer, label %dims, label %rank
dims:
  %d = phi i32 [ 0, %ranks ], [ %d1, %dim ]
  %moredims = icmp slt i32 %d, %wr
  br i1 %moredims, label %dim, label %aligned
dim:
  %dl = sext i32 %d to i64
  %db = mul i64 %dl, 8
  %at = add i64 %db, 16
  %tsp = getelementptr i8, ptr %t, i64 %at
  %wsp = getelementptr i8, ptr %w, i64 %at
  %ts = load i64, ptr %tsp, align 8
  %ws = load i64, ptr %wsp, align 8
  %d1 = add i32 %d, 1
  %sames = icmp eq i64 %ts, %ws
  br i1 %sames, label %dims, label %shape
aligned:
  %lowp = getelementptr i8, ptr %w, i64 {TENSOR_BYTES + 8}
  %low = load i64, ptr %lowp, align 8
  %bits = and i64 %data, %low
  %straight = icmp eq i64 %bits, 0
  br i1 %straight, label %good, label %align
good:
  %i1 = add i64 %i, 1
  br label %next
ok:
  ret i32 0
null:
  ret i32 {CODES.index("NULL")}
dtype:
  ret i32 {CODES.index("DTYPE")}
rank:
  ret i32 {CODES.index("RANK")}
shape:
  ret i32 {CODES.index("SHAPE")}
align:
  ret i32 {CODES.index("ALIGNMENT")}
}}"""

# Writes the first byte of the data of tensors, and the byte behind it, or zeros for tensors without elements.
SPANS = f"""
define internal void @spans(ptr %tensors, ptr %wanted, i64 %count, ptr %begins, ptr %ends) nounwind {{
entry:
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i1, %look ]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %look, label %done
look:
{_ROW}
  %sizep = getelementptr i8, ptr %w, i64 {TENSOR_BYTES}
  %data = load i64, ptr %t, align 8
  %size = load i64, ptr %sizep, align 8
  %empty = icmp eq i64 %size, 0
  %begin = select i1 %empty, i64 0, i64 %data
  %end = add i64 %begin, %size
  %beginp = getelementptr i64, ptr %begins, i64 %i
  %endp = getelementptr i64, ptr %ends, i64 %i
  store i64 %begin, ptr %beginp, align 8
  store i64 %end, ptr %endp, align 8
  %i1 = add i64 %i, 1
  br label %next
done:
  ret void
}}"""


def apart_text(inputs: int, outputs: int, blocks: list) -> str:
    """Return the function that tells whether each output has memory of its own, apart from `blocks` as well."""
    first = len(blocks) + inputs
    lines = [line for number, (pointer, size) in enumerate(blocks) for line in (
        f"  %begin{number} = ptrtoint ptr {pointer} to i64", f"  %end{number} = add i64 %begin{number}, {size}",
        f"  %beginp{number} = getelementptr i64, ptr %begins, i64 {number}",
        f"  %endp{number} = getelementptr i64, ptr %ends, i64 {number}",
        f"  store i64 %begin{number}, ptr %beginp{number}, align 8", f"  store i64 %end{number}, ptr %endp{number}, align 8")]
    for kind, start, count in (("in", len(blocks), inputs), ("out", first, outputs)):
        lines += [f"  %{kind}begins = getelementptr i64, ptr %begins, i64 {start}",
                  f"  %{kind}ends = getelementptr i64, ptr %ends, i64 {start}",
                  f"  call void @spans(ptr %{kind}, ptr @ingot_{kind}puts, i64 {count}, ptr %{kind}begins, ptr %{kind}ends)"]
    return f"""
define internal i1 @apart(ptr %in, ptr %out, ptr %state, ptr %weights) nounwind {{
entry:
  %begins = alloca [{first + outputs} x i64], align 64
  %ends = alloca [{first + outputs} x i64], align 64
{chr(10).join(lines)}
  br label %next
next:
  %i = phi i64 [ {first}, %entry ], [ %i1, %compared ]
  %more = icmp ult i64 %i, {first + outputs}
  br i1 %more, label %look, label %yes
look:
  %beginp = getelementptr i64, ptr %begins, i64 %i
  %endp = getelementptr i64, ptr %ends, i64 %i
  %begin = load i64, ptr %beginp, align 8
  %end = load i64, ptr %endp, align 8
  br label %compare
compare:
  %j = phi i64 [ 0, %look ], [ %j1, %compare ]
  %any = phi i1 [ false, %look ], [ %any1, %compare ]
  %otherp = getelementptr i64, ptr %begins, i64 %j
  %otherendp = getelementptr i64, ptr %ends, i64 %j
  %other = load i64, ptr %otherp, align 8
  %otherend = load i64, ptr %otherendp, align 8
  %before = icmp ult i64 %begin, %otherend
  %behind = icmp ult i64 %other, %end
  %met = and i1 %before, %behind
  %any1 = or i1 %any, %met
  %j1 = add i64 %j, 1
  %last = icmp eq i64 %j1, %i
  br i1 %last, label %compared, label %compare
compared:
  %i1 = add i64 %i, 1
  br i1 %any1, label %no, label %next
yes:
  ret i1 true
no:
  ret i1 false
}}"""


def message_text(name: str) -> str:
    """Return the function that says what a code means."""
    return f"""
define ptr @{name}_message(i32 %code) nounwind {{
entry:
  %known = icmp ult i32 %code, {len(CODES)}
  %row = select i1 %known, i32 %code, i32 {len(CODES)}
  %number = zext i32 %row to i64
  %byte = mul i64 %number, {_MESSAGE_BYTES}
  %text = getelementptr i8, ptr @ingot_messages, i64 %byte
  ret ptr %text
}}"""


def pointer_text(name: str, align: int, then: str) -> str:
    """Return code that goes on at `then` if a pointer is aligned and not NULL."""
    return f"""{there_text(name, "there")}
there:
{aligned_text(name, align, then)}"""


def there_text(name: str, then: str) -> str:
    """Return code that goes on at `then` if a pointer is not NULL."""
    return f"""  %{name}null = icmp eq ptr %{name}, null
  br i1 %{name}null, label %missing, label %{then}
missing:
  ret i32 {CODES.index("NULL")}"""


def aligned_text(name: str, align: int, then: str) -> str:
    """Return code that goes on at `then` if a pointer is aligned."""
    return f"""  %{name}address = ptrtoint ptr %{name} to i64
  %{name}low = and i64 %{name}address, {align - 1}
  %{name}even = icmp eq i64 %{name}low, 0
  br i1 %{name}even, label %{then}, label %crooked
crooked:
  ret i32 {CODES.index("ALIGNMENT")}"""
