"""Writes of traced functions to files and streams that were opened outside: each call writes what an eager call writes, in
order with prints and host steps."""

import contextlib
import io
import os
import sys
import warnings

import pytest

import ingot
from ingot import jit

CALLS = 6
STREAMS = {         # way to the stream `s` -> (mode or class, lines that define it)
    "a file": ("w", "s = stream"), "a file to append to": ("a", "s = stream"), "a file to read as well": ("w+", "s = stream"),
    "a file without a buffer of lines": ("w", "s = stream\ns.reconfigure(line_buffering=True)"),
    "a stream in memory": (io.StringIO, "s = stream"), "an attribute": ("w", "s = None"), "an item": (io.StringIO, "s = None"),
    "an argument": ("w", "s = None"),
}
WAYS = {"an attribute": "s = world.stream", "an item": "s = world.all['s']", "an argument": "s = given"}
WRITES = {
    "a text": "s.write('a')",
    "a number": "s.write(f'{x.sum().item():.2f} ')",
    "a number that changes": "s.write(f'{i} ')",
    "str": "s.write(str(i % 2))",
    "lines": "s.writelines(['a\\n', 'b\\n'])",
    "a generator": "s.writelines(f'{v}\\n' for v in range(3))",
    "a flush": "s.write('a')\n    s.flush()",
    "a count": "n = s.write('abc')\n    x = x + n",
    "print": "print('a', x.sum().item(), file=s)",
    "print and write": "print('a', end='', file=s)\n    s.write('b')\n    print('c', file=s, flush=True)",
    "a loop": "for k in range(3):\n        s.write(f'{k}:{x[k].item()} ')",
    "a stored method": "put = s.write\n    put('a')",
    "a helper": "helper(s, x)",
    "a branch": "if x.sum() > 9:\n        s.write('big ')\n    else:\n        s.write('small ')",
    "csv": "csv.writer(s).writerow([i, x.sum().item(), 'a,b', None])",
    "csv of rows": "csv.writer(s, delimiter=';').writerows((i, v) for v in (1, 'x'))",
    "csv by names": "csv.DictWriter(s, ['a', 'b']).writerow({'a': i, 'b': x.sum().item()})",
    "a dialect": "csv.writer(s, quoting=csv.QUOTE_ALL, lineterminator='|').writerow(['a', 1.5])",
    "json": "s.write(json.dumps({'i': i}))",
    "an object": "csv.writer(s).writerow([world.shown])",
    "an error": "s.write('a')\n    if i == 4:\n        raise ValueError('four')",
    "a block": "with ingot.no_grad():\n        s.write('a')",
    "a try": "try:\n        s.write('a')\n    except OSError:\n        pass",
    "a wrong operand": "try:\n        s.write(3)\n    except TypeError:\n        s.write('t')",
}
BESIDES = {         # (before, behind)
    "nothing": ("", ""), "prints": ("print('first', x.sum().item(), file=s)", "print('last', file=s)"),
    "a host step": ("note(x, s)", "note(x, s)"), "writes": ("world.n += 1", "world.n += 1; s.write(f'{world.n}')"),
    "its content": ("", "x = x + (len(s.getvalue()) if hasattr(s, 'getvalue') else 0)"),
    "its content before": ("x = x + (len(s.getvalue()) if hasattr(s, 'getvalue') else 0)", ""),
    "a start anew": ("", "s.seek(0) and None if hasattr(s, 'getvalue') else None"),
}
BETWEEN = ("nothing", "a write", "another")
# Files may fail, and the function would go on.
REFUSED = {"a try", "a wrong operand", "a block"}


PLAIN = ("str", "json", "csv by names")         # texts that Python makes of plain numbers


class Shown:
    def __str__(self):
        return "shown"


@pytest.fixture(autouse=True)
def _counts_recordings():
    before = ingot.are_deterministic_algorithms_enabled()
    ingot.use_deterministic_algorithms(True)
    yield
    ingot.use_deterministic_algorithms(before)


def life(stream, write, beside, between, wrap, folder):
    """Return (results, content of the stream) of each call, and the function."""
    mode, define = STREAMS[stream]
    opened = []

    def opens():
        opened.append(mode() if isinstance(mode, type) else (folder / f"{len(opened)}").open(mode))
        return opened[-1]

    class World:
        n = 0

    before, behind = BESIDES[beside]
    space = {"__name__": "streams", "world": World(), "ingot": ingot, "os": os, "stream": opens(),
             "note": jit.host(lambda x, s: print("host", float(x.sum()), file=s) and None)}
    space["world"].shown = Shown()
    exec(f"""
import csv, json
{define}
world.stream, world.all = stream, dict(s=stream)
def helper(s, x):
    s.write('h')
def fn(x, i, given):
    {WAYS.get(stream, 'pass')}
    {before or 'pass'}
    {WRITES[write]}
    {behind or 'pass'}
    return x * 2
""", space)
    fn, lives = wrap(space["fn"]), []
    with contextlib.ExitStack() as stack:
        stack.callback(lambda: [s.close() for s in opened])
        for i in range(CALLS):
            try:
                result = fn(ingot.arange(3.0) + i, i, space["stream"]).tolist()
            except ValueError as error:
                result = str(error)
            lives.append((result, space["world"].n, [contents(s, folder, n) for n, s in enumerate(opened)]))
            if between == "a write":
                space["stream"].write("between")
            elif between == "another" and i == 2:
                space["s"] = space["stream"] = space["world"].stream = space["world"].all["s"] = opens()
    return lives, fn


def contents(stream, folder, number):
    if isinstance(stream, io.StringIO):
        return stream.getvalue(), stream.tell()
    stream.flush()
    return (folder / f"{number}").read_text()


@pytest.mark.drawn
@pytest.mark.parametrize("between", BETWEEN)
@pytest.mark.parametrize("beside", BESIDES)
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("stream", STREAMS)
def test_each_call_writes_as_eager_code_does(stream, write, beside, between, tmp_path):
    folders = [tmp_path / name for name in ("eager", "traced", "compiled")]
    for folder in folders:
        folder.mkdir()
    is_refused = write in REFUSED and not isinstance(STREAMS[stream][0], type)
    if beside == "a host step" and (stream == "a file to read as well" or write in REFUSED):
        pytest.skip("the call and a host function may not both change a content, or a position, that counts")
    with warnings.catch_warnings(action="ignore"):
        eager, _ = life(stream, write, beside, between, lambda fn: fn, folders[0])
        if is_refused:
            with pytest.raises(jit.TraceError, match=r"TextIOWrapper\.write"):
                life(stream, write, beside, between, jit.trace, folders[1])
        else:
            traced, fn = life(stream, write, beside, between, jit.trace, folders[1])
            assert traced == eager
            # (a stream in memory counts by its content where the function may go on after an error)
            if between == "nothing" and beside in ("nothing", "prints") and write not in (*PLAIN, *REFUSED):
                assert fn.stats()["compiles"] <= 3
        assert life(stream, write, beside, between, ingot.compile, folders[2])[0] == eager


REFUSED_READS = {
    "a file that is read": "s.write('a')\n    with open(s.name) as again:\n        x = x + len(again.read())",
    "a file whose size is asked for": "print('a', file=s)\n    x = x + os.path.getsize(s.name)",
    "the text of a tensor": "print(x, file=memory)\n    n = len(memory.getvalue())",
    "a place in the file": "s.write('a')\n    n = s.tell()",
}


@pytest.mark.parametrize("row", REFUSED_READS)
def test_reads_behind_a_write_are_refused(row, tmp_path):
    def called(wrap, name):
        with open(tmp_path / name, "w") as file:
            space = {"__name__": "streams", "os": os, "s": file, "memory": io.StringIO()}
            exec(f"def fn(x):\n    {REFUSED_READS[row]}\n    return x", space)
            fn = wrap(space["fn"])
            found = [fn(ingot.ones(2)).tolist() for _ in range(4)]
            return found, contents(file, tmp_path, name), space["memory"].getvalue()

    with pytest.raises(jit.TraceError, match=r"behind|reads that|opened outside"):
        called(jit.trace, "refused")
    with pytest.warns(jit.TracerWarning):
        assert called(ingot.compile, "traced") == called(lambda fn: fn, "eager")


def test_a_stream_to_which_programs_print_is_looked_up_by_each_call(capsys, monkeypatch):
    def fn(x):
        print("a", end="")
        sys.stdout.flush()
        return x

    traced, streams = jit.trace(fn), [io.StringIO() for _ in range(3)]
    for stream in (*streams, *streams):
        monkeypatch.setattr(sys, "stdout", stream)
        traced(ingot.ones(2))
    assert [stream.getvalue() for stream in streams] == ["aa"] * 3
