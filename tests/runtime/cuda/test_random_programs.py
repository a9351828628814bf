"""Random programs over streams, devices, threads, page-locked memory and graphs, on a driver that runs work as late as it may:
whoever waits for what he must finds the values that numpy finds."""

import gc
import random
import threading

import numpy as np
import pytest

import ingot
import mock_cuda
from ingot import jit

LENGTHS = (1, 7, 300, 5000, 70000)


class Held:
    """A tensor on a device: what it holds, the mark after which it is there, and those after which it may be overwritten."""

    def __init__(self, tensor, want, stream):
        self.tensor, self.want, self.home = tensor, want, stream
        self.ready, self.reads = stream.record_event(), []


class World:
    """State of a random program. Its actions are valid: work of other streams is waited for, and uses there are recorded."""

    def __init__(self, seed, devices=2, run_some=lambda count: None):
        self.random, self.devices, self.run_some = random.Random(seed), devices, run_some
        self.streams = [[ingot.cuda.default_stream(i), *[ingot.cuda.Stream(i) for _ in range(2)]] for i in range(devices)]
        self.tensors, self.graphs, self.coming, self.log = [], [], [], []
        self.traced = jit.trace(lambda x: ((x * 0.5 + 1).tanh(), x.sum()))

    def stream(self, device=None):
        return self.random.choice(self.streams[self.random.randrange(self.devices) if device is None else device])

    def some(self) -> Held:
        return self.random.choice(self.tensors) if self.tensors else self.make()

    def keep(self, tensor, want, stream):
        self.tensors.append(Held(tensor, np.asarray(want, np.float32), stream))
        return self.tensors[-1]

    def read(self, held, stream):
        """Has a stream of the tensor's device read it."""
        held.ready.wait(stream)
        if stream != held.home:
            held.tensor.record_stream(stream)

    def make(self):
        stream, n, value = self.stream(), self.random.choice(LENGTHS), float(self.random.randrange(9))
        with stream:
            return self.keep(ingot.full((n,), value, device="cuda"), np.full(n, value), stream)

    def compute(self):
        held = self.some()
        stream = self.stream(held.tensor.device.index)
        with stream:
            self.read(held, stream)
            self.keep(held.tensor * 2 + 1, held.want * 2 + 1, stream)
            held.reads.append(stream.record_event())

    def write(self):
        held = self.some()
        stream = self.stream(held.tensor.device.index)
        with stream:
            self.read(held, stream)
            for mark in held.reads:
                mark.wait(stream)
            held.tensor.add_(1)
            held.want = held.want + 1
            held.ready, held.reads = stream.record_event(), []

    def move(self):
        held = self.some()
        here = held.tensor.device.index
        there = (here + 1) % self.devices
        if here == there:
            return
        one, other = self.stream(here), self.stream(there)
        with other, one:
            self.read(held, one)
            self.keep(held.tensor.to(f"cuda:{there}"), held.want, other)
            held.reads.append(one.record_event())

    def send(self):
        stream, n = self.stream(), self.random.choice(LENGTHS)
        want = np.arange(n, dtype=np.float32) % 11
        with stream:
            self.keep(ingot.from_numpy(want).pin_memory().to("cuda", non_blocking=True), want, stream)

    def fetch(self):
        held = self.some()
        stream = self.stream(held.tensor.device.index)
        with stream:
            self.read(held, stream)
            self.coming.append((held.tensor.to("cpu", non_blocking=True), held.want, stream.record_event()))
            held.reads.append(stream.record_event())

    def trace(self):
        held = self.some()
        stream = self.stream(held.tensor.device.index)
        with stream:
            self.read(held, stream)
            made, total = self.traced(held.tensor)
            self.keep(made, np.tanh(held.want * 0.5 + 1), stream)
            self.keep(total, held.want.sum(dtype=np.float64), stream)
            held.reads.append(stream.record_event())

    def capture(self):
        held = self.some()
        with ingot.cuda.device(held.tensor.device):
            held.ready.synchronize()
            graph = ingot.cuda.CUDAGraph()
            with ingot.cuda.graph(graph):
                inner = held.tensor * 3
                result = inner + held.tensor
            self.graphs.append((graph, held, result))

    def replay(self):
        if self.graphs:
            graph, held, result = self.random.choice(self.graphs)
            stream = self.stream(held.tensor.device.index)
            with stream:
                ingot.cuda.synchronize(held.tensor.device)      # (its result is read by nobody else)
                self.read(held, stream)
                graph.replay()
                self.keep(result.clone(), held.want * 4, stream)
                held.reads.append(stream.record_event())

    def forget(self):
        for found in (self.tensors, self.graphs, self.coming):
            if found and self.random.random() < 0.6:
                last = found.pop(self.random.randrange(len(found)))
                if found is self.coming:
                    self.arrived(*last)

    def arrived(self, tensor, want, mark):
        mark.synchronize()
        np.testing.assert_allclose(tensor.numpy(), want, rtol=1e-4)

    def elsewhere(self):
        """Something of it in another thread, which is waited for."""
        errors = []

        def work():
            try:
                self.random.choice([self.compute, self.make, self.send, self.write])()
            except BaseException as e:
                errors.append(e)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        if errors:
            raise errors[0]

    def tidy(self):
        self.random.choice([gc.collect, ingot.cuda.empty_cache, lambda: self.run_some(20)])()

    def act(self):
        weighed = (self.make, self.compute, self.compute, self.write, self.move, self.send, self.fetch, self.trace,
                   self.capture, self.replay, self.replay, self.forget, self.forget, self.elsewhere, self.tidy)
        action = self.random.choice(weighed)
        self.log.append(action.__name__)
        action()
        self.run_some(self.random.randrange(6))

    def run(self, count=150):
        """So many actions, then a look at everything; what fails says which they were."""
        try:
            for _ in range(count):
                self.act()
            self.check()
        except Exception as e:
            raise AssertionError(f"after {', '.join(self.log[-12:])}: {e}") from e

    def check(self):
        for found in self.coming:
            self.arrived(*found)
        for held in self.tensors:
            held.ready.synchronize()
            got = held.tensor.cpu().numpy()
            np.testing.assert_allclose(got, held.want, rtol=1e-4, err_msg=f"{held.tensor.device}")


@pytest.mark.parametrize("seed", [*range(4), *[pytest.param(n, marks=pytest.mark.slow) for n in range(4, 60)]])
def test_random_programs_equal_numpy(seed):
    with mock_cuda.installed(devices=2, memory=40 << 20, seed=seed) as cuda:
        world = World(seed, 2, cuda.run_some)
        world.run()
        del world
        gc.collect()
        assert [ingot.cuda.memory_allocated(i) for i in (0, 1)] == [0, 0]
        cuda.drain()
        ingot.cuda.empty_cache()
        assert [ingot.cuda.memory_reserved(i) for i in (0, 1)] == [0, 0], "nothing waits for a stream that is done"
