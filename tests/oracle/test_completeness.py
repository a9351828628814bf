"""Every optimizer, schedule, layer, loss, distribution, window and function has rows, and each of its parameters two values."""

from collections import defaultdict
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import ingot
from ingot import distributions, nn, optim
from oracle import completeness, differences, files, kinds
from oracle.row import lookup, prepare

# Names without two rows of their own -> why.
EXEMPT = {
    **dict.fromkeys(("nn.functional.feature_dropout", "nn.functional.gumbel_softmax"), "its results are random"),
    **dict.fromkeys(("nn.RNNBase", "nn.RNNCellBase", "distributions.ExponentialFamily"), "computes nothing by itself"),
    **dict.fromkeys(("linalg.matrix_sqrth", "linalg.polar"), "PyTorch 2.13 does not have it"),
}
# (target, parameter) that takes one value -> why.
CONSTANT = {
    ("count_nonzero", "keepdim"): "PyTorch 2.13 does not have it",
    ("gather", "sparse_grad"): "gives sparse gradients of the same values",
    ("nn.functional.embedding_bag", "scale_grad_by_freq"): "PyTorch is wrong: docs/differences.md",
    ("linalg.lu", "pivot"): "PyTorch pivots always on a CPU", ("linalg.lu_factor", "pivot"): "PyTorch pivots always on a CPU",
    ("linalg.lu_factor_ex", "pivot"): "PyTorch pivots always on a CPU", ("lu", "pivot"): "PyTorch pivots always on a CPU",
    ("linalg.svdvals", "driver"): "chooses a library on a GPU", ("max", "other"): "rows give it by position",
    ("min", "other"): "rows give it by position", ("nn.functional.linear_cross_entropy", "options"): "steers memory alone",
    ("topk", "sorted"): "leaves the order open", ("nn.LinearCrossEntropyLoss", "options"): "steers memory alone",
    ("nn.functional.grouped_mm", "bias"): "PyTorch refuses it",
    ("nn.functional.grouped_mm", "out_dtype"): "PyTorch takes the operands' dtype alone",
    ("Tensor.__deepcopy__", "memo"): "remembers copies for other objects",
    **dict.fromkeys((("Tensor.copy_", "non_blocking"), ("Tensor.to", "non_blocking"), ("Tensor.type", "non_blocking")),
                    "says whether to wait for another device"),
    ("Tensor.scatter_", "value"): "rows give it by position", ("linalg.svd", "driver"): "chooses a library on a GPU",
    ("lobpcg", "n"): "how many random columns to begin with",
    **{("lobpcg", parameter): "steers or watches the iteration" for parameter in (
        "ortho_bparams", "ortho_fparams", "ortho_iparams", "tracker")},
    ("segment_reduce", "indices"): "PyTorch refuses it",
    **{(f"nn.functional.{name}_", parameter): "rows of the function that it calls, without _, give it" for name, parameter in (
        ("celu", "alpha"), ("elu", "alpha"), ("hardtanh", "max_val"), ("hardtanh", "min_val"),
        ("leaky_relu", "negative_slope"), ("threshold", "threshold"), ("threshold", "value"))},
    ("nn.Transformer", "custom_decoder"): "a module of the user's",
    ("nn.Transformer", "custom_encoder"): "a module of the user's",
    ("nn.TransformerEncoder", "enable_nested_tensor"): "chooses a faster way",
    ("nn.TransformerEncoder", "mask_check"): "chooses a faster way", ("nn.MaxUnpool3d", "padding"): "its functional has rows",
    **{(f"optim.{name}", "capturable"): "PyTorch takes it on a GPU alone" for name in (
        "ASGD", "Adadelta", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop", "Rprop")},
    ("optim.LBFGS", "maximize"): "PyTorch does not have it",
    **{(f"nn.ConvTranspose{rank}d", "padding_mode"): "PyTorch takes zeros alone" for rank in (1, 2, 3)},
}

# Targets whose parameters take two values elsewhere: they wrap other targets, or their rows are those without randomness.
OTHERS_ROWS = ("nn.Lazy", "nn.grad.", "nn.SyncBatchNorm", "nn.Embedding.from_pretrained", "nn.EmbeddingBag.from_pretrained",
               "nn.utils.rnn.unpad_sequence", "nn.ModuleDict", "nn.ModuleList", "nn.Dropout", "nn.AlphaDropout",
               "nn.FeatureAlphaDropout")

found = cache(completeness.rows)


def classes(module, path, base) -> list[str]:
    """Return the paths of a module's public classes below `base`."""
    return [path + n for n, v in sorted(vars(module).items())
            if isinstance(v, type) and issubclass(v, base) and v is not base and not n.startswith("_")]


def functions(path) -> list[str]:
    """Return the paths of a namespace's public functions."""
    space = lookup(ingot, path)
    names = getattr(space, "__all__", dir(space))
    return [f"{path}.{n}" for n in sorted(names) if not n.startswith(("_", "has_torch", "handle_torch")) and n != "unwrap"
            and callable(getattr(space, n)) and not isinstance(getattr(space, n), type)]


OPTIMIZER, SCHEDULE = optim.Optimizer, optim.lr_scheduler.LRScheduler
PUBLIC = [*classes(optim, "optim.", OPTIMIZER), *classes(optim.lr_scheduler, "optim.lr_scheduler.", SCHEDULE),
          *classes(distributions, "distributions.", distributions.Distribution), *classes(nn, "nn.", nn.Module),
          *[name for space in ("signal.windows", "nn.functional", "linalg", "fft", "special") for name in functions(space)]]


@pytest.mark.parametrize("target", PUBLIC)
def test_every_name_has_two_rows(target):
    if target in EXEMPT:
        return
    assert len(found()[target]) >= 2, f"{target} has {len(found()[target])} rows"


def test_every_exemption_is_needed():
    assert not [name for name in EXEMPT if name not in PUBLIC or len(found()[name]) >= 2]


def by_function() -> list[tuple]:
    """Return (function, its names, its calls): a method and a function of one name are often one function."""
    names, calls = defaultdict(list), defaultdict(list)
    for target, rows in sorted(found().items()):
        try:
            function = lookup(ingot, target)
        except AttributeError:
            continue
        names[id(function)].append(target)
        calls[id(function)] += rows
    return [(lookup(ingot, targets[0]), targets, calls[key]) for key, targets in names.items()]


def test_every_parameter_takes_two_values():
    wrong, used = [], set()
    for function, targets, calls in by_function():
        if targets[0].startswith(OTHERS_ROWS) or targets[0] in EXEMPT:
            continue
        for parameter in completeness.constant_parameters(targets[0], function, calls):
            told = {(target, parameter) for target in targets} & CONSTANT.keys()
            used |= told
            wrong += [] if told else [(targets[0], parameter)]
    assert not wrong
    assert not sorted(CONSTANT.keys() - used), "these need no exemption any more"


def test_no_row_takes_a_tensor_twice():
    for family in files.families():
        for row in files.read(files.FOLDER / f"{family}.xz")[1]:
            assert row.kind in kinds.KINDS
            given = [a for a, _ in prepare(ingot, (row.args, row.kwargs, row.options.get("inputs")))[1]]
            told = [a.tobytes() for a in given if a.size > 3 and a.dtype.kind in "fc" and len(np.unique(a)) > 1]
            assert len(told) == len(set(told)), f"{family}:{row.name} takes a tensor twice"


def test_every_difference_has_rows_and_is_shown():
    names = [f"{family}:{row.name}" for family in files.families() for row in files.read(files.FOLDER / f"{family}.xz")[1]]
    page = (Path(ingot.__file__).parent / "docs" / "differences.md").read_text()
    for entry in differences.TABLE:
        for pattern in entry.rows:
            assert any(fnmatchcase(name, pattern) for name in names), f"{entry.title}: no row is called {pattern}"
    assert page == differences.page(), "write docs/differences.md again: python tools/write_oracle.py --page"
