"""Rows of many small calls of one function: arguments of every dtype, results stacked by dtype."""

from collections import defaultdict

import numpy as np

from ..row import fill, lookup, prepare
from ..tensors import flatten, is_tensor, to_array, to_tensor
from . import kind


@kind("grid")
def run(library, row, wrap):
    """Call `target` with arguments that several options list.

    Options: `operands` (arrays and numbers), `keywords` (dicts), `calls` (an array; a line holds the places of a call's
    operands and keywords, with -1 for none), `copies` (a call gets a copy of its first operand). Results: `kinds` (a word
    for each result: dtype and shape, or its type), and for each dtype all numbers in one array. PyTorch refuses none.
    """
    (operands, keywords), given = prepare(library, (row.options["operands"], row.options["keywords"]))
    calls, copies, found = row.options["calls"].tolist(), row.options.get("copies", False), lookup(library, row.target)
    target = (lambda first, *rest, **options: found(first.clone(), *rest, **options)) if copies else found

    def body(*tensors):
        values = fill(operands, tensors)
        return [target(*[values[i] for i in indices if i >= 0], **keywords[keyword]) for *indices, keyword in calls]

    words, stacks = [], defaultdict(list)
    for result in wrap(body)(*[to_tensor(library, a) for a, _ in given]):
        for value in flatten(library, result).values():
            if isinstance(value, library.dtype):
                words.append(str(value).split(".")[-1])
                continue
            array = to_array(library, value) if is_tensor(library, value) else np.asarray(value)
            shape = "x".join(map(str, array.shape)) or "0-d"
            words.append(f"{array.dtype.name}:{shape}" if is_tensor(library, value) else type(value).__name__)
            stacks[array.dtype.name].append(array.ravel())
    return {"kinds": " ".join(words), **{name: np.concatenate(parts) for name, parts in stacks.items()}}
