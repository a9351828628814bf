"""Smaller modules that still fail: statements are dropped one after the other."""

import ast
import time

from fuzzed_modules.life import compare


def reduced(text: str, fails=None, limit=40.0) -> str:
    """Return a module with as few statements as still fail, found within `limit` seconds. `fails(text)` says whether a module
    does."""
    deadline = time.monotonic() + limit
    if fails is None:
        first = _end(text)
        fails = lambda t: time.monotonic() < deadline and _end(t) == first
    tree, before = ast.parse(text), None
    while before != ast.unparse(tree):
        before = ast.unparse(tree)
        for body in _bodies(tree):
            _drop(tree, body, fails)
    return ast.unparse(tree)


def _bodies(tree):
    """Return the lists of statements of a module, outer ones first."""
    return [body for node in ast.walk(tree) for name in ("body", "orelse", "handlers", "finalbody", "cases")
            if isinstance(body := getattr(node, name, None), list) and body]


def _drop(tree, body, fails):
    """Drop statements of one list, many at once and then one by one; a block may give way to what is inside."""
    size = len(body)
    while size:
        at = len(body)
        while at > 0:
            at = max(0, at - size)
            cut = body[at: at + size]
            for other in ([], *([_inside(cut[0])] if size == 1 else [])):
                body[at: at + size] = other
                if _is_valid(tree) and fails(ast.unparse(tree)):
                    break
                body[at: at + len(other)] = cut
        size //= 2


def _inside(statement) -> list:
    """Return the statements of a block without its head."""
    return list(getattr(statement, "body", ())) if isinstance(statement, (ast.With, ast.Try, ast.For, ast.If)) else [statement]


def _is_valid(tree):
    try:
        compile(ast.unparse(tree), "<reduced>", "exec")
    except (SyntaxError, ValueError):
        return False
    return True


def _end(text):
    """Return the kind of a verdict with how the two calls ended."""
    try:
        verdict = compare(text)[0]
    except Exception:       # what is left is no module with a function
        return "broken"
    return verdict.kind, verdict.text if verdict.text.startswith("ended with") else ""
