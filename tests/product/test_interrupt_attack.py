"""An attack of exceptions from outside, in all ways and at random points, on programs as users write them.

Each reaches the caller, and no work is done twice, or in part where that is promised. No state of the process stays changed.
"""

import copy
import random
import signal
import warnings

import numpy as np
import pytest

import ingot
import ingot.distributed as dist
from ingot import nn
from interrupts import WAYS, follow_points, is_from_outside, points_of, raised_at
from stateful_programs import Growing, Training

TIMES = 210         # interrupts of a program in one way: 5,040 in all
OPTIMIZERS = "SGD", "Adam", "RMSprop"


def of_process() -> list:
    """Return state of the process that no program may leave changed."""
    return [np.geterr(), list(warnings.filters), ingot.is_grad_enabled(), ingot.get_default_dtype(),
            signal.getsignal(signal.SIGINT)]


class Eager:
    """A step of an optimizer: each parameter is updated once or not."""

    def __init__(self, tmp_path, name="Adam"):
        ingot.manual_seed(0)
        self.parameters = [nn.Parameter(ingot.randn(*shape)) for shape in ((8, 16), (4,), (100, 100))]
        self.optimizer = getattr(ingot.optim, name)(self.parameters, lr=0.1)
        self.states: list = []
        for p in self.parameters:
            p.grad = ingot.randn(*p.shape)
        for _ in range(3):
            self.optimizer.step()
        self.before = copy.deepcopy(self.optimizer.state_dict()), [p.detach().clone() for p in self.parameters]
        self.optimizer.step()
        self.after = [p.tolist() for p in self.parameters]
        self._restore()

    def _restore(self):
        for p, old in zip(self.parameters, self.before[1]):
            p.data.copy_(old)
        self.optimizer.load_state_dict(copy.deepcopy(self.before[0]))

    def __call__(self):
        self.optimizer.step()

    def state(self) -> list:
        for p, old, new in zip(self.parameters, self.before[1], self.after):
            assert p.tolist() in (old.tolist(), new), f"{list(p.shape)} was updated in part, or twice"
        self._restore()
        return of_process()


class Saving:
    """A file that is replaced: it is the one before or the one after."""

    def __init__(self, tmp_path):
        self.path = tmp_path / f"{len(list(tmp_path.iterdir()))}.pt"
        self.rows, self.at = ingot.arange(20_000).float(), 0
        ingot.save({"at": 0, "rows": self.rows}, self.path)

    def __call__(self):
        ingot.save({"at": self.at + 1, "rows": self.rows + (self.at + 1)}, self.path)

    def state(self) -> list:
        held = ingot.load(self.path)
        self.at = held["at"]
        assert held["rows"].tolist() == (self.rows + held["at"]).tolist()
        return [held["at"], *of_process()]


class Distributed:
    """A step of a replicated module. Replicas that are made again take whole steps."""

    def __init__(self, tmp_path):
        self.plain = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
        self.net = nn.parallel.DistributedDataParallel(self.plain)
        self.start = [p.detach().clone() for p in self.net.parameters()]
        self.optimizer = ingot.optim.SGD(self.net.parameters(), lr=0.1)
        self.x = ingot.ones(3, 4)
        self()
        self()

    def __call__(self):
        self.optimizer.zero_grad()
        (self.net(self.x) ** 2).mean().backward()
        self.optimizer.step()

    def state(self) -> list:
        for p, old in zip(self.net.parameters(), self.start):
            p.data.copy_(old)
        self.net = nn.parallel.DistributedDataParallel(self.plain)      # a backward that is cut off is no end of an average
        self()
        return [[p.tolist() for p in self.net.parameters()], *of_process()]


class Traced(Training):
    def __init__(self, tmp_path):
        super().__init__()

    def state(self) -> list:
        return [*super().state(), *of_process()]


class TracedGrowing(Growing):
    def __init__(self, tmp_path):
        super().__init__()


PROGRAMS = {"traced step": Traced, "traced cache": TracedGrowing, "save": Saving, "replicas": Distributed,
            "eager SGD": lambda path: Eager(path, "SGD"), "eager Adam": Eager}
# The standard library drops some exceptions in the others: `os.path.exists` takes a TimeoutError for a missing file, and
# locks of `concurrent.futures` may stay closed. They run one interrupt in modules of ingot alone.
SURE = "traced step", "traced cache", "eager SGD", "eager Adam"


@pytest.fixture
def alone():
    """A group of this process alone, and the handlers as before."""
    before = signal.getsignal(signal.SIGALRM)
    dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("name", sorted(PROGRAMS.keys() - set(SURE)))
def test_an_interrupt_in_ingot_reaches_the_caller_of_a_program(name, alone, tmp_path, pytestconfig):
    it, rng = PROGRAMS[name](tmp_path), random.Random(pytestconfig.option.seed)
    before = it.state()
    for number in rng.sample(range(points_of(it, "ingot")), 2):
        _, error, reached = raised_at(number, it, KeyboardInterrupt, "ingot")
        assert is_from_outside(error) is reached
        del error
        it.state()
    it()
    assert it.state()[1:] == before[1:]


def attack(name, way, times, seed, tmp_path):
    print(f"{name}, {way}: seed {seed}")
    rng = random.Random(seed)

    def make():
        ingot.manual_seed(7)
        return PROGRAMS[name](tmp_path)

    count = points_of(make())
    points = [rng.randrange(count) for _ in range(times)]
    follow_points(make, way, points, rng)


@pytest.mark.drawn
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", SURE)
def test_an_exception_from_outside_reaches_the_caller_of_a_program(name, way, alone, tmp_path, pytestconfig):
    attack(name, way, 3, pytestconfig.option.seed, tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", SURE)
def test_many_exceptions_from_outside_reach_the_caller_of_a_program(name, way, alone, tmp_path):
    attack(name, way, TIMES, random.randrange(10 ** 6), tmp_path)
