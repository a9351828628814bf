"""Embedding tables as modules."""

from typing import Any

from ....ir.errors import ArgumentError, ShapeError
from .. import functional as F
from ..base import init
from ..base.module import Module
from ..base.parameter import Parameter
from .linear import empty_parameter


def _repr_options(table) -> str:
    text = f", max_norm={table.max_norm}" if table.max_norm is not None else ""
    text += f", norm_type={table.norm_type}" if table.norm_type != 2 else ""
    return text + (", scale_grad_by_freq=True" if table.scale_grad_by_freq else "")


class Embedding(Module):
    """A table of rows, looked up by index.

    Parameters
    ----------
    num_embeddings, embedding_dim : int
        Number of rows and their length.
    padding_idx : int, optional
        Index of a row that starts at zero and gets no gradient.
    max_norm, norm_type : float
        Rows that are looked up are scaled to this norm at most, of this order; None for no limit.
    scale_grad_by_freq : bool
        Whether gradients are divided by how often a row was looked up in the batch.
    sparse : bool
        Whether the gradient is a sparse tensor, which SGD, Adagrad and SparseAdam take.
    device, dtype : optional
        Of the parameters; by default the current defaults.

    Shape
    -----
    Input: indices of any shape. Output: the same shape and `embedding_dim`.

    Examples
    --------
    >>> nn.Embedding(10, 3)(ingot.tensor([[1, 2], [3, 4]])).shape
    ingot.Size([2, 2, 3])
    """

    def __init__(self, num_embeddings, embedding_dim, padding_idx=None, max_norm=None, norm_type=2.0,
                 scale_grad_by_freq=False, sparse=False, _weight=None, _freeze=False, device=None, dtype=None):
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = _padding_row(padding_idx, num_embeddings)
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        if _weight is None:
            self.weight = empty_parameter((num_embeddings, embedding_dim), device, dtype)
            self.weight.requires_grad_(not _freeze)
            self.reset_parameters()
        else:
            self.weight = _table(_weight, num_embeddings, embedding_dim, _freeze)

    def reset_parameters(self):
        """Initialise with normal values, and zeros for the padding row."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            self.weight.data[self.padding_idx] = 0

    def forward(self, input):
        return F.embedding(input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq,
                           self.sparse)

    def extra_repr(self):
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        text += f", padding_idx={self.padding_idx}" if self.padding_idx is not None else ""
        return text + _repr_options(self)

    @classmethod
    def from_pretrained(cls, embeddings, freeze=True, padding_idx=None, max_norm=None, norm_type=2.0,
                        scale_grad_by_freq=False, sparse=False):
        """Return a module with a given table, frozen unless freeze=False."""
        return cls(*_rows_of(embeddings), padding_idx=padding_idx, max_norm=max_norm, norm_type=norm_type,
                   scale_grad_by_freq=scale_grad_by_freq, sparse=sparse, _weight=embeddings, _freeze=freeze)


def _padding_row(padding_idx, rows):
    if padding_idx is None:
        return None
    if not -rows <= padding_idx < rows:
        raise ArgumentError(f"padding_idx {padding_idx} is not a row of a table of {rows}")
    return padding_idx % rows


def _rows_of(embeddings) -> tuple[int, int]:
    if embeddings.ndim != 2:
        raise ShapeError(f"a table of embeddings is a matrix, got {embeddings.aval}")
    rows, size = embeddings.shape
    return rows, size


def _table(weight, rows, size, freeze):
    if tuple(weight.shape) != (rows, size):
        raise ShapeError(f"the given table has shape {list(weight.shape)}, expected ({rows}, {size})")
    return Parameter(weight, requires_grad=not freeze)


class EmbeddingBag(Module):
    """The sum, mean or maximum of the rows of each bag of indices.

    Parameters
    ----------
    num_embeddings, embedding_dim : int
        Number of rows and their length.
    max_norm, norm_type : float
        Rows that are looked up are scaled to this norm at most, of this order; None for no limit.
    scale_grad_by_freq : bool
        Whether gradients are divided by how often a row was looked up in the batch.
    mode : {"mean", "sum", "max"}
        How the rows of a bag become one.
    sparse : bool
        Whether the gradient is a sparse tensor.
    include_last_offset : bool
        Whether the last offset is the end of the last bag, instead of the start of one more.
    padding_idx : int, optional
        Index of a row that counts for nothing.
    device, dtype : optional
        Of the parameters; by default the current defaults.

    Shape
    -----
    Input: indices (B, N), or (N,) and the offsets of bags (B,). Output: (B, embedding_dim).

    Examples
    --------
    >>> bags = nn.EmbeddingBag(10, 3, mode="sum")
    >>> bags(ingot.tensor([1, 2, 4, 5]), ingot.tensor([0, 3])).shape
    ingot.Size([2, 3])
    """

    def __init__(self, num_embeddings, embedding_dim, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, mode="mean",
                 sparse=False, _weight=None, include_last_offset=False, padding_idx=None, device=None, dtype=None):
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.max_norm, self.norm_type, self.mode = max_norm, norm_type, mode
        self.scale_grad_by_freq, self.sparse, self.include_last_offset = scale_grad_by_freq, sparse, include_last_offset
        self.padding_idx = _padding_row(padding_idx, num_embeddings)
        if _weight is None:
            self.weight = empty_parameter((num_embeddings, embedding_dim), device, dtype)
            self.reset_parameters()
        else:
            self.weight = _table(_weight, num_embeddings, embedding_dim, False)

    reset_parameters: Any = Embedding.reset_parameters

    def forward(self, input, offsets=None, per_sample_weights=None):
        return F.embedding_bag(input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode,
                               self.sparse, per_sample_weights, self.include_last_offset, self.padding_idx)

    def extra_repr(self):
        named = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{_repr_options(self)}, mode={self.mode!r}{named}"

    @classmethod
    def from_pretrained(cls, embeddings, freeze=True, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, mode="mean",
                        sparse=False, include_last_offset=False, padding_idx=None):
        """Return a module with a given table, frozen unless freeze=False."""
        made = cls(*_rows_of(embeddings), max_norm, norm_type, scale_grad_by_freq, mode, sparse, embeddings,
                   include_last_offset, padding_idx)
        made.weight.requires_grad_(not freeze)
        return made
