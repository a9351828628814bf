"""Errors for values that an operator cannot accept. Replays raise them as eager code does, also if nothing reads the result."""

import dis
import functools
import importlib
import pkgutil
import types

import pytest

import ingot
import ingot.ir.ops
import ingot.nn.functional as F
from ingot import jit, nn
from ingot.ir.opdef.op import OPS
from ingot.ir.tracebacks import left

T, NAN = ingot.tensor, float("nan")
CALLS = {        # operation, arguments that it takes, arguments that it refuses
    "multi_margin": (lambda a, b: F.multi_margin_loss(a, b), (T([[.5, .2]]), T([1])), (T([[.5, .2]]), T([7]))),
    "multilabel_margin": (lambda a, b: F.multilabel_margin_loss(a, b), (T([[.5, .2]]), T([[1, -1]])), (T([[.5, .2]]),
         T([[7, -1]]))),
    "nll": (lambda a, b: F.nll_loss(a, b), (T([[.5, .2]]), T([1])), (T([[.5, .2]]), T([7]))),
    "cross_entropy": (lambda a, b: F.cross_entropy(a, b), (T([[.5, .2]]), T([1])), (T([[.5, .2]]), T([7]))),
    "max_unpool1d": (lambda a, b: F.max_unpool1d(a, b, 2), (T([[[1., 2.]]]), T([[[0, 2]]])), (T([[[1., 2.]]]), T([[[0, 9]]]))),
    "max_unpool2d": (lambda a, b: F.max_unpool2d(a, b, 2), (T([[[[1.]]]]), T([[[[0]]]])), (T([[[[1.]]]]), T([[[[9]]]]))),
    "eig": (lambda a: ingot.linalg.eig(a), (T([[1., 2.], [3., 4.]]), ), (T([[NAN, 2.], [3., 4.]]), )),
    "eigvals": (lambda a: ingot.linalg.eigvals(a), (T([[1., 2.], [3., 4.]]), ), (T([[NAN, 2.], [3., 4.]]), )),
    "svd": (lambda a: ingot.linalg.svd(a), (T([[1., 2.], [2., 4.]]), ), (T([[NAN, 2.], [2., 4.]]), )),
    "svdvals": (lambda a: ingot.linalg.svdvals(a), (T([[1., 2.], [2., 4.]]), ), (T([[NAN, 2.], [2., 4.]]), )),
    "inv": (lambda a: ingot.linalg.inv(a), (T([[1., 2.], [3., 4.]]), ), (T([[1., 2.], [2., 4.]]), )),
    "solve": (lambda a, b: ingot.linalg.solve(a, b), (T([[1., 2.], [3., 4.]]), T([1., 2.])), (T([[1., 2.], [2., 4.]]),
         T([1., 2.]))),
    "cholesky": (lambda a: ingot.linalg.cholesky(a), (T([[2., 0.], [0., 4.]]), ), (T([[-1., 2.], [2., 4.]]), )),
    "lu_factor": (lambda a: ingot.linalg.lu_factor(a), (T([[1., 2.], [3., 4.]]), ), (T([[1., 2.], [2., 4.]]), )),
    "lstsq": (lambda a, b: ingot.linalg.lstsq(a, b).solution, (T([[1., 2.], [3., 4.]]), T([[1.], [2.]])),
         (T([[NAN, 2.], [2., 4.]]), T([[1.], [2.]]))),
    "pinv": (lambda a: ingot.linalg.pinv(a), (T([[1., 2.], [3., 4.]]), ), (T([[NAN, 2.], [2., 4.]]), )),
    "matrix_rank": (lambda a: ingot.linalg.matrix_rank(a), (T([[1., 2.], [3., 4.]]), ), (T([[NAN, 2.], [2., 4.]]), )),
    "cond": (lambda a: ingot.linalg.cond(a), (T([[1., 2.], [3., 4.]]), ), (T([[NAN, 2.], [2., 4.]]), )),
    "norm2": (lambda a: ingot.linalg.norm(a, 2), (T([[1., 2.], [3., 4.]]), ), (T([[NAN, 2.], [2., 4.]]), )),
    "nuc": (lambda a: ingot.linalg.norm(a, 'nuc'), (T([[1., 2.], [3., 4.]]), ), (T([[NAN, 2.], [2., 4.]]), )),
    "tensorinv": (lambda a: ingot.linalg.tensorinv(a, 1), (T([[1., 2.], [3., 4.]]), ), (T([[1., 2.], [2., 4.]]), )),
    "matrix_power": (lambda a: ingot.linalg.matrix_power(a, -1), (T([[1., 2.], [3., 4.]]), ), (T([[1., 2.], [2., 4.]]), )),
    "bernoulli": (lambda a: ingot.bernoulli(a), (T([.5]), ), (T([1.5]), )),
    "multinomial": (lambda a: ingot.multinomial(a, 1), (T([.5, .5]), ), (T([-.5, .5]), )),
    "poisson": (lambda a: ingot.poisson(a), (T([.5, .5]), ), (T([-.5, .5]), )),
    "binomial": (lambda a, b: ingot.binomial(a, b), (T([5.]), T([.5])), (T([5.]), T([1.5]))),
    "gather": (lambda a, b: a.gather(0, b), (T([1., 2.]), T([1])), (T([1., 2.]), T([7]))),
    "index": (lambda a, b: a[b], (T([1., 2.]), T([1])), (T([1., 2.]), T([7]))),
    "index_select": (lambda a, b: a.index_select(0, b), (T([1., 2.]), T([1])), (T([1., 2.]), T([7]))),
    "take": (lambda a, b: a.take(b), (T([1., 2.]), T([1])), (T([1., 2.]), T([7]))),
    "scatter": (lambda a, b: a.scatter(0, b, 1.), (T([1., 2.]), T([1])), (T([1., 2.]), T([7]))),
    "scatter_add": (lambda a, b: a.scatter_add(0, b, T([1.])), (T([1., 2.]), T([1])), (T([1., 2.]), T([7]))),
    "scatter_reduce": (lambda a, b: a.scatter_reduce(0, b, T([1.]), "amax"), (T([1., 2.]), T([1])), (T([1., 2.]), T([7]))),
    "index_add": (lambda a, b: a.index_add(0, b, T([1.])), (T([1., 2.]), T([1])), (T([1., 2.]), T([7]))),
    "index_copy": (lambda a, b: a.index_copy(0, b, T([1.])), (T([1., 2.]), T([1])), (T([1., 2.]), T([7]))),
    "index_fill": (lambda a, b: a.index_fill(0, b, 1.), (T([1., 2.]), T([1])), (T([1., 2.]), T([7]))),
    "index_reduce": (lambda a, b: a.index_reduce(0, b, T([1.]), "amax"), (T([1., 2.]), T([1])), (T([1., 2.]), T([7]))),
    "index_put": (lambda a, b: a.index_put((b, ), T(1.)), (T([1., 2.]), T([1])), (T([1., 2.]), T([7]))),
    "put": (lambda a, b: a.put(b, T([1.])), (T([1., 2.]), T([1])), (T([1., 2.]), T([7]))),
    "take_along": (lambda a, b: a.take_along_dim(b, 0), (T([1., 2.]), T([1])), (T([1., 2.]), T([7]))),
    "embedding": (lambda a, b: F.embedding(b, a), (T([[1.], [2.]]), T([1])), (T([[1.], [2.]]), T([7]))),
    "embedding_bag": (lambda a, b: F.embedding_bag(b, a, T([0])), (T([[1.], [2.]]), T([1])), (T([[1.], [2.]]), T([7]))),
    "embedding_bag_off": (lambda a, b: F.embedding_bag(T([1, 1]), a, b), (T([[1.], [2.]]), T([0, 1])), (T([[1.], [2.]]),
         T([0, 7]))),
    "embedding_bag_off0": (lambda a, b: F.embedding_bag(T([1, 1]), a, b), (T([[1.], [2.]]), T([0, 1])), (T([[1.], [2.]]),
         T([1, 1]))),
    "one_hot": (lambda a: F.one_hot(a, 3), (T([1]), ), (T([7]), )),
    "one_hot_neg": (lambda a: F.one_hot(a, 3), (T([1]), ), (T([-1]), )),
    "bincount": (lambda a: ingot.bincount(a), (T([1]), ), (T([-1]), )),
    "int div": (lambda a, b: a//b, (T([4]), T([2])), (T([4]), T([0]))),
    "int mod": (lambda a, b: a%b, (T([4]), T([2])), (T([4]), T([0]))),
    "fmod": (lambda a, b: a.fmod(b), (T([4]), T([2])), (T([4]), T([0]))),
    "ctc": (lambda a, b: F.ctc_loss(ingot.zeros(3, 1, 4), a, T([3]), b), (T([[1, 2]]), T([2])), (T([[1, 2]]), T([-1]))),
    "ctc target": (lambda a, b: F.ctc_loss(ingot.zeros(3, 1, 4), a, T([3]), b), (T([[1, 2]]), T([2])), (T([[1, 9]]), T([2]))),
    "ctc long": (lambda a, b: F.ctc_loss(ingot.zeros(3, 1, 4), a, b, T([2])), (T([[1, 2]]), T([3])), (T([[1, 2]]), T([9]))),
    "repeat_interleave": (lambda a, b: a.repeat_interleave(b), (T([1, 2]), T([1, 2])), (T([1, 2]), T([-1, 2]))),
    "repeat_interleave size": (lambda a, b: a.repeat_interleave(b, output_size=3), (T([1, 2]), T([1, 2])), (T([1, 2]),
         T([2, 2]))),
    "searchsorted sorter": (lambda a, b: ingot.searchsorted(a, T([1.]), sorter=b), (T([1., 2.]), T([0, 1])), (T([1., 2.]),
         T([0, 7]))),
    "histc nan": (lambda a: ingot.histc(a, 3), (T([1., 2.]), ), (T([NAN, 2.]), )),
    "histc0": (lambda a: ingot.histc(a, 3, 0, 0), (T([1., 2.]), ), (T([float('inf'), 2.]), )),
    "quantile": (lambda a, b: ingot.quantile(a, b), (T([1., 2.]), T([.5])), (T([1., 2.]), T([1.5]))),
    "nanquantile": (lambda a, b: ingot.nanquantile(a, b), (T([1., 2.]), T([.5])), (T([1., 2.]), T([1.5]))),
    "packseq": (lambda a, b: nn.utils.rnn.pack_padded_sequence(a, b, batch_first=True).data, (ingot.ones(2, 3, 1),
         T([3, 2])), (ingot.ones(2, 3, 1), T([3, 9]))),
    "packseq0": (lambda a, b: nn.utils.rnn.pack_padded_sequence(a, b, batch_first=True).data, (ingot.ones(2, 3, 1),
         T([3, 2])), (ingot.ones(2, 3, 1), T([3, 0]))),
    "packseq order": (lambda a, b: nn.utils.rnn.pack_padded_sequence(a, b, batch_first=True).data, (ingot.ones(2, 3, 1),
         T([3, 2])), (ingot.ones(2, 3, 1), T([2, 3]))),
    "cat": (lambda a: ingot.distributions.Categorical(a).probs, (T([.5, .5]), ), (T([-.5, .5]), )),
    "lu_unpack": (lambda a: ingot.lu_unpack(T([[1., 2.], [3., 4.]]), a), (T([1, 2], dtype=ingot.int32), ),
         (T([1, 9], dtype=ingot.int32), )),
    "lu_solve": (lambda a: ingot.linalg.lu_solve(T([[1., 2.], [3., 4.]]), a, T([[1.], [2.]])),
         (T([1, 2], dtype=ingot.int32), ), (T([1, 9], dtype=ingot.int32), )),
    "assert": (lambda a: ingot._assert_async(a), (T(True), ), (T(False), )),
    "sparse": (lambda a: ingot.sparse_coo_tensor(a, T([1.]), (2, 2), check_invariants=True).to_dense(), (T([[1], [1]]), ),
         (T([[1], [7]]), )),
    "sparse coalesce": (lambda a: ingot.sparse_coo_tensor(a, T([1.]), (2, 2)).to_dense(), (T([[1], [1]]), ), (T([[1], [7]]), )),
    "segment_reduce": (lambda a: ingot.segment_reduce(T([1., 2., 3.]), "sum", lengths=a), (T([1, 2]), ), (T([1, 9]), )),
    "masked_scatter": (lambda a: ingot.zeros(3).masked_scatter(a, T([1.])), (T([True, False, False]), ),
         (T([True, True, False]), )),
    "scatter_nd slice": (lambda a: ingot.zeros(3).index_put((a, ), T([1.]), accumulate=True), (T([1]), ), (T([-9]), )),
    "trace long": (lambda a: ingot.arange(6.).reshape(2, 3)[:, a], (T([1]), ), (T([3]), )),
    "gaussian nll": (lambda a: F.gaussian_nll_loss(T([.5]), T([.1]), a), (T([.1]), ), (T([-2.]), )),
    "nll2d": (lambda a: F.nll_loss(ingot.zeros(1, 3, 1, 1), a), (T([[[1]]]), ), (T([[[7]]]), )),
    "bce": (lambda a: F.binary_cross_entropy(a, T([1., 0.])), (T([.5, .2]), ), (T([.5, 1.2]), )),
    "bce sum": (lambda a: F.binary_cross_entropy(a, T([1., 0.]), reduction="sum"), (T([.5, .2]), ), (T([NAN, 1.]), )),
    "bce none": (lambda a: F.binary_cross_entropy(a, T([1., 0.]), reduction="none"), (T([.5, .2]), ), (T([.5, 1.2]), )),
    "bce weight": (lambda a: F.binary_cross_entropy(a, T([1., 0.]), T([0., 1.])), (T([.5, .2]), ), (T([-.5, 1.]), )),
    "bce float16": (lambda a: F.binary_cross_entropy(a, T([1., 0.]).half()), (T([.5, .2]).half(), ), (T([-.5, 1.]).half(), )),
    "bce vmap": (lambda a: ingot.func.vmap(F.binary_cross_entropy)(a, T([[1., 0.], [1., 1.]])), (T([[.5, .2], [0., 1.]]), ),
         (T([[.5, .2], [0., 1.2]]), )),
    "bce gradient": (lambda a: ingot.func.grad(lambda x: F.binary_cross_entropy(x, T([1., 0.])))(a), (T([.5, .2]), ),
         (T([.5, 1.2]), )),
    "bce low": (lambda a: autocast_loss(a), (T([.5, .2]), ), (T([.5, 1.2]), )),
    "ldl_factor": (lambda a: ingot.linalg.ldl_factor(a), (T([[2., 0.], [0., 4.]]), ), (T([[0., 0.], [0., 0.]]), )),
    "ldl_solve": (lambda a: ingot.linalg.ldl_solve(T([[1., 2.], [3., 4.]]), a, T([[1.], [2.]])),
         (T([1, 2], dtype=ingot.int32), ), (T([1, 9], dtype=ingot.int32), )),
    "ce ignore": (lambda a: F.cross_entropy(ingot.zeros(1, 3), a, ignore_index=-100), (T([1]), ), (T([-1]), )),
}


def autocast_loss(x):
    with ingot.autocast("cpu"):
        return F.binary_cross_entropy(x, T([1., 0.]))


def life(wrap, use, name) -> list:
    function, accepted, refused = CALLS[name]
    total, log, found = ingot.zeros(1), [], []

    def unread(*args):
        function(*args)
        return args[0].sum() * 2

    def written(*args):
        function(*args)
        total.add_(1)

    def logged(*args):
        function(*args)
        log.append(1)

    ingot.manual_seed(0)
    step = wrap({"unread": unread, "written": written, "logged": logged}[use])
    for args in (accepted, accepted, refused, accepted, refused):
        try:
            step(*args)
        except jit.TraceError:
            raise
        except Exception as error:
            found.append((type(error), str(error)))
        found.append((total.item(), len(log), ingot.rand(1).item()))
    assert len(found) > 5, "eager code raises"
    return found


@pytest.mark.parametrize("use", ["unread", "written", "logged"])
@pytest.mark.parametrize("name", CALLS)
def test_a_replay_raises_for_values_though_nothing_reads_the_result(name, use):
    assert life(jit.trace, use, name) == life(lambda f: f, use, name)


EXEMPT = {       # operators that raise for something else than the values of a call
    "shapes and parameters": "as_strided complex expand of_pairs unfold conv_chain_blocked conv_int8 depthwise_int8 geqrf qr "
                             "det slogdet cofactor cofactor_slope",
    "indices from an operator of the same call": "adaptive_max_pool fractional_max_pool max_pool_grad row_sums ctc_loss_grad",
    "counts of the same values": "nonzero",
    "code of others": "host_call",
}


def test_operators_that_raise_for_values_say_so():
    for module in pkgutil.walk_packages(ingot.ir.ops.__path__, "ingot.ir.ops."):
        importlib.import_module(module.name)
    raising = {name for name, op in OPS.items() if not op.traits & {"refuses", "refuses_integers"} and may_raise(op.ref)}
    assert raising == set(" ".join(EXEMPT.values()).split())


def may_raise(ref) -> bool:
    """Return whether a reference leads to a `raise` or to LAPACK, checks of parameters aside."""
    return any("linalg" in f.__code__.co_names or has_raise(f.__code__) for f in reached(ref, set())
               if not f.__module__.endswith(("param_checks", "elementwise_rules")))


def has_raise(code) -> bool:
    """Return whether code raises by itself; a door (`ir/doors.py`) only raises again what came."""
    has_door = left in code.co_consts
    return any(i.opname == "RAISE_VARARGS" and (i.arg or not has_door) for i in dis.get_instructions(code))


def reached(function, seen) -> set:
    """Return the functions of ingot to which a function leads by its globals and closure."""
    function = function.func if isinstance(function, functools.partial) else function
    if isinstance(function, types.FunctionType) and function.__module__.startswith("ingot.") and function not in seen:
        seen.add(function)
        for name in names_in(function.__code__):
            reached(function.__globals__.get(name), seen)
        for cell in function.__closure__ or ():
            reached(cell.cell_contents, seen)
    return seen


def names_in(code) -> set:
    """Return the global names in code and in the code that it holds."""
    inner = [c for c in code.co_consts if isinstance(c, types.CodeType)]
    return set(code.co_names).union(*map(names_in, inner))
