"""Programs of strangers give what eager code gives, leave the same state and print the same text, or raise a TraceError."""

import pytest

import attacks_broken
import attacks_protocols
import attacks_state
import ingot
from fuzzed_modules.life import compare
from seeds import seeds

IMPORTS = """
import abc, argparse, asyncio, bisect, builtins, codecs, copyreg, csv, datetime, decimal, enum, fractions, heapq, io, locale
import logging, os, pathlib, pickle, random, re, statistics, string, struct, time, typing, warnings
from decimal import Decimal
from enum import Enum, Flag, IntEnum, IntFlag, auto
from fractions import Fraction
from typing import *
F = nn.functional
"""
ROWS, STATE = list(attacks_protocols.PROGRAMS), list(attacks_state.PROGRAMS)
BLOCK = 12      # programs of one test


def fails(name, programs):
    verdict, _ = compare(IMPORTS + programs.PROGRAMS[name])
    want = "refused" if name in programs.REFUSED else "same"
    return "" if verdict.kind == want else f"{name}, call {verdict.call}: {verdict.kind} {verdict.text}\n"


@pytest.fixture(autouse=True)
def methods_of_tensors_stay():
    before = set(vars(ingot.Tensor))
    yield
    for name in set(vars(ingot.Tensor)) - before:
        if name.startswith("added_"):       # (others are loaded late)
            delattr(ingot.Tensor, name)


@pytest.mark.parametrize("name", attacks_broken.PROGRAMS)
def test_programs_that_were_wrong_once(name):
    assert not fails(name, attacks_broken)


@pytest.mark.parametrize("block", seeds(2, -(-len(ROWS) // BLOCK)))
def test_protocols_of_python(block):
    assert not "".join([fails(name, attacks_protocols) for name in ROWS[BLOCK * block: BLOCK * (block + 1)]])


@pytest.mark.parametrize("block", seeds(3, -(-len(STATE) // BLOCK)))
def test_state_beside_tensors(block):
    assert not "".join([fails(name, attacks_state) for name in STATE[BLOCK * block: BLOCK * (block + 1)]])
