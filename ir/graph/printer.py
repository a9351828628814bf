"""The text of a graph: one node a line, a type on every value, the user's line and module as a trailing comment.

    graph block(%x: f32[8,64], %b: f32[64]) {
      %0: f32[8,64] = expand(%b, shape=(8, 64))    # model.py:12
      %1: f32[8,64] = add(%x, %0)                  # model.py:12
      update %b = %b
      return %1
    }

`text.parse` reads it back.
"""

import math

from ..dtype import DType
from ..source_location import module_of, name_of_file, place_text
from ..symbols.symbolic import SymFloat, SymInt, is_symbol

_COMMENT_COLUMN = 100   # comments are aligned, but no further to the right than this


def format_param(value) -> str:
    """Return a parameter or a literal operand so that parsing gives the same type and bits."""
    kind = type(value)
    if kind is tuple:
        return "(" + ", ".join(map(format_param, value)) + (",)" if len(value) == 1 else ")")
    if kind is DType:
        return value.short
    if kind is float:
        return _format_float(value)
    if kind is SymInt:
        return value.text
    if kind is SymFloat:
        return f"number({value.text!r})"
    if kind is complex:
        return f"complex({_format_float(value.real)}, {_format_float(value.imag)})"
    if kind is slice:
        return f"slice({format_param(value.start)}, {format_param(value.stop)}, {format_param(value.step)})"
    return ascii(value) if kind is str else repr(value)


def _format_float(value):
    if math.isfinite(value):
        return repr(value)
    return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"


def value_names(graph) -> dict:
    """Return the name of each value in text: inputs by their own, results by position."""
    names = {v: f"%{v.name}" for v in graph.inputs}
    for n in graph.nodes:
        for v in n.outputs:
            names[v] = f"%{len(names) - len(graph.inputs)}"
    return names


def format_line(line, full_paths: bool = False) -> str:
    """Return the user's line: ``model.py:12``, or ``In[3]:12`` in a notebook."""
    if full_paths:
        return place_text(line)
    file, number = line
    return f"{name_of_file(file)}:{number}"


def format_place(line, full_paths: bool = False) -> str:
    """Return the user's line and module: ``model.py:12 in Net.layers.0``."""
    module = module_of(line)
    return f"{format_line(line, full_paths)} in {module}" if module else format_line(line, full_paths)


def format_node(node, names=None) -> str:
    """Return one node without its comment. Without `names`, values of unknown names show as their types."""
    arguments = [_name(x, names) if not is_symbol(x) and hasattr(x, "aval") else format_param(x) for x in node.inputs]
    arguments += [f"{k}={format_param(v)}" for k, v in sorted(node.params.items())]
    call = f"{node.op.name}({', '.join(arguments)})"
    if names is None:
        return f"{', '.join(repr(v.aval) for v in node.outputs)} = {call}"
    results = ", ".join(f"{names[v]}: {v.aval!r}" for v in node.outputs)
    return f"{results} = {call}" if results else call


def _name(value, names) -> str:
    """Return the name of a value; a value of another graph (an error for `verify`) shows as a question mark."""
    if names and value in names:
        return names[value]
    return f"%{value.name}" if value.node is None else f"%?: {value.aval!r}"


def format_header(graph, names) -> str:
    """Return the first line; many inputs go one a line."""
    inputs = [f"{names[v]}: {v.aval!r}" for v in graph.inputs]
    given = ", ".join([f"{name}={value!r}" for name, value in graph.names.items()])
    name = f"{graph.name}[{given}]" if given else graph.name
    flat = f"graph {name}({', '.join(inputs)}) {{"
    if len(flat) <= _COMMENT_COLUMN:
        return flat
    return f"graph {name}(\n    " + ",\n    ".join(inputs) + "\n) {"


def format_graph(graph, full_paths: bool = False) -> str:
    """Return the whole graph as text. `full_paths` keeps the folders of the user's files."""
    names = value_names(graph)
    lines = [(f"  {format_node(n, names)}", n.line) for n in graph.nodes]
    widths = [len(text) for text, line in lines if line and len(text) <= _COMMENT_COLUMN]
    column = max(widths, default=0)
    out = [format_header(graph, names)]
    for text, line in lines:
        out.append(f"{text:<{column}}    # {format_place(line, full_paths)}" if line else text)
    out += [f"  update {_name(u.target, names)} = {_name(u.value, names)}" for u in graph.updates]
    returned = ", ".join(_name(v, names) for v in graph.outputs)
    out.append(f"  return {returned}" if returned else "  return")
    return "\n".join(out) + "\n}"
