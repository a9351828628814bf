"""Checkpoints of several ranks in one folder, and states by the names of parameters."""

import copy
import importlib
import os
import pickle

import pytest

import ingot
import ranks
import torch_pickles as pickles
from ingot import distributed as dist
from ingot import nn

SIZE = 2
dcp = importlib.import_module("ingot.distributed.checkpoint")
named = importlib.import_module("ingot.distributed.checkpoint.state_dict")


def make_net(seed=0):
    ingot.manual_seed(seed)
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))


def trained(net, optimizer, steps=3):
    for _ in range(steps):
        optimizer.zero_grad()
        net(ingot.randn(5, 3, generator=ingot.Generator().manual_seed(1))).square().sum().backward()
        optimizer.step()
    return net, optimizer


def same(a, b):
    """Return whether two nested states are equal, bit by bit."""
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return ingot.equal(a, b) if isinstance(a, ingot.Tensor) else a == b


def _from_several(rank, folder):
    net = make_net(seed=0)
    ddp, optimizer = trained(nn.parallel.DistributedDataParallel(net), ingot.optim.Adam(net.parameters(), lr=0.01))
    model, optim = named.get_state_dict(ddp, optimizer)
    assert "0.weight" in model and "0.weight" in optim["state"]
    state = {"model": model, "optim": optim, "step": 7, f"own{rank}": {"rng": [rank, "text"]}, "empty": {}}
    for late in (False, True):
        where = os.path.join(folder, str(late))
        if late:
            future = dcp.async_save(state, checkpoint_id=where)
            with ingot.no_grad():
                for p in ddp.parameters():
                    p.zero_()                           # the checkpoint has the values from before
            dist.all_reduce(ingot.ones(1))              # training keeps communicating
            assert future.wait() is None and future.result(timeout=1) is None
        else:
            dcp.save(state, checkpoint_id=where)
            assert sorted(os.listdir(where)) == [".metadata", "__0_0.distcp", "__1_0.distcp"]
            assert os.path.getsize(os.path.join(where, "__1_0.distcp")) < 3000      # replicated values are written once
    with pytest.raises(dcp.CheckpointException, match="rank 1 could not write"):
        dcp.save({"x": 1, f"y{rank}": (lambda: 1) if rank else 2}, checkpoint_id=os.path.join(folder, "bad"))
    assert not os.path.exists(os.path.join(folder, "bad", ".metadata"))


def test_ranks_write_one_checkpoint_and_any_number_of_ranks_reads_it(tmp_path):
    ranks.run(SIZE, _from_several, str(tmp_path))
    want = make_net()
    whole = ingot.optim.Adam(want.parameters(), lr=0.01)
    trained(want, whole)
    for late in ("False", "True"):
        net = make_net(seed=5)
        optimizer = ingot.optim.Adam(net.parameters(), lr=1.0)
        model, optim = named.get_state_dict(net, optimizer)
        assert all(int(s["step"]) == 1 for s in optim["state"].values()) and all(p.grad is None for p in net.parameters())
        assert same(dict(net.state_dict()), dict(make_net(seed=5).state_dict()))        # creating a state changes nothing
        state = {"model": model, "optim": optim, "step": 0, "own1": {"rng": [0, ""]}, "empty": {}}
        dcp.load(state, storage_reader=dcp.FileSystemReader(tmp_path / late))
        named.set_state_dict(net, optimizer, model_state_dict=state["model"], optim_state_dict=state["optim"])
        assert state["step"] == 7 and state["own1"] == {"rng": [1, "text"]}
        assert optimizer.param_groups[0]["lr"] == 0.01
        assert all(ingot.allclose(a, b, atol=1e-6) for a, b in zip(net.state_dict().values(), want.state_dict().values()))
        assert all(ingot.allclose(a["exp_avg"], b["exp_avg"], atol=1e-6)
                   for a, b in zip(optimizer.state_dict()["state"].values(), whole.state_dict()["state"].values()))


class Counter:
    """Stateful object."""

    def __init__(self, count=0):
        self.count, self.values = count, ingot.zeros(2)

    def state_dict(self):
        return {"count": self.count, "values": self.values, "list": [1, {"a": self.count}]}

    def load_state_dict(self, state):
        self.count, self.values, self.list = state["count"], state["values"], state["list"]


def test_states_of_objects_are_asked_for_and_given_back(tmp_path):
    counter = Counter(3)
    counter.values += 5
    view = ingot.arange(1000.0)[10:12]
    net = make_net()
    dcp.save({"counter": counter, "view": view, "net": net, ("odd", 1): ingot.ones(1).bfloat16()},
             storage_writer=dcp.FileSystemWriter(tmp_path))
    assert os.path.getsize(tmp_path / "__0_0.distcp") < 6000           # not the memory behind the view
    again, empty, other = Counter(), ingot.zeros(2), make_net(3)
    state = {"counter": again, "view": empty, "net": other, ("odd", 1): ingot.zeros(1)}
    dcp.load(state, checkpoint_id=str(tmp_path))
    assert isinstance(again, Counter) and again.count == 3 and again.values.tolist() == [5, 5] and again.list == [1, {"a": 3}]
    assert state["view"] is empty and empty.tolist() == [10, 11] and state[("odd", 1)].tolist() == [1]
    assert state["counter"] is again and same(dict(net.state_dict()), dict(other.state_dict()))
    formats = importlib.import_module("ingot.distributed.checkpoint.format_utils")
    formats.dcp_to_torch_save(tmp_path, tmp_path / "one.pt")
    assert ingot.load(tmp_path / "one.pt")["counter"]["list"] == {0: 1, 1: {"a": 3}}
    formats.torch_save_to_dcp(tmp_path / "one.pt", tmp_path / "back")
    target = {"view": ingot.zeros(2)}
    dcp.load(target, checkpoint_id=tmp_path / "back")
    assert target["view"].tolist() == [10, 11]


def test_mismatches_are_named(tmp_path):
    dcp.save({"a": ingot.ones(2), "b": {"c": 1}}, checkpoint_id=tmp_path / "c")
    target = {"a": ingot.zeros(2), "d": ingot.zeros(1)}
    with pytest.raises(dcp.CheckpointException, match=r"does not hold d.*allow_partial_load"):
        dcp.load(target, checkpoint_id=tmp_path / "c")
    assert target["a"].tolist() == [0, 0]
    dcp.load(target, checkpoint_id=tmp_path / "c", planner=dcp.DefaultLoadPlanner(allow_partial_load=True))
    assert target["a"].tolist() == [1, 1]
    for wrong, match in (({"a": ingot.zeros(3)}, r"shape \[2\] in the checkpoint, \[3\] here"), ({"a": 2}, "is a Tensor in"),
                         ({"b": {"c": ingot.zeros(1)}}, "b.c is a int in")):
        with pytest.raises(dcp.CheckpointException, match=match):
            dcp.load(wrong, checkpoint_id=tmp_path / "c")
    with pytest.raises(dcp.CheckpointException, match="no whole checkpoint"):
        dcp.load(target, checkpoint_id=tmp_path / "nowhere")
    with pytest.raises(dcp.CheckpointException, match="overwrite=False"):
        dcp.save(target, storage_writer=dcp.FileSystemWriter(tmp_path / "c", overwrite=False))
    with pytest.raises(ValueError, match="checkpoint_id="):
        dcp.save(target)


class Crash(BaseException):
    """End of the process."""


def crashing(monkeypatch, at):
    """Crash before a given call that changes files; return the log of calls."""
    called = []

    def counted(name, real):
        def call(*args, **kwargs):
            called.append(name)
            if len(called) - 1 == at:
                raise Crash
            return real(*args, **kwargs)
        return call

    for name in ("replace", "remove", "unlink", "fsync"):
        monkeypatch.setattr(os, name, counted(name, getattr(os, name)))
    return called


def test_a_crash_at_any_moment_leaves_a_whole_checkpoint(tmp_path, monkeypatch):
    seen = set()
    for at in range(20):
        folder = tmp_path / str(at)
        dcp.save({"a": ingot.ones(2), "b": 1}, checkpoint_id=folder)
        with monkeypatch.context() as patch:
            called = crashing(patch, at)
            try:
                dcp.save({"a": ingot.ones(2) * 2, "b": 2}, checkpoint_id=folder)
            except Crash:
                pass
            else:
                break
        target = {"a": ingot.zeros(2), "b": 0}
        dcp.load(target, checkpoint_id=folder)
        assert target["a"].tolist() == [target["b"]] * 2 and target["b"] in (1, 2)
        seen.add((called[at], target["b"]))
        dcp.save({"a": ingot.ones(3), "b": 3}, checkpoint_id=folder)
        target["a"] = ingot.zeros(3)
        dcp.load(target, checkpoint_id=folder)
        assert target["b"] == 3 and len(os.listdir(folder)) == 2            # nothing is left of the incomplete checkpoint
    assert {("replace", 1), ("fsync", 1), ("remove", 2)} <= seen and at < 19


def test_failed_writes_leave_the_previous_checkpoint(tmp_path):
    dcp.save({"a": 1}, checkpoint_id=tmp_path)
    with pytest.raises(dcp.CheckpointException):
        dcp.save({"a": lambda: 1}, checkpoint_id=tmp_path)
    target = {"a": 0}
    dcp.load(target, checkpoint_id=tmp_path)
    assert target == {"a": 1} and len(os.listdir(tmp_path)) == 2


def test_saves_into_one_folder_follow_each_other(tmp_path):
    futures = [dcp.async_save({"a": ingot.full((1000,), float(i))}, checkpoint_id=tmp_path) for i in range(6)]
    dcp.save({"a": ingot.full((1000,), 6.0)}, checkpoint_id=tmp_path)
    assert [f.wait() for f in futures] == [None] * 6
    target = {"a": ingot.zeros(1000)}
    dcp.load(target, checkpoint_id=tmp_path)
    assert target["a"].tolist() == [6.0] * 1000 and len(os.listdir(tmp_path)) == 2


# Checkpoints of PyTorch.

@pytest.mark.parametrize("chunks", [{0: 4}, {0: 2, 2: 2}, {3: 1, 0: 1, 1: 2}])
def test_checkpoints_of_pytorch_are_read(chunks, tmp_path):
    w = pickles.checkpoint(tmp_path / "c", chunks)
    target = {"model": {"w": ingot.zeros(4, 3)}, "extra": [0, {"name": ""}]}
    dcp.load(target, checkpoint_id=tmp_path / "c")
    assert target["model"]["w"].numpy().tolist() == w.tolist() and target["extra"] == [7, {"name": "x"}]
    with pytest.raises(dcp.CheckpointException, match=r"does not hold model\.b"):
        dcp.load({"model": {"b": ingot.zeros(1)}}, checkpoint_id=tmp_path / "c")
    with pytest.raises(dcp.CheckpointException, match=r"does not hold extra\.2"):
        dcp.load({"extra": [0, {"name": ""}, 1]}, checkpoint_id=tmp_path / "c")
    importlib.import_module("ingot.distributed.checkpoint.format_utils").dcp_to_torch_save(tmp_path / "c", tmp_path / "one.pt")
    assert ingot.load(tmp_path / "one.pt")["extra"] == [7, {"name": "x"}]
    dcp.save({"a": 1}, checkpoint_id=tmp_path / "c")                # replaces it
    assert sorted(os.listdir(tmp_path / "c")) == [".metadata", "__0_1.distcp"]


@pytest.mark.parametrize("chunks, change, message", [
    ({0: 2}, {}, "do not make"), ({0: 2, 1: 2}, {}, "overlap"), ({0: 2, 3: 2}, {}, r"is not what|overlap|cannot be read"),
    ({0: 4}, {"storage_data": {}}, "cannot be read"), ({0: 4}, {"storage_data": 3}, "damaged"),
    ({0: 4}, {"storage_data": {pickles.part("MetadataIndex", fqn="model.w", offset=pickles.size(0, 0)):
                               pickles.part("_StorageInfo", relative_path="../x", offset=0, length=9)}}, "not a file in it"),
    ({0: 4}, {"storage_meta": pickles.Call("os.mkdir", "harm")}, "os.mkdir"),
])
def test_damaged_checkpoints_of_pytorch(chunks, change, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pickles.checkpoint(tmp_path / "c", chunks, change=change)
    target = {"model": {"w": ingot.zeros(4, 3)}}
    with pytest.raises(dcp.CheckpointException, match=message):
        dcp.load(target, checkpoint_id=tmp_path / "c")
    assert not target["model"]["w"].any() and not os.path.exists("harm")


@pytest.mark.parametrize("chunks", [{0: 4}, {0: 2, 2: 2}])
def test_offsets_of_other_ranks_are_damage(chunks, tmp_path):
    pickles.checkpoint(tmp_path / "c", chunks, more=(0,))
    target = {"model": {"w": ingot.zeros(4, 3)}}
    with pytest.raises(dcp.CheckpointException, match="cannot be read"):
        dcp.load(target, checkpoint_id=tmp_path / "c")
    assert not target["model"]["w"].any()


class Harm:
    """Object whose pickle runs code."""

    def __reduce__(self):
        return os.mkdir, ("harm",)


def test_loading_executes_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    dcp.save({"a": 1}, checkpoint_id=tmp_path / "c")
    for name in ("__0_0.distcp", ".metadata"):
        (tmp_path / "c" / name).write_bytes(pickle.dumps(Harm()))
        with pytest.raises(RuntimeError, match=name):
            dcp.load({"a": 0}, checkpoint_id=tmp_path / "c")
        assert not os.path.exists("harm")
    ingot.save({"format": "ingot checkpoint", "values": [(["a"], "../elsewhere")]}, tmp_path / "c" / ".metadata")
    with pytest.raises(dcp.CheckpointException, match="not a file in it"):
        dcp.load({"a": 0}, checkpoint_id=tmp_path / "c")


def test_states_by_names():
    net = make_net()
    net[2].bias.requires_grad_(False)
    optimizers = [ingot.optim.SGD(net[0].parameters(), lr=0.1, momentum=0.9), ingot.optim.Adam(net[2].parameters(), lr=0.2)]
    wrapped = nn.DataParallel(net)
    assert list(named.get_model_state_dict(wrapped)) == list(net.state_dict())
    options = named.StateDictOptions
    assert "2.bias" not in named.get_model_state_dict(net, options=options(ignore_frozen_params=True))
    parts = named.get_model_state_dict(net, submodules={net[2]}, options=options(keep_submodule_prefixes=False))
    assert list(parts) == ["weight", "bias"] and not parts["weight"].requires_grad
    for flat in (False, True):
        kind = options(flatten_optimizer_state_dict=flat)
        saved = copy.deepcopy(named.get_optimizer_state_dict(net, optimizers, options=kind))
        names = ["0.weight", "0.bias", "2.weight"]
        assert "state.0.weight.momentum_buffer" in saved if flat else list(saved["state"]) == names
        inner = named.get_optimizer_state_dict(net, optimizers, submodules={net[0]}, options=kind)
        assert {k for k in saved if ".0." in k} == inner.keys() if flat else list(inner["state"]) == names[:2]
        trained(net, optimizers[0], 1)
        optimizers[0].param_groups[0]["lr"] = 5.0
        named.set_optimizer_state_dict(net, optimizers, saved, options=kind)
        assert optimizers[0].param_groups[0]["lr"] == 0.1 and optimizers[1].param_groups[0]["lr"] == 0.2
        assert not optimizers[0].state[net[0].weight]["momentum_buffer"].any()
        optimizers[0].state.clear()
        net.zero_grad()
    state = {k: v + 1 for k, v in named.get_model_state_dict(net).items()}
    named.set_model_state_dict(wrapped, state)
    assert same(state, dict(net.state_dict()))
    with pytest.raises(RuntimeError, match="extra"):
        named.set_model_state_dict(net, {**state, "extra": ingot.ones(1)})
    named.set_model_state_dict(net, {"0.weight": state["0.weight"]}, options=options(strict=False))
    with pytest.raises(ValueError, match="not the model's"):
        named.get_optimizer_state_dict(net[0], optimizers)


def test_pieces_of_a_tensor_are_put_together(tmp_path):
    pieces = importlib.import_module("ingot.runtime.distributed.tensor.sharded_layout")
    whole = ingot.arange(6.0).reshape(2, 3)

    def save(start, stop):
        piece = pieces.Piece(whole.reshape(-1)[start:stop].clone(), start, (2, 3))
        dcp.save({"x": piece}, checkpoint_id=tmp_path, no_dist=True)

    save(0, 6)
    found = {"x": pieces.Piece(ingot.zeros(3), 2, (2, 3))}
    dcp.load(found, checkpoint_id=tmp_path, no_dist=True)
    assert found["x"].tensor.tolist() == [2, 3, 4]
    dcp.load(state := {"x": ingot.zeros(2, 3)}, checkpoint_id=tmp_path, no_dist=True)
    assert ingot.equal(state["x"], whole)
    for start, stop, match in ((1, 6, "do not fit together"), (0, 4, "holds 4 elements of x, which has 6")):
        save(start, stop)
        with pytest.raises(dcp.CheckpointException, match=match):
            dcp.load(state, checkpoint_id=tmp_path, no_dist=True)
    with pytest.raises(dcp.CheckpointException, match="shape"):
        save(0, 6)
        dcp.load({"x": ingot.zeros(6)}, checkpoint_id=tmp_path, no_dist=True)
