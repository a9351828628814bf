"""Every operator under vmap: a batch gives what its samples give."""

import itertools

import numpy as np
import pytest

import ingot
from ingot.ir.errors import IngotError
from ingot.ir.opdef.op import OPS
from ingot.runtime.core.tensor import wrap
from ingot.runtime.func import vmap_level
from ingot.runtime.func.vmap_level import Level, one_by_one
from ingot.runtime.state.recorder import GradientEvents, Recorder
from samples import (
    SAMPLES,
    rows,
    table,  # noqa: F401  (fills SAMPLES)
)

SIZE = 3
OTHERS = {"place", "host_call"}         # between devices, and to Python
NAMES = sorted(n for n, op in OPS.items() if n in SAMPLES and "random" not in op.traits and n not in OTHERS)
SIGNS_ARE_FREE = {"svd", "eigh", "qr"}


def batches_of(x, index):
    """Return three samples like an operand: floats differ a little, indices wrap around."""
    if x.dtype.kind in "fV":
        return np.stack([x, *[(x.astype(np.float64) * f).astype(x.dtype) for f in (0.75, 0.5)]])
    return np.stack([np.roll(x, i) if x.ndim and index else x for i in range(SIZE)])


def cast(x, to):
    return x.astype(to) if isinstance(x, np.ndarray) and x.dtype == np.float64 else x


def run_together(op, args, held, params):
    with Level(SIZE, "same") as level:
        found = op(*[level.sample(a) if has else a for a, has in zip(args, held)], **params)
        found = found if type(found) is tuple else (found,)
        return [level.full(f)._a for f in found]


def run_apart(op, args, held, params):
    found = one_by_one(SIZE, op, args, held, params)
    return [f._a for f in (found if type(found) is tuple else (found,))]


def kinds_of_held(args):
    """Return choices of mapped operands: each alone, and all."""
    tensors = [i for i, a in enumerate(args) if isinstance(a, np.ndarray)]
    chosen = [(i,) for i in tensors] + ([tuple(tensors)] if len(tensors) > 1 else [])
    return [[i in some for i in range(len(args))] for some in chosen]


@pytest.mark.drawn
@pytest.mark.parametrize("name", NAMES)
def test_a_batch_at_once_is_its_samples_one_by_one(name):
    op, compared = OPS[name], 0
    for sample in itertools.islice(rows(name), 12):
        to = np.float32 if sample.dtypes in ("float", "any", "number") or "float32" in sample.dtypes else np.int64
        args = [cast(a, to) for a in sample.args]
        for held in kinds_of_held(args):
            turned = sample.grad and name not in ("class_weight", "class_index")
            given = [wrap(batches_of(a, turned)) if has else wrap(a) if isinstance(a, np.ndarray) else a
                     for a, has in zip(args, held)]
            try:
                apart = run_apart(op, given, held, sample.params)
            except IngotError:       # a sample that its operator refuses after the change
                continue
            together = run_together(op, given, held, sample.params)
            assert len(apart) == len(together)
            for one, other in zip(apart, together):
                assert one.shape == other.shape and one.dtype == other.dtype, (name, held, sample.params)
                if name not in SIGNS_ARE_FREE:
                    both = [np.asarray(x, np.complex128) for x in (one, other)]
                    bound = 1e-5 * sample.tol if name == "linear_stored" else 2e-4     # (few rows are rounded, many are not)
                    assert np.allclose(*both, rtol=2e-4, atol=bound, equal_nan=True), (name, held, sample.params)
            compared += 1
    assert compared


def test_classes_of_samples_as_rows_of_ones():
    at = ingot.tensor([[0, 1], [4, 2]])
    found = ingot.func.vmap(lambda i: ingot.nn.functional.one_hot(i, 5))(at)
    assert (found == ingot.nn.functional.one_hot(at, 5)).all()
    with pytest.raises(IndexError, match="one_hot"):
        ingot.func.vmap(lambda i: ingot.nn.functional.one_hot(i, 4))(at)


D = ingot.distributions
CHECKED = {
    "Normal": lambda m: D.Normal(m, m + 1).log_prob(m * 2), "Categorical": lambda m: D.Categorical(logits=m).entropy(),
    "Bernoulli": lambda m: D.Bernoulli(m).log_prob(ingot.ones(4)), "Uniform": lambda m: D.Uniform(m, m + 1).log_prob(m + 0.5),
    "Dirichlet": lambda m: D.Dirichlet(m + 1).log_prob(m / m.sum()),
    "Geometric": lambda m: D.Geometric(m).log_prob(ingot.ones(4)),
    "divergence": lambda m: D.kl_divergence(D.Normal(m, m + 1), D.Normal(0 * m, 1 + 0 * m)),
    "MultivariateNormal": lambda m: D.MultivariateNormal(m, ingot.eye(4) * (1 + m[0])).log_prob(m),
}


@pytest.mark.parametrize("name", CHECKED)
def test_arguments_of_distributions_are_checked_for_all_samples(name):
    ingot.manual_seed(0)
    x = ingot.rand(3, 4) * 0.8 + 0.1
    found = ingot.func.vmap(CHECKED[name])(x)
    assert (found - ingot.stack([CHECKED[name](m) for m in x])).abs().max() < 1e-6


def test_one_wrong_sample_raises():
    x = ingot.ones(3, 4)
    x[1, 2] = -2
    with pytest.raises(ValueError, match="for some sample"):
        ingot.func.vmap(lambda m: D.Normal(m, m + 1).log_prob(m))(x)
    with pytest.raises(ValueError, match="multinomial takes weights"):
        ingot.func.vmap(lambda m: ingot.multinomial(m, 1), randomness="different")(x)
    assert ingot.func.vmap(lambda m: ingot.multinomial(m, 2), randomness="different")(x.abs()).shape == (3, 2)


@pytest.mark.parametrize("sink, protocol", [
    (vmap_level.SampleRecorder, Recorder), (vmap_level.SampleGradients, GradientEvents)])
def test_recorders_of_samples_filter_events_that_exist(sink, protocol):
    """An event of another name would pass by the filter, and a recorder would see the tensor of one sample."""
    own = {name for name in vars(sink) if name[0] != "_"}
    assert own and own <= set(dir(protocol))
