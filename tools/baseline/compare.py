"""The comparison of two records, section by section.

Sections of `EQUAL` must be the same, those of `FEWER` may only fall, and those of `RATIOS` are judged by eye. What else differs
is a remark.
"""

import json
import lzma
import math
from pathlib import Path

EQUAL = {"generated": "generated code", "names": "names", "stubs": "stubs", "tests": "tests"}
FEWER = {"calls": "Python calls"}
RATIOS = {"imports": "import ingot", "small_ops": "small operators"}
REMARKS = {"about": "made with", "others": "names that are not promised"}
SHOWN = 40              # differences of a section
FAR = 1.1               # a ratio that is shown by itself


def load(path) -> dict:
    """Read a record."""
    data = Path(path).read_bytes()
    return json.loads(lzma.decompress(data) if str(path).endswith(".xz") else data)


def save(record: dict, path):
    """Write a record, one line for each entry of a section, compressed where the name ends in `.xz`."""
    def body(section):
        return ",\n".join([f"{json.dumps(k)}: {json.dumps(v, sort_keys=True)}" for k, v in sorted(section.items())])

    rows = [f"{json.dumps(name)}: {{\n{body(section)}\n}}" for name, section in record.items()]
    data = ("{\n" + ",\n".join(rows) + "\n}\n").encode()
    Path(path).write_bytes(lzma.compress(data, preset=9) if str(path).endswith(".xz") else data)


def differences(before, after, where: str = "") -> list[str]:
    """Return what differs between two pieces of JSON, a line for each place."""
    if before == after:
        return []
    if isinstance(before, dict) and isinstance(after, dict):
        return [line for key in sorted({*before, *after}) for line in (
            [f"{where}{key}: gone (was {short(before[key])})"] if key not in after else
            [f"{where}{key}: new ({short(after[key])})"] if key not in before else
            differences(before[key], after[key], f"{where}{key} > "))]
    name = where.removesuffix(" > ")
    if isinstance(before, list) and isinstance(after, list) and all(isinstance(x, str) for x in before + after):
        found = [f"{name}: {word} {x}" for word, these, those in (("gone", before, after), ("new", after, before))
                 for x in sorted({*these} - {*those})]
        return found or [f"{name}: the order or the number of entries changed"]
    return [f"{name}: {short(before)} -> {short(after)}"]


def short(value) -> str:
    """Return the beginning of a value's text."""
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 100 else text[:97] + "..."


def rises(before: dict, after: dict) -> tuple[list[str], list[str]]:
    """Return (counts that rose, counts that fell) of lists of numbers."""
    both = [(name, before[name], after[name]) for name in before if name in after]
    return ([f"{n}: {b} -> {a}" for n, b, a in both if any(x > y for x, y in zip(a, b))],
            [f"{n}: {b} -> {a}" for n, b, a in both if a != b and all(x <= y for x, y in zip(a, b))])


def ratios(before: dict, after: dict) -> list[str]:
    """Return the ratios of timings: their geometric mean, and those that are far from one."""
    numbers = {name: value for name, value in before.items() if type(value) in (int, float) and value}
    both = {name: after[name] / value for name, value in numbers.items() if name in after}
    if not both:
        return []
    mean = math.exp(sum(map(math.log, both.values())) / len(both))
    far = sorted((r, n) for n, r in both.items() if len(both) <= 8 or not 1 / FAR <= r <= FAR)
    lines = [f"{name}: {before[name]:.4g} -> {after[name]:.4g}, {r:.3f}" for r, name in far]
    return [f"{len(both)} rows, geometric mean {mean:.3f}", *lines]


def compare(before: dict, after: dict, say=print) -> bool:
    """Say what differs; true if nothing does that must not."""
    same = True
    for section, title in (EQUAL | FEWER | RATIOS | REMARKS).items():
        if section not in before or section not in after:
            missing = [name for name, record in (("before", before), ("after", after)) if section not in record]
            if section in EQUAL and len(missing) == 1:
                same = False
                say(f"{title}: missing {missing[0]}")
            continue
        b, a = before[section], after[section]
        bad, lines = [], []
        if section in EQUAL:
            bad = differences(b, a)
        elif section in FEWER:
            bad, lines = rises(b, a)
        elif section in RATIOS:
            lines = ratios(b, a)
        else:
            lines = differences(b, a)
        same = same and not bad
        usual = "same" if section in EQUAL else "no rise" if section in FEWER else f"{len(lines)} lines"
        say(f"{title}: {f'{len(bad)} differences' if bad else usual}")
        for line in [*bad[:SHOWN], *([f"... and {len(bad) - SHOWN} more"] if len(bad) > SHOWN else []), *lines[:SHOWN]]:
            say(f"  {line}")
    return same
