"""Lengths that are data, by table: ever new lengths cost a few recordings, and give what eager code gives."""

import numpy as np
import pytest

import ingot
from ingot import jit, nn
from ingot.nn.utils.rnn import pack_padded_sequence, pack_sequence, pad_packed_sequence, pad_sequence, unpack_sequence

CALLS = 12
LONGEST = 9


def layer(kind, **options):
    """A recurrent layer over packed sequences, and back to a padded batch."""
    def make():
        net = getattr(nn, kind)(3, 4, **options)

        def run(x, lengths):
            out, states = net(pack_padded_sequence(x, lengths, net.batch_first, enforce_sorted=False))
            return pad_packed_sequence(out, net.batch_first), states

        return run
    return make


def trained(kind, **options):
    """The same, with gradients of the weights."""
    def make():
        net = getattr(nn, kind)(3, 4, batch_first=True, **options)

        def run(x, lengths):
            net.zero_grad()
            out, _ = net(pack_padded_sequence(x, lengths, True, enforce_sorted=False))
            out.data.square().sum().backward()
            return [w.grad.clone() for w in net.parameters()]

        return run
    return make


def by_mask():
    net = nn.GRU(3, 4, batch_first=True)
    return lambda x, lengths: net(pack_padded_sequence(
        x, (ingot.arange(x.shape[1]) < lengths[:, None]).sum(1), True, enforce_sorted=False))


def in_falling_order():
    net = nn.LSTM(3, 4)

    def run(x, lengths):
        falling, order = lengths.sort(descending=True)
        out, _ = net(pack_padded_sequence(x[:, order], falling))
        return pad_packed_sequence(out, total_length=LONGEST + 2, padding_value=2.0)

    return run


def of_packed():
    net = nn.GRU(3, 4, num_layers=2, bidirectional=True)
    return lambda packed: net(packed)


def of_samples():
    net = nn.GRU(3, 4)
    return lambda samples: net(pack_sequence(samples, enforce_sorted=False))


def padded(side):
    return lambda: lambda samples: pad_sequence(samples, True, -1.0, side)


def unpacked():
    return lambda x, lengths: [s.sum(0) for s in unpack_sequence(pack_padded_sequence(x, lengths, True, enforce_sorted=False))]


def nested(layout):
    def make():
        net = nn.Linear(3, 2)
        return lambda samples: net(ingot.nested.nested_tensor(samples, layout=layout)).to_padded_tensor(0.5)
    return make


def from_offsets():
    net = nn.Linear(3, 2)

    def run(values, lengths):
        offsets = nn.functional.pad(lengths.cumsum(0), (1, 0))
        return net(ingot.nested.nested_tensor_from_jagged(values, offsets)).to_padded_tensor(0.0)

    return run


def masked_by_list():
    return lambda x, lengths: x * (ingot.arange(max(lengths)) < ingot.tensor(lengths)[:, None])[..., None]


def stacked_from_list():
    def run(values, lengths):
        rows, start = [], 0
        for n in lengths:
            rows.append(nn.functional.pad(values[start:start + n], (0, 0, 0, max(lengths) - n), value=min(lengths)))
            start += n
        return ingot.stack(rows)

    return run


def sliced_by_list():
    return lambda x, lengths: [x[i, :n].mean(0) for i, n in enumerate(lengths)]


def sliced_by_tensor():
    return lambda x, lengths: [x[i, :n].mean(0) for i, n in enumerate(lengths)]


def repeated_by_list():
    return lambda x, lengths: x.repeat_interleave(ingot.as_tensor(lengths), 0)


def split_by_list():
    return lambda values, lengths: [part.sum(0) for part in ingot.split(values, lengths)]


def split_by_tensor():
    return lambda values, lengths: [part.sum(0) for part in values.split(lengths.tolist())]


def in_one_attention():
    def run(values, lengths):
        ends, q = lengths.cumsum(0), values[None]
        sample = ingot.bucketize(ingot.arange(values.shape[0]), ends, right=True)
        return nn.functional.scaled_dot_product_attention(q, q, q, sample[:, None] == sample)

    return run


def bags():
    net = nn.EmbeddingBag(7, 3, mode="mean")
    return lambda values, lengths: net(values[:, 0].abs().long() % 7, lengths.cumsum(0) - lengths)


def ctc():
    return lambda x, lengths: nn.functional.ctc_loss(x.transpose(0, 1).log_softmax(-1), lengths[:, None] % 2 + 1, lengths,
                                                     ingot.ones_like(lengths))


# Arguments of a program, made of the lengths of a batch.

def batch(lengths):
    return ingot.randn(len(lengths), max(lengths), 3), ingot.tensor(lengths)


def steps_first(lengths):
    return ingot.randn(max(lengths), len(lengths), 3), ingot.tensor(lengths)


def batch_with_list(lengths):
    return ingot.randn(len(lengths), max(lengths), 3), lengths


def whole_with_list(lengths):
    return ingot.randn(len(lengths), LONGEST, 3), lengths


def whole(lengths):
    return ingot.randn(len(lengths), LONGEST, 3), ingot.tensor(lengths)


def joined(lengths):
    return ingot.randn(sum(lengths), 3), ingot.tensor(lengths)


def joined_many(lengths):
    return joined([*lengths * 5, 3])


def joined_with_list(lengths):
    return ingot.randn(sum(lengths), 3), lengths


def rows_with_list(lengths):
    return ingot.randn(len(lengths), 3), lengths


def samples(lengths):
    return ([ingot.randn(n, 3) for n in lengths],)


def packed(lengths):
    return (pack_sequence(*samples(lengths), enforce_sorted=False),)


# (program, what it takes, whether the number of sequences differs, recordings at most). Batches without padding are another
# path of recurrent layers.
PROGRAMS = {
    "lstm": (layer("LSTM", batch_first=True), batch, True, 5),
    "lstm_of_a_list": (layer("LSTM", batch_first=True), batch_with_list, False, 5),
    "gru_of_two_directions": (layer("GRU", num_layers=2, bidirectional=True), steps_first, True, 5),
    "rnn_with_relu": (layer("RNN", nonlinearity="relu"), steps_first, True, 5),
    "lstm_trained": (trained("LSTM", bidirectional=True), batch, True, 5),
    "gru_trained": (trained("GRU", num_layers=2), batch, False, 6),
    "lengths_of_a_mask": (by_mask, batch, True, 5),
    "in_falling_order": (in_falling_order, steps_first, True, 5),
    "of_packed": (of_packed, packed, True, 5),
    "of_samples": (of_samples, samples, False, 5),
    "padded": (padded("right"), samples, False, 3),
    "padded_on_the_left": (padded("left"), samples, False, 3),
    "nested_jagged": (nested(ingot.jagged), samples, False, 3),
    "nested_strided": (nested(ingot.strided), samples, False, 3),
    "nested_from_offsets": (from_offsets, joined, True, 3),
    "masked_by_list": (masked_by_list, batch_with_list, True, 4),
    "stacked_from_list": (stacked_from_list, joined_with_list, False, 3),
    "sliced_by_list": (sliced_by_list, whole_with_list, False, 3),
    "sliced_by_tensor": (sliced_by_tensor, whole, False, 5),
    "repeated_by_list": (repeated_by_list, rows_with_list, True, 4),
    "split_by_list": (split_by_list, joined_with_list, False, 3),
    "split_by_tensor": (split_by_tensor, joined, False, 5),
    "split_into_many": (split_by_tensor, joined_many, False, 5),
    "in_one_attention": (in_one_attention, joined, True, 3),
    "bags": (bags, joined, True, 3),
    "ctc": (ctc, batch, True, 3),
}


def of_tensors(x):
    """Return the tensors in a result, and other values, in order."""
    return [v for part in x for v in of_tensors(part)] if isinstance(x, (tuple, list)) else [x]


def check(make, takes, differs, most):
    """Check a program over ever new lengths, 1 and equal ones among them."""
    rng = np.random.default_rng(7)
    ingot.manual_seed(0)
    fn = make()
    traced = jit.trace(fn)
    for i in range(CALLS):
        lengths = [int(n) for n in rng.integers(1, LONGEST + 1, (4, 2, 5, 3)[i % 4] if differs else 4)]
        arguments = takes(lengths if i != 4 else [lengths[0]] * len(lengths))
        want, got = of_tensors(fn(*arguments)), of_tensors(traced(*arguments))
        for a, b in zip(got, want, strict=True):
            assert (a.shape, a.dtype) == (b.shape, b.dtype), (i, lengths)
            np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), 1e-5, 1e-5, err_msg=f"call {i}: {lengths}")
    assert traced.stats()["compiles"] <= most, traced.stats()["misses"]
    assert not traced.stats()["unrecorded"]


@pytest.mark.drawn
@pytest.mark.parametrize("name", PROGRAMS)
def test_new_lengths_cost_few_recordings(name):
    check(*PROGRAMS[name])
