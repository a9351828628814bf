"""Training over NCCL on mock GPUs: the losses of several ranks are those of one process on the CPU."""

import pytest

import ingot
import nccl_ranks
from ingot import distributed as dist
from ingot import nn
from ingot.distributed.algorithms.ddp_comm_hooks import default_hooks

F = nn.functional
STEPS = 4


def _net(seed=0):
    ingot.manual_seed(seed)
    return nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 3))


def _data():
    ingot.manual_seed(1)
    return ingot.randn(12, 6), ingot.randn(12, 3)


def _steps(net, x, y, trace=False):
    """Losses of some steps."""
    optimizer = ingot.optim.SGD(net.parameters(), lr=0.2, momentum=0.9)

    def step(x, y):
        optimizer.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        return loss

    step = ingot.jit.trace(step) if trace else step
    return [step(x, y).item() for _ in range(STEPS)]


def _alone():
    return _steps(_net(), *_data())


def _trains(rank, nccl, size, options):
    net = nn.SyncBatchNorm.convert_sync_batchnorm(_net(rank)).cuda()
    ddp = nn.parallel.DistributedDataParallel(net, bucket_cap_mb=0.0001, **options)
    x, y = (t[rank::size].cuda() for t in _data())
    losses = ingot.tensor(_steps(ddp, x, y)).cuda()
    dist.all_reduce(losses, dist.ReduceOp.AVG)
    ingot.testing.assert_close(losses.cpu(), ingot.tensor(_alone()), rtol=1e-4, atol=1e-5)
    assert nccl.calls.count("AllReduce") >= 3 * STEPS and nccl.aborts == 0


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("options", [{}, {"find_unused_parameters": True, "gradient_as_bucket_view": True}],
                         ids=["plain", "unused"])
def test_losses_are_those_of_one_process(size, options):
    nccl_ranks.run(size, _trains, size, options)


def _with_hook(rank, nccl):
    ddp = nn.parallel.DistributedDataParallel(nn.SyncBatchNorm.convert_sync_batchnorm(_net()).cuda(), bucket_cap_mb=0.0001)
    ddp.register_comm_hook(None, default_hooks.allreduce_hook)
    x, y = (t[rank::2].cuda() for t in _data())
    losses = ingot.tensor(_steps(ddp, x, y)).cuda()
    dist.all_reduce(losses, dist.ReduceOp.AVG)
    ingot.testing.assert_close(losses.cpu(), ingot.tensor(_alone()), rtol=1e-4, atol=1e-5)


def test_hooks_reduce_on_the_device():
    nccl_ranks.run(2, _with_hook)


def _overlaps(rank, nccl):
    """Reductions begin while backward goes on, and no gradient passes through the host."""
    net = nn.Sequential(*[nn.Linear(16, 16) for _ in range(4)]).cuda()
    ddp = nn.parallel.DistributedDataParallel(net, bucket_cap_mb=0.0001)
    x = ingot.randn(4, 16).cuda()
    ddp(x).sum().backward()
    seen = []
    for n, p in net.named_parameters():
        p.register_post_accumulate_grad_hook(lambda _, n=n: seen.append((n, nccl.calls.count("AllReduce"))))
    before, copied = nccl.calls.count("AllReduce"), nccl.cuda.calls.get("cuMemcpyDtoHAsync_v2", 0)
    ddp(x).sum().backward()
    begun = dict(seen)
    assert begun["0.weight"] > before and nccl.calls.count("AllReduce") > before + 1, seen
    assert nccl.cuda.calls.get("cuMemcpyDtoHAsync_v2", 0) == copied
    nccl.cuda.drain()


def test_reductions_begin_while_backward_goes_on():
    nccl_ranks.run(2, _overlaps)


def _plain():
    net = nn.Sequential(*[m for m in _net() if not isinstance(m, nn.BatchNorm1d)]).cuda()
    return nn.parallel.DistributedDataParallel(net)


def _traced(rank, nccl, backend):
    x, y = (t[rank::2].cuda() for t in _data())
    want, traced = _steps(_plain(), x, y), _plain()
    before = nccl.calls.count("AllReduce")
    ingot.testing.assert_close(_steps(traced, x, y, trace=True), want, rtol=1e-5, atol=1e-6)
    assert (nccl.calls.count("AllReduce") > before) is (backend == "nccl")      # (replays launch a graph that has them)


@pytest.mark.parametrize("backend", ["nccl", "gloo"])
def test_traced_steps_reduce_gradients(backend):
    nccl_ranks.run(2, _traced, backend, backend=backend)


def _captured_step(rank, nccl):
    """A traced step in a graph of the program: gradients are reduced at every replay, without Python."""
    x, y = (t[rank::2].cuda() for t in _data())
    want, ddp = _steps(_plain(), x, y), _plain()
    optimizer = ingot.optim.SGD(ddp.parameters(), lr=0.2, momentum=0.9)

    @ingot.jit.trace
    def step(x, y):
        optimizer.zero_grad()
        loss = F.mse_loss(ddp(x), y)
        loss.backward()
        optimizer.step()
        return loss

    state = [t.detach().clone() for t in ddp.state_dict().values()]
    for _ in range(3):
        step(x, y)
    graph = ingot.cuda.CUDAGraph()
    with ingot.cuda.graph(graph):
        loss = step(x, y)
    begun = nccl.calls.count("AllReduce")
    with ingot.no_grad():
        for t, before in zip(ddp.state_dict().values(), state):
            t.copy_(before)
        for p in ddp.parameters():
            optimizer.state[p]["momentum_buffer"].zero_()
    losses = []
    for _ in range(STEPS):
        graph.replay()
        losses.append(loss.item())
    ingot.testing.assert_close(losses, want, rtol=1e-5, atol=1e-6)
    assert nccl.calls.count("AllReduce") == begun


def test_a_traced_step_is_captured_with_its_reductions():
    nccl_ranks.run(2, _captured_step)
