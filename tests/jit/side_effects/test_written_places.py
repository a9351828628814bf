"""Places that a function writes to after it has changed or made what is there, and reads again in other code."""

import pytest

from fuzzed_modules.life import compare

# Kind of a value -> (how to make it of two numbers, a change in place).
CHANGES = {
    "array": ("np.array([{v}])", "{p} *= 2"),
    "item of an array": ("np.array([{v}])", "{p}[0] = 7.0"),
    "set": ("{{{v}}}", "{p}.add(9)"),
    "list": ("[{v}]", "{p}.append(5)"),
    "item of a list": ("[{v}]", "{p}[0] = 7"),
    "dict": ("dict.fromkeys([{v}])", "{p}['n'] = 3"),
    "deque": ("collections.deque([{v}])", "{p}.append(4)"),
    "tensor": ("ingot.tensor([{v}])", "{p}.add_(1)"),
    "list in a tuple": ("([{v}],)", "{p}[0].append(5)"),
    "array in a tuple": ("(np.array([{v}]),)", "a = {p}[0]; a *= 2"),
    "list in a list": ("[[{v}]]", "{p}[0].append(5)"),
    "array in a list": ("[np.array([{v}])]", "{p}[0] *= 5"),
    "list in a dict": ("{{'q': [{v}]}}", "{p}['q'].append(5)"),
    "object": ("types.SimpleNamespace(b=[{v}])", "{p}.b = 5"),
    "list in an object": ("types.SimpleNamespace(b=[{v}])", "{p}.b.append(5)"),
}
# Place -> (how to make it, how code names it).
PLACES = {
    "attribute": ("s = types.SimpleNamespace(a=None)", "s.a"),
    "global": ("g = None", "g"),
    "item of a list": ("s = [None]", "s[0]"),
    "item of a dict": ("s = {'k': None}", "s['k']"),
    "attribute of an attribute": ("s = types.SimpleNamespace(b=types.SimpleNamespace(a=None))", "s.b.a"),
    "item in an attribute": ("s = types.SimpleNamespace(b={'k': None})", "s.b['k']"),
    "attribute of a module": ("s = nn.Module(); s.a = None", "s.a"),
    "attribute of a class": ("class S:\n    a = None", "S.a"),
    "slot": ("class S:\n    __slots__ = ('a',)\ns = S()", "s.a"),
    "enclosing variable": ("", "held"),
}
ORDERS = {
    "change, replace": "{change}; {p} = {new}",
    "replace, change": "{p} = {new}; {change}",
    "keep, replace, change": "kept = {p}; {p} = {new}; {change_kept}",
}
REPLACED = """
{setup}
def outer():
    held = {first}
    def fn(n, given):
        global g
        nonlocal held
        {body}
    def see():
        return {place}
    return fn, see
fn, see = outer()
{start}
def args(i):
    return i % 2, [{given}]
def after(i, result):
    seen.append(see())
seen = [see()]
"""


@pytest.mark.parametrize("new", ["given[0]", "made"])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", CHANGES)
def test_a_value_is_changed_and_its_place_gets_another_one(kind, place, order, new):
    make, change = CHANGES[kind]
    setup, name = PLACES[place]
    first = make.format(v="1.0, 2.0")
    body = ORDERS[order].format(change=change.format(p=name), change_kept=change.format(p="kept"), p=name,
                                new=make.format(v="3.0, 4.0") if new == "made" else new)
    start = "" if place == "enclosing variable" else f"{name} = {first}"
    text = REPLACED.format(setup=setup, first=first, body=body, place=name, start=start, given=make.format(v="i % 3, i + 1.0"))
    verdict, _ = compare(text)
    assert verdict.kind in ("same", "refused"), f"{verdict.text}\n{text}"


MADE = {
    "lambda": "lambda *a: n",
    "function": "make(n)",
    "method": "types.MethodType(lambda self, *a: n, box)",
    "class": "type('K', (), {'v': n})",
    "partial": "functools.partial(make, n)",
    "method of a list": "[n].pop",
    "object": "Box(n)",
    "function over an argument": "lambda *a: given",
    "property": "property(lambda self: n)",
    "list": "[n]",
    "argument": "given",
}
READERS = {
    "itself": "{p}",
    "function": "use()",
    "generator": "list(generate())",
    "own function": "use_own()",
    "own generator": "list(generate_own())",
}
WRITERS = {"itself": "{p} = {made}", "own function": "put(n)"}
OF_MADE = """
class Box:
    def __init__(self, v):
        self.v = v
box = Box(1)
def make(n):
    def made(*a):
        return n
    return made
functions = [lambda *a: 5, lambda *a: 6]
{setup}
def outer():
    held = None
    def use():
        return {place}
    def generate():
        yield {place}
    def fn(n, given):
        global g
        nonlocal held
        def use_own():
            return {place}
        def generate_own():
            yield {place}
        def put(n):
            global g
            nonlocal held
            {place} = {made}
        {writer}
        {reader}
    def see():
        return {place}
    return fn, see
fn, see = outer()
def args(i):
    return {argument}, functions[i % 4 // 2]
def after(i, result):
    found = see()
    seen.append((type(found).__name__, getattr(found, '__closure__', None), getattr(found, '__func__', None)))
    objects.append(found if type(found) not in (types.MethodType, types.BuiltinMethodType) else None)
seen, objects = [], []
"""


@pytest.mark.parametrize("argument", ["i % 3", "ingot.arange(2.0) + i"])
@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("made", MADE)
def test_other_code_reads_what_a_function_has_made(made, place, reader, writer, argument):
    setup, name = PLACES[place]
    text = OF_MADE.format(setup=setup, place=name, made=MADE[made], argument=argument,
                          writer=WRITERS[writer].format(p=name, made=MADE[made]), reader=READERS[reader].format(p=name))
    verdict, _ = compare(text)
    assert verdict.kind in ("same", "refused"), f"{verdict.text}\n{text}"
