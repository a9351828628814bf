"""Adaptive softmax, pruning, calls with other parameters, model averages, sparse Adam, and drawings of modules."""

import copy
import math
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import ingot
import private_names  # noqa: F401
from ingot import nn, optim
from ingot.nn.utils import prune
from ingot.optim import swa_utils

F = nn.functional


# Adaptive softmax.


@pytest.mark.parametrize("head_bias", [False, True])
def test_adaptive_softmax_is_a_distribution_over_all_classes(head_bias):
    ingot.manual_seed(0)
    net = nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 12], 2.0, head_bias).double()
    assert [n for n, _ in net.named_parameters()][-4:] == [f"tail.{i}.{k}.weight" for i in (0, 1) for k in (0, 1)]
    x = ingot.randn(40, 8, dtype=ingot.float64, requires_grad=True)
    y = ingot.arange(40) % 20
    every = net.log_prob(x)
    assert every.shape == (40, 20) and ingot.allclose(every.exp().sum(1), ingot.ones(40, dtype=ingot.float64))
    output, loss = net(x, y)
    assert ingot.allclose(output, every.gather(1, y[:, None])[:, 0]) and ingot.allclose(loss, -output.mean())
    loss.backward()
    g, x.grad = x.grad, None
    F.nll_loss(net.log_prob(x), y).backward()
    assert ingot.allclose(g, x.grad)
    assert ingot.equal(net.predict(x), every.argmax(1)) or (net.predict(x) == every.argmax(1)).float().mean() > 0.5
    one = net(x[0], y[0])
    assert one.output.shape == () and ingot.allclose(one.output, output[0])


def test_adaptive_softmax_refuses():
    for cutoffs in ([], [5, 5], [7, 3], [0, 2], [20]):
        with pytest.raises(ValueError, match="cutoffs"):
            nn.AdaptiveLogSoftmaxWithLoss(4, 20, cutoffs)
    net = nn.AdaptiveLogSoftmaxWithLoss(4, 20, [5])
    with pytest.raises(ValueError, match=r"range \[0, 19\]"):
        net(ingot.randn(2, 4), ingot.tensor([1, 20]))
    with pytest.raises(RuntimeError, match="2 inputs do not fit 3 targets"):
        net(ingot.randn(2, 4), ingot.tensor([1, 2, 3]))


# Pruning.


def test_pruning_masks_trains_and_becomes_plain_again():
    net = nn.Linear(6, 4)
    before = net.weight.detach().clone()
    assert prune.l1_unstructured(net, "weight", 0.5) is net
    assert [n for n, _ in net.named_parameters()] == ["bias", "weight_orig"] and set(net.state_dict()) == {
        "bias", "weight_orig", "weight_mask"}
    assert prune.is_pruned(net) and (net.weight == 0).sum() == 12
    smallest_kept = before.abs().flatten().sort().values[12]
    assert ingot.equal(net.weight != 0, before.abs() >= smallest_kept)
    net(ingot.randn(3, 6)).sum().backward()
    assert ingot.equal(net.weight_orig.grad != 0, net.weight_mask != 0)
    prune.random_unstructured(net, "weight", 4)
    assert (net.weight_mask == 0).sum() == 16 and ingot.equal(net(ingot.zeros(1, 6))[0], net.bias)
    prune.remove(net, "weight")
    assert not prune.is_pruned(net) and isinstance(net.weight, nn.Parameter) and (net.weight == 0).sum() == 16
    with pytest.raises(ValueError, match="pruned before"):
        prune.remove(net, "weight")


def test_structured_and_global_pruning():
    net = nn.Conv2d(3, 5, 2)
    norms = net.weight.detach().flatten(1).norm(dim=1)
    prune.ln_structured(net, "weight", 2, 2, 0)
    gone = (net.weight.detach().flatten(1) == 0).all(1)
    assert gone.sum() == 2 and norms[gone].max() < norms[~gone].min()
    prune.ln_structured(net, "weight", 1, 1, 0)
    assert (net.weight.detach().flatten(1) == 0).all(1).sum() == 3
    prune.random_structured(nn.Linear(4, 4), "weight", 0.5, 1)
    a, b = nn.Linear(4, 4), nn.Linear(4, 4)
    with ingot.no_grad():
        b.weight.mul_(100)
    prune.global_unstructured([(a, "weight"), (b, "weight")], prune.L1Unstructured, amount=16)
    assert (a.weight == 0).sum() + (b.weight == 0).sum() == 16 and (a.weight == 0).sum() > 12
    custom = prune.custom_from_mask(nn.Linear(2, 2), "weight", ingot.tensor([[1, 0], [0, 1]]))
    assert ingot.equal(custom.weight != 0, ingot.tensor([[True, False], [False, True]]))
    for bad in (1.5, -1, 100):
        with pytest.raises(ValueError, match="amount"):
            prune.l1_unstructured(nn.Linear(2, 2), "weight", bad)


# Other parameters for one call.


def test_functional_call_uses_and_leaves_parameters():
    net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    own = copy.deepcopy(net.state_dict())
    weight = ingot.randn(3, 2, requires_grad=True)
    x = ingot.randn(4, 2)
    buffers = {"1.running_mean": ingot.zeros(3), "1.running_var": ingot.ones(3), "1.num_batches_tracked": ingot.tensor(0)}
    y = nn.utils.stateless.functional_call(net, ({"0.weight": weight}, buffers), x)
    want = F.batch_norm(F.linear(x, weight, net[0].bias), None, None, net[1].weight, net[1].bias, True)
    assert ingot.allclose(y, want)
    y.square().sum().backward()
    assert weight.grad is not None and net[0].weight.grad is None and buffers["1.num_batches_tracked"].item() == 1
    assert all(ingot.equal(own[k], v) for k, v in net.state_dict().items())
    with pytest.raises(ValueError, match=r"no parameter or buffer '0\.wrong'"):
        nn.utils.stateless.functional_call(net, {"0.wrong": weight}, x)
    with pytest.raises(ValueError, match="missing"):
        nn.utils.stateless.functional_call(net, {"0.weight": weight}, x, strict=True)


def test_tensors_are_replaced_for_a_block():
    net, w = nn.Linear(2, 2, bias=False), ingot.zeros(2, 2)
    own = net.weight
    with nn.utils.stateless._reparametrize_module(net, {"weight": w}):
        assert net.weight is w and not net(ingot.ones(2)).any()
    assert net.weight is own


def test_functional_call_replaces_tied_weights_together():
    net = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False))
    net[1].weight = net[0].weight
    x, w = ingot.randn(3, 2), ingot.randn(2, 2)
    call = nn.utils.stateless.functional_call
    assert ingot.allclose(call(net, {"0.weight": w}, x), x @ w.T @ w.T)
    assert ingot.allclose(call(net, {"0.weight": w}, x, tie_weights=False), x @ w.T @ net[0].weight.T)


def test_skip_init_makes_the_module_without_filling_it():
    net = nn.utils.skip_init(nn.Linear, 3, 2, dtype=ingot.float64)
    assert net.weight.shape == (2, 3) and net.weight.dtype is ingot.float64
    assert nn.Linear(3, 2).weight.abs().sum() > 0
    with pytest.raises(TypeError, match="Module class"):
        nn.utils.skip_init(len)


def test_the_choice_of_attention_kernels_changes_nothing():
    q = ingot.randn(1, 2, 5, 4)
    with nn.attention.sdpa_kernel([nn.attention.SDPBackend.MATH, nn.attention.SDPBackend.FLASH_ATTENTION]):
        assert ingot.equal(F.scaled_dot_product_attention(q, q, q), F.scaled_dot_product_attention(q, q, q))
    with pytest.raises(ValueError, match="SDPBackend"), nn.attention.sdpa_kernel("math"):
        pass


# Averages of models.


@pytest.mark.parametrize("kind", ["swa", "ema", "avg_fn", "multi"])
def test_averaged_models(kind):
    rng = np.random.default_rng(3)
    steps = [rng.standard_normal((2, 3)) for _ in range(5)]
    net = nn.Linear(3, 2, bias=False).double()
    options = {"swa": {}, "ema": {"multi_avg_fn": swa_utils.get_ema_multi_avg_fn(0.9)},
               "avg_fn": {"avg_fn": swa_utils.get_ema_avg_fn(0.9)}, "multi": {"multi_avg_fn": swa_utils.get_swa_multi_avg_fn()}}
    average = swa_utils.AveragedModel(net, **options[kind])
    assert list(average.state_dict()) == ["n_averaged", "module.weight"]
    for step in steps:
        net.weight.data = ingot.tensor(step)
        average.update_parameters(net)
    want = steps[0]
    for step in steps[1:]:
        want = 0.9 * want + 0.1 * step
    want = want if kind in ("ema", "avg_fn") else np.mean(steps, 0)
    assert np.allclose(average.module.weight.detach().numpy(), want) and average.n_averaged.item() == 5
    x = ingot.randn(1, 3, dtype=ingot.float64)
    assert ingot.allclose(average(x), x @ ingot.tensor(want).T)


def test_update_bn_and_swalr():
    ingot.manual_seed(0)
    net = nn.Sequential(nn.BatchNorm1d(3)).eval()
    batches = [ingot.randn(8, 3) + i for i in range(3)]
    swa_utils.update_bn([(b, None) for b in batches], net)
    assert ingot.allclose(net[0].running_mean, ingot.stack([b.mean(0) for b in batches]).mean(0), atol=1e-6)
    assert net[0].momentum == 0.1 and not net.training
    optimizer = optim.SGD([nn.Parameter(ingot.ones(1))], lr=1.0)
    schedule = swa_utils.SWALR(optimizer, swa_lr=0.2, anneal_epochs=4, anneal_strategy="linear")
    rates = []
    for _ in range(6):
        optimizer.step()
        schedule.step()
        rates.append(optimizer.param_groups[0]["lr"])
    assert np.allclose(rates, [0.8, 0.6, 0.4, 0.2, 0.2, 0.2])
    with pytest.raises(ValueError, match="anneal_strategy"):
        swa_utils.SWALR(optimizer, 0.1, anneal_strategy="x")


# Sparse Adam.


def test_sparse_adam_moves_rows_that_were_looked_up():
    ingot.manual_seed(0)
    table, other = nn.Embedding(6, 3).double(), None
    other = copy.deepcopy(table)
    start = table.weight.detach().clone()
    sparse, dense = optim.SparseAdam(table.parameters(), lr=0.1), optim.Adam(other.parameters(), lr=0.1)
    for rows in ([1, 2, 2], [2, 4], [1]):
        for net, optimizer in ((table, sparse), (other, dense)):
            optimizer.zero_grad()
            net(ingot.tensor(rows)).square().sum().backward()
            optimizer.step()
    state = sparse.state[table.weight]
    assert state["step"] == 3 and (state["exp_avg"][0] == 0).all()
    assert ingot.equal(table.weight[[0, 3, 5]], start[[0, 3, 5]]) and not ingot.equal(table.weight[[1, 2, 4]], start[[1, 2, 4]])
    # A row that is looked up at every step moves as in Adam (eps aside); a rare one does not.
    assert not ingot.allclose(table.weight[4], other.weight[4])
    again = optim.SparseAdam(table.parameters())
    again.load_state_dict(sparse.state_dict())
    assert again.param_groups[0]["lr"] == 0.1 and ingot.equal(again.state[table.weight]["exp_avg"], state["exp_avg"])


@pytest.mark.peer
def test_sparse_adam_is_torchs():
    torch = pytest.importorskip("torch")
    start = np.random.default_rng(0).standard_normal((6, 3))
    mine = nn.Embedding.from_pretrained(ingot.tensor(start), freeze=False)
    theirs = torch.nn.Embedding.from_pretrained(torch.tensor(start), freeze=False, sparse=True)
    pairs = ((ingot, mine, optim.SparseAdam(mine.parameters(), lr=0.1)),
             (torch, theirs, torch.optim.SparseAdam(theirs.parameters(), lr=0.1)))
    for step in range(20):
        rows = np.random.default_rng(step).integers(0, 5, 4)
        for lib, net, optimizer in pairs:
            optimizer.zero_grad()
            net(lib.tensor(rows)).square().sum().backward()
            optimizer.step()
    assert np.allclose(mine.weight.detach().numpy(), theirs.weight.detach().numpy(), atol=1e-12)


# The picture of a module.


def test_summary_draws_the_graph(tmp_path):
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(inplace=True), nn.Flatten(), nn.Linear(18, 4))
    found = nn.summary(net, ingot.randn(2, 1, 5, 5))
    assert [n.op.name for n in found.graph.nodes] == ["conv", "batch_norm", "relu", "reshape", "linear"]
    assert list(found.modules) == ["0", "1", "2", "3", "4"] and found.graph.outputs[0].shape == (2, 4)
    found.save(tmp_path / "net.svg")
    found.save(tmp_path / "net.dot")
    root = ET.fromstring((tmp_path / "net.svg").read_text())
    text = " ".join(root.itertext())
    assert root.tag.endswith("svg") and "batch_norm" in text and "f32[2,1,5,5]" in text
    assert (tmp_path / "net.dot").read_text().startswith("digraph")
    recurrent = nn.summary(nn.LSTM(3, 4), ingot.randn(5, 2, 3), train=True)
    assert len(recurrent.graph.outputs) == 3 and recurrent.svg()


def test_repr_of_lists_joins_equal_modules():
    assert repr(nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Tanh()])) == "ModuleList(\n  (0-1): 2 x ReLU()\n  (2): Tanh()\n)"
    assert repr(nn.ModuleList()) == "ModuleList()"
    assert repr(nn.RNNCell(2, 3, nonlinearity="relu")) == "RNNCell(2, 3, nonlinearity=relu)"


def test_lazy_modules_take_the_dtype_they_were_sent_to():
    net = nn.LazyConv2d(4, 3).to(ingot.float64)
    assert net(ingot.randn(1, 2, 5, 5, dtype=ingot.float64)).dtype is ingot.float64


@pytest.mark.parametrize("options", [{}, {"weight": ingot.tensor([1.0, 2.0])}, {"label_smoothing": 0.1}])
def test_a_batch_of_ignored_rows_has_no_gradient(options):
    x = ingot.randn(3, 2, requires_grad=True)
    loss = F.cross_entropy(x, ingot.tensor([1, 1, 1]), ignore_index=1, **options)
    loss.backward()
    assert loss.isnan() and (x.grad == 0).all()


@pytest.mark.parametrize(("base", "args", "reduction"), [
    (nn.modules.loss._Loss, {}, "mean"), (nn.modules.loss._Loss, {"reduction": "sum"}, "sum"),
    (nn.modules.loss._WeightedLoss, {"weight": ingot.ones(3), "reduction": "none"}, "none")])
def test_losses_of_the_users_begin_with_the_base_class(base, args, reduction):
    class Scaled(base):
        def __init__(self, scale, **options):
            super().__init__(**options)
            self.scale = scale

        def forward(self, x, y):
            return self.scale * F.l1_loss(x, y, reduction=self.reduction)

    loss = Scaled(2.0, **args)
    assert loss.reduction == reduction and list(loss.state_dict()) == list(args.keys() & {"weight"})
    assert ingot.equal(loss(ingot.ones(3), ingot.zeros(3)), 2 * F.l1_loss(ingot.ones(3), ingot.zeros(3), reduction=reduction))


def _encoder(**changes):
    settings = {"norm": nn.LayerNorm(8), "enable_nested_tensor": True, "nhead": 2, "norm_first": False, "activation": "relu",
                "batch_first": True, "training": False, **changes}
    outer = {k: settings.pop(k) for k in ("norm", "enable_nested_tensor")}
    training = settings.pop("training")
    layer = nn.TransformerEncoderLayer(8, dim_feedforward=8, dropout=0.0, **settings)
    return nn.TransformerEncoder(layer, 2, **outer).train(training)


ENDS = ingot.tensor([[False, False, True, True], [False, False, False, True]])
APART = ingot.tensor([[False, True, False, True], [False, False, False, True]])
CLEARED = {"bool": ({}, ENDS), "float": ({}, ingot.zeros(2, 4).masked_fill(ENDS, -math.inf)),
           "no norm": ({"norm": None}, ENDS),
           "gelu": ({"activation": nn.GELU()}, ENDS)}
KEPT = {"training": ({"training": True}, ENDS), "not wanted": ({"enable_nested_tensor": False}, ENDS), "apart": ({}, APART),
        "norm first": ({"norm_first": True}, ENDS), "odd": ({"nhead": 1}, ENDS),
        "other": ({"activation": nn.functional.silu}, ENDS)}


@pytest.mark.parametrize("name", [*CLEARED, *KEPT])
def test_encoders_in_inference_leave_zeros_for_padding_as_pytorch_does(name):
    settings, padding = (CLEARED | KEPT)[name]
    net, x = _encoder(**settings), ingot.randn(2, 4, 8)
    computed = net(x, src_key_padding_mask=padding)            # gradients are wanted, so padding is not cleared
    run = ingot.jit.trace(lambda x, padding: net(x, src_key_padding_mask=padding))
    for on in (True, False):
        ingot.backends.mha.set_fastpath_enabled(on)
        try:
            with ingot.no_grad():
                found, traced = net(x, src_key_padding_mask=padding), run(x, padding)
        finally:
            ingot.backends.mha.set_fastpath_enabled(True)
        assert ingot.equal(found, traced)
        assert ingot.allclose(found[~padding.bool()], computed[~padding.bool()])
        after = ingot.zeros(8) if net.norm is None else net.norm.bias
        wanted = after.expand(int(padding.bool().sum()), 8) if on and name in CLEARED else computed[padding.bool()]
        assert ingot.allclose(found[padding.bool()], wanted)


def test_the_padding_switch_is_guarded_only_where_it_is_read():
    reads, other = ingot.jit.trace(lambda x: x * 2 if ingot.backends.mha.get_fastpath_enabled() else x * 3), ingot.jit.trace(
        lambda x: x * 2)
    for on in (True, False, True, False):
        ingot.backends.mha.set_fastpath_enabled(on)
        try:
            assert reads(ingot.ones(1)).item() == (2 if on else 3) and other(ingot.ones(1)).item() == 2
        finally:
            ingot.backends.mha.set_fastpath_enabled(True)
    assert reads.stats()["compiles"] == 2 and other.stats()["compiles"] == 1
    assert "writes zeros for padding was True, is False" in reads.stats()["misses"][1]


def test_encoders_with_a_mask_of_their_own_clear_nothing():
    net, x, mask = _encoder(), ingot.randn(2, 4, 8), ingot.zeros(4, 4)
    with ingot.no_grad():
        found = net(x, mask, src_key_padding_mask=ENDS)
    assert ingot.allclose(found, net(x, mask, src_key_padding_mask=ENDS)) and bool((found != 0).all())
