"""The header of a C library, with documentation for its users."""

import math
import re
import textwrap

from ...errors.parameters import unique
from ..capture.signature import Signature
from .c_checks import MEANINGS, MOST_DIMS
from .c_entry import Entry

# Numbers and element types of dtypes in C, by name.
DTYPES = {"bool": "uint8_t", "uint8": "uint8_t", "int8": "int8_t", "int16": "int16_t", "int32": "int32_t", "int64": "int64_t",
          "float16": "uint16_t", "bfloat16": "uint16_t", "float32": "float", "float64": "double",
          "float8_e4m3fn": "uint8_t", "float8_e5m2": "uint8_t"}
_KEYWORDS = frozenset([
    "auto", "bool", "break", "case", "char", "class", "const", "continue", "default", "delete", "do", "double", "else",
    "enum", "explicit", "extern", "false", "float", "for", "friend", "goto", "if", "inline", "int", "long", "namespace",
    "new", "operator", "private", "protected", "public", "register", "restrict", "return", "short", "signed", "sizeof",
    "static", "struct", "switch", "template", "this", "throw", "true", "try", "typedef", "union", "unsigned", "using",
    "virtual", "void", "volatile", "while"])
NUMBERS = {name: number for number, name in enumerate(DTYPES)}

_HEAD = """/* {name}: made by ingot {version}.
 *
 *     {signature}
 *
 * A function that can fail returns one of the codes below; {name}_message gives its text. It has written nothing then, but for
 * outputs of a run that failed with {upper}_DATA. Any number of threads may call {name}_run at the same time. Nothing is
 * allocated and no file is touched: inner values lie in {memory} bytes of memory that belong to the library, {arenas} arenas,
 * one for each run that is under way. A run that finds all of them taken waits for one.
 *
 * {outside}
 */
#ifndef {upper}_H
#define {upper}_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#define {upper}_AT_LEAST(count)
#else
#define {upper}_AT_LEAST(count) static count     /* lets compilers see an array that is too short */
#endif
"""

_TENSOR = """
typedef struct {{
    void *data;           /* C order, aligned for its elements; 64 bytes are quickest */
    int32_t dtype, rank;
    int64_t shape[{dims}];     /* the first `rank` count */
}} {name}_tensor;
"""

_INIT = """
#define {upper}_WEIGHTS_SIZE {size}

/* Gives the model its weights: the content of the file of weights that was written beside this one, in memory that starts at
 * a multiple of 64 bytes and stays as it is while the model is used. Call it once, before the first run. */
int {name}_init(const void *weights, size_t size);
"""

_THREADS = """
/* Sets how many threads a run uses, 1 (as in the beginning) to {threads}; returns the number set. Not while a run is under
 * way. */
int {name}_set_threads(int threads);
"""

_RUN = """
/* Computes the outputs. The data of every output is memory of its size, apart from all other arguments. */
int {name}_run({arguments});
"""

_STATE = """
/* What one run leaves for the next: the buffers that the model writes. */
typedef struct {{
{fields}
}} {name}_state;

/* Gives a state the values that it had when the model was written. */
int {name}_init_state({name}_state *state);

/* Computes the outputs from the inputs and a state, which is another one afterwards (as it was, if the run fails). The data of
 * every output is memory of its size, apart from all other arguments. Runs with one state follow each other. */
int {name}_run({arguments}, {name}_state *state);
"""

_MESSAGE = """
/* Returns what a code means, as text of the library. */
const char *{name}_message(int code);
"""

_END = """
#ifdef __cplusplus
}}
#endif
#endif
"""


def header_text(e: Entry, signature: Signature, version: str, outside) -> str:
    """Return the text of the header. `outside` are the system's functions that the library calls."""
    upper = e.name.upper()
    words = {"name": e.name, "upper": upper, "version": version, "signature": _in_comment(signature), "arenas": e.arenas,
             "memory": e.arena * e.arenas, "dims": MOST_DIMS, "size": e.weight_bytes, "threads": e.threads,
             "outside": outside_text(outside), "fields": _fields(e, signature), "arguments": _arguments(e)}
    lines = [f"#define {upper}_{d.upper()} {NUMBERS[d]}    /* {c} */" for d, c in DTYPES.items()] + [""]
    lines += [f"#define {upper}_{code} {number}{f'    /* {meaning} */' if meaning else ''}"
              for number, (code, meaning) in enumerate(MEANINGS.items())]
    tensors = [f"#define {upper}_INPUTS {e.inputs}", *_tensors(upper, "IN", signature.users(signature.inputs)),
               f"#define {upper}_OUTPUTS {e.outputs}", *_tensors(upper, "OUT", signature.users(signature.outputs))]
    parts = [_HEAD, "\n".join(lines).replace("{", "{{").replace("}", "}}") + "\n", _TENSOR,
             "\n" + "\n".join(tensors).replace("{", "{{").replace("}", "}}") + "\n"]
    parts += [] if e.embedded else [_INIT]
    parts += [_THREADS] if e.threads > 1 else []
    return "".join([part.format(**words) for part in [*parts, _STATE if e.state else _RUN, _MESSAGE, _END]])


def _arguments(e: Entry) -> str:
    """Return the parameters for tensors."""
    upper = e.name.upper()
    return (f"const {e.name}_tensor in[{upper}_AT_LEAST({upper}_INPUTS)], "
            f"{e.name}_tensor out[{upper}_AT_LEAST({upper}_OUTPUTS)]")


def _fields(e: Entry, signature: Signature) -> str:
    """Return the members of the state: arrays in C order, each at a multiple of 64 bytes."""
    lines: list = []
    ends = [*[to for _, _, to, _ in e.updates[1:]], e.state]
    specs = signature.inputs[len(signature.inputs) - len(signature.state):]
    for name, buffer, spec, (*_, to, size), end in zip(_members(signature.state), signature.state, specs, e.updates, ends):
        sizes = "x".join(map(str, spec.shape)) or "a number"
        if size:
            member = f"{DTYPES[spec.dtype.name]} {name}[{math.prod(spec.shape)}]"
            lines.append(f"    {member};    /* {_in_comment(buffer)}: {sizes} */")
        if end - to > size:
            lines.append(f"    unsigned char {name}_pad[{end - to - size}];")
    return "\n".join(lines)


def _members(names) -> list:
    """Return names of buffers as names of struct members."""
    plain = [re.sub(r"\W", "_", name, flags=re.ASCII) for name in names]
    return unique([f"_{name}" if name in _KEYWORDS or name[0].isdigit() else name for name in plain])


def _in_comment(name) -> str:
    """Return a name of a model, or text with such names, so that it does not end a comment."""
    return re.sub(r"[^ -~]|\\|\*(?=/)|/(?=\*)", "_", str(name))


def outside_text(outside) -> str:
    """Return a sentence about the system's functions that the library calls."""
    if not outside:
        return "The library calls nothing outside of itself."
    return "\n * ".join(textwrap.wrap(f"Of the system it calls {', '.join(outside)}.", 118))


def _tensors(upper, kind, specs):
    """Yield macros that initialise a tensor of each input or output with dtype, rank and sizes."""
    for number, s in enumerate(specs):
        sizes = ", ".join(map(str, s.shape)) or "0"
        yield (f"#define {upper}_{kind}{number}(pointer) {{(void *)(pointer), {upper}_{s.dtype.name.upper()}, {len(s.shape)}, "
               f"{{{sizes}}}}}    /* {_in_comment(s.name)} */")
