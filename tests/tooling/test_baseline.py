"""Baselines of generated code, names and costs: what comparisons print, and that the internals that they read exist."""

import copy

import pytest

from ingot.tools.baseline import checkout, compare, costs, names

RECORD = {
    "about": {"numpy": "2.3"},
    "generated": {"x86-64-v3": {"softmax": {"kernels": ["softmax 01", "sum 4567"], "plan": "a", "lowered": {"fn": "cd"}}}},
    "others": {"nn": ["Any"]},
    "stubs": {"nn": ["*", "attention"]},
    "names": {"promised": {"nn": {"Linear": "class(a, b) 12", "Bilinear": "class(a) 34"}}, "members": {"Tensor": ["add(x)"]}},
    "tests": {"functions": {"test_a": 3, "test_b": 1}, "markers": {"slow": 1, "none": 3}, "total": 4},
    "calls": {"x + y": [3, 2]},
    "imports": {"seconds": 0.5, "modules": 99},
    "small_ops": {**{f"op {i}": 1e-6 for i in range(20)}, "x + y": 1e-6},
}


def compared(change):
    """Return (whether nothing differs that must not, what is said) of the record and a changed copy of it."""
    after, printed = copy.deepcopy(RECORD), []
    change(after)
    return compare.compare(RECORD, after, printed.append), printed


def test_a_record_is_like_itself():
    same, printed = compared(lambda record: None)
    assert same and printed[:4] == ["generated code: same", "names: same", "stubs: same", "tests: same"]
    assert "Python calls: no rise" in printed


def kernels(record):
    return record["generated"]["x86-64-v3"]["softmax"]["kernels"]


BROKEN = {
    "a kernel of other text": (lambda r: kernels(r).__setitem__(1, "sum 89ab"),
                               ["generated code: 2 differences", "  x86-64-v3 > softmax > kernels: gone sum 4567",
                                "  x86-64-v3 > softmax > kernels: new sum 89ab"]),
    "a kernel more": (lambda r: kernels(r).append("sum 4567"),
                      ["  x86-64-v3 > softmax > kernels: the order or the number of entries changed"]),
    "a graph": (lambda r: r["generated"]["x86-64-v3"]["softmax"]["lowered"].update(fn="ce"),
                ["generated code: 1 differences", "  x86-64-v3 > softmax > lowered > fn: cd -> ce"]),
    "a program that fails": (lambda r: r["generated"]["x86-64-v3"].update(softmax={"failed": "KeyError: 'x'"}),
                             ["generated code: 4 differences", "  x86-64-v3 > softmax > failed: new (KeyError: 'x')"]),
    "a target that is gone": (lambda r: r["generated"].clear(), ["generated code: 1 differences"]),
    "a name that is gone": (lambda r: r["names"]["promised"]["nn"].pop("Linear"),
                            ["names: 1 differences", "  promised > nn > Linear: gone (was class(a, b) 12)"]),
    "a new name": (lambda r: r["names"]["promised"]["nn"].update(Fold="class() 5"),
                   ["names: 1 differences", "  promised > nn > Fold: new (class() 5)"]),
    "a signature": (lambda r: r["names"]["promised"]["nn"].update(Linear="class(a) 12"),
                    ["names: 1 differences", "  promised > nn > Linear: class(a, b) 12 -> class(a) 12"]),
    "a stub": (lambda r: r["stubs"]["nn"].remove("attention"), ["stubs: 1 differences", "  nn: gone attention"]),
    "rows of a test": (lambda r: r["tests"]["functions"].update(test_a=2),
                       ["tests: 1 differences", "  functions > test_a: 3 -> 2"]),
    "a section that is gone": (lambda r: r.pop("tests"), ["tests: missing after"]),
    "a call more": (lambda r: r["calls"].update({"x + y": [4, 2]}),
                    ["Python calls: 1 differences", "  x + y: [3, 2] -> [4, 2]"]),
    "a deeper call": (lambda r: r["calls"].update({"x + y": [2, 3]}),
                      ["Python calls: 1 differences", "  x + y: [3, 2] -> [2, 3]"]),
}


@pytest.mark.parametrize("name", BROKEN)
def test_differences_of_generated_code_fail(name):
    change, lines = BROKEN[name]
    same, printed = compared(change)
    assert not same and not set(lines) - set(printed)


ALLOWED = {
    "fewer calls": (lambda r: r["calls"].update({"x + y": [2, 2]}), "  x + y: [3, 2] -> [2, 2]"),
    "another version": (lambda r: r["about"].update(numpy="2.4"), "  numpy: 2.3 -> 2.4"),
    "an import that is gone": (lambda r: r["others"]["nn"].clear(), "  nn: gone Any"),
    "a slower import": (lambda r: r["imports"].update(seconds=1.0), "  seconds: 0.5 -> 1, 2.000"),
    "a slower operator": (lambda r: r["small_ops"].update({"x + y": 2e-6}), "  x + y: 1e-06 -> 2e-06, 2.000"),
    "no timings": (lambda r: r.pop("small_ops"), "tests: same"),
}


@pytest.mark.parametrize("name", ALLOWED)
def test_differences_of_timings_are_reported_only(name):
    change, line = ALLOWED[name]
    same, printed = compared(change)
    assert same and line in printed
    assert not any("op 3" in text for text in printed), "operators that are as fast are not listed"


@pytest.mark.parametrize("name", ["record.json", "record.json.xz"])
def test_a_record_is_read_as_it_was_written(name, tmp_path):
    compare.save(RECORD, tmp_path / name)
    assert compare.load(tmp_path / name) == RECORD
    assert (tmp_path / name).read_bytes()[:1] == (b"\xfd" if name.endswith("xz") else b"{")


def test_hooked_functions_exist():
    for name in ("module_key", "second_level", "use_binaries", "usable_cpus", "PublicPaths"):
        assert hasattr(checkout.defining(name), name)
    with pytest.raises(LookupError, match="nowhere_to_be_found"):
        checkout.defining("nowhere_to_be_found")
    assert hasattr(checkout.defining("second_level"), "_FOLDER")


class Sample:
    """A class whose members are listed."""

    size = 3

    def act(self, x: int, *rest, key="a", made=Exception, **more) -> str:
        """Have parameters of all kinds."""

    @classmethod
    def make(cls, n=(1, None)):
        """Be bound to the class."""

    def _hidden(self):
        """Be private."""


def test_signatures_have_defaults_and_no_annotations():
    assert names.members(Sample) == ["act(self, x, *rest, key='a', made=Exception, **more)", "make(cls, n=(1, None))", "size"]
    assert names.described(3) == "int 3" and names.described(len).startswith("callable(obj")
    assert names.described(Sample).startswith("class()")


def test_calls_are_counted_below_the_one_that_is_asked_for():
    inner = lambda: 0
    outer = lambda: inner() + inner()
    assert costs.frames(lambda: outer()) == [3, 2] and costs.frames(lambda: 1 + 1) == [0, 0]
