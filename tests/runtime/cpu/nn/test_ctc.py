"""Connectionist temporal classification: the reference's values for any sequences, on the CPU and a device."""

import itertools

import numpy as np
import pytest

import ingot
import mock_cuda
from ingot import jit
from ingot.ir.errors import ArgumentError
from ingot.ir.ops.nn.ctc import ctc_loss, ctc_loss_grad
from ingot.nn import functional as F
from ingot.runtime.cpu.graph import eager as cpu

SEED = 11


def case(steps, sequences, classes, labels, kind=np.float32, blank=0, joined=False):
    """Return log probabilities, targets with repeated labels, and lengths, among them no steps, no labels and too many labels.
    """
    rng = np.random.default_rng([SEED, steps, sequences, labels])
    x = np.log(rng.dirichlet(np.ones(classes), (steps, sequences))).astype(kind)
    targets = (rng.integers(1, min(classes, 4), (sequences, labels)) + blank) % classes
    lengths, counts = rng.integers(steps // 2, steps + 1, sequences), rng.integers(0, labels + 1, sequences)
    lengths[:1], counts[1:2], counts[2:3], lengths[2:3] = 0, 0, labels, min(1, steps)
    if joined:
        targets = np.concatenate([row[:n] for row, n in zip(targets, counts)])
    return x, targets, lengths, counts


SIZES = {"one": (1, 1, 3, 1), "few": (7, 5, 6, 3), "a vector": (20, 4, 30, 8), "many": (65, 9, 11, 20),
         "more labels": (9, 4, 5, 30), "several warps": (65, 1, 5, 65), "two blocks of steps": (130, 2, 4, 2)}


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.float16], ids=lambda k: k.__name__)
@pytest.mark.parametrize("joined", [False, True], ids=["padded", "joined"])
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("blank", [0, 2])
def test_equals_the_reference(sizes, joined, kind, blank):
    operands = case(*SIZES[sizes], kind, blank, joined)
    g = np.random.default_rng(SEED).standard_normal(operands[0].shape[1]).astype(kind)
    tolerance = {2: 4e-3, 4: 2e-5, 8: 1e-11}[np.dtype(kind).itemsize]
    for op, arrays in ((ctc_loss, operands), (ctc_loss_grad, (g, *operands))):
        with np.errstate(all="ignore"):
            want, got = op.ref(*arrays, blank=blank), cpu.kernel_for(op)(*arrays, blank=blank)
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got.astype(float), want.astype(float), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("value", [-np.inf, np.nan, np.inf], ids=str)
def test_infinite_and_nan_probabilities(value):
    """-infinity is an impossible class; nan affects its own sequence alone."""
    operands = case(12, 3, 5, 4)
    operands[2][:], operands[3][:] = 12, 4
    operands[0][4, 1, :3] = value
    with np.errstate(all="ignore"):
        for op, arrays in ((ctc_loss, operands), (ctc_loss_grad, (np.ones(3, np.float32), *operands))):
            want, got = op.ref(*arrays, blank=0), cpu.kernel_for(op)(*arrays, blank=0)
            if op is ctc_loss_grad and value == np.inf:
                want, got = want[:, [0, 2]], got[:, [0, 2]]
            np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5)


def unreachable(device_name="cpu", how=lambda f: f, weights=(1, 1), **options):
    """Return gradients of two sequences, of which the first has more labels than steps allow."""
    rng = np.random.default_rng(SEED)
    x = ingot.tensor(np.log(rng.dirichlet(np.ones(3), (4, 2)))).to(device_name).requires_grad_()
    targets, weights = ingot.tensor([[1, 1, 1], [1, 2, 0]]).to(device_name), ingot.tensor(weights).to(device_name)
    lengths, counts = ingot.tensor([3, 3]).to(device_name), ingot.tensor([3, 2]).to(device_name)
    run = how(lambda x: (F.ctc_loss(x, targets, lengths, counts, reduction="none", **options) * weights).sum())
    for _ in range(3):
        x.grad = None
        run(x).backward()
    return x.grad.cpu().numpy()


def check_unreachable(device_name, how=lambda f: f):
    found = unreachable(device_name, how)
    assert np.isnan(found[:3, 0]).all() and (found[3] == 0).all()
    for quiet in (unreachable(device_name, how, zero_infinity=True), unreachable(device_name, how, weights=(0, 1))):
        assert (quiet[:, 0] == 0).all() and np.array_equal(quiet[:, 1], found[:, 1])


@pytest.mark.parametrize("how", [lambda f: f, jit.trace], ids=["eager", "traced"])
def test_an_infinite_loss_has_no_gradient(how):
    check_unreachable("cpu", how)


def test_results_do_not_depend_on_threads():
    operands = case(90, 40, 20, 25)
    found, before = [], ingot.get_num_threads()
    try:
        for threads in (1, 2):
            ingot.set_num_threads(threads)
            found.append(cpu.kernel_for(ctc_loss_grad)(np.ones(40, np.float32), *operands, blank=0))
    finally:
        ingot.set_num_threads(before)
    assert np.array_equal(*found, equal_nan=True)


@pytest.mark.parametrize("label", [-1, 6])
def test_targets_out_of_range_raise_within_their_length(label):
    """Those beyond a target's length may be anything."""
    x, targets, lengths, counts = case(*SIZES["few"])
    targets[1] = label
    counts[1] = 0
    tensors = [ingot.tensor(a) for a in (x, targets, lengths, counts)]
    assert F.ctc_loss(*tensors, reduction="none")[1].isfinite()
    counts[1] = 2
    with pytest.raises(ArgumentError, match=r"ctc_loss takes targets that are classes, from 0 to 5"):
        F.ctc_loss(*tensors[:3], ingot.tensor(counts))


def test_targets_may_be_floats():
    x, *rest = [ingot.tensor(a) for a in case(*SIZES["few"])]
    assert F.ctc_loss(x, rest[0].float(), *rest[1:]).equal(F.ctc_loss(x, *rest))


@pytest.mark.parametrize("targets, blank", [([[1, 0, 2]], 0), ([[0, 0, 1]], 0), ([[2, 1, 2]], 2)])
def test_the_blank_among_targets_is_a_label(targets, blank):
    """The sum is over all ways to pass through the states one by one, or past a blank between two labels."""
    x, labels = np.log(np.random.default_rng(SEED).dirichlet(np.ones(3), 4)), targets[0]
    states = [n for label in labels for n in (blank, label)] + [blank]
    total = 0.0
    for way in itertools.product(range(len(states)), repeat=len(x)):
        steps = list(itertools.pairwise(way))
        if way[0] < 2 and way[-1] > len(states) - 3 and all(
                b - a in (0, 1) or (b - a == 2 and b % 2 and states[a] != states[b]) for a, b in steps):
            total += np.exp(sum(x[t, states[s]] for t, s in enumerate(way)))
    loss = F.ctc_loss(ingot.tensor(x[:, None]), ingot.tensor(targets), [4], [3], blank=blank, reduction="sum")
    np.testing.assert_allclose(loss.item(), -np.log(total), rtol=1e-12)


@pytest.fixture
def device():
    with mock_cuda.installed(alone=True):
        yield


def loss_and_gradient(device_name, operands, reduction="sum", how=lambda f: f, kind=ingot.float32, times=1):
    """Return (loss, gradient) of log probabilities."""
    x, *rest = [ingot.tensor(a).to(device_name) for a in operands]
    x = x.to(kind).requires_grad_()
    run = how(lambda x, *rest: F.ctc_loss(x, *rest, reduction=reduction, zero_infinity=True))
    for _ in range(times):
        x.grad = None
        loss = run(x, *rest)
        loss.sum().backward()
    return loss.detach().cpu().double().numpy(), x.grad.cpu().double().numpy()


@pytest.mark.parametrize("sizes, kind, joined", [
    *[(sizes, kind, joined) for sizes in ("one", "few", "more labels") for kind in ("float32", "float64", "bfloat16")
      for joined in (False, True)],
    ("several warps", "float32", False), ("two blocks of steps", "float32", True)])
def test_device_equals_the_cpu(device, sizes, joined, kind):
    operands = case(*SIZES[sizes], joined=joined)
    tolerance = {"float32": 2e-5, "float64": 1e-11, "bfloat16": 2e-2}[kind]
    for reduction in ("none", "mean"):
        want, got = (loss_and_gradient(name, operands, reduction, kind=getattr(ingot, kind)) for name in ("cpu", "cuda"))
        for w, g in zip(want, got):
            np.testing.assert_allclose(g, w, rtol=tolerance, atol=tolerance)


def test_traced_device_equals_the_cpu(device):
    operands = case(*SIZES["few"])
    want, got = loss_and_gradient("cpu", operands), loss_and_gradient("cuda", operands, how=jit.trace, times=4)
    for w, g in zip(want, got):
        np.testing.assert_allclose(g, w, rtol=2e-5, atol=2e-5)


def test_an_infinite_loss_has_no_gradient_on_a_device(device):
    check_unreachable("cuda")
    check_unreachable("cuda", jit.trace)


@pytest.mark.parametrize("wrong", ["a label", "steps", "labels", "no labels", "all labels"])
def test_arguments_out_of_range_raise_on_a_device(device, wrong):
    x, targets, lengths, counts = case(*SIZES["few"], joined=wrong == "all labels")
    if wrong == "a label":
        targets[2, 0] = 6
    elif wrong == "steps":
        lengths[0] = 8
    else:
        counts[0] += {"labels": 9, "no labels": -9, "all labels": 1}[wrong]
    got = F.ctc_loss(*[ingot.tensor(a).cuda() for a in (x, targets, lengths, counts)], reduction="none")
    with pytest.raises(ArgumentError, match="ctc_loss: a length or a target is out of range, on cuda:0"):
        got.cpu()
