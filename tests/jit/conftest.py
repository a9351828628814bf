"""Exports of these tests check their files in forks of a process that has imported ingot already. Programs that change numpy's
settings leave them as they were."""

import gc
import types

import numpy as np
import pytest

import prepared_process
from ingot.jit.exporting.file import cross_compile, writer
from ingot.runtime.state.collector import CALLBACK


@pytest.fixture(autouse=True)
def settings_of_numpy_stay():
    before = np.geterr()
    yield
    np.seterr(**before)


@pytest.fixture
def no_callbacks_of_others():
    """A recording around callbacks of the collector that come before ingot's, as that of hypothesis does, puts it first."""
    before, gc.callbacks[:] = [*gc.callbacks], [CALLBACK]
    yield
    gc.callbacks[:] = before


@pytest.fixture(scope="session", autouse=True)
def exports_run_in_prepared_processes():
    prepared = prepared_process.Prepared(f"{writer.__package__}.collect_kernels", f"{writer.__package__}.cross_compile")
    names = vars(writer.subprocess) | {"run": prepared.run}
    before = writer.subprocess
    writer.subprocess = cross_compile.subprocess = types.SimpleNamespace(**names)
    yield
    writer.subprocess = cross_compile.subprocess = before
    prepared.end()
