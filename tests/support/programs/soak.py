"""`python soak.py MINUTES`: a process that does by turns what long-running programs do, and prints what it occupies.

A round trains a traced network and an eager one, changes sizes and numbers, records new functions, exports and loads a model,
saves and loads a state, reads data by workers, differentiates twice, fails in traced code, and forks. Each line of output is a
sample: rounds, seconds, kilobytes in memory, descriptors, threads.
"""

import gc
import json
import os
import sys
import tempfile
import threading
import time

import numpy as np

import ingot
from ingot import jit, nn, optim
from ingot.utils.data import DataLoader, Dataset

_FOLDER = tempfile.mkdtemp()


class _Squares(Dataset):
    """Numbers and their squares."""

    def __len__(self):
        return 32

    def __getitem__(self, i):
        return ingot.full((4,), float(i)), float(i * i)


def _network():
    return nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 1))


def _train(step_of):
    net = _network()
    optimizer = optim.AdamW(net.parameters(), lr=1e-3)

    def step(x, y):
        optimizer.zero_grad()
        loss = (net(x)[:, 0] - y).pow(2).mean()
        loss.backward()
        optimizer.step()
        return loss

    step = step_of(step)
    for rows in (3, 8, 8, 17, 8):
        step(ingot.randn(rows, 4), ingot.randn(rows))


def _record_new_functions():
    for scale in (1.5, 2.5):
        traced = jit.trace(lambda x, scale=scale: (x * scale).tanh().sum())
        x = ingot.randn(7, requires_grad=True)
        traced(x).backward()


def _export_and_load():
    net, path = _network().eval(), os.path.join(_FOLDER, "model.ingot")
    jit.export(net, (ingot.ones(2, 4),), path)
    model = jit.load(path, objects=False)
    assert np.allclose(np.asarray(model(np.ones((2, 4), np.float32))), net(ingot.ones(2, 4)).detach().numpy(), atol=1e-5)


def _save_and_load():
    path = os.path.join(_FOLDER, "state.pt")
    ingot.save(_network().state_dict(), path)
    _network().load_state_dict(ingot.load(path))


def _read_data():
    total = sum(float(x.sum()) + float(y.sum()) for x, y in DataLoader(_Squares(), batch_size=8, num_workers=2))
    assert total == sum(4 * i + i * i for i in range(32))


def _differentiate_twice():
    x = ingot.randn(5, requires_grad=True)
    first, = ingot.autograd.grad(x.pow(3).sum(), x, create_graph=True)
    first.sum().backward()


def _fail_in_traced_code():
    @jit.trace
    def fails(x):
        raise KeyError(float((x + 1).sum()))

    for _ in range(3):
        try:
            fails(ingot.ones(2))
        except KeyError:
            continue


def _fork():
    child = os.fork()
    if child == 0:
        os._exit(0 if float(jit.trace(lambda x: x.sum())(ingot.ones(3))) == 3 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


_TASKS = (lambda: _train(jit.trace), lambda: _train(lambda fn: fn), _record_new_functions, _export_and_load, _save_and_load,
          _read_data, _differentiate_twice, _fail_in_traced_code, _fork)


def _sample(rounds, begin):
    gc.collect()
    with open("/proc/self/statm") as file:
        pages = int(file.read().split()[1])
    return [rounds, round(time.monotonic() - begin, 1), pages * os.sysconf("SC_PAGESIZE") // 1024,
            len(os.listdir("/proc/self/fd")), threading.active_count()]


def main(minutes):
    """Run rounds for so many minutes; print a sample sixty times, and at the end."""
    begin, rounds, next_sample = time.monotonic(), 0, 0.0
    while time.monotonic() - begin < 60 * minutes:
        for task in _TASKS:
            task()
        rounds += 1
        if time.monotonic() - begin >= next_sample:
            print(json.dumps(_sample(rounds, begin)), flush=True)
            next_sample += minutes
    print(json.dumps(_sample(rounds, begin)), flush=True)


if __name__ == "__main__":
    main(float(sys.argv[1]))
