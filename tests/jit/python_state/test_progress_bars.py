"""Progress bars around and inside of traced code: each call moves them once, and they cost no recordings."""

import io
import sys
import time
import types

import pytest

import ingot
from ingot import jit, nn, optim

# Source of a library's progress bar, which counts, asks the clock, writes with \r and flushes.
SOURCE = '''
import time

class tqdm:
    def __init__(self, iterable=(), total=None, file=None):
        self.iterable, self.total, self.file, self.n, self.start, self.note = iterable, total, file, 0, time.time(), ""

    def __iter__(self):
        for x in self.iterable:
            yield x
            self.update(1)

    def update(self, n=1):
        self.n += n
        self.file.write(f"\\r{self.n} in {time.time() - self.start:.0f} s {self.note}")
        self.file.flush()
        return True

    def set_description(self, text):
        self.note = text

    def set_postfix(self, **notes):
        self.note = ", ".join([f"{k}={v:.1f}" for k, v in notes.items()])
'''


BAR = None          # the bar of a test


@pytest.fixture
def bars(monkeypatch):
    """The class of bars of an installed library."""
    module = types.ModuleType("tqdm.std")
    exec(compile(SOURCE, "/lib/site-packages/tqdm/std.py", "exec"), vars(module))
    monkeypatch.setitem(sys.modules, "tqdm.std", module)
    return module.tqdm


def training():
    net = nn.Linear(4, 1)
    opt = optim.SGD(net.parameters(), lr=0.1)

    def step(x, i):
        opt.zero_grad()
        loss = (net(x) * int(i)).square().mean()
        loss.backward()
        opt.step()
        return loss.item()

    return jit.trace(step)


def test_bars_around_traced_steps(bars):
    step = training()
    bar = bars(range(12), file=io.StringIO())
    for i in bar:
        bar.set_postfix(loss=step(ingot.ones(2, 4), i))
    assert bar.n == 12 and step.stats()["compiles"] <= 3 and not step.stats()["unrecorded"]


def test_bars_of_rich_around_traced_steps_have_threads_that_do_not_count():
    progress = pytest.importorskip("rich.progress")
    console = pytest.importorskip("rich.console").Console(file=io.StringIO(), force_terminal=True)
    step = training()
    for i in progress.track(range(12), console=console):
        step(ingot.ones(2, 4), i)
    assert step.stats()["compiles"] <= 3, step.stats()["misses"]

    class Column(progress.ProgressColumn):
        """A column of the user's, which may read what a recording gives other values."""

        def render(self, task):
            return ""

    step = training()
    with progress.Progress(Column(), console=console) as shown:
        task = shown.add_task("", total=6)
        for i in range(6):
            step(ingot.ones(2, 4), i)
            shown.advance(task)
    assert step.stats()["calls"] == 6


def test_bars_inside_move_at_each_call_and_show_its_numbers(bars):
    file = io.StringIO()
    bar = bars(total=9, file=file)

    @jit.trace
    def step(x):
        loss = (x * 2).sum()
        bar.set_postfix(loss=loss.item())
        bar.update(2)
        return loss

    for i in range(4):
        assert step(ingot.full((2,), float(i))).item() == 4 * i
    assert bar.n == 8 and step.stats()["compiles"] == 1
    shown = [line.split(" ")[-1] for line in file.getvalue().split("\r")[1:]]
    assert shown == ["loss=0.0", "loss=4.0", "loss=8.0", "loss=12.0"]


def test_recordings_leave_the_class_of_a_bar_as_it_is(bars):
    global BAR
    BAR, before, seen = bars(total=9, file=io.StringIO()), dict(vars(bars)), []
    look = jit.host(lambda: seen.append(dict(vars(bars)) == before))

    @jit.trace
    def fn(x):
        look()
        BAR.update(2)
        return x * 2

    for _ in range(3):
        fn(ingot.ones(2))
    assert BAR.n == 6 and seen == [True] * 3 and dict(vars(bars)) == before


def test_a_function_that_reads_the_bar_it_moves_runs_eagerly_and_right(bars):
    def run(wrap):
        bar = bars(total=9, file=io.StringIO())

        def step(x):
            bar.update(1)
            return x * 3 if bar.n % 2 else x

        step = wrap(step)
        return [step(ingot.ones(1)).item() for _ in range(6)], step

    want, _ = run(lambda f: f)
    with pytest.warns(jit.TracerWarning, match=r"tqdm\.update changes bar\.n"):
        got, step = run(jit.trace)
    assert got == want and step.stats()["unrecorded"] == 6


def test_a_bar_made_inside_is_drawn_while_the_loop_is_recorded(bars, capsys):
    @jit.trace
    def power(x):
        for _ in bars(range(3), file=sys.stderr):
            x = x * 2
        return x

    assert [power(ingot.ones(1)).item() for _ in range(3)] == [8] * 3 and power.stats()["compiles"] == 1
    assert capsys.readouterr().err.count("\r3 in") == 1


def test_bars_and_consoles_of_rich_inside():
    progress, console = pytest.importorskip("rich.progress"), pytest.importorskip("rich.console")
    bar, shown = progress.Progress(console=console.Console(file=io.StringIO())), console.Console(file=io.StringIO())
    task = bar.add_task("", total=9)

    @jit.trace
    def step(x):
        bar.update(task, advance=1, description=f"{x.sum().item():.1f}")
        bar.advance(task)
        shown.print("loss", x.sum().item())
        return x + 1

    for i in range(4):
        step(ingot.full((2,), float(i)))
    assert bar.tasks[0].completed == 8 and bar.tasks[0].description == "6.0"
    assert shown.file.getvalue() == "loss 0.0\nloss 2.0\nloss 4.0\nloss 6.0\n"


class Bar:
    """A bar of the user's."""

    def __init__(self, file):
        self.n, self.start, self.file = 0, time.time(), file

    def update(self, n):
        self.n += n
        self.file.write(f"\r{self.n} in {time.time() - self.start:.0f} s")
        self.file.flush()


class HostBar(Bar):
    @jit.host
    def update(self, n):
        Bar.update(self, n)


@pytest.mark.parametrize("kind", [Bar, HostBar])
def test_a_bar_of_the_users_that_asks_the_clock(kind):
    bar = kind(io.StringIO())

    @jit.trace
    def step(x):
        bar.update(1)
        return x * 2

    for _ in range(4):
        step(ingot.ones(1))
    assert bar.n == 4
    assert bar.file.getvalue() == "".join([f"\r{n} in 0 s" for n in range(1, 5)])


@pytest.mark.parametrize("place", ("local", "global"))
def test_numbers_in_texts_of_bars_are_those_of_the_call(bars, place):
    """They cost no recordings, as in `print`. A bar that the function makes, and whose text it may read, has plain ones."""
    bar = globals()["BAR"] = bars(file=io.StringIO())

    def shown(x, held):
        loss = x.sum()
        held.set_description(f"loss {loss.item():.1f} of {x.shape[0]}")
        return loss

    def shown_globally(x, held):
        loss = x.sum()
        BAR.set_description(f"loss {loss.item():.1f} of {x.shape[0]}")
        return loss

    def own(x, bars):
        made = bars(file=io.StringIO())
        for _ in range(2):
            made.set_description(f"loss {x.sum().item():.1f}")
        return x * len(made.note)

    traced = jit.trace(shown if place == "local" else shown_globally)
    for i in range(1, 9):
        traced(ingot.full((2,), float(i)), bar)
        assert bar.note == f"loss {2.0 * i:.1f} of 2"
    assert traced.stats()["compiles"] == 1
    traced = jit.trace(own)
    for i in (1, 10):
        x = ingot.full((2,), float(i))
        assert traced(x, bars).tolist() == own(x, bars).tolist()
