"""Programs of strangers give what eager code gives, leave the same state and print the same text, or raise a TraceError."""

import calendar
import copyreg
import csv
import decimal
import gettext
import locale
import os
import sys
import time

import numpy as np
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


@pytest.fixture(autouse=True)
def the_process_stays():
    """Put back what programs change of the process."""
    errors, printing, digits, context = np.geterr(), np.get_printoptions(), sys.get_int_max_str_digits(), decimal.getcontext()
    reductions, zone, where, field = {**copyreg.dispatch_table}, os.environ.get("TZ"), locale.setlocale(locale.LC_ALL), \
        csv.field_size_limit()
    decimal.setcontext(context.copy())
    yield
    np.seterr(**errors)
    np.set_printoptions(**{**printing, "legacy": False})
    sys.set_int_max_str_digits(digits)
    decimal.setcontext(context)
    copyreg.dispatch_table.clear()
    copyreg.dispatch_table.update(reductions)
    os.environ.pop("TZ", None) if zone is None else os.environ.update(TZ=zone)
    time.tzset()
    locale.setlocale(locale.LC_ALL, where)
    csv.field_size_limit(field)
    calendar.setfirstweekday(0)
    gettext.textdomain("messages")


@pytest.mark.parametrize("name", attacks_broken.PROGRAMS)
def test_programs_that_were_wrong_once(name):
    assert not fails(name, attacks_broken)


@pytest.mark.parametrize("block", seeds(2, -(-len(ROWS) // BLOCK)))
def test_protocols_of_python(block):
    assert not "".join([fails(name, attacks_protocols) for name in ROWS[BLOCK * block: BLOCK * (block + 1)]])


@pytest.mark.parametrize("block", seeds(3, -(-len(STATE) // BLOCK)))
def test_state_beside_tensors(block):
    assert not "".join([fails(name, attacks_state) for name in STATE[BLOCK * block: BLOCK * (block + 1)]])
