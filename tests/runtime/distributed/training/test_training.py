"""Distributed training programs: functional collectives, meshes, group methods, gradient hooks, uneven inputs, sharded
optimizers."""

import importlib
import json

import pytest

import ingot
import mock_cuda
import private_names  # noqa: F401
import ranks
from ingot import distributed as dist
from ingot import nn
from ingot.runtime.distributed.training import local_sgd, uneven_inputs

SIZE = 2
F = nn.functional
hooks = importlib.import_module("ingot.distributed.algorithms.ddp_comm_hooks")


def make_net(seed=0):
    ingot.manual_seed(seed)
    return nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 3)).double()


def make_data(rows=8):
    ingot.manual_seed(1)
    return ingot.randn(rows, 6, dtype=ingot.float64), ingot.randn(rows, 3, dtype=ingot.float64)


def assert_all_have(tensor):
    """Assert that all ranks have the same values."""
    got = [ingot.zeros_like(tensor) for _ in range(SIZE)]
    dist.all_gather(got, tensor.detach())
    assert ingot.equal(*got)


def _by_methods(rank):
    group = dist.group.WORLD
    x = ingot.full((2,), rank + 1.0)
    assert (group.rank(), group.size(), group.name()) == (rank, SIZE, "gloo")
    group.allreduce([x]).wait()
    assert x.tolist() == [3, 3]
    group.broadcast(x.add_(rank), root=1).wait()
    assert x.tolist() == [4, 4]
    got = [ingot.zeros(2) for _ in range(SIZE)]
    group.allgather([got], [x + rank]).wait()
    assert [g.tolist() for g in got] == [[4, 4], [5, 5]]
    group.gather([got] if rank == 1 else [], [x * rank], root=1).wait()
    group.scatter(x, [got] if rank == 1 else [], root=1).wait()
    assert x.tolist() == [4.0 * rank] * 2
    group.reduce_scatter(x, [ingot.ones(2), ingot.full((2,), 2.0)], dist.ReduceOp.SUM).wait()
    assert x.tolist() == [2.0 * (rank + 1)] * 2
    group.alltoall_base(x, ingot.tensor([1.0, 2.0]) * (rank + 1), [], []).wait()
    assert x.tolist() == [rank + 1, 2.0 * (rank + 1)]
    work = group.send([x], 1, 7) if rank == 0 else group.recv([x], 0, 7)
    assert work.wait() and x.tolist() == [1, 2]
    future = dist.all_reduce(x, async_op=True).get_future().then(lambda done: done.value()[0] * 10)
    assert future.wait().tolist() == [20, 40]
    group.barrier().wait()


def test_groups_have_methods():
    ranks.run(SIZE, _by_methods)


def _functionally(rank):
    fc = importlib.import_module("ingot.distributed._functional_collectives")
    mesh = dist.init_device_mesh("cpu", (1, SIZE), mesh_dim_names=("dp", "tp"))
    x = ingot.arange(4.0).reshape(2, 2).add(rank).requires_grad_()
    whole = fc.all_gather_tensor(x, 1, (mesh, "tp"))
    assert fc.wait_tensor(whole) is whole and whole.tolist() == [[0, 1, 1, 2], [2, 3, 3, 4]]
    whole.mul(ingot.arange(4.0)).sum().backward()
    assert x.grad.tolist() == [[0, 2], [0, 2]] if rank == 0 else [[4, 6], [4, 6]]
    part = fc.reduce_scatter_tensor(x.detach(), "sum", 1, mesh["tp"])
    assert part.tolist() == [[1.0 + 2 * rank], [5.0 + 2 * rank]]
    assert fc.all_reduce(x.detach(), "max", dist.group.WORLD).tolist() == [[1, 2], [3, 4]]
    assert fc.all_reduce(x.detach(), "sum", mesh["dp"]).tolist() == x.tolist()
    assert fc.all_to_all_single(x.detach(), None, None, dist.group.WORLD).tolist() == [[2.0 * rank, 2 * rank + 1],
                                                                                       [2.0 * rank + 1, 2 * rank + 2]]
    assert fc.permute_tensor(x.detach(), [1, 0], dist.group.WORLD).tolist() == (x.detach() + 1 - 2 * rank).tolist()
    assert fc.broadcast(x, 1, dist.group.WORLD).tolist() == [[1, 2], [3, 4]]
    with pytest.raises(ValueError, match="named by one of"):
        fc.all_reduce(x, "plus", dist.group.WORLD)
    with pytest.raises(ValueError, match="new_group"):
        fc.all_reduce(x, "sum", [0, 1])


def test_functional_collectives():
    ranks.run(SIZE, _functionally)


def _meshes(rank):
    mesh = dist.init_device_mesh("cpu", (SIZE, 1), mesh_dim_names=("dp", "tp"))
    assert mesh.shape == (SIZE, 1) and mesh.ndim == 2 and mesh.size() == SIZE and mesh.size("tp") == mesh.size(1) == 1
    assert mesh.mesh.tolist() == [[0], [1]] and mesh.get_rank() == rank and mesh.get_coordinate() == [rank, 0]
    assert mesh.get_local_rank("dp") == rank and mesh.get_local_rank(1) == 0
    assert mesh.get_group("dp") is dist.group.WORLD and mesh.get_group("tp").ranks == (rank,)
    assert [g.size() for g in mesh.get_all_groups()] == [SIZE, 1]
    part = mesh["dp"]
    assert part.mesh.tolist() == [0, 1] and part.get_group() is mesh.get_group("dp") and part.mesh_dim_names == ("dp",)
    swapped_mesh = mesh["tp", "dp"]
    assert swapped_mesh.mesh.tolist() == [[0, 1]] and swapped_mesh.get_group("dp") is dist.group.WORLD
    flat = mesh._flatten()
    assert flat.mesh_dim_names == ("dp_tp",) and flat.get_group().size() == SIZE
    again = dist.DeviceMesh.from_group(dist.group.WORLD, "cpu", mesh_dim_names=("dp",))
    assert again == part and hash(again) == hash(part) != hash(mesh)
    one = dist.DeviceMesh("cpu", [1])
    assert one.get_coordinate() == ([0] if rank else None)
    if rank == 0:
        with pytest.raises(ValueError, match="rank 0 is not in"):
            one.get_group()
    for wrong, match in ((lambda: dist.init_device_mesh("cpu", (3,)), "does not hold the 2 ranks"),
                         (lambda: mesh.get_group(), "which one is meant"), (lambda: mesh["pp"], "no dimension 'pp'"),
                         (lambda: dist.DeviceMesh("cpu", [0, 5]), "different ranks of the run"),
                         (lambda: dist.DeviceMesh("cpu", [0, 1], mesh_dim_names=("a", "b")), "1 different mesh_dim_names")):
        with pytest.raises(ValueError, match=match):
            wrong()


def test_meshes_have_groups_along_their_dimensions():
    ranks.run(SIZE, _meshes)


# Gradient hooks.


def _grads(net):
    return [p.grad.clone() for p in net.parameters()]


def _backward(ddp, rank):
    x, y = make_data()
    ddp.zero_grad()
    F.mse_loss(ddp(x[rank::SIZE]), y[rank::SIZE]).backward()
    return _grads(ddp)


def _hooked(rank, name, tolerance):
    alone = make_net()
    x, y = make_data()
    F.mse_loss(alone(x), y).backward()
    ddp = nn.parallel.DistributedDataParallel(make_net(), bucket_cap_mb=0.0005, gradient_as_bucket_view=True)
    hook = getattr(hooks.default_hooks, name) if isinstance(name, str) else name()
    ddp.register_comm_hook(None, hook)
    for _ in range(2):
        for g, want in zip(_backward(ddp, rank), _grads(alone)):
            assert g.dtype is ingot.float64 and ingot.allclose(g, want, rtol=tolerance, atol=tolerance)
            assert_all_have(g)
    with pytest.raises(RuntimeError, match="once"):
        ddp.register_comm_hook(None, hook)


def _wrapped():
    return hooks.default_hooks.fp16_compress_wrapper(hooks.default_hooks.allreduce_hook)


@pytest.mark.parametrize(("name", "tolerance"), [("allreduce_hook", 1e-10), ("fp16_compress_hook", 2e-3),
                                                 ("bf16_compress_hook", 2e-2), (_wrapped, 2e-3)])
def test_hooks_average_gradients(name, tolerance):
    ranks.run(SIZE, _hooked, name, tolerance)


def _own_hook(rank):
    seen = []

    def hook(state, bucket):
        seen.append((state, bucket.index(), bucket.is_last(), [p.shape for p in bucket.parameters()]))
        assert [g.shape for g in bucket.gradients()] == seen[-1][3] and not ingot.is_grad_enabled()
        bucket.gradients()[0].fill_(7.0)
        found = ingot.futures.Future()
        found.set_result([bucket.buffer()])
        return found

    ddp = nn.parallel.DistributedDataParallel(make_net())
    ddp.register_comm_hook("state", hook)
    assert all((g == 7).all() for g in _backward(ddp, rank)[:1] if seen[-1][3][0] == g.shape)
    assert [s[:3] for s in seen] == [("state", i, i == len(seen) - 1) for i in range(len(seen))]
    assert sum(len(s[3]) for s in seen) == 4
    wrong = nn.parallel.DistributedDataParallel(make_net())
    with pytest.raises(TypeError, match="takes a function"):
        wrong.register_comm_hook(None, 3)
    wrong.register_comm_hook(None, lambda state, bucket: bucket.buffer())
    with pytest.raises(ValueError, match=r"futures\.Future"):
        _backward(wrong, rank)


def test_hooks_of_the_users():
    ranks.run(SIZE, _own_hook)


def _power(rank, batched):
    power = hooks.powerSGD_hook
    ddp = nn.parallel.DistributedDataParallel(make_net())
    state = power.PowerSGDState(None, matrix_approximation_rank=2, start_powerSGD_iter=2, min_compression_rate=1)
    ddp.register_comm_hook(state, power.batched_powerSGD_hook if batched else power.powerSGD_hook)
    exact = _backward(ddp, rank)
    assert all(ingot.equal(a, b) for a, b in zip(exact, _backward(ddp, rank)))
    total = [ingot.zeros_like(g) for g in exact]
    for _ in range(10):
        for t, g in zip(total, _backward(ddp, rank)):
            t += g / 10
            assert_all_have(g)
    left, = state.error_dict.values()                   # only the rest of earlier steps is missing
    dist.all_reduce(left, dist.ReduceOp.AVG)
    whole = [ingot.cat([g.reshape(-1) for g in reversed(gs)]) for gs in (exact, total)]
    assert ingot.allclose(whole[0], whole[1] + left / 10) and not ingot.allclose(whole[0], whole[1]) and state.q_memory_dict
    assert batched or ingot.allclose(*whole, atol=0.1 * whole[0].abs().max().item())
    assert batched or all(ingot.allclose(a, b) for a, b in zip(exact[1::2], _backward(ddp, rank)[1::2]))     # biases


@pytest.mark.parametrize("batched", [False, True])
def test_power_sgd_sends_factors_and_forgets_nothing(batched):
    ranks.run(SIZE, _power, batched)


def test_power_sgd_needs_a_first_step():
    with pytest.raises(ValueError, match="above 1"):
        hooks.powerSGD_hook.PowerSGDState(None, start_powerSGD_iter=1)


def _local(rank):
    local = importlib.import_module("ingot.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook")
    averagers = importlib.import_module("ingot.distributed.algorithms.model_averaging.averagers")
    ddp = nn.parallel.DistributedDataParallel(make_net())
    state = local.PostLocalSGDState(None, None, start_localSGD_iter=1, post_local_gradient_allreduce=False)
    ddp.register_comm_hook(state, local.post_localSGD_hook)
    averager = averagers.PeriodicModelAverager(period=2, warmup_steps=1)
    optimizer = dist.optim.PostLocalSGDOptimizer(ingot.optim.SGD(ddp.parameters(), lr=0.1), averager)
    weight, same = ddp.module[0].weight, []
    for _ in range(4):
        _backward(ddp, rank)
        optimizer.step()
        got = [ingot.zeros_like(weight) for _ in range(SIZE)]
        dist.all_gather(got, weight.detach())
        same.append(ingot.equal(*got))
    assert same == [True, True, False, True]            # all share step 0; averages after 1 and 3
    saved = optimizer.state_dict()
    assert saved["step"] == 4
    averager.step = 0
    optimizer.load_state_dict(saved)
    assert averager.step == 4


def test_local_steps_and_averages_now_and_then():
    ranks.run(SIZE, _local)


# Uneven inputs.


def _uneven(rank, by_all, find_unused):
    """Rank 0 has two batches, rank 1 four; compare with manual steps."""
    net = nn.Sequential(make_net(), nn.BatchNorm1d(3).double())
    ddp = nn.parallel.DistributedDataParallel(net, find_unused_parameters=find_unused, bucket_cap_mb=0.0005)
    own = nn.Sequential(make_net(), nn.BatchNorm1d(3).double())
    optimizers = [ingot.optim.SGD(n.parameters(), lr=0.1) for n in (ddp, own)]
    x, _ = make_data(24)
    batches = [[x[4 * i: 4 * i + 4] for i in range(2)], [x[8 + 4 * i: 12 + 4 * i] for i in range(4)]]
    with ddp.join(divide_by_initial_world_size=by_all):
        for batch in batches[rank]:
            optimizers[0].zero_grad()
            ddp(batch).square().sum().backward()
            optimizers[0].step()
            assert ingot.is_grad_enabled()
    for step in range(4):
        optimizers[1].zero_grad()
        going_on = [r for r in range(SIZE) if step < len(batches[r])]
        buffers = {n: b.clone() for n, b in own.named_buffers()}
        last_buffers = None
        for r in going_on:
            for n, b in own.named_buffers():
                b.copy_(buffers[n])
            (own(batches[r][step]).square().sum() / (SIZE if by_all else len(going_on))).backward()
            last_buffers = {n: b.clone() for n, b in own.named_buffers()}
        optimizers[1].step()
        for n, b in own.named_buffers():
            b.copy_(last_buffers[n])
    for p, q in zip(ddp.parameters(), own.parameters()):
        assert ingot.allclose(p, q, rtol=1e-9, atol=1e-11)
        assert_all_have(p)
    _backward(nn.parallel.DistributedDataParallel(make_net()), rank)


@pytest.mark.parametrize(("by_all", "find_unused"), [(True, False), (False, True)])
def test_ranks_may_have_different_numbers_of_batches(by_all, find_unused):
    ranks.run(SIZE, _uneven, by_all, find_unused)


def _ends_at_once(rank):
    ddp = nn.parallel.DistributedDataParallel(make_net())
    x, _ = make_data()
    with pytest.raises(RuntimeError, match="no batches left"), ddp.join(throw_on_early_termination=True):
        for _ in range(rank + 1):
            ddp(x).sum().backward()
    with ddp.join(), ddp.no_sync():
        for _ in range(rank + 1):
            ddp(x).sum().backward()
    with ddp.join(enable=False):
        ddp(x).sum().backward()
    with pytest.raises(ValueError, match="at least one"):
        dist.algorithms.Join([])


def test_joins_that_throw_and_that_add_up():
    ranks.run(SIZE, _ends_at_once)


# Sharded optimizers.


def _sharded(rank):
    ddp = nn.parallel.DistributedDataParallel(make_net())
    params = [{"params": ddp.module[0].parameters()}, {"params": ddp.module[2].parameters(), "weight_decay": 0.1}]
    zero = dist.optim.ZeroRedundancyOptimizer(params, ingot.optim.AdamW, lr=0.05)
    own = make_net()
    whole = ingot.optim.AdamW([{"params": own[0].parameters()}, {"params": own[2].parameters(), "weight_decay": 0.1}], lr=0.05)
    schedules = [ingot.optim.lr_scheduler.StepLR(o, 2, 0.5) for o in (zero, whole)]
    x, y = make_data()

    def steps(count):
        for _ in range(count):
            _backward(ddp, rank)
            zero.step()
            whole.zero_grad()
            F.mse_loss(own(x), y).backward()
            whole.step()
            for schedule in schedules:
                schedule.step()

    def same():
        return all(ingot.allclose(p, q, rtol=1e-9, atol=1e-11) for p, q in zip(ddp.parameters(), own.parameters()))

    steps(5)
    assert same() and zero.param_groups[0]["lr"] == whole.param_groups[0]["lr"] == 0.0125 and 0 < len(zero.state) < 4
    with pytest.raises(RuntimeError, match="consolidate_state_dict"):
        zero.state_dict()
    zero.consolidate_state_dict(to=1)
    box = [zero.state_dict() if rank == 1 else None]
    dist.broadcast_object_list(box, 1)
    want = whole.state_dict()
    assert list(box[0]["state"]) == list(want["state"])
    assert all(ingot.allclose(box[0]["state"][k]["exp_avg"], want["state"][k]["exp_avg"]) for k in want["state"])
    assert [g["params"] for g in box[0]["param_groups"]] == [g["params"] for g in want["param_groups"]]
    zero = dist.optim.ZeroRedundancyOptimizer([{"params": ddp.module[0].parameters()}, {"params": ddp.module[2].parameters()}],
                                              ingot.optim.AdamW, lr=1.0)
    zero.load_state_dict(want)
    schedules[0].optimizer = zero
    steps(2)
    assert same() and zero.param_groups[1]["weight_decay"] == 0.1
    with pytest.raises(ValueError, match="overlap_with_ddp"):
        dist.optim.ZeroRedundancyOptimizer(ddp.parameters(), ingot.optim.SGD, lr=0.1, overlap_with_ddp=True)


def test_state_of_optimizers_is_shared_out():
    ranks.run(SIZE, _sharded)


def _joined_optimizer(rank):
    ddp = nn.parallel.DistributedDataParallel(make_net())
    zero = dist.optim.ZeroRedundancyOptimizer(ddp.parameters(), ingot.optim.SGD, lr=0.1)
    own, (x, y) = make_net(), make_data()
    plain = ingot.optim.SGD(own.parameters(), lr=0.1)
    with dist.algorithms.join.Join([ddp, zero]):
        for _ in range(2 * rank + 1):
            zero.zero_grad()
            F.mse_loss(ddp(x), y).backward()
            zero.step()
    for step in range(3):
        plain.zero_grad()
        (F.mse_loss(own(x), y) * (1.0 if step == 0 else 0.5)).backward()
        plain.step()
    assert all(ingot.allclose(p, q) for p, q in zip(ddp.parameters(), own.parameters()))


def test_ended_ranks_keep_updating_their_parameters():
    ranks.run(SIZE, _joined_optimizer)


# GPUs, and failing programs.


def _on_gpus(rank):
    with mock_cuda.installed():
        ddp = nn.parallel.DistributedDataParallel(make_net(rank).float().cuda(), device_ids=[0], bucket_cap_mb=0.0005)
        zero = dist.optim.ZeroRedundancyOptimizer(ddp.parameters(), ingot.optim.SGD, lr=0.1)
        own = make_net().float()
        x, y = (t.float() for t in make_data())
        F.mse_loss(ddp(x[rank::SIZE]), y[rank::SIZE].cuda()).backward()
        F.mse_loss(own(x), y).backward()
        for p, q in zip(ddp.parameters(), own.parameters()):
            assert p.grad.is_cuda and ingot.allclose(p.grad.cpu(), q.grad, atol=1e-6)
        zero.step()
        ingot.optim.SGD(own.parameters(), lr=0.1).step()
        for p, q in zip(ddp.parameters(), own.parameters()):
            assert p.is_cuda and ingot.allclose(p.cpu(), q, atol=1e-6)
        half = nn.parallel.DistributedDataParallel(make_net().float().cuda())
        half.register_comm_hook(None, hooks.fp16_compress_hook)
        half(x[rank::SIZE].cuda()).sum().backward()
        assert all(p.grad.is_cuda and p.grad.dtype is ingot.float32 for p in half.parameters())


def test_parameters_on_a_gpu():
    ranks.run(SIZE, _on_gpus)


def test_errors_of_programs_are_left_in_a_file(tmp_path, monkeypatch):
    record = importlib.import_module("ingot.distributed.elastic.multiprocessing.errors").record

    @record
    def main(value):
        if value:
            raise KeyError("lost")
        return "fine"

    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(tmp_path / "error.json"))
    assert main(0) == "fine" and not list(tmp_path.iterdir())
    with pytest.raises(KeyError, match="lost"):
        main(1)
    report = json.loads((tmp_path / "error.json").read_text())["message"]
    assert report["message"] == "KeyError: 'lost'" and "main" in report["extraInfo"]["py_callstack"]


class Part:
    """A bucket of gradients."""

    def __init__(self, last):
        self.last = last

    def is_last(self):
        return self.last


@pytest.mark.parametrize("buckets", [1, 3])
@pytest.mark.parametrize("after", [True, False], ids=["subgroup", "alone"])
@pytest.mark.parametrize("start", [0, 1, 2, 5])
def test_all_share_the_gradients_of_steps_before_the_first_local_one(start, after, buckets, monkeypatch):
    monkeypatch.setattr(local_sgd, "allreduce_hook", lambda group, bucket: group)
    monkeypatch.setattr(local_sgd, "noop_hook", lambda group, bucket: "alone")
    state = local_sgd.PostLocalSGDState("all", "subgroup", start, after)
    for step in range(7):
        found = {local_sgd.post_localSGD_hook(state, Part(i == buckets - 1)) for i in range(buckets)}
        assert found == {"all" if step < start else "subgroup" if after else "alone"}, step


class Joined(uneven_inputs.Joinable):
    """A joinable that notes what its hook is told."""

    join_device, join_process_group = "cpu", None

    def __init__(self):
        super().__init__()
        self.told = []

    def join_hook(self, **kwargs):
        hook = uneven_inputs.JoinHook()
        hook.main_hook = lambda: self.told.append("a step")
        hook.post_hook = self.told.append
        return hook


@pytest.mark.parametrize("others", [[], [1], [2, 1]])
def test_the_last_joiner_is_one_that_no_other_goes_on_without(others, monkeypatch):
    active = iter([*others, 0])
    monkeypatch.setattr(uneven_inputs, "_active", lambda group, mine: next(active))
    joined = Joined()
    with uneven_inputs.Join([joined]):
        pass
    assert joined.told == ["a step"] * len(others) + [not others]
