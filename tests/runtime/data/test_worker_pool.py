"""Loading in worker processes: equal batches, shared memory, failures, and clean ends."""

import gc
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import ingot
from ingot.runtime.data import worker_pool as workers
from ingot.runtime.data.transport import INLINE_BYTES, Inbox, Outbox, send, socket_of
from ingot.utils import data
from ingot.utils.data import DataLoader

LARGE = 64 * 64       # elements of a sample in shared memory


class Images(data.Dataset):
    """Dataset with large and small entries, random numbers from every generator, and a failure on request."""

    def __init__(self, n=11, fail_at=None, how=None):
        self.n, self.fail_at, self.how = n, fail_at, how

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if i == self.fail_at:
            self.how(i)
        return {"image": ingot.full((LARGE,), float(i)), "label": i, "name": f"n{i}", "array": np.full(LARGE, i, np.int32),
                "noise": (random.random(), np.random.rand(), ingot.rand(2))}


class Numbers(data.IterableDataset):
    def __init__(self, n=10):
        self.n = n

    def __iter__(self):
        info = data.get_worker_info()
        yield from range(self.n) if info is None else range(info.id, self.n, info.num_workers)


class Odd(Exception):
    """Exception that needs more than a message."""

    def __init__(self, a, b):
        super().__init__(a, b)


def wait_a_little(i):
    time.sleep(0.4)


def raise_key(i):
    raise KeyError(f"sample {i}")


def raise_odd(i):
    raise Odd(i, i)


def die(i):
    os.kill(os.getpid(), signal.SIGKILL)


def crash(i):
    os.kill(os.getpid(), signal.SIGSEGV)


def leave(i):
    os._exit(3)


def sleep(i):
    time.sleep(60)


def stop(i):
    raise StopIteration


def batches_of(loader):
    """Return batches as plain values."""
    return [(b["image"][:, 0].tolist(), b["image"].shape, b["label"].tolist(), b["name"], b["array"][:, -1].tolist(),
             [x.tolist() for x in b["noise"]]) for b in loader]


def nothing_is_left():
    gc.collect()
    return not multiprocessing.active_children()


@pytest.fixture(autouse=True)
def clean():
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    yield
    assert nothing_is_left(), f"processes are left: {multiprocessing.active_children()}"
    if before:
        assert len(os.listdir("/proc/self/fd")) <= before + 2, "file descriptors are left"


def epochs(**options):
    ingot.manual_seed(21)
    loader = DataLoader(Images(), batch_size=3, shuffle=True, **options)
    got = [batches_of(loader) for _ in range(2)]
    return got, ingot.rand(1).item()


def test_any_number_of_workers_gives_the_same_batches_and_random_numbers():
    want = epochs(num_workers=1)
    for options in ({"num_workers": 3}, {"num_workers": 2, "persistent_workers": True},
                    {"num_workers": 2, "prefetch_factor": 5}):
        assert epochs(**options) == want, options
    assert want[0][0] != want[0][1]
    assert [batch[:-1] for batch in epochs()[0][0]] == [batch[:-1] for batch in want[0][0]], "both shuffle alike"


class Draws(data.Dataset):
    """Dataset of draws of the three global generators, each at its own index."""

    def __len__(self):
        return 6

    def __getitem__(self, i):
        return [ingot.rand(1).item(), random.random(), np.random.rand()]


def seed_ours(worker):
    ingot.manual_seed(7)


def seed_pythons(worker):
    random.seed(7)


def seed_numpys(worker):
    np.random.seed(7)


@pytest.mark.parametrize(("init", "place"), [(seed_ours, 0), (seed_pythons, 1), (seed_numpys, 2)])
@pytest.mark.parametrize("persistent", [False, True])
def test_a_worker_init_fn_may_seed_a_generator(init, place, persistent):
    def columns(seed, workers):
        ingot.manual_seed(seed)
        loader = DataLoader(Draws(), batch_size=None, num_workers=workers, worker_init_fn=init, persistent_workers=persistent)
        return [list(zip(*loader)) for _ in range(2)]

    first, second = columns(1, 1), columns(2, 2)
    for a, b in zip(first, second):
        assert [x == y for x, y in zip(a, b)] == [i == place for i in range(3)]
        assert len(set(a[place])) == 6, "each batch draws its own numbers"
    assert (first[0][place] == first[1][place]) != persistent, "workers that stay go on, new ones start again"


class Seeded(data.Dataset):
    seed = None

    def __len__(self):
        return 2

    def __getitem__(self, i):
        return Seeded.seed == data.get_worker_info().seed


def keep_seed(worker):
    Seeded.seed = ingot.initial_seed()


def test_worker_seeds_equal_their_generators_seeds():
    assert list(DataLoader(Seeded(), batch_size=None, num_workers=2, worker_init_fn=keep_seed)) == [True, True]


class SeedOfEach(data.Dataset):
    def __len__(self):
        return 40

    def __getitem__(self, i):
        return ingot.initial_seed()


def test_batch_seeds_fit_int64():
    """Datasets put the seed into tensors, or pass it to NumPy."""
    seeds = ingot.cat(list(DataLoader(SeedOfEach(), batch_size=1, num_workers=1)))
    assert seeds.dtype is ingot.int64 and len(set(seeds.tolist())) == 40 and (seeds >= 0).all()


@pytest.mark.skipif(sys.platform != "linux", reason="forks are safe on Linux")
@pytest.mark.parametrize(("statement", "expected"), [("", "fork"), ("multiprocessing.set_start_method('spawn')", "spawn")])
def test_workers_fork_unless_a_start_method_is_set(statement, expected):
    code = f"import multiprocessing; {statement}\nfrom ingot.runtime.data.worker_pool import default_context\n"
    code += "print(default_context().get_start_method())"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == expected


def test_workers_leave_nothing_open():
    """`python -W default`, as pytest sets it, prints each file and socket that nothing closed."""
    code = ("import ingot\nfrom ingot.utils.data import DataLoader\n"
            "print(sum(len(b) for b in DataLoader([ingot.ones(2)] * 4, batch_size=2, num_workers=2)))")
    out = subprocess.run([sys.executable, "-W", "default", "-c", code], capture_output=True, text=True, check=True)
    assert (out.stdout, out.stderr) == ("4\n", "")


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_other_ways_to_start_processes(method):
    assert epochs(num_workers=1, persistent_workers=True, multiprocessing_context=method) == epochs(num_workers=1)


def test_batches_are_in_shared_memory_and_stay_valid():
    loader = DataLoader(Images(40), batch_size=4, num_workers=2)
    held_batches = []
    for i, batch in enumerate(loader):
        assert batch["image"].is_shared() and not batch["label"].is_shared()
        assert batch["image"][:, 5].tolist() == [float(4 * i + k) for k in range(4)]
        if i % 3 == 0:
            held_batches.append((i, batch))
        batch["image"].add_(1) if i % 3 else None       # writes to the batch affect nothing else
    for i, batch in held_batches:
        assert batch["image"][:, -1].tolist() == [float(4 * i + k) for k in range(4)]
        assert batch["array"][:, 0].tolist() == [4 * i + k for k in range(4)]


def test_memory_is_used_again():
    line, other = multiprocessing.Pipe()
    outbox, inbox = Outbox(), Inbox()
    socks = socket_of(line), socket_of(other)
    addresses = set()
    for i in range(20):
        t = ingot.runtime.core.tensor.wrap(outbox.empty((LARGE,), np.float32))
        t.fill_(i)
        send(line, socks[0], outbox.pack([t, "text" * INLINE_BYTES]))
        del t
        got, text = inbox.receive(other, socks[1])
        assert got[7].item() == i and text == "text" * INLINE_BYTES
        addresses.add(got.data_ptr())
        del got
        outbox.returned(inbox.to_return())
    assert len(addresses) <= 2 and outbox.block_count <= 4
    held = outbox.empty((LARGE,), np.float32)
    assert all(outbox.empty((LARGE,), np.float32).ctypes.data != held.ctypes.data for _ in range(3))
    for end in (line, other, *socks):
        end.close()


def test_workers_keep_blocks_in_use():
    """A later batch does not overwrite a tensor that the worker holds, which may also be sent twice."""
    loader = DataLoader(Caching(), batch_size=None, num_workers=1)
    for turn, batch in enumerate(loader):
        assert batch.tolist() == [float(turn % 2)] * LARGE, turn


class Caching(data.Dataset):
    cache: dict = {}

    def __len__(self):
        return 12

    def __getitem__(self, i):
        if i % 2 not in self.cache:
            self.cache[i % 2] = data.default_collate([ingot.tensor(float(i))] * LARGE)
        return self.cache[i % 2]


def test_tensors_of_every_kind_come_through():
    samples = [ingot.ones(3, dtype=ingot.bfloat16), ingot.arange(6).reshape(2, 3).T, ingot.zeros(0, 4), ingot.tensor(2.5),
               ingot.ones(5000, dtype=ingot.float16)[::2], ingot.nn.Parameter(ingot.ones(2)), ingot.zeros(2, 0),
               ingot.arange(9000, dtype=ingot.int16).reshape(90, 100)[:, 3:50]]
    got = list(DataLoader(samples, batch_size=None, num_workers=2))
    for a, b in zip(samples, got):
        assert a.dtype is b.dtype and a.shape == b.shape and (a == b).all() and type(a) is type(b)
    assert got[5].requires_grad


def test_iterable_datasets_are_shared_out():
    assert sorted(i for b in DataLoader(Numbers(), batch_size=2, num_workers=3) for i in b.tolist()) == list(range(10))
    loader = DataLoader(Numbers(9), batch_size=2, num_workers=2, persistent_workers=True)
    assert [b.tolist() for b in loader] == [b.tolist() for b in loader] == [[0, 2], [1, 3], [4, 6], [5, 7], [8]]
    del loader


def test_out_of_order_gives_everything_once():
    loader = DataLoader(Images(20), batch_size=2, num_workers=3, in_order=False)
    assert sorted(i for b in loader for i in b["label"].tolist()) == list(range(20))


def test_worker_info_and_init():
    loader = DataLoader(Who(), batch_size=None, num_workers=2, worker_init_fn=set_flag)
    got = sorted(loader)
    assert got == [[0, 2, True, 7]] * 2 + [[1, 2, True, 7]] * 2 and data.get_worker_info() is None


class Who(data.Dataset):
    flag = None

    def __len__(self):
        return 4

    def __getitem__(self, i):
        info = data.get_worker_info()
        return info.id, info.num_workers, info.dataset is self and info.seed >= 0, Who.flag


def set_flag(worker):
    Who.flag = 7


# Failures.


def test_an_exception_arrives_with_its_type_and_traceback():
    with pytest.raises(KeyError, match="DataLoader worker process 1") as info:
        list(DataLoader(Images(fail_at=4, how=raise_key), batch_size=3, num_workers=2))
    assert "in raise_key" in str(info.value) and "'sample 4'" in str(info.value)
    with pytest.raises(RuntimeError, match="Caught Odd"):
        list(DataLoader(Images(fail_at=4, how=raise_odd), batch_size=3, num_workers=2))
    with pytest.raises(RuntimeError, match="StopIteration"):
        list(DataLoader(Images(fail_at=4, how=stop), batch_size=3, num_workers=1))


def test_iteration_goes_on_after_an_exception():
    it = iter(DataLoader(Images(6, fail_at=2, how=raise_key), batch_size=2, num_workers=2))
    labels = []
    for _ in range(3):
        try:
            labels.append(next(it)["label"].tolist())
        except KeyError:
            labels.append("failed")
    assert labels == [[0, 1], "failed", [4, 5]]
    with pytest.raises(StopIteration):
        next(it)


@pytest.mark.parametrize("how, message", [(die, "killed by SIGKILL"), (leave, "exited with code 3"), (crash, "in crash")])
def test_a_dead_worker_is_reported(how, message):
    start = time.monotonic()
    with pytest.raises(RuntimeError, match=message):
        list(DataLoader(Images(fail_at=4, how=how), batch_size=3, num_workers=2))
    assert time.monotonic() - start < 20


def test_workers_can_be_started_again_after_a_crash():
    loader = DataLoader(Images(6, fail_at=4, how=die), batch_size=2, num_workers=1, persistent_workers=True)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="SIGKILL"):
            list(loader)
    it = iter(loader)
    with pytest.raises(RuntimeError, match="SIGKILL"):
        list(it)
    with pytest.raises(RuntimeError, match="have ended"):
        next(it)


def test_timeouts():
    with pytest.raises(RuntimeError, match=r"timed out after 0\.3 seconds"):
        list(DataLoader(Images(fail_at=1, how=sleep), batch_size=1, num_workers=1, timeout=0.3))


def test_failing_init_and_unpicklable_batches():
    with pytest.raises(KeyError, match="sample 0"):
        list(DataLoader(Images(), num_workers=1, worker_init_fn=raise_key))
    with pytest.raises(Exception, match=r"worker process 0[\s\S]*local object"):
        list(DataLoader(Images(2), batch_size=None, num_workers=1, collate_fn=lambda x: (lambda: 0)))


def test_leaving_early_ends_the_workers():
    start = time.monotonic()
    for _ in DataLoader(Images(1000), batch_size=2, num_workers=2):
        break
    assert nothing_is_left() and time.monotonic() - start < 10


# Python handles an interrupt only if it is not ignored, as in background jobs of a shell.
PROGRAM = """
import signal, time, ingot
signal.signal(signal.SIGINT, signal.default_int_handler)
from ingot.utils.data import DataLoader, Dataset

class Slow(Dataset):
    def __len__(self):
        return 10000

    def __getitem__(self, i):
        time.sleep(0.02)
        return ingot.zeros(5000)

for i, batch in enumerate(DataLoader(Slow(), batch_size=2, num_workers=2)):
    if i == 0:
        print("running", flush=True)
"""


@pytest.mark.skipif(not os.path.isdir("/proc"), reason="looks at /proc")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_ends_from_outside_leave_no_process(how):
    p = subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                         start_new_session=True)
    assert p.stdout.readline() == "running\n"
    with open(f"/proc/{p.pid}/task/{p.pid}/children") as file:
        workers = file.read().split()
    assert len(workers) == 2
    (os.killpg if how == signal.SIGINT else os.kill)(p.pid, how)
    assert p.wait(timeout=15) != 0
    p.stdout.close()
    deadline = time.monotonic() + 10
    while any(os.path.exists(f"/proc/{w}") for w in workers) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(os.path.exists(f"/proc/{w}") for w in workers)


def test_long_lists_of_indices_and_long_answers_do_not_block_each_other():
    loader = DataLoader(range(600000), batch_size=150000, num_workers=1, prefetch_factor=4, collate_fn=bytes_and_length)
    assert [n for n, _ in loader] == [150000] * 4


def bytes_and_length(batch):
    return len(batch), b"x" * 3_000_000


def test_workers_that_are_silent_and_alive_are_waited_for(monkeypatch):
    monkeypatch.setattr(workers, "_LOOK_SECONDS", 0.05)
    batches = list(DataLoader(Images(3, 1, wait_a_little), batch_size=1, num_workers=1))
    assert [batch["label"].item() for batch in batches] == [0, 1, 2]
