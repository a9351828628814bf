"""How pytest reads this repository."""

import gc
import locale
import threading
import time
from pathlib import Path

import pytest

import mock_cuda_chip
import row_sample
import this_checkout

this_checkout.make_importable()
this_checkout.share_bytecode()
this_checkout.let_numpy_use_one_thread()

from ingot.jit.errors.recompile_limit import RecompileLimit  # noqa: E402  (found only now)
from ingot.jit.proxies.threads import is_alone  # noqa: E402
from ingot.runtime.backends import cudnn  # noqa: E402  (found only now)
from ingot.runtime.cpu.calls import pool  # noqa: E402
from ingot.runtime.cpu.compiler import compile as compiler  # noqa: E402

compiler._State.checked = True      # what generators write is verified


TABLE = pytest.StashKey[list]()         # of a row: all rows of its test that days share


class RootIsAFolder:
    """The root is the package under test, whatever its folder is called. pytest takes a folder with an `__init__.py` for a
    package of tests and would import it once more, under the folder's name."""

    @staticmethod
    def pytest_collect_directory(path, parent):
        if path == parent.config.rootpath:
            return pytest.Dir.from_parent(parent, path=path)
        return None


def pytest_addoption(parser):
    parser.addoption("--ptx", type=int, choices=(80, 90), default=0,
                     help="on the mock driver, run what Triton compiles for this chip, not its source (slow)")
    parser.addoption("--all-rows", action="store_true",
                     help="rows of tables are no slow tests: neither those of slow_rows.txt nor those that the seed left out")
    parser.addoption("--seed", type=int, default=row_sample.today(),
                     help="draws the rows of tests with several parameters (the number of the day; printed)")
    parser.addoption("--last-days", action="store_true",
                     help="run nothing, and say on which day before that of the seed each row of these tests was drawn last")
    parser.addoption("--minutes", type=float, default=60, help="time that each endless search of the slow tests takes")
    parser.addoption("--whole-tables", action="store_true",
                     help="every row of tests with several parameters is a slow test, for make test-slow")


class Clock:
    """Says each minute how many tests of how many have run, on a line of its own among the dots, so that the log of a slow or
    stopped machine tells when it was where."""

    def __init__(self, reporter, session):
        self.reporter, self.session, self.tests, self.start, self.minutes = reporter, session, 0, time.monotonic(), 0

    def pytest_runtest_logfinish(self, location):
        self.tests += 1
        minutes = int(time.monotonic() - self.start) // 60
        if minutes > self.minutes:
            self.minutes = minutes
            self.reporter.write_line(f"\n{minutes} min: {self.tests} of {self.session.testscollected} tests, "
                                     f"{self.session.testsfailed} failed, the last of {location[0]}")


def pytest_configure(config):
    mock_cuda_chip.compiled_for = config.getoption("--ptx")
    config.option.seed = getattr(config, "workerinput", {}).get("seed", config.option.seed)
    config.option.collectonly |= config.option.last_days
    config.pluginmanager.register(RootIsAFolder(), "root-is-a-folder")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node):
    """Give worker processes the seed: all must collect the same tests."""
    node.workerinput["seed"] = node.config.option.seed


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session):
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and not hasattr(session.config, "workerinput"):
        session.config.pluginmanager.register(Clock(reporter, session), "clock")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    if config.getoption("--all-rows"):
        config.lost_rows = []
    else:
        mark_slow_rows(config, items)
        mark_rows_left_out(config, items)
    if mock_cuda_chip.compiled_for:
        for item in items:
            if item.get_closest_marker("source_alone"):
                item.add_marker(pytest.mark.skip(reason="not with --ptx"))


def mark_slow_rows(config, items):
    """Marks the rows that `slow_rows.txt` lists; `config.lost_rows` are those that files which were collected do not have."""
    lines = (Path(__file__).parent / "slow_rows.txt").read_text(encoding="utf-8").splitlines()
    listed = {line for line in lines if not line.startswith("#")}
    found = {item.nodeid for item in items} & listed
    for item in items:
        if item.nodeid in found:
            item.add_marker(pytest.mark.slow)
    files = {item.nodeid.partition("::")[0] for item in items}
    config.lost_rows = sorted(name for name in listed - found if name.partition("::")[0] in files)


def mark_rows_left_out(config, items):
    """Mark the rows of tests with several parameters, and of those marked `drawn`, that the seed did not draw."""
    for rows in row_sample.sampled([item for item in items if not item.get_closest_marker("slow")]):
        drawn = [] if config.option.whole_tables else row_sample.sample(rows, config.option.seed)
        left_out = {item.nodeid for item in rows}.difference([item.nodeid for item in drawn])
        for item in rows:
            item.stash[TABLE] = rows
            if item.nodeid in left_out:
                item.add_marker(pytest.mark.slow)


def last_days(items) -> dict:
    """Return for each row that days share the day before that of the seed on which `make test` ran it last, if it ran then."""
    days = {}
    for rows in row_sample.tables([item for item in items if TABLE in item.stash]):
        seeds = row_sample.last_days(rows[0].stash[TABLE], rows[0].config.option.seed, [row.nodeid for row in rows])
        days |= {row.nodeid: row_sample.day(seeds[row.nodeid]) if row.nodeid in seeds else "not for a year" for row in rows}
    return days


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    """Say of a row that fails when it ran last: the changes since then are suspects."""
    report = yield
    if report.failed and TABLE in item.stash:
        report.sections.append(("row of a table", f"drawn last: {last_days([item])[item.nodeid]}"))
    return report


def pytest_terminal_summary(terminalreporter, config):
    if config.option.last_days:
        for name, day in last_days(terminalreporter._session.items).items():
            terminalreporter.write_line(f"{day}  {name}")


def pytest_collection_finish():
    """The tests are a million objects and no garbage: a collection need not look through them, which takes half a second."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item, nextitem):
    """Freeze the objects that remain after a file: caches keep them, so a collection need not look through them."""
    if nextitem is not None and nextitem.path != item.path:
        gc.collect()
        gc.freeze()


def pytest_unconfigure():
    gc.unfreeze()       # else libraries report at the end what they made as lost


def pytest_report_header(config):
    return f"ingot: {this_checkout.ROOT}\nrows of tables: --seed {config.option.seed} ({row_sample.day(config.option.seed)})"


@pytest.fixture(scope="session", autouse=True)
def convolutions_round_as_float32():
    """On a GPU, whose results are compared with the CPU's."""
    before, cudnn.allow_tf32 = cudnn.allow_tf32, False
    yield
    cudnn.allow_tf32 = before


@pytest.fixture(scope="session", autouse=True)
def recording_costs_nothing():
    """Make the tests independent of the time that recordings take."""
    before, RecompileLimit.clock = RecompileLimit.clock, staticmethod(lambda: 0.0)
    yield
    RecompileLimit.clock = before


@pytest.fixture(scope="module", autouse=True)
def leaves_no_thread():
    """A thread that a file leaves behind may run code of users, as far as traces know: later tests then record more often."""
    yield
    end = time.monotonic() + 5
    while not is_alone() and time.monotonic() < end:
        time.sleep(0.01)
    assert is_alone(), [thread for thread in threading.enumerate() if thread is not threading.main_thread()]


@pytest.fixture(scope="module", autouse=True)
def leaves_the_locale():
    """Text files, and those of other tests' programs, are decoded by the locale of the process."""
    before = locale.setlocale(locale.LC_ALL)
    yield
    left = locale.setlocale(locale.LC_ALL)
    locale.setlocale(locale.LC_ALL, before)
    assert left == before


@pytest.fixture
def recordings_cost_time(monkeypatch):
    monkeypatch.setattr(RecompileLimit, "clock", staticmethod(time.thread_time))
    monkeypatch.setattr(RecompileLimit, "_typical", {})


@pytest.fixture
def threads():
    """Restore the number of threads afterwards."""
    before = pool.get_num_threads()
    yield pool.set_num_threads
    pool.set_num_threads(before)
