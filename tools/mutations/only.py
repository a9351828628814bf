"""A pytest plugin that runs just the tests that a file lists, in its order, and writes down the first that fails.

However many there are, they fit no command line, and a summary is no safe place to read a name from.
"""

import os

LIST, FAILED = "INGOT_TESTS_TO_RUN", "INGOT_TEST_THAT_FAILED"       # in the environment: files, with one test a line


def pytest_collection_modifyitems(config, items):
    """Leave out all tests but those listed."""
    with open(os.environ[LIST], encoding="utf-8") as source:
        wanted = {line: i for i, line in enumerate(source.read().splitlines())}
    left = [item for item in items if item.nodeid not in wanted]
    if left:
        config.hook.pytest_deselected(items=left)
    items[:] = sorted((item for item in items if item.nodeid in wanted), key=lambda item: wanted[item.nodeid])


def pytest_runtest_logreport(report):
    """Write down a test that failed."""
    if report.failed:
        _note(report.nodeid)


def pytest_collectreport(report):
    """Write down a file of tests that cannot be read."""
    if report.failed:
        _note(report.nodeid)


def _note(name):
    with open(os.environ[FAILED], "a", encoding="utf-8") as out:
        out.write(name + "\n")
