"""Programs with modules of `fully_shard`, against one rank: each has the gradients of the average."""

import importlib

import pytest

import ingot
import private_names  # noqa: F401
import ranks
from ingot import amp, nn, optim
from ingot.distributed.fsdp import fully_shard
from sharded_models import SIZE, Block, batch, loss_of, make_net

dt = importlib.import_module("ingot.distributed.tensor")
wrappers = importlib.import_module("ingot.distributed.algorithms._checkpoint.checkpoint_wrapper")
DTensor = dt.DTensor
close = ingot.testing.assert_close


def make_parts(net=None):
    net = net or make_net()
    for block in net.blocks:
        fully_shard(block)
    return fully_shard(net)


def gradients(net):
    return {n.replace("_checkpoint_wrapped_module.", ""): p.grad.full_tensor() if isinstance(p.grad, DTensor) else p.grad
            for n, p in net.named_parameters() if p.grad is not None}


def one_loss(net, rank):
    return loss_of(net, batch(0, rank))


def two_losses(net, rank):
    return loss_of(net, batch(0, rank)) + 2 * loss_of(net, batch(1, rank))


def assert_averages(net, loss=one_loss, alone=None):
    alone = alone or make_net()
    for r in range(SIZE):
        (loss(alone, r) / SIZE).backward()
    close(gradients(net), gradients(alone), rtol=1e-4, atol=1e-5)


def of_activation_checkpoints(rank):
    net = make_net()
    wrappers.apply_activation_checkpointing(net, check_fn=lambda m: isinstance(m, Block))
    one_loss(make_parts(net), rank).backward()
    assert_averages(net)


def of_two_forwards(rank):
    net = make_parts()
    two_losses(net, rank).backward()
    assert_averages(net, two_losses)


def of_two_backwards(rank):
    net = make_parts()
    losses = loss_of(net, batch(0, rank)), 2 * loss_of(net, batch(1, rank))
    for loss in losses:
        loss.backward()
    assert_averages(net, two_losses)


def of_frozen_parameters(rank):
    def make():
        net = make_net()
        net.blocks[0].requires_grad_(False)
        net.blocks[1].first.weight.requires_grad_(False)
        return net

    net = make_parts(make())
    one_loss(net, rank).backward()
    assert_averages(net, alone=make())


def of_the_whole_at_once(rank):
    net = fully_shard(make_net())
    one_loss(net, rank).backward()
    assert_averages(net)


def of_several_modules_together(rank):
    net = make_net()
    fully_shard([net.blocks[0], net.blocks[1]])
    fully_shard(net)
    one_loss(net, rank).backward()
    with ingot.no_grad():
        one_loss(net, rank)
    assert_averages(net)


def of_forwards_without_gradients(rank):
    net = make_parts()
    with ingot.inference_mode():
        one_loss(net.eval(), rank)
    loss = one_loss(net.train(), rank)
    with ingot.no_grad():
        one_loss(net, rank)
    loss.backward()
    assert_averages(net)


def of_steps_within_backward(rank):
    net, seen = make_parts(), []
    optimizers = {p: optim.SGD([p], lr=0.1) for p in net.parameters()}

    def step(p):
        seen.append(p)
        optimizers[p].step()
        optimizers[p].zero_grad()

    for p in net.parameters():
        p.register_post_accumulate_grad_hook(step)
    one_loss(net, rank).backward()
    assert len(seen) == sum("unused" not in name for name, _ in net.named_parameters())


def of_inputs(rank):
    net = fully_shard(nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2)))
    x = ingot.ones(2, 3, requires_grad=True)
    g, = ingot.autograd.grad(net(x).sum(), x)
    net(x).sum().backward()
    close(x.grad, g)


def of_a_scaler(rank):
    net, scaler = make_parts(), amp.GradScaler("cpu", init_scale=8.0)
    optimizer = optim.SGD(net.parameters(), lr=0.1)
    for step in range(2):
        optimizer.zero_grad()
        scaler.scale(loss_of(net, batch(step, rank))).backward()
        if step and rank == 0:
            next(net.parameters()).grad.to_local()[0, 0] = float("inf")         # in the part of one rank
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
    assert scaler.get_scale() == 4.0


USES = [of_activation_checkpoints, of_two_forwards, of_two_backwards, of_frozen_parameters, of_the_whole_at_once,
        of_several_modules_together, of_forwards_without_gradients, of_steps_within_backward, of_inputs, of_a_scaler]


def _all_of(rank, uses):
    for use in uses:
        try:
            use(rank)
        except Exception as e:
            e.add_note(f"in {use.__name__}")
            raise


@pytest.mark.parametrize("half", range(2))
def test_gradients(half):
    ranks.run(SIZE, _all_of, USES[half::2])
