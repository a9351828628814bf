"""Warnings that appear once in a process, or each time on request."""

import warnings

import pytest

import ingot
from ingot import jit
from ingot.runtime.core import warn_once as once


@pytest.fixture
def shown(monkeypatch):
    """A list of the warnings, in a process that has given none."""
    monkeypatch.setattr(once, "_given", set())
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        yield found


def test_a_text_is_shown_once_and_each_time_on_request(shown):
    for _ in range(3):
        once.warn_once("first")
        once.warn_once("second")
    assert [str(w.message) for w in shown] == ["first", "second"] and {w.filename for w in shown} == {__file__}
    ingot.set_warn_always(True)
    try:
        for _ in range(3):
            once.warn_once("first")
    finally:
        ingot.set_warn_always(False)
    once.warn_once("first")
    assert len(shown) == 5


@pytest.mark.parametrize("wrap", [lambda f: f, jit.trace])
def test_an_operator_that_a_gpu_leaves_to_the_host_is_named_once(shown, wrap):
    import mock_cuda

    with mock_cuda.installed():
        x = (ingot.eye(6) * 2).cuda()
        f = wrap(lambda x: ingot.linalg.eigvals(x) * 2)
        for _ in range(4):
            found = f(x)
        assert found.is_cuda
        ingot.linalg.eigvals(x[:0, :0])
        x @ x + x
    assert ["eigvals has no kernel" in str(w.message) and w.filename == __file__ for w in shown] == [True]
