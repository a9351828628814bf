"""Kinds of one-line mutations: for a node of a syntax tree, the texts that could stand in its place.

A kind is a function from (node, parent, text) to (what it does, first, last, new text) tuples. `first` and `last` are
positions in the line of the node, in characters. Only nodes that begin and end in the same line are changed.
"""

import ast
import re
from difflib import SequenceMatcher

COMPARED = {ast.Lt: ("<", ("<=", ">=")), ast.LtE: ("<=", ("<", ">")), ast.Gt: (">", (">=", "<=")), ast.GtE: (">=", (">", "<")),
            ast.Eq: ("==", ("!=",)), ast.NotEq: ("!=", ("==",)), ast.Is: ("is", ("is not",)), ast.IsNot: ("is not", ("is",)),
            ast.In: ("in", ("not in",)), ast.NotIn: ("not in", ("in",))}
COMPUTED = {ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*"), ast.FloorDiv: ("//", "*"),
            ast.Mod: ("%", "//"), ast.Pow: ("**", "*"), ast.BitAnd: ("&", "|"), ast.BitOr: ("|", "&"),
            ast.LShift: ("<<", ">>"), ast.RShift: (">>", "<<")}
FREE = frozenset(("copy",))       # keywords whose flags cost time alone
UNSEEN = frozenset(("doc", "message", "name", "stacklevel", "help", "hint", None))       # keywords that change messages alone
ALIKE = 0.5       # similarity from which on two names may be taken for each other


class Line:
    """One line of a file, in which nodes are found by the offsets of bytes that `ast` gives."""

    def __init__(self, text: str):
        self.text, self._bytes = text, text.encode()

    def at(self, offset: int) -> int:
        """Return the position of a character from that of its first byte."""
        return len(self._bytes[:offset].decode())

    def span(self, node) -> tuple:
        """Return the first position of a node and the one after its last."""
        return self.at(node.col_offset), self.at(node.end_col_offset)

    def of(self, node) -> str:
        """Return the text of a node."""
        first, last = self.span(node)
        return self.text[first:last]


def is_one_line(*nodes) -> bool:
    """Decide whether nodes stand in one line, each as a whole."""
    return len({n.lineno for n in nodes} | {n.end_lineno for n in nodes}) == 1


def _between(left, right, old, news, line):
    """Replace an operator, which stands between two nodes."""
    if not is_one_line(left, right):
        return
    first, last = line.span(left)[1], line.span(right)[0]
    found = re.search(re.escape(old).replace(r"\ ", r"\s+"), line.text[first:last])
    if found:
        for new in news:
            yield f"{old} to {new}", first + found.start(), first + found.end(), new


def comparison(node, parent, line):
    """Turn a comparison round, or let it hold for equal values as well."""
    if isinstance(node, ast.Compare):
        for left, op, right in zip([node.left, *node.comparators], node.ops, node.comparators):
            old, news = COMPARED[type(op)]
            yield from _between(left, right, old, news, line)


def arithmetic(node, parent, line):
    """Compute something else of two operands."""
    if isinstance(node, ast.BinOp) and type(node.op) in COMPUTED and not _is_text(node.left) and not _is_text(node.right):
        old, new = COMPUTED[type(node.op)]
        yield from _between(node.left, node.right, old, (new,), line)
    if isinstance(node, ast.AugAssign) and type(node.op) in COMPUTED and not _is_text(node.value):
        old, new = COMPUTED[type(node.op)]
        yield from _between(node.target, node.value, f"{old}=", (f"{new}=",), line)


def _is_text(node):
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes)))


def number(node, parent, line):
    """Replace a number by the next one, or by one and a half of it."""
    if not isinstance(node, ast.Constant) or not is_one_line(node):
        return
    value, (first, last) = node.value, line.span(node)
    if type(value) is int:
        is_index = isinstance(parent, (ast.Subscript, ast.Slice))
        yield "index + 1" if is_index else "number + 1", first, last, str(value + 1)
    elif type(value) is float:
        yield "number scaled", first, last, repr(value * 1.5 if value else 1.0)


def flag(node, parent, line):
    """Turn True into False and back."""
    if isinstance(node, ast.Constant) and type(node.value) is bool and is_one_line(node) \
            and not (isinstance(parent, ast.keyword) and parent.arg in FREE):
        yield f"{node.value} to {not node.value}", *line.span(node), str(not node.value)


def connective(node, parent, line):
    """Swap `and` and `or`."""
    if isinstance(node, ast.BoolOp) and len(node.values) == 2:
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        yield from _between(node.values[0], node.values[1], old, (new,), line)


def clause(node, parent, line):
    """Drop one clause: among several that must hold it becomes True, among alternatives False."""
    if isinstance(parent, ast.BoolOp) and is_one_line(node):
        yield "clause dropped", *line.span(node), str(isinstance(parent.op, ast.And))


def negation(node, parent, line):
    """Drop `not`."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) and is_one_line(node):
        yield "not dropped", *line.span(node), f"({line.of(node.operand)})"
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant) \
            and is_one_line(node):
        yield "minus dropped", *line.span(node), f"({line.of(node.operand)})"


def condition(node, parent, line):
    """Force a condition. A loop is only ever ended: one without an end is found by its time alone."""
    if isinstance(parent, (ast.If, ast.IfExp, ast.While)) and node is parent.test and is_one_line(node):
        for value in (False,) if isinstance(parent, ast.While) else (True, False):
            yield f"condition {value}", *line.span(node), str(value)
    if isinstance(parent, ast.comprehension) and node in parent.ifs and is_one_line(node):
        yield "condition True", *line.span(node), "True"


def statement(node, parent, line):
    """Remove a call, or swap `break` and `continue`."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and is_one_line(node):
        yield "call removed", *line.span(node), "pass"
    if isinstance(node, (ast.Break, ast.Continue)):
        new = "continue" if isinstance(node, ast.Break) else "break"
        yield f"{line.of(node)} to {new}", *line.span(node), new


def early_return(node, parent, line):
    """Return before the second statement of a function."""
    if isinstance(parent, ast.FunctionDef) and len(parent.body) > 1 and is_one_line(node):
        body = parent.body[1:] if isinstance(parent.body[0], ast.Expr) and _is_text(parent.body[0].value) else parent.body
        if len(body) > 1 and node is body[0] and isinstance(node, (ast.Assign, ast.AugAssign, ast.Expr)):
            yield "return early", *line.span(node), "return"


def swapped_names(node, parent, line):
    """Swap two arguments with names that are alike."""
    if isinstance(node, ast.Call):
        for a, b in zip(node.args, node.args[1:]):
            if isinstance(a, ast.Name) and isinstance(b, ast.Name) and is_one_line(a, b) and _alike(a.id, b.id):
                (first, end), (start, last) = line.span(a), line.span(b)
                yield "arguments swapped", first, last, f"{b.id}{line.text[end:start]}{a.id}"


def _alike(a, b):
    return a != b and (len(a) == len(b) <= 2 or SequenceMatcher(None, a, b).ratio() >= ALIKE)


def keyword(node, parent, line):
    """Drop a keyword argument. Whether it has a default is for the caller to say (`sites.Defaults`)."""
    if isinstance(node, ast.keyword) and isinstance(parent, ast.Call) and node.arg not in UNSEEN and is_one_line(node):
        first, last = line.span(node)
        after, before = re.match(r"\s*,\s*", line.text[last:]), re.search(r"\s*,\s*$", line.text[:first])
        if after:
            last += after.end()
        elif before:
            first = before.start()
        yield f"keyword {node.arg} dropped", first, last, ""


KINDS = (comparison, arithmetic, number, flag, connective, clause, negation, condition, statement, early_return, swapped_names,
         keyword)
