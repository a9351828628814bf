"""Methods, methods that write to their tensor, and second names of functions, on samples of the functions they stand for."""

import importlib
from collections import defaultdict

import numpy as np

from ..kinds import KINDS
from ..row import Leaf, Row
from .functions import LEFT_OUT, PARTS, TOLERANCES, samples_of, seed_samples, spread

SPACES = ("", "linalg.", "nn.functional.", "special.", "fft.")      # where a method's function may be, in this order
OTHERS = {"binary_cross_entropy_with_logits", "triplet_margin_loss"}        # take other arguments than in nn.functional
DTYPES = ("float64", "int64", "bool", "float32", "complex128")     # in this order, until there are enough rows
COUNT = 2               # rows of a name
TRIED = 12              # samples of a record that are tried for them


def records_by_name() -> dict:
    """Return PyTorch's records of functions, under their names and second names."""
    found = defaultdict(list)
    for record in importlib.import_module("torch.testing._internal.common_methods_invocations").op_db:
        if record.name not in LEFT_OUT and not any(part in record.name for part in PARTS):
            for name in (record.name, *[alias.name for alias in record.aliases]):
                found[name].append(record)
    return found


def targets(torch, records) -> list[tuple[str, list]]:
    """Return (path, records of its function) of methods, and of functions whose name has no record of its own."""
    functions = [n for n in dir(torch) if not any(r.name == n for r in records.get(n, ()))]
    found = []
    for path in [f"Tensor.{n}" for n in dir(torch.Tensor)] + functions:
        name = path.removeprefix("Tensor.")
        owner = torch.Tensor if path != name else torch
        if name.startswith("_") or not callable(getattr(owner, name)) or isinstance(getattr(owner, name), type):
            continue
        base = name[:-1] if name.endswith("_") else name
        source = next((s + base for s in SPACES if s + base in records), None)
        if source is not None and path not in OTHERS:
            found.append((path, records[source]))
    return found


def can_turn(args) -> bool:
    """Return whether the first argument is a tensor whose first and last dimension differ."""
    first = args[0].array if isinstance(args[0], Leaf) else args[0]
    return getattr(first, "ndim", 0) > 1 and first.shape[0] > 1 and first.shape[-1] > 1


def without_leaves(value):
    """Return a sample's arguments with arrays in place of leaves."""
    if isinstance(value, Leaf):
        return value.array
    if isinstance(value, dict):
        return {k: without_leaves(v) for k, v in value.items()}
    return type(value)([without_leaves(v) for v in value]) if type(value) in (list, tuple) else value


def row_of(torch, path, label, args, kwargs) -> Row | None:
    """Return the row of a sample, if PyTorch accepts it by this path."""
    writes = path.endswith("_")
    precise = label.startswith(("float64", "complex128"))
    tolerance, reason = TOLERANCES.get(path.removeprefix("Tensor.").removesuffix("_"), (None, "")) if precise else (None, "")
    options = {"turned": True} if writes and label.endswith("1") and can_turn(args) else {}
    row = Row(f"{path}/{label}", "in place" if writes else "function", path, args, kwargs, options, tolerance, reason)
    try:
        found = KINDS[row.kind](torch, row, lambda body: body)
    except Exception:       # PyTorch refuses a sample in some way when it is called by another name
        return None
    if writes and found["written"].numel() != np.size(args[0].array if isinstance(args[0], Leaf) else args[0]):
        return None         # (PyTorch's addbmm_ gives a tensor another size)
    return row if found and not any(getattr(v, "dtype", None) is torch.complex32 for v in found.values()) else None


def rows(torch, rng):
    """Yield two rows of each name: of float64 if the function takes it and has two such samples, else of other dtypes."""
    records, samples = records_by_name(), {}
    for path, sources in targets(torch, records):
        done = 0
        for dtype in DTYPES:
            key = (dtype, *[(r.name, r.variant_test_name) for r in sources])
            if key not in samples:
                seed_samples(torch)
                samples[key] = spread([s for r in sources for s in samples_of(r, r.name, dtype, torch)], TRIED)
            for args, kwargs in samples[key]:
                label = f"{dtype} {done}"
                row = row_of(torch, path, label, args, kwargs)
                if row is None:         # PyTorch may know no derivative of what writes
                    row = row_of(torch, path, label, without_leaves(args), without_leaves(kwargs))
                if row is not None:
                    done += 1
                    yield row
                if done == COUNT:
                    break
            if done == COUNT:
                break
