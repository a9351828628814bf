"""Graphs as text and back: `show` prints, `parse` reads; each undoes the other.

Types are written ``f32[8,64]`` here, not ``float32[8, 64]`` as in messages. Exported files keep this text, a size may be an
expression (``f32[2*b,64]``), and lines with a type on every value stay short. Errors of `parse` quote types as the text has
them, since they show its line. All other messages, those of `verify` as well, write ``float32[8, 64]``.

Grammar (white space and `# comments` are free, but a comment ``# file:line`` or
``# file:line in module`` at the end of a node says where it comes from):

    graph     "graph" NAME [names] "(" [input ("," input)*] ")" "{" statement* "return" [value ("," value)*] "}"
    names     "[" NAME "=" number ("," NAME "=" number)* "]"
    input     value ":" type
    statement [value ":" type ("," value ":" type)* "="] NAME "(" [argument ("," argument)*] ")"  |  "update" value "=" value
    argument  value | literal | NAME "=" literal
    literal   number | size | "number(" STRING ")" | string | True | False | None | dtype | tuple | slice(a, b, c)
              | complex(re, im)
    type      dtype "[" [size ("," size)*] "]"
    size      ["-"] term (("+" | "-") term)*      term   factor ("*" factor)*
    factor    INT | NAME | "floordiv(" size "," size ")" | "mod(" size "," size ")" | "max(" size "," size ")"

The name of a graph may have parts in angles, as Python calls functions: <lambda>, f.<locals>.g. The names after it are sizes
(and numbers) that are not fixed, with an example of each.
"""

import ast
import difflib
import operator
import re
from dataclasses import dataclass
from typing import Any

from ..dtype import BY_NAME
from ..errors import GraphError, IngotError
from ..opdef.aval import Aval
from ..opdef.op import OPS
from ..opdef.param_checks import check_sizes
from ..opdef.params import canonical_params
from ..source_location import Where
from ..symbols.scope import Scope
from ..symbols.substitute import parse_number
from ..symbols.symbolic import SymInt, larger
from .graph import Builder, Graph
from .printer import format_graph, format_node, format_param

__all__ = ["format_node", "format_param", "parse", "parse_param", "show"]

_TOKEN = re.compile(r"""
    (?P<space>[ \t\r]+) | (?P<newline>\n) | (?P<comment>\#[^\n]*)
  | (?P<value>%[A-Za-z0-9_.]+)
  | (?P<hex>[+-]?0[xX][0-9a-fA-F]*\.?[0-9a-fA-F]*[pP][+-]?\d+)
  | (?P<float>[+-]?(?:\d+\.\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|(?:inf|nan)\b(?!=)))
  | (?P<int>[+-]?\d+)
  | (?P<string>'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")
  | (?P<unnamed>[\w.]*(?:<\w+>[\w.]*)+)
  | (?P<word>[^\W\d][\w.]*)
  | (?P<mark>[(){}\[\],:=*+-])
""", re.VERBOSE)

_USER_LINE = re.compile(r"#\s*(.*):(\d+)(?: in (\S+))?\s*$")
_CALLS: dict[str, Any] = {"floordiv": operator.floordiv, "mod": operator.mod, "max": larger}
_CONSTANTS = {"True": True, "False": False, "None": None}


def show(graph: Graph, full_paths: bool = False) -> str:
    """Return the text of a graph; `full_paths` keeps the folders of the user's files."""
    return format_graph(graph, full_paths)


def parse(text: str) -> Graph:
    """Return the graph that `text` describes. Every declared type is checked against the operator's own rule."""
    return _Parser(text).graph()


def parse_param(text: str):
    """Return one literal, as `format_param` writes it."""
    parser = _Parser(text)
    value = parser.literal()
    parser.expect_end()
    return value


@dataclass(frozen=True)
class Token:
    """A piece of text, its kind, and its start."""

    kind: str
    text: str
    at: int


class _Parser:
    def __init__(self, text):
        self.text = text
        self.tokens = list(self._scan(text))
        self.position = 0
        self.names = {}
        self.scope, self.symbols = Scope(), {}
        self.builder = Builder()

    # Tokens.

    def _scan(self, text):
        at = 0
        while at < len(text):
            m = _TOKEN.match(text, at)
            if m is None:
                raise self.error(f"unexpected character {text[at]!r}", at)
            if m.lastgroup not in ("space", "newline"):
                yield Token(str(m.lastgroup), m.group(), at)
            at = m.end()
        yield Token("end", "the end of the text", len(text))

    def error(self, message, at=None) -> GraphError:
        at = self.tokens[self.position].at if at is None else at
        row = self.text.count("\n", 0, at)
        start = self.text.rfind("\n", 0, at) + 1
        line = self.text[start:].split("\n", 1)[0]
        return GraphError(f"graph text, line {row + 1}, column {at - start + 1}: {message}\n  {line}\n  {' ' * (at - start)}^")

    def _skip_comments(self):
        while self.tokens[self.position].kind == "comment":
            self.position += 1

    @property
    def token(self):
        self._skip_comments()
        return self.tokens[self.position]

    def take(self):
        token = self.token
        if token.kind != "end":
            self.position += 1
        return token

    def at(self, text):
        token = self.token
        return token.kind in ("mark", "word") and token.text == text

    def accept(self, text):
        if self.at(text):
            self.position += 1
            return True
        return False

    def expect(self, text):
        if not self.accept(text):
            raise self.error(f"expected {text!r}, found {self.token.text!r}")

    def expect_kind(self, kind, what):
        if self.token.kind != kind:
            raise self.error(f"expected {what}, found {self.token.text!r}")
        return self.take()

    def expect_end(self):
        if self.token.kind != "end":
            raise self.error(f"expected the end of the text, found {self.token.text!r}")

    def listed(self, item, close):
        """Return comma-separated items up to the mark `close`, which is consumed."""
        items: list = []
        while not self.accept(close):
            if items:
                self.expect(",")
                if self.accept(close):
                    break
            items.append(item())
        return items

    # Graphs.

    def graph(self):
        self.expect("graph")
        kind = "unnamed" if self.token.kind == "unnamed" else "word"
        self.builder.name = self.expect_kind(kind, "the name of the graph").text
        if self.accept("["):
            self.listed(self.symbol, "]")
        self.expect("(")
        self.listed(self.input, ")")
        self.expect("{")
        while not self.at("return"):
            if self.at("update"):
                self.update()
            else:
                self.node()
        outputs = self.returned()
        self.expect("}")
        self.expect_end()
        return self.builder.finish(outputs)

    def input(self):
        token, aval = self.typed_name()
        self.define(token, self.builder.input(token.text[1:], aval))

    def typed_name(self):
        token = self.expect_kind("value", "a value such as %x")
        self.expect(":")
        return token, self.aval()

    def define(self, token, value):
        if token.text in self.names:
            raise self.error(f"{token.text} is defined twice", token.at)
        self.names[token.text] = value

    def aval(self):
        d = self.dtype(self.expect_kind("word", "a type such as f32[2,3]"))
        self.expect("[")
        return Aval(self.listed(self.size, "]"), d)

    def dtype(self, token):
        if token.text not in BY_NAME:
            raise self.error(f"unknown dtype {token.text!r}{_meant(token.text, BY_NAME)}", token.at)
        return BY_NAME[token.text]

    def value(self):
        token = self.expect_kind("value", "a value such as %0")
        if token.text not in self.names:
            raise self.error(f"{token.text} is not defined above{_meant(token.text, self.names)}", token.at)
        return self.names[token.text]

    def update(self):
        start = self.take()
        target = self.value()
        self.expect("=")
        value = self.value()
        try:
            self.builder.update(target, value)
        except GraphError as e:
            raise self.error(str(e), start.at) from None

    def returned(self):
        self.expect("return")
        outputs: list = []
        while not self.at("}"):
            if outputs:
                self.expect(",")
            outputs.append(self.value())
        return outputs

    # Nodes.

    def node(self):
        results = self.declared() if self.token.kind == "value" else []
        start = self.expect_kind("word", "an operator, 'update' or 'return'")
        if start.text not in OPS:
            raise self.error(f"unknown operator {start.text!r}{_meant(start.text, OPS)}", start.at)
        self.expect("(")
        operands, params = [], {}
        self.listed(lambda: self.argument(operands, params), ")")
        node = self.make(OPS[start.text], operands, params, start)
        self.check(results, node, start)
        for (token, _), value in zip(results, node.outputs):
            self.define(token, value)

    def declared(self):
        results = [self.typed_name()]
        while self.accept(","):
            results.append(self.typed_name())
        self.expect("=")
        return results

    def argument(self, operands, params):
        token = self.token
        following = self.tokens[self.position + 1]
        if token.kind == "word" and following.kind == "mark" and following.text == "=":
            self.take(), self.take()
            if token.text in params:
                raise self.error(f"parameter {token.text} is given twice", token.at)
            params[token.text] = self.literal()
        elif params:
            raise self.error("operands stand before parameters")
        else:
            operands.append(self.value() if token.kind == "value" else self.literal())

    def make(self, op, operands, params, start):
        self.builder.line = self.user_line()
        try:
            node = self.builder.add_exactly(op, operands, canonical_params(params, op.numbers))
            for v in node.outputs:
                check_sizes(v.shape, "the shape of a result", v.dtype.itemsize)
        except (IngotError, TypeError, AttributeError, LookupError, ValueError, ArithmeticError) as e:
            raise self.error(f"{op.name} does not take these operands: {e}", start.at) from e
        return node

    def user_line(self):
        token = self.tokens[self.position]
        m = _USER_LINE.match(token.text) if token.kind == "comment" else None
        return Where((m.group(1), int(m.group(2))), m.group(3) or "") if m else None

    def check(self, results, node, start):
        if len(results) != len(node.outputs):
            gives = f"{len(node.outputs)} result{'s' * (len(node.outputs) != 1)}"
            raise self.error(f"{node.op.name} gives {gives}, the text declares {len(results)}", start.at)
        for (token, aval), value in zip(results, node.outputs):
            try:
                agrees = aval == value.aval
            except GraphError as e:
                raise self.error(str(e), token.at) from None
            if not agrees:
                raise self.error(f"{token.text} is declared {aval!r}, but {node.op.name} gives {value.aval!r}", token.at)

    # Sizes.

    def symbol(self):
        token = self.expect_kind("word", "the name of a size")
        self.expect("=")
        value = self.literal()
        try:
            if type(value) is float:
                self.symbols[token.text] = self.scope.number(token.text, value)
            else:
                self.symbols[token.text] = self.scope.size(token.text, value)
        except (GraphError, TypeError) as e:
            raise self.error(str(e), token.at) from None

    def starts_size(self):
        """Return whether a symbolic size follows, where a number may stand as well."""
        token, following = self.token, self.tokens[min(self.position + 1, len(self.tokens) - 1)]
        if token.kind == "word":
            return token.text in self.symbols or token.text in _CALLS
        if token.kind == "int":
            return following.kind == "mark" and following.text in "*+-"
        return token.kind == "mark" and token.text == "-"

    def size(self):
        total = -self.term() if self.accept("-") else self.term()
        while True:
            if self.accept("+"):
                total = total + self.term()
            elif self.accept("-"):
                total = total - self.term()
            elif self.token.kind == "int" and self.token.text[0] in "+-":
                total = total + self.term()
            else:
                return total

    def term(self):
        product = self.factor()
        while self.accept("*"):
            other = self.factor()
            try:
                product = product * other
            except GraphError as e:
                raise self.error(str(e)) from None
        return product

    def factor(self):
        token = self.take()
        if token.kind == "int":
            return int(token.text)
        if token.text in _CALLS and token.kind == "word":
            self.expect("(")
            parts = self.listed(self.size, ")")
            if (len(parts) == 2 and type(parts[1]) is not int) or parts[-1] > 0:
                return _CALLS[token.text](*parts)
        elif token.kind == "word" and type(self.symbols.get(token.text)) is SymInt:
            return self.symbols[token.text]
        raise self.error(f"expected a size, found {token.text!r}", token.at)

    def number(self, text):
        try:
            return parse_number(self.scope, text)
        except (GraphError, SyntaxError, ArithmeticError, RecursionError, TypeError, ValueError) as e:
            raise self.error(f"expected an expression over the graph's numbers, found {text!r}: {e}") from None

    # Literals.

    def literal(self):
        if self.starts_size():
            return self.size()
        token = self.take()
        if token.kind == "int":
            return int(token.text)
        if token.kind == "float":
            return float(token.text)
        if token.kind == "hex":
            return float.fromhex(token.text)
        if token.kind == "string":
            return ast.literal_eval(token.text)
        if token.kind == "mark" and token.text == "(":
            return self.tuple()
        if token.kind == "word":
            return self.word(token)
        raise self.error(f"expected a literal, found {token.text!r}", token.at)

    def tuple(self):
        items = []
        while not self.accept(")"):
            items.append(self.literal())
            if self.at(")"):
                if len(items) == 1:
                    raise self.error("a tuple of one element is written (x,)")
            else:
                self.expect(",")
        return tuple(items)

    def word(self, token):
        if token.text in _CONSTANTS:
            return _CONSTANTS[token.text]
        if token.text == "slice":
            return slice(*self.parts(3))
        if token.text == "complex":
            return complex(*self.parts(2))
        if token.text == "number":
            return self.number(*self.parts(1))
        return self.dtype(token)

    def parts(self, count):
        self.expect("(")
        at = self.token.at
        items = self.listed(self.literal, ")")
        if len(items) != count:
            raise self.error(f"expected {count} parts, found {len(items)}", at)
        return items


def _meant(name, known) -> str:
    close = difflib.get_close_matches(name, list(known), 1)
    return f"; did you mean {close[0]!r}?" if close else ""
