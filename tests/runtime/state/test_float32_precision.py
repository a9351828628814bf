"""Switches of float32 precision: older and newer ones set and read one table."""

import pytest

import ingot
from ingot.ir import target
from ingot.runtime.backends import switch_board
from ingot.runtime.cuda.compiler import precision
from ingot.runtime.state import float32_precision

B = ingot.backends


@pytest.fixture(autouse=True)
def put_back():
    entries = float32_precision.chosen()
    float32_precision.restore({})
    yield
    float32_precision.restore(entries)
    switch_board.frozen.put(False)


def put(path, value):
    owner, name = B, path
    while "." in name:
        part, _, name = name.partition(".")
        owner = getattr(owner, part)
    setattr(owner, name, value)


def all_of():
    """Return (products, convolutions, recurrent layers) on a GPU, oneDNN's products, and the values of the older switches."""
    return (B.cuda.matmul.fp32_precision, B.cudnn.conv.fp32_precision, B.cudnn.rnn.fp32_precision,
            B.mkldnn.matmul.fp32_precision, B.cuda.matmul.allow_tf32, B.cudnn.allow_tf32, ingot.get_float32_matmul_precision())


AT_FIRST = ("none", "tf32", "tf32", "none", False, True, "highest")
SETTINGS = {        # what is set, one after the other, and what then holds; as PyTorch 2.14 has it where that answers
    "nothing": ([], AT_FIRST),
    "products": ([("cuda.matmul.fp32_precision", "tf32")], ("tf32", *AT_FIRST[1:4], True, True, "high")),
    "products, exactly": ([("cuda.matmul.fp32_precision", "tf32"), ("cuda.matmul.fp32_precision", "ieee")],
                          ("ieee", *AT_FIRST[1:])),
    "products, the older way": ([("cuda.matmul.allow_tf32", True)], ("tf32", *AT_FIRST[1:4], True, True, "high")),
    "products, the older way and back": ([("cuda.matmul.allow_tf32", True), ("cuda.matmul.fp32_precision", "none")], AT_FIRST),
    "everything": ([("fp32_precision", "tf32")], ("tf32",) * 4 + (True, True, "high")),
    "everything, exactly": ([("fp32_precision", "ieee")], ("ieee",) * 4 + (False, False, "highest")),
    "everything as before": ([("fp32_precision", "ieee"), ("fp32_precision", "none")], AT_FIRST),
    "bfloat16, which GPUs do not take": ([("fp32_precision", "bf16")], (*AT_FIRST[:3], "bf16", *AT_FIRST[4:])),
    "a GPU": ([("cudnn.fp32_precision", "ieee")], ("ieee", "ieee", "ieee", "none", False, False, "highest")),
    "a GPU but for products": ([("cudnn.fp32_precision", "ieee"), ("cuda.matmul.fp32_precision", "tf32")],
                               ("tf32", "ieee", "ieee", "none", True, False, "high")),
    "convolutions as the rest": ([("cudnn.conv.fp32_precision", "none"), ("cudnn.rnn.fp32_precision", "none")],
                                 ("none", "none", "none", "none", False, False, "highest")),
    "convolutions, the older way": ([("cudnn.allow_tf32", False)], ("none", "ieee", "ieee", "none", False, False, "highest")),
    "CPUs": ([("mkldnn.fp32_precision", "bf16")], (*AT_FIRST[:3], "bf16", *AT_FIRST[4:])),
}


@pytest.mark.parametrize("case", SETTINGS)
def test_switches_set_one_table(case):
    settings, expected = SETTINGS[case]
    for path, value in settings:
        put(path, value)
    assert all_of() == expected
    assert precision.of_all() == tuple(["tf32" if how == "tf32" else "ieee" for how in expected[:3]])


@pytest.mark.parametrize("word, expected", [("highest", ("ieee", "ieee", False)), ("high", ("tf32", "tf32", True)),
                                            ("medium", ("tf32", "bf16", True))])
def test_precisions_of_products_by_a_word(word, expected):
    ingot.set_float32_matmul_precision(word)
    assert (B.cuda.matmul.fp32_precision, B.mkldnn.matmul.fp32_precision, B.cuda.matmul.allow_tf32) == expected
    assert ingot.get_float32_matmul_precision() == word


def test_layers_that_differ_have_no_common_answer():
    B.cudnn.conv.fp32_precision = "ieee"
    assert precision.of_all() == ("ieee", "ieee", "tf32")
    with pytest.raises(RuntimeError, match="convolutions and recurrent layers differ"):
        _ = B.cudnn.allow_tf32


CONTEXTS = {
    "everything": (lambda: B.flags(fp32_precision="ieee"), ("ieee",) * 4 + (False, False, "highest")),
    "a GPU": (lambda: B.cudnn.flags(fp32_precision="ieee"), ("ieee", "ieee", "ieee", "none", False, False, "highest")),
    "a GPU, TF32": (lambda: B.cudnn.flags(fp32_precision="tf32", allow_tf32=False),
                    ("tf32", "tf32", "tf32", "none", True, True, "high")),
    "convolutions": (lambda: B.cudnn.flags(allow_tf32=False), ("none", "ieee", "ieee", "none", False, False, "highest")),
    "CPUs": (lambda: B.mkldnn.flags(fp32_precision="bf16"), (*AT_FIRST[:3], "bf16", *AT_FIRST[4:]))}


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("case", CONTEXTS)
def test_flags_set_them_for_a_while(case, frozen):
    context, expected = CONTEXTS[case]
    if frozen:
        B.disable_global_flags()
    with context():
        assert all_of() == expected
    assert all_of() == AT_FIRST and B.flags_frozen() is frozen


@pytest.mark.parametrize("path", ["fp32_precision", "cudnn.fp32_precision", "cudnn.allow_tf32", "cudnn.benchmark",
                                  "cudnn.deterministic", "cudnn.enabled", "mkldnn.enabled", "mkldnn.fp32_precision"])
def test_frozen_switches_are_not_set(path):
    B.disable_global_flags()
    with pytest.raises(RuntimeError, match=rf"ingot\.backends\.{path} cannot be set after disable_global_flags"):
        put(path, "ieee")
    assert all_of() == AT_FIRST


@pytest.mark.parametrize("path, value, error", [
    ("fp32_precision", "half", ValueError), ("cuda.matmul.fp32_precision", "bf16", RuntimeError),
    ("cudnn.conv.fp32_precision", "bf16", RuntimeError), ("cuda.matmul.allow_tf", True, AttributeError),
    ("cudnn.conv.precision", "ieee", AttributeError)])
def test_unknown_switches_raise(path, value, error):
    with pytest.raises(error):
        put(path, value)
    assert all_of() == AT_FIRST


@pytest.mark.parametrize("arch, flags, has, lacks", [
    ("x86_64", {"pni", "avx512f", "fma", "abm"}, {"sse3", "avx512_f", "fma3", "lzcnt"}, {"avx2", "avx512_bw", "amx_tile"}),
    ("aarch64", {"asimd", "asimddp", "sve"}, {"neon", "dot", "sve"}, {"bf16", "fp16_arith"})])
def test_capabilities_of_processors(monkeypatch, arch, flags, has, lacks):
    processor = ingot.cpu
    monkeypatch.setattr(processor, "machine_arch", lambda: arch)
    monkeypatch.setattr(processor, "cpu_flags", lambda: frozenset(flags))
    found = processor.get_capabilities.__wrapped__()
    assert found["architecture"] == arch and {name for name in found if found[name] is True} == has
    assert lacks <= {name for name in found if found[name] is False}
    with pytest.raises(TypeError):
        found["avx2"] = True


def test_capabilities_of_this_processor():
    found = ingot.cpu.get_capabilities()
    assert found["architecture"] == target.machine_arch() and found is ingot.cpu.get_capabilities()
