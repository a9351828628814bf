"""Python functions that rows of layers and losses name: distances, and programs that call a module in a way of their own."""

from ..row import function


@function("city block")
def _city_block(library):
    return lambda a, b: (a - b).abs().sum(-1)


@function("method")
def _method(library):
    return lambda module, name, *args: getattr(module, name)(*args)


@function("packed")
def _packed(library):
    rnn = library.nn.utils.rnn

    def run(module, x, lengths, state=None, batch_first=False, enforce_sorted=True):
        packed = rnn.pack_padded_sequence(x, lengths, batch_first, enforce_sorted)
        out, ends = module(packed) if state is None else module(packed, state)
        return out.data, out.batch_sizes, rnn.pad_packed_sequence(out, batch_first, 0.5, len(lengths) + 3), ends

    return run
