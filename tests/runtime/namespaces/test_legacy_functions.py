"""Names of older programs: windows, elementwise Python functions, Cholesky solutions, low-precision sums."""

import functools
import importlib
import pickle

import numpy as np
import pytest

import ingot
import mock_cuda
import private_names  # noqa: F401
from ingot import nn

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("name, reference", [("hann_window", np.hanning), ("hamming_window", np.hamming),
                                             ("bartlett_window", np.bartlett), ("blackman_window", np.blackman),
                                             ("kaiser_window", lambda n: np.kaiser(n, 12.0))])
@pytest.mark.parametrize("length", [0, 1, 2, 9])
def test_windows(name, reference, length):
    make = getattr(ingot, name)
    np.testing.assert_allclose(make(length, periodic=False).numpy(), reference(length), atol=1e-7)
    periodic = make(length, dtype=ingot.float64)
    assert periodic.dtype is ingot.float64
    np.testing.assert_allclose(periodic.numpy(), reference(length + 1)[:length] if length > 1 else np.ones(length), atol=1e-12)
    with pytest.raises(TypeError, match=name):
        make(4, dtype=ingot.int64)


def test_elements_go_through_python_functions():
    x = ingot.arange(6.0).reshape(2, 3)
    assert x.apply_(lambda v: 2 * v) is x
    x.map_(ingot.tensor([1.0, 2.0, 3.0]), lambda a, b: a + b)
    x.map2_(x.clone(), ingot.tensor(1.0), lambda a, b, c: a * b - c)
    np.testing.assert_array_equal(x.numpy(), (np.arange(6.0).reshape(2, 3) * 2 + [1, 2, 3]) ** 2 - 1)
    with pytest.raises(RuntimeError, match="detach"):
        ingot.ones(2, requires_grad=True).apply_(abs)
    with pytest.raises(RuntimeError):
        ingot.ones(2).map_(ingot.ones(3), max)


def test_new_takes_sizes_or_values():
    x = ingot.ones(2, dtype=ingot.float64)
    assert x.new(3, 4).shape == (3, 4) and x.new(ingot.ones(2, 5).shape).shape == (2, 5)
    assert x.new([1, 2]).tolist() == [1.0, 2.0] and x.new([1, 2]).dtype is ingot.float64


@pytest.mark.parametrize("name", ["sigmoid", "cos", "sum", "add", "relu_", "greater", "conv2d", "cat"])
def test_functions_are_pickled_by_their_names(name):
    function = getattr(ingot, name)
    assert pickle.loads(pickle.dumps(function)) is function


def test_sizes_are_integers():
    made = ingot.Size([ingot.tensor(3), 2])
    assert made == (3, 2) and type(made[0]) is int and made.numel() == 6 and type(made[:1]) is ingot.Size
    for wrong in ([2.0], ["2"], [ingot.tensor(2.0)]):
        with pytest.raises(TypeError, match="integer"):
            ingot.Size(wrong)


def test_inference_tensors_are_ordinary():
    with ingot.inference_mode():
        y = ingot.ones(2) * 2
    assert not y.is_inference() and not ingot.is_inference(y)
    (ingot.ones(2, requires_grad=True) * y).sum().backward()


@pytest.mark.parametrize("upper", [False, True])
def test_cholesky_factors_solve(upper):
    a = RNG.standard_normal((2, 4, 4))
    a = a @ a.swapaxes(-1, -2) + np.eye(4)
    b = RNG.standard_normal((2, 4, 3))
    factor = ingot.linalg.cholesky(ingot.tensor(a), upper=upper)
    np.testing.assert_allclose(ingot.cholesky_solve(ingot.tensor(b), factor, upper).numpy(), np.linalg.solve(a, b), rtol=1e-8)
    np.testing.assert_allclose(factor.cholesky_inverse(upper).numpy(), np.linalg.inv(a), rtol=1e-8)


def test_tensor_equations_and_powers():
    a = RNG.standard_normal((4, 6, 8, 3))
    np.testing.assert_allclose(ingot.linalg.tensorinv(ingot.tensor(a)).numpy(), np.linalg.tensorinv(a), rtol=1e-6)
    a, b = RNG.standard_normal((4, 3, 6, 2)), RNG.standard_normal((4, 3))
    np.testing.assert_allclose(ingot.linalg.tensorsolve(ingot.tensor(a), ingot.tensor(b)).numpy(), np.linalg.tensorsolve(a, b),
                               rtol=1e-6)
    moved = np.moveaxis(a, 3, 0)
    np.testing.assert_allclose(ingot.linalg.tensorsolve(ingot.tensor(moved), ingot.tensor(b), dims=(0,)).numpy(),
                               np.linalg.tensorsolve(moved, b, axes=(0,)), rtol=1e-6)
    x = RNG.standard_normal((2, 3))
    np.testing.assert_allclose(ingot.linalg.vander(ingot.tensor(x), 5).numpy(), x[..., None] ** np.arange(5), rtol=1e-12)
    np.testing.assert_allclose(ingot.nuclear_norm(ingot.tensor(x)).item(), np.linalg.norm(x, "nuc"))
    np.testing.assert_allclose(ingot.frobenius_norm(ingot.tensor(x), [1]).numpy(), np.linalg.norm(x, axis=1))
    for wrong in (lambda: ingot.linalg.tensorinv(ingot.ones(2, 3)),
                  lambda: ingot.linalg.tensorsolve(ingot.ones(2, 3), ingot.ones(2))):
        with pytest.raises(ValueError, match="tensor"):
            wrong()


SUMS = {"addmm": ((32, 40), (32, 50), (50, 40)), "baddbmm": ((3, 32, 40), (3, 32, 50), (3, 50, 40)),
        "addbmm": ((32, 40), (3, 32, 50), (3, 50, 40)), "addmv": ((32,), (32, 50), (50,))}


@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", SUMS)
def test_sums_of_products_in_low_precision_are_rounded_once(name, kind):
    dtype = getattr(ingot, kind)
    xs = [ingot.tensor(np.random.default_rng(i).standard_normal(s)).to(dtype) for i, s in enumerate(SUMS[name])]
    got = getattr(ingot, name)(*xs, beta=0.7, alpha=1.3)
    exact = getattr(ingot, name)(*[x.to(ingot.float64) for x in xs], beta=0.7, alpha=1.3)
    assert got.dtype is dtype
    unit = {"bfloat16": 2.0 ** -8, "float16": 2.0 ** -11}[kind]
    error = (got.to(ingot.float64) - exact).abs() / exact.abs().clamp(min=1e-2)
    assert float(error.max()) <= unit * 1.01 + 1e-4


@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
def test_linear_cross_entropy_rounds_its_gradients_once(kind):
    dtype = getattr(ingot, kind)
    rng = np.random.default_rng(1)
    given = [ingot.tensor(v).to(dtype) for v in (rng.standard_normal((64, 32)), rng.standard_normal((50, 32)) / 4)]
    target = ingot.tensor(rng.integers(0, 50, 64))

    def gradients(wide):
        leaves = [x.to(wide).clone().requires_grad_() for x in given]
        nn.functional.linear_cross_entropy(*leaves, target, reduction="sum").backward()
        return [x.grad.to(ingot.float64).numpy() for x in leaves]

    unit = {"bfloat16": 2.0 ** -8, "float16": 2.0 ** -11}[kind]
    for got, exact in zip(gradients(dtype), gradients(ingot.float64)):
        assert np.all(np.abs(got - exact) <= unit * np.abs(exact) + 2e-5)


def test_linear_cross_entropy_loss_is_a_linear_layer_and_a_loss():
    ingot.manual_seed(0)
    weight = ingot.rand(5)
    loss = nn.LinearCrossEntropyLoss(4, 5, out_features=(3,), bias=True, weight=weight, label_smoothing=0.1, ignore_index=2,
                                     options=nn.LinearCrossEntropyOptions(batch_chunk_size=2))
    x, target = ingot.randn(6, 4), ingot.tensor(RNG.integers(0, 5, (6, 3)))
    logits = loss.linear(x).reshape(6, 5, 3)
    want = nn.functional.cross_entropy(logits, target, weight, ignore_index=2, label_smoothing=0.1)
    assert loss(x, target).item() == pytest.approx(want.item(), rel=1e-6)
    assert list(loss.state_dict()) == ["weight", "linear.weight", "linear.bias"] and "num_classes=5" in repr(loss)
    for wrong in (lambda: nn.LinearCrossEntropyLoss(4, 5, weight=ingot.ones(4)),
                  lambda: nn.LinearCrossEntropyLoss(4, 5, label_smoothing=2),
                  lambda: nn.LinearCrossEntropyOptions(acc_policy="best"),
                  lambda: nn.LinearCrossEntropyOptions(chunking_method="aspect_ratio:0"),
                  lambda: nn.LinearCrossEntropyOptions(batch_chunk_size=0)):
        with pytest.raises(ValueError):
            wrong()


A = ingot.tensor([[4.0, 1.0], [1.0, 3.0]])
SPELLED = {      # a call with PyTorch's keywords, and the same by position
    "clamp_min": (lambda out: ingot.clamp_min(A, 2.0, out=out), lambda: A.clamp(min=2.0)),
    "clamp_max": (lambda out: ingot.clamp_max(A, 2.0, out=out), lambda: A.clamp(max=2.0)),
    "take": (lambda out: ingot.take(A, ingot.tensor([[3, 0]]), out=out), lambda: ingot.tensor([[3.0, 4.0]])),
    "isin": (lambda out: ingot.isin(element=A, test_element=3.0), lambda: A == 3.0),
    "tensor_split": (lambda out: ingot.tensor_split(A, tensor_indices_or_sections=ingot.tensor(2))[1], lambda: A[1:]),
    "hsplit": (lambda out: ingot.hsplit(A, sections=2)[1], lambda: A[:, 1:]),
    "vsplit": (lambda out: ingot.vsplit(A, indices=[1])[1], lambda: A[1:]),
    "cholesky_solve": (lambda out: ingot.cholesky_solve(input=A, input2=A.tril()), lambda: ingot.cholesky_solve(A, A.tril())),
    "triangular_solve": (lambda out: ingot.triangular_solve(input=A, A=A)[0], lambda: ingot.triangular_solve(A, A)[0]),
    "one_hot": (lambda out: nn.functional.one_hot(input=ingot.tensor([1]), num_classes=2), lambda: ingot.tensor([[0, 1]])),
    "as_strided_": (lambda out: ingot.as_strided_(A.clone(), (2,), (3,)), lambda: ingot.tensor([4.0, 3.0])),
}


@pytest.mark.parametrize("name", SPELLED)
def test_keywords_that_programs_use(name):
    spelled, plain = SPELLED[name]
    want = plain()
    out = ingot.empty_like(want)
    got = spelled(out)
    np.testing.assert_array_equal(got.numpy(), want.numpy())
    assert got.dtype is want.dtype and (got is out or name not in ("clamp_min", "clamp_max", "take"))


def test_isin_writes_where_it_is_asked_to():
    for tests in ([1.0, 3.0], []):
        out = ingot.ones(2, 2, dtype=ingot.bool)
        assert ingot.isin(A, ingot.tensor(tests), out=out) is out
        np.testing.assert_array_equal(out.numpy(), np.isin(A.numpy(), tests))


def test_dtypes_meet_by_name():
    assert ingot.result_type(tensor=A, other=1) is ingot.result_type(tensor=A, scalar=1) is ingot.float32


@pytest.mark.parametrize("name", ["torch.DoubleTensor", "DoubleTensor", ingot.DoubleTensor, "torch.HalfTensor"])
def test_default_types_by_old_names(name):
    try:
        ingot.set_default_tensor_type(name)
        assert ingot.ones(1).dtype is (ingot.float16 if "Half" in str(name) else ingot.float64)
    finally:
        ingot.set_default_tensor_type("torch.FloatTensor")
    assert ingot.ones(1).dtype is ingot.float32


@pytest.mark.parametrize("wrong", ["torch.LongTensor", "torch.mps.FloatTensor", "double", ingot.float64, None])
def test_default_types_that_are_none(wrong):
    with pytest.raises((TypeError, ValueError), match="default"):
        ingot.set_default_tensor_type(wrong)
    assert ingot.ones(1).dtype is ingot.float32


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("options", [{}, {"stride": 2, "padding": 1}, {"groups": 2, "dilation": 2}])
def test_gradients_of_convolutions_by_name(rank, options):
    conv = getattr(nn.functional, f"conv{rank}d")
    rng = np.random.default_rng(rank)
    x = ingot.tensor(rng.standard_normal((2, 4, *[7] * rank)), requires_grad=True)
    w = ingot.tensor(rng.standard_normal((6, 4 // options.get("groups", 1), *[3] * rank)), requires_grad=True)
    y = conv(x, w, **options)
    g = ingot.tensor(rng.standard_normal(tuple(y.shape)))
    dx, dw = ingot.autograd.grad(y, (x, w), g)
    by_input, by_weight = getattr(nn.grad, f"conv{rank}d_input"), getattr(nn.grad, f"conv{rank}d_weight")
    assert ingot.allclose(by_input(x.shape, w, g, **options), dx) and ingot.allclose(by_weight(x, w.shape, g, **options), dw)
    with pytest.raises(ValueError, match=f"conv{rank}d_input"):
        by_input((2, 3, *[7] * rank), w, g, **options)
    with pytest.raises(ValueError, match=f"conv{rank}d_weight"):
        by_weight(x, (6, 1, *[3] * rank), g, **options)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_convolutions_of_any_rank_by_one_name(rank):
    x, w, b = ingot.randn(1, 4, *[6] * rank), ingot.randn(4, 2, *[3] * rank), ingot.randn(4)
    each = [[n] * rank for n in (2, 1, 1, 0)]
    got = ingot.convolution(x, w, b, each[0], each[1], each[2], False, each[3], 2)
    assert ingot.equal(got, getattr(nn.functional, f"conv{rank}d")(x, w, b, 2, 1, 1, 2))
    got = ingot.convolution(x, w, b[:2].repeat(2), each[0], each[1], each[2], True, each[3], 2)
    assert ingot.equal(got, getattr(nn.functional, f"conv_transpose{rank}d")(x, w, b[:2].repeat(2), 2, 1, 0, 2))
    with pytest.raises(ValueError, match="3, 4 or 5"):
        ingot.convolution(x, b, None, each[0], each[1], each[2], False, each[3], 1)


@pytest.mark.parametrize(("package", "path"), [
    (ingot.distributions, "normal.Normal"), (ingot.distributions, "kl.kl_divergence"), (ingot.optim, "adamw.AdamW"),
    (ingot.utils, "tensorboard.SummaryWriter"), (ingot.utils, "data.dataloader.DataLoader"), (ingot.nn, "grad.conv2d_input")])
def test_modules_of_a_package_are_its_attributes(package, path):
    found = package
    for name in path.split("."):
        found = getattr(found, name)
    assert found.__name__ == path.rpartition(".")[2]
    with pytest.raises(AttributeError, match=r"ingot\.\S+' has no attribute 'no_such_name'"):
        package.no_such_name  # noqa: B018


@pytest.mark.parametrize(("real", "whole"), [("float16", "complex64"), ("bfloat16", "complex64"), ("float32", "complex64"),
                                             ("float64", "complex128"), ("complex128", "complex128")])
def test_complex_dtype_of_a_dtype_and_back(real, whole):
    real, whole = getattr(ingot, real), getattr(ingot, whole)
    assert real.to_complex() is whole and real.to_complex().to_real().to_complex() is whole
    assert ingot.int64.to_real() is ingot.int64 and ingot.complex64.to_real() is ingot.float32
    with pytest.raises(RuntimeError, match="int64 has no complex dtype"):
        ingot.int64.to_complex()


def test_the_processor_answers_what_programs_ask_of_devices():
    cpu = ingot.cpu
    assert cpu.is_available() and cpu.device_count() == 1 and ingot.device(cpu.current_device()) == ingot.device("cpu")
    with cpu.stream(cpu.Stream()):
        cpu.current_stream().synchronize()
    cpu.synchronize()
    with cpu.amp.autocast():
        assert (ingot.ones(2, 2) @ ingot.ones(2, 2)).dtype is ingot.bfloat16
    assert cpu.amp.GradScaler(init_scale=4.0).scale(ingot.ones(1)).item() == 4


def test_settings_of_what_is_not_there_can_be_made():
    """Programs import and fill them before they check support."""
    fsdp, wrap = importlib.import_module("ingot.distributed.fsdp"), importlib.import_module("ingot.distributed.fsdp.wrap")
    assert fsdp.MixedPrecision(param_dtype=ingot.bfloat16).param_dtype is ingot.bfloat16
    assert fsdp.FullStateDictConfig(offload_to_cpu=True, rank0_only=True).rank0_only and fsdp.CPUOffloadPolicy().pin_memory
    assert fsdp.ShardingStrategy.FULL_SHARD is not fsdp.ShardingStrategy.NO_SHARD
    assert len({*fsdp.StateDictType}) == 3 and len({*fsdp.BackwardPrefetch}) == 2
    policy = functools.partial(wrap.transformer_auto_wrap_policy, transformer_layer_cls={ingot.nn.TransformerEncoderLayer})
    assert policy(ingot.nn.Linear(1, 1), recurse=True, nonwrapped_numel=3)
    assert not policy(ingot.nn.Linear(1, 1), recurse=False, nonwrapped_numel=3)
    assert wrap.ModuleWrapPolicy([ingot.nn.Linear]).module_classes == {ingot.nn.Linear}
    for kind in (ingot.xpu, ingot.mps, ingot.mtia):
        assert not kind.is_available() and not kind.is_initialized() and kind.device_count() == 0 and not kind._is_in_bad_fork()
        assert kind.empty_cache() is None and kind.manual_seed(3) is None and kind.seed() is None
        with pytest.raises(RuntimeError, match="no accelerators but"):
            kind.synchronize()


def test_names_of_older_programs():
    net = ingot.nn.Sequential(ingot.nn.Linear(2, 2))
    net.append(net[0])
    assert len([*net.modules()]) == 2 and len([*net.modules(remove_duplicate=False)]) == 3
    assert net._call_impl.__func__ is net._wrapped_call_impl.__func__ is ingot.nn.Module.__call__
    net.set_submodule("0", ingot.nn.ReLU(), strict=True)
    with pytest.raises(AttributeError, match="no submodule"):
        net.set_submodule("7", ingot.nn.ReLU(), strict=True)
    x, target = ingot.randn(2, 3, 4, 4), ingot.randint(0, 3, (2, 4, 4))
    weight = ingot.rand(3)
    assert ingot.equal(ingot.nn.NLLLoss2d(weight)(x, target), ingot.nn.NLLLoss(weight)(x, target))
    testing = ingot.testing
    testing.assert_allclose(ingot.ones(2), [1.00001, 1])
    with pytest.raises(AssertionError):
        testing.assert_allclose(ingot.ones(2).double(), [1.001, 1])
    state = ingot.get_rng_state()
    with ingot.random.fork_rng(devices=[], device_type="cuda"):
        ingot.rand(3)
    assert ingot.equal(ingot.get_rng_state(), state)
    with ingot.autograd.profiler.profile(use_cuda=False) as found, ingot.profiler.profile(use_cuda=False):
        x.relu()
    assert len(found.function_events)
    assert importlib.import_module("ingot._tensor").Tensor is ingot.Tensor
    assert ingot.utils.deterministic.fill_uninitialized_memory
    assert issubclass(ingot.serialization.SourceChangeWarning, Warning)


def test_restoring_locations_of_files(tmp_path):
    restore = ingot.serialization.default_restore_location
    ingot.save({"a": ingot.ones(2)}, tmp_path / "a.pt")
    assert ingot.load(tmp_path / "a.pt", map_location=lambda storage, location: restore(storage, "cpu"))["a"].tolist() == [1, 1]
    with mock_cuda.installed(devices=2):
        there = ingot.load(tmp_path / "a.pt", map_location=lambda storage, location: restore(storage, "cuda:1"))
        assert there["a"].device == ingot.device("cuda:1")
        packed = ingot.nn.utils.rnn.pack_sequence([ingot.ones(1, 2), ingot.ones(3, 2)], enforce_sorted=False)
        moved = packed.cuda()
        assert moved.is_cuda and moved.sorted_indices.is_cuda and moved.unsorted_indices.is_cuda and moved.batch_sizes.is_cpu
        assert packed.to("cpu") is packed and packed.long().data.dtype is ingot.int64 and packed.int().data.dtype is ingot.int32
        whole, lengths = ingot.nn.utils.rnn.pad_packed_sequence(moved, batch_first=True)
        assert whole[0].tolist() == [[1, 1], [0, 0], [0, 0]] and lengths.tolist() == [1, 3]


def test_libraries_that_gpus_might_use_are_named():
    backend = ingot.backends.cuda
    assert backend.preferred_linalg_library("magma") == backend.preferred_blas_library() == "default"
    with pytest.raises(ValueError, match="cusolver"):
        backend.preferred_linalg_library("none")
    backend.cufft_plan_cache[0].max_size = 32
    backend.cufft_plan_cache.clear()
    backend.allow_fp16_bf16_reduction_math_sdp(True)
    assert backend.is_flash_attention_available() and not backend.fp16_bf16_reduction_math_sdp_allowed()


def test_storages_are_cast():
    storage = ingot.tensor([1.5, 2.0]).storage()
    assert storage.type() == "ingot.FloatStorage" and storage.float() is storage is storage.type(ingot.float32)
    kinds = "torch.DoubleStorage", ingot.DoubleStorage, ingot.float64
    for cast in (storage.double(), *[storage.type(kind) for kind in kinds]):
        assert cast.dtype is ingot.float64 and cast.tolist() == [1.5, 2.0] and isinstance(cast, ingot.DoubleStorage)
    assert storage.long().tolist() == [1, 2] and storage.bool().tolist() == [True, True]
    assert storage.half()[0] == 1.5 and storage.complex_float().dtype is ingot.complex64


def test_generators_tell_and_take_their_place():
    generator = ingot.Generator().manual_seed(3)
    ingot.rand(2, generator=generator)
    place, state = generator.get_offset(), generator.graphsafe_get_state()
    first = ingot.rand(5, generator=generator)
    generator.set_offset(place)
    assert ingot.equal(first, ingot.rand(5, generator=generator)) and generator.get_offset() == place + 1
    generator.manual_seed(4)
    generator.graphsafe_set_state(state)
    assert generator.initial_seed() == 3 and ingot.equal(first, ingot.rand(5, generator=generator))
    with pytest.raises(ValueError, match="get_offset"):
        generator.set_offset(-1)
    with pytest.raises(TypeError, match="takes a generator"):
        generator.graphsafe_set_state(generator.get_state())
    with pytest.raises(ingot.jit.TraceError, match="how far"):
        ingot.jit.trace(lambda x: x * generator.get_offset())(ingot.ones(1))


def test_switches_of_autocast_by_older_names():
    try:
        ingot.set_autocast_cpu_dtype(ingot.float16)
        ingot.set_autocast_cpu_enabled(True)
        assert ingot.is_autocast_cpu_enabled() and (ingot.ones(2, 2) @ ingot.ones(2, 2)).dtype is ingot.float16
    finally:
        ingot.set_autocast_cpu_enabled(False)
        ingot.set_autocast_cpu_dtype(ingot.bfloat16)
    ingot.set_autocast_gpu_dtype(ingot.bfloat16)
    assert ingot.get_autocast_gpu_dtype() is ingot.bfloat16
    ingot.set_autocast_gpu_dtype(ingot.float16)
    assert ingot.has_lapack and not ingot.has_mkl and not nn.functional.has_torch_function((ingot.ones(1), 2))


def test_models_are_put_into_the_mode_of_an_export():
    onnx = importlib.import_module("ingot.onnx")
    net = nn.Sequential(nn.Dropout(), nn.Linear(2, 2).eval())
    for mode, inside in ((onnx.TrainingMode.EVAL, [False] * 3), (onnx.TrainingMode.TRAINING, [True] * 3),
                         (onnx.TrainingMode.PRESERVE, [True, True, False])):
        with pytest.raises(KeyError), onnx.select_model_mode_for_export(net, mode):
            assert [m.training for m in net.modules()] == inside
            raise KeyError
        assert [m.training for m in net.modules()] == [True, True, False]
    with pytest.raises(ValueError, match="TrainingMode"), onnx.select_model_mode_for_export(net, False):
        pass
