"""The ONNX project's own node tests, run through `from_onnx`.

Every test of the standard's operators (domain ai.onnx, operator sets 13 to 22) passes but those whose results are drawn at
random (the standard's tests hold the draws of numpy) and those of an operator that is not supported. Tests of types that ingot
does not have are refused at import. Other operator sets run as well: only what is listed may fail.
"""

import warnings
from functools import cache

import numpy as np
import pytest

pytest.importorskip("onnx", reason="needs the onnx package")

import mutated_onnx
import reader_seeds
from ingot.ir.errors import FileError
from ingot.jit import from_onnx
from ingot.runtime.core.tensor import wrap

RANDOM = ("test_bernoulli", "test_training_dropout_default", "test_training_dropout", "test_training_dropout_mask",
          "test_training_dropout_default_mask")
UNSUPPORTED = {"ImageDecoder"}
ALSO_UNSUPPORTED = {"Adagrad", "Adam", "Momentum", "ArrayFeatureExtractor", "Binarizer", "TreeEnsemble", "TfIdfVectorizer",
                    "LabelEncoder", "Scan"}     # of other domains and versions (Scan: only as it was in version 8)
OTHER_TYPES = ("FLOAT8E4M3FNUZ", "FLOAT8E5M2FNUZ", "FLOAT8E8M0", "FLOAT4", "UINT4", "INT4", "UINT2", "INT2", "STRING")


@cache
def cases():
    """All node tests, by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases

        return {c.name: c for c in collect_testcases(None)}


def needs_other_types(case) -> bool:
    """Whether inputs or outputs are sequences, optional, or of a type that ingot does not have."""
    import onnx

    for v in (*case.model.graph.input, *case.model.graph.output):
        if v.type.WhichOneof("value") != "tensor_type":
            return True
        if onnx.TensorProto.DataType.Name(v.type.tensor_type.elem_type).startswith(OTHER_TYPES):
            return True
    return False


def version_of(case) -> int:
    return max([i.version for i in case.model.opset_import if i.domain in ("", "ai.onnx")], default=0)


def array(x):
    import onnx

    return onnx.numpy_helper.to_array(x) if isinstance(x, onnx.TensorProto) else np.asarray(x)


def wrong(case, model):
    """Return what is wrong with a model's results, or None."""
    for inputs, outputs in case.data_sets:
        found = model.compute(*[wrap(array(x).copy()) for x in inputs])
        for got, want in zip(found if isinstance(found, tuple) else (found,), map(array, outputs), strict=True):
            got = got.numpy()
            if (got.dtype, got.shape) != (want.dtype, want.shape):
                return f"{got.dtype}{got.shape} instead of {want.dtype}{want.shape}"
            a, b = [v if v.dtype.kind == "c" else v.astype(np.float64) for v in (got, want)]
            rtol = max(case.rtol, 1.6e-2 if want.dtype.name == "bfloat16" else 2e-3 if want.dtype == np.float16 else 0)
            if not np.allclose(a, b, rtol=rtol, atol=max(case.atol, 1e-6), equal_nan=True):
                return f"differs by up to {np.nanmax(np.abs(a - b))}"
    return None


def run(chosen):
    """{name: what went wrong} of some tests, and the operators that were refused."""
    failed, refused = {}, set()
    for case in chosen:
        try:
            model = from_onnx(case.model.SerializeToString())
        except FileError as e:
            refused.add(str(e).split()[2] if str(e).startswith("ONNX operator") else case.name)
            continue
        problem = wrong(case, model)
        if problem is not None:
            failed[case.name] = problem
    return failed, refused


def plain(low, high):
    return [c for c in cases().values() if not needs_other_types(c) and low <= version_of(c) <= high]


def not_random(failed):
    return {n: why for n, why in failed.items() if n.removesuffix("_expanded").removesuffix("_double").removesuffix("_seed")
            not in RANDOM}


def test_all_node_tests_of_versions_13_to_22():
    chosen = plain(13, 22)
    failed, refused = run(chosen)
    assert not not_random(failed)
    assert refused == UNSUPPORTED
    assert len(chosen) - len(failed) >= 0.97 * len(chosen)


@pytest.mark.slow
@pytest.mark.parametrize("low, high", [(0, 12), (23, 99)])
def test_node_tests_of_other_versions(low, high):
    failed, refused = run(plain(low, high))
    assert not not_random(failed)
    assert refused <= ALSO_UNSUPPORTED


def test_other_types_are_refused_by_name():
    chosen = [c for c in cases().values() if needs_other_types(c)][::9]
    assert chosen
    for case in chosen:
        with pytest.raises(FileError):
            from_onnx(case.model.SerializeToString())


def changed(case):
    """Return (place, bytes, arguments) of a test's model with one integer after the other too small or too large."""
    model, left = mutated_onnx.with_known_integers(case.model.SerializeToString(), [array(x) for x in case.data_sets[0][0]])
    return [(place, data, left) for place, data in mutated_onnx.wrong_integers(model)]


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize("part", range(16))
def test_all_wrong_integers(part):
    """Each integer of all models; models that the standard writes by other operators repeat many, which are run once.
    `test_run_budget.py` draws from small models."""
    seen: set = set()
    for name, case in sorted(cases().items(), key=lambda row: ("_expanded" in row[0], row[0]))[part::16]:
        if needs_other_types(case):
            continue
        for place, data, arrays in changed(case):
            if "_expanded" not in name or place not in seen:
                seen.add(place)
                try:
                    reader_seeds.run_onnx_with(data, arrays)
                except Exception as e:
                    raise AssertionError(f"{name} with {place}") from e
