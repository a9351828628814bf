"""FullyShardedDataParallel: sharded parameters, gradients and optimizer states, against the same model on one rank."""

import gc
import importlib
import weakref

import pytest

import ingot
import ranks
from ingot import nn, optim
from ingot.distributed import checkpoint as dcp
from ingot.distributed.fsdp import FullStateDictConfig, StateDictType
from sharded_models import (
    FSDP,
    SIZE,
    S,
    assert_same,
    batch,
    loss_of,
    make_net,
    make_optimizer,
    make_sharded,
    train,
    trained_alone,
)

T = StateDictType
states = importlib.import_module("ingot.distributed.checkpoint.state_dict")


def _trains(rank, options):
    net = make_sharded(**options)
    assert [type(m) for m in net.blocks] == [FSDP] * 2 and net.module.head.weight is net.module.table.weight
    train(net, make_optimizer(net), rank)
    assert_same(net.state_dict(), trained_alone())
    sizes = sum([p.numel() for p in net.parameters()])
    whole = sum([p.numel() for p in make_net().parameters()])
    assert sizes <= whole // SIZE + 3 if options["sharding_strategy"] is not S.NO_SHARD else sizes == whole


@pytest.mark.parametrize("use_orig_params", [False, True])
@pytest.mark.parametrize("strategy", [S.FULL_SHARD, S.SHARD_GRAD_OP, S.NO_SHARD])
def test_training_has_the_bits_of_one_whole_model(strategy, use_orig_params):
    trained_alone()
    ranks.run(SIZE, _trains, {"sharding_strategy": strategy, "use_orig_params": use_orig_params})


def _lets_go(rank, strategy, use_orig_params):
    net = make_sharded(sharding_strategy=strategy, use_orig_params=use_orig_params)
    seen = []
    for block in net.blocks:
        block.module.register_forward_hook(lambda m, *_: seen.append(weakref.ref(m.first.weight._a.base)))
    loss = loss_of(net, batch(0, rank))
    gc.collect()
    assert len(seen) == 3 and all((one() is None) is (strategy is S.FULL_SHARD) for one in seen)
    assert all((b._unit.whole is None) is (strategy is S.FULL_SHARD) for b in net.blocks)
    loss.backward()
    del loss
    gc.collect()
    assert all(one() is None for one in seen) and all(m._unit.whole is None for m in FSDP.fsdp_modules(net))
    with ingot.no_grad():
        net(batch(0, rank))
    gc.collect()
    assert all(one() is None for one in seen) and all(m._unit.whole is None for m in FSDP.fsdp_modules(net))
    loss = loss_of(net, batch(0, rank))
    names = [n for n, _ in net.named_parameters()]
    net.zero_grad()                                     # between forward and backward
    loss.backward()
    got = {n: p.grad for n, p in net.named_parameters()}
    net.zero_grad()
    loss_of(net, batch(0, rank)).backward()
    assert all(ingot.equal(p.grad, got[n]) for n, p in net.named_parameters() if p.grad is not None) and names == [*got]
    if not use_orig_params:
        assert tuple(net.blocks[0].module.first.weight.shape) == (14, 7)
        with pytest.raises(ingot.IngotError, match="no elements"):
            net.blocks[0].module.first.weight.sum().item()


@pytest.mark.parametrize("use_orig_params", [False, True])
@pytest.mark.parametrize("strategy", [S.FULL_SHARD, S.SHARD_GRAD_OP])
def test_whole_parameters_are_there_only_while_they_are_used(strategy, use_orig_params):
    ranks.run(SIZE, _lets_go, strategy, use_orig_params)


def _accumulates(rank, strategy, use_orig_params):
    def gradients(net):
        with FSDP.summon_full_params(net, with_grads=True):
            return {n: p.grad.clone() for n, p in net.named_parameters()}

    net = make_sharded(sharding_strategy=strategy, use_orig_params=use_orig_params)
    alone = make_net()
    for step in range(2):
        for r in range(SIZE):
            (loss_of(alone, batch(step, r)) / SIZE).backward()
    want = {n: ingot.zeros_like(p) if p.grad is None else p.grad for n, p in alone.named_parameters()}
    with net.no_sync():
        loss_of(net, batch(7, rank)).backward()
    net.zero_grad()                                     # drops stored gradients
    for outside in (False, True):                       # sums of ranks, and earlier averages
        with net.no_sync() if not outside else FSDP.state_dict_type(net, T.FULL_STATE_DICT):
            loss_of(net, batch(0, rank)).backward()
        if not outside and strategy is not S.NO_SHARD:
            with pytest.raises(RuntimeError, match="before a step"):
                optim.SGD(net.parameters(), lr=1.0).step()
            with pytest.raises(RuntimeError, match="no_sync"):
                net.clip_grad_norm_(1.0)
        loss_of(net, batch(1, rank)).backward()
        ingot.testing.assert_close(gradients(net), want)
        net.zero_grad()
    loss_of(net, batch(0, rank)).backward()
    with net.no_sync():
        loss_of(net, batch(1, rank)).backward()
    loss_of(net, batch(1, rank)).backward()
    got = gradients(net)
    alone.zero_grad()
    for step in (0, 1, 1):
        for r in range(SIZE):
            (loss_of(alone, batch(step, r)) / SIZE).backward()
    ingot.testing.assert_close(got, {n: got[n] * 0 if p.grad is None else p.grad for n, p in alone.named_parameters()})
    norm = net.clip_grad_norm_(0.5)
    ingot.testing.assert_close(norm, nn.utils.clip_grad_norm_(alone.parameters(), 0.5))
    ingot.testing.assert_close(gradients(net)["table.weight"], alone.table.weight.grad)
    ingot.testing.assert_close(net.clip_grad_norm_(9.0, float("inf")),
                               nn.utils.clip_grad_norm_(alone.parameters(), 9.0, float("inf")))


@pytest.mark.parametrize("use_orig_params", [False, True])
@pytest.mark.parametrize("strategy", [S.FULL_SHARD, S.NO_SHARD])
def test_gradients_accumulate_and_are_clipped(strategy, use_orig_params):
    ranks.run(SIZE, _accumulates, strategy, use_orig_params)


# States.


def _saves(rank, path, size, use_orig_params):
    net = make_sharded(use_orig_params=use_orig_params)
    optimizer = make_optimizer(net)
    train(net, optimizer, rank if size > 1 else None, range(1))
    with FSDP.state_dict_type(net, T.FULL_STATE_DICT, FullStateDictConfig(offload_to_cpu=True, rank0_only=True)):
        whole = net.state_dict()
    assert bool(whole) is (rank == 0)
    found = FSDP.full_optim_state_dict(net, optimizer)
    assert bool(found) is (rank == 0)
    if rank == 0:
        ingot.save({"net": whole, "optimizer": found}, f"{path}/whole.pt")
    pieces = {}
    with FSDP.state_dict_type(net, T.SHARDED_STATE_DICT):
        pieces = {"net": net.state_dict(), "optimizer": FSDP.optim_state_dict(net, optimizer)}
    dcp.save(pieces, checkpoint_id=f"{path}/pieces")


def _loads(rank, path, use_orig_params):
    saved = ingot.load(f"{path}/whole.pt")
    for way in ("whole", "pieces", "by checkpoint"):
        net = make_sharded(use_orig_params=use_orig_params)
        optimizer = make_optimizer(net)
        if way == "whole":
            assert not any(net.load_state_dict(saved["net"]))
            optimizer.load_state_dict(FSDP.scatter_full_optim_state_dict(saved["optimizer"] if rank == 0 else None, net,
                                                                         optim=optimizer))
        elif way == "pieces":
            train(net, optimizer, rank, range(1, 2))
            with FSDP.state_dict_type(net, T.SHARDED_STATE_DICT):
                state = {"net": net.state_dict(), "optimizer": FSDP.optim_state_dict(net, optimizer)}
                dcp.load(state, checkpoint_id=f"{path}/pieces")
                net.load_state_dict(state["net"])
                FSDP.optim_state_dict_to_load(net, optimizer, state["optimizer"], load_directly=True)
        else:
            model, of_optimizer = states.get_state_dict(net, optimizer)
            state = {"net": model, "optimizer": of_optimizer}
            dcp.load(state, checkpoint_id=f"{path}/pieces")
            states.set_state_dict(net, optimizer, model_state_dict=model, optim_state_dict=state["optimizer"])
        assert_same(net.state_dict(), saved["net"])
        with FSDP.state_dict_type(net, T.FULL_STATE_DICT):
            again = FSDP.optim_state_dict(net, optimizer)
        assert again["param_groups"] == saved["optimizer"]["param_groups"]
        for name, state in saved["optimizer"]["state"].items():
            assert all(ingot.equal(again["state"][name][k], v) for k, v in state.items()), name


@pytest.mark.parametrize("saving, loading", [(2, 2), (2, 1), (1, 2)])
@pytest.mark.parametrize("use_orig_params", [False, True])
def test_states_go_between_numbers_of_ranks(tmp_path, saving, loading, use_orig_params):
    ranks.run(saving, _saves, str(tmp_path), saving, use_orig_params)
    ranks.run(loading, _loads, str(tmp_path), use_orig_params)
    saved = ingot.load(f"{tmp_path}/whole.pt")
    alone = make_net()
    alone.load_state_dict(saved["net"])
    optimizer = optim.AdamW(alone.parameters(), lr=0.01)
    numbered = FSDP.rekey_optim_state_dict(saved["optimizer"], importlib.import_module(
        "ingot.distributed.fsdp").OptimStateKeyType.PARAM_ID, alone, optim=optimizer)
    optimizer.load_state_dict(numbered)
    whole = {}
    dcp.load(whole := {"net": dict(make_net().state_dict())}, checkpoint_id=f"{tmp_path}/pieces")
    assert_same(whole["net"], saved["net"])


def _local(rank, use_orig_params):
    net, other = make_sharded(use_orig_params=use_orig_params), make_sharded(use_orig_params=use_orig_params)
    train(net, make_optimizer(net), rank)
    with FSDP.state_dict_type(net, T.LOCAL_STATE_DICT), FSDP.state_dict_type(other, T.LOCAL_STATE_DICT):
        state = net.state_dict()
        assert sorted(state) == ["_flat_param", "blocks.0._flat_param", "blocks.1._flat_param", "scale"]
        other.load_state_dict(state)
        with pytest.raises(RuntimeError, match="fit the number of ranks"):
            other.load_state_dict({**state, "_flat_param": ingot.ones(3)})
        with pytest.raises(RuntimeError, match=r'Missing key.*"blocks\.0\._flat_param"'):
            other.load_state_dict({k: v for k, v in state.items() if k != "blocks.0._flat_param"})
        with pytest.raises(ValueError, match="local form"):
            FSDP.optim_state_dict(net, make_optimizer(net))
    assert_same(other.state_dict(), net.state_dict())
    with pytest.raises(RuntimeError, match=r'Missing key.*"blocks\.0\.norm\.weight"'):
        net.load_state_dict({k: v for k, v in net.state_dict().items() if k != "blocks.0.norm.weight"})
    with pytest.raises(RuntimeError, match=r'Unexpected key.*"more"'):
        net.load_state_dict({**net.state_dict(), "more": ingot.ones(1)})
    with pytest.raises(ValueError, match="assign=False"):
        net.load_state_dict(net.state_dict(), assign=True)


@pytest.mark.parametrize("use_orig_params", [False, True])
def test_states_of_a_rank(use_orig_params):
    ranks.run(SIZE, _local, use_orig_params)


# Whole parameters outside of forward.


def _summoned(rank, use_orig_params):
    net = make_sharded(use_orig_params=use_orig_params)
    names = [n for n, _ in make_net().named_parameters()]
    with FSDP.summon_full_params(net):
        assert [n for n, _ in net.named_parameters()] == names
        with ingot.no_grad():
            net.blocks[1].first.bias.fill_(3.0)
            assert net(batch(0)).shape == (8, 5, 11)
        with pytest.raises(RuntimeError, match="summon_full_params"):
            net(batch(0))
    with FSDP.summon_full_params(net, writeback=False):
        assert net.blocks[1].first.bias.tolist() == [3.0] * 14
        net.blocks[1].first.bias.data.fill_(4.0)
    with FSDP.summon_full_params(net, writeback=False, rank0_only=True, offload_to_cpu=True):
        bias = net.blocks[1].first.bias
        assert (bias.numel() == 14 and bias.device.type == "cpu") is (rank == 0)
    with pytest.raises(ValueError, match="writeback=False"), FSDP.summon_full_params(net, rank0_only=True):
        pass
    assert (names == [n for n, _ in net.named_parameters()]) is use_orig_params
    net.apply(lambda m: nn.init.constant_(m.bias, 0.5) if isinstance(m, nn.Linear) and m.bias is not None else None)
    state = net.state_dict()
    assert state["blocks.1.first.bias"].tolist() == [0.5] * 14 and ingot.equal(state["head.weight"], make_net().head.weight)
    net.double()
    assert {p.dtype for p in net.parameters()} == {ingot.float64}
    loss_of(net, batch(0, rank)).backward()
    assert {p.grad.dtype for p in net.parameters() if p.grad is not None} == {ingot.float64}


@pytest.mark.parametrize("use_orig_params", [False, True])
def test_parameters_are_summoned(use_orig_params):
    ranks.run(SIZE, _summoned, use_orig_params)


def test_optimizer_states_need_an_optimizer():
    with pytest.raises(ValueError, match="optimizer that the state is for"):
        FSDP.scatter_full_optim_state_dict({}, nn.Linear(2, 2))
