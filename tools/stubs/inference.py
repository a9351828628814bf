"""Types that the code of a function or class shows without annotations: of results, and of attributes that methods assign."""

import ast
import inspect
import textwrap
import types

BUILTIN_CALLS = {"bool": bool, "int": int, "float": float, "str": str, "list": list, "dict": dict, "set": set, "tuple": tuple,
                 "len": int, "isinstance": bool, "repr": str, "sorted": list, "hash": int}
DISPLAYS = {ast.Dict: dict, ast.DictComp: dict, ast.List: list, ast.ListComp: list, ast.Set: set, ast.SetComp: set,
            ast.Tuple: tuple, ast.JoinedStr: str}
SELF = object()         # the result is the object itself
UNKNOWN = object()


def tree_of(thing) -> ast.AST | None:
    """Return the definition of a function or class, or None where there is no source."""
    try:
        return ast.parse(textwrap.dedent(inspect.getsource(thing))).body[0]
    except (OSError, TypeError, SyntaxError, IndexError):
        return None


def own_nodes(definition):
    """Yield the nodes of a function, without functions and classes inside of it."""
    waiting = list(definition.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            waiting.extend(ast.iter_child_nodes(node))


def result_of(fn):
    """Return a type, None for functions without a result, `SELF`, or `UNKNOWN`."""
    definition = tree_of(inspect.unwrap(fn))
    if not isinstance(definition, ast.FunctionDef):
        return UNKNOWN
    nodes = [*own_nodes(definition)]
    if any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in nodes):
        return UNKNOWN
    values = [n.value for n in nodes if isinstance(n, ast.Return) and n.value is not None]
    if not values:
        return UNKNOWN if isinstance(definition.body[-1], ast.Raise) else None
    first = definition.args.args[0].arg if definition.args.args else ""
    kinds = {SELF if isinstance(v, ast.Name) and v.id == first == "self" else type_of(v, fn.__globals__) for v in values}
    return kinds.pop() if len(kinds) == 1 else UNKNOWN


def type_of(node, names: dict):
    """Return the type of an expression, or `UNKNOWN`."""
    if isinstance(node, ast.Constant):
        return type(node.value) if node.value is not None else None
    if type(node) in DISPLAYS:
        return DISPLAYS[type(node)]
    if isinstance(node, ast.Compare) and all(isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for op in node.ops):
        return bool
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return bool
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        made = names.get(node.func.id, BUILTIN_CALLS.get(node.func.id))
        made = inspect.get_annotations(made).get("return") if isinstance(made, types.FunctionType) else made
        return made if isinstance(made, type) else UNKNOWN
    return UNKNOWN


def attributes_of(cls) -> dict:
    """Return {attribute: [(function, expression or type)]} of public attributes that the methods of a class assign."""
    assigned: dict = {}
    for fn in vars(cls).values():
        fn = getattr(fn, "fset", fn) if isinstance(fn, property) else fn
        definition = tree_of(fn) if isinstance(fn, types.FunctionType) else None
        if not isinstance(definition, ast.FunctionDef):
            continue
        for node in own_nodes(definition):
            for name, value in assignments(node):
                if not name.startswith("_"):
                    assigned.setdefault(name, []).append((fn, value))
    return assigned


def assignments(node):
    """Yield (attribute, expression) of what a statement assigns to `self`."""
    if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            pairs = [(target, node.value)]
            if isinstance(target, ast.Tuple):
                values = node.value.elts if isinstance(node.value, ast.Tuple) else [None] * len(target.elts)
                pairs = [*zip(target.elts, values, strict=False)]
            for part, value in pairs:
                if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id == "self":
                    yield part.attr, value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
        name = getattr(node.args[0], "value", None)
        if node.func.attr in ("register_parameter", "register_buffer") and isinstance(name, str):
            yield name, node.func.attr
