"""Programs whose host steps change arguments."""

import dataclasses

import numpy as np

import ingot
from ingot import jit

from .common import ARGUMENTS, VALUES
from .variables import Counter


def _of_argument(make, change, read, reset=lambda x: None):
    def program(wrap, changes, found):
        given = make()

        def add(g, v):
            if changes(v):
                change(g)

        def fn(x, g):
            jit.host(add)(g, x.sum())
            return x * read(g)

        def by_closure(x, g):
            jit.host(lambda v: add(given, v))(x.sum())
            return x * read(g)

        for f in (wrap(fn), wrap(by_closure)):
            for i, v in enumerate(VALUES):
                found.append((f(ingot.full((1,), float(v)), given).tolist(), str(given)))
                if i % 3 == 2:
                    reset(given)
    return program


@dataclasses.dataclass
class Count:
    n: float = 0.0

    def add(self):
        self.n += 1.0


ARGUMENTS["list"] = _of_argument(list, lambda g: g.append(1), len, list.clear)
ARGUMENTS["dict"] = _of_argument(lambda: {"n": 0.0}, lambda g: g.update(n=g["n"] + 1), lambda g: g["n"])
ARGUMENTS["list in a dict"] = _of_argument(lambda: {"log": []}, lambda g: g["log"].append(1), lambda g: len(g["log"]))
ARGUMENTS["dataclass"] = _of_argument(Count, Count.add, lambda g: g.n)
ARGUMENTS["object"] = _of_argument(Counter, lambda g: g.bump(1), lambda g: g.value())
ARGUMENTS["tensor"] = _of_argument(lambda: ingot.zeros(1), lambda g: g.add_(1), lambda g: g)
ARGUMENTS["array"] = _of_argument(lambda: np.zeros(1, np.float32), lambda g: np.add(g, 1, out=g), ingot.tensor)
