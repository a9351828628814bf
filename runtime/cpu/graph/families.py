"""The family file of each operator: where its kernel is, loaded when the operator is first called or planned.

Each family file lists its operators in a table `OPERATORS`, each operator in one table (`calls/operator_kernel.py`).
"""

import functools

from ....ir.lazy import lazy
from ....ir.opdef.op import OPS, Op
from ..calls.operator_kernel import OperatorKernel

_batch_norm = lazy(__package__, "..conv.batch_norm")
_blocked = lazy(__package__, "..conv.blocked")
_conv = lazy(__package__, "..conv.conv")
_pooling = lazy(__package__, "..conv.pooling")
_int8_linear = lazy(__package__, "..gemm.int8_linear")
_matmul = lazy(__package__, "..gemm.matmul")
_stored_weights = lazy(__package__, "..gemm.stored_weights")
_draws = lazy(__package__, "..index.draws")
_gathers = lazy(__package__, "..index.gathers")
_indexed_writes = lazy(__package__, "..index.indexed_writes")
_lookup = lazy(__package__, "..index.lookup")
_ordering = lazy(__package__, "..index.ordering")
_sampled_points = lazy(__package__, "..index.sampled_points")
_scans = lazy(__package__, "..index.scans")
_search = lazy(__package__, "..index.search")
_cholesky = lazy(__package__, "..linalg.cholesky")
_determinants = lazy(__package__, "..linalg.determinants")
_fourier = lazy(__package__, "..linalg.fourier")
_lapack = lazy(__package__, "..linalg.lapack")
_lu = lazy(__package__, "..linalg.lu")
_qr = lazy(__package__, "..linalg.qr")
_triangular = lazy(__package__, "..linalg.triangular")
_data_movement = lazy(__package__, "..loops.data_movement")
_integer_division = lazy(__package__, "..loops.integer_division")
_reduction_kernels = lazy(__package__, "..loops.reduction_kernels")
_scalars = lazy(__package__, "..loops.scalars")
_attention = lazy(__package__, "..nn.attention")
_ctc = lazy(__package__, "..nn.ctc")
_distances = lazy(__package__, "..nn.distances")
_int8_conv = lazy(__package__, "..nn.int8_conv")
_losses = lazy(__package__, "..nn.losses")
_normalization = lazy(__package__, "..nn.normalization")
_recurrent = lazy(__package__, "..nn.recurrent")
_resample = lazy(__package__, "..nn.resample")
_windows = lazy(__package__, "..nn.sliding_windows")

# The module of a record's shape rule, below ir/ops, or the record's name -> the files that may have its kernel. A name wins.
FAMILIES: dict[str, tuple] = {
    "core.complex_numbers": (_data_movement,), "core.elementwise": (_scalars,),
    "core.moments": (_normalization,), "core.random": (_draws,), "core.reduce": (_reduction_kernels,), "core.scan": (_scans,),
    "core.shape": (_data_movement, _windows),
    "floor_divide": (_integer_division,), "trunc_divide": (_integer_division,), "remainder": (_integer_division,),
    "fmod": (_integer_division,),
    "index.assign": (_indexed_writes,), "index.indexing": (_gathers, _indexed_writes, _lookup),
    "index.sort": (_ordering, _search),
    "linalg.checked_factorizations": (_lu, _cholesky), "linalg.eigen": (_lapack,),
    "linalg.factorizations": (_lu, _cholesky, _qr, _lapack), "linalg.products": (_matmul,),
    "linalg.triangular": (_lu, _triangular),
    "det": (_determinants,), "cofactor": (_determinants,), "slogdet": (_determinants,),
    "math.fourier": (_fourier,), "math.gamma": (_draws,), "math.polynomials": (_scalars,),
    "nn.attention": (_attention,), "nn.conv": (_conv, _windows), "nn.ctc": (_ctc,), "nn.distance": (_distances,),
    "nn.embedding": (_lookup,), "nn.loss": (_losses,), "nn.norm": (_normalization, _batch_norm),
    "nn.pool": (_pooling, _gathers), "nn.recurrent": (_recurrent,), "nn.resample": (_resample,),
    "nn.sampled_points": (_sampled_points,), "nn.softmax": (_normalization,),
    "packed.blocked": (_blocked,), "packed.blocked_grad": (_blocked,), "packed.recurrent_packed": (_recurrent,),
    "quantized.int8_conv": (_int8_conv,), "quantized.int8_linear": (_int8_linear, _recurrent),
    "quantized.stored_weights": (_stored_weights,),
}
_HOME = f"{__package__.partition('.')[0]}.ir.ops."
_found: dict[Op, OperatorKernel | None] = {}


def find(op: Op) -> OperatorKernel | None:
    """Return the kernel of an operator; None if it has none of its own."""
    if op not in _found:
        module = getattr(op.infer, "__module__", "").removeprefix(_HOME)
        families = FAMILIES.get(op.name) or FAMILIES.get(module, ())
        _found[op] = next((family.OPERATORS[op] for family in families if op in family.OPERATORS), None)
    return _found[op]


def _is_whole(op: Op) -> bool:
    kernel = find(op)
    return kernel is not None and kernel.is_whole


@functools.cache
def _whole_inside(records: int) -> frozenset:
    """Return the operators with trait "whole_inside" that have a kernel, among so many records."""
    return frozenset([op for op in OPS.values() if "whole_inside" in op.traits and _is_whole(op)])


def whole_composites_of(graph) -> frozenset:
    """Return the composites that stay whole in compiled graphs, since eager mode runs them as one kernel of their own. These
    are composites that the graph calls itself, and those inside of bodies that beat loops (trait "whole_inside")."""
    return _whole_inside(len(OPS)).union([n.op for n in graph.nodes if "renamed" not in n.op.traits and _is_whole(n.op)])
