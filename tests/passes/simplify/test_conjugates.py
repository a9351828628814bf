"""Conjugates of conjugates cancel, also with views between; everything else stays."""

import pytest

import ingot  # noqa: F401  (fills the table of operators)
from graphs import check_rewrite, check_untouched
from ingot.passes.simplify.conjugates import cancel_conjugates

HEAD = "graph g(%x: c64[2,6], %y: c128[2,6]) {\n"


def text(*lines, returned):
    return HEAD + "".join(f"  {line}\n" for line in lines) + f"  return {returned}\n}}"


GONE = [
    ((), ("%r: c64[2,6] = conj(%0)",), "%x", ()),
    (("%1: c64[6,2] = permute(%0, dims=(1, 0))",), ("%r: c64[6,2] = conj(%1)",), "%r",
     ("%r: c64[6,2] = permute(%x, dims=(1, 0))",)),
    (("%1: c64[2,3,2] = reshape(%0, shape=(2, 3, 2))", "%2: c64[2,2] = select(%1, dim=1, index=2)"),
     ("%r: c64[2,2] = conj(%2)",), "%r",
     ("%1: c64[2,3,2] = reshape(%x, shape=(2, 3, 2))", "%r: c64[2,2] = select(%1, dim=1, index=2)")),
]


@pytest.mark.parametrize("views, last, returned, after", GONE, ids=["beside each other", "turned", "several views"])
def test_pairs_go(views, last, returned, after):
    before = text("%0: c64[2,6] = conj(%x)", *views, *last, returned="%r")
    check_rewrite(cancel_conjugates, before, text(*after, returned=returned))


def test_of_three_one_stays():
    three = "%0: c64[2,6] = conj(%x)", "%1: c64[2,6] = conj(%0)", "%r: c64[2,6] = conj(%1)"
    check_rewrite(cancel_conjugates, text(*three, returned="%r"), text("%r: c64[2,6] = conj(%x)", returned="%r"))


@pytest.mark.parametrize("lines", [
    ("%r: c64[2,6] = conj(%x)",),
    ("%0: c64[2,6] = conj(%x)", "%1: c64[2,6] = neg(%0)", "%r: c64[2,6] = conj(%1)"),
    ("%0: c128[2,6] = conj(%y)", "%1: c64[2,12] = bitcast(%0, dtype=c64)", "%r: c64[2,12] = conj(%1)"),
], ids=["one", "arithmetic between", "other bits"])
def test_others_stay(lines):
    check_untouched(cancel_conjugates, text(*lines, returned="%r"))
