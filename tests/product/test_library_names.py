"""Names that libraries import: protocols of classes, handles, windows, timers, model files, older compilers, control flow."""

import importlib
import io
import pickle
import subprocess
import sys
from contextlib import redirect_stdout

import numpy as np
import pytest

import ingot
import private_names  # noqa: F401
from ingot import hub, jit, nn, overrides, types
from ingot.nn.attention.bias import CausalBias, CausalVariant, causal_lower_right, causal_upper_left
from ingot.nn.modules import utils as tuples
from ingot.signal import windows
from ingot.utils import benchmark, hooks, model_zoo
from ingot.utils.checkpoint import (
    check_backward_validity,
    checkpoint,
    detach_variable,
    get_device_states,
    set_checkpoint_debug_enabled,
    set_checkpoint_early_stop,
    set_device_states,
)
from side_by_side import plain, vec

# Windows.

OPTIONS = {"general_cosine": {"a": [0.3, 0.4, 0.5]}, "gaussian": {"std": 2.0}, "exponential": {"tau": 2.0},
           "kaiser": {"beta": 7.0}, "general_hamming": {"alpha": 0.6}}
BY_NUMPY = {"hann": np.hanning, "hamming": np.hamming, "bartlett": np.bartlett, "blackman": np.blackman,
            "kaiser": lambda n: np.kaiser(n, 7.0)}


@pytest.mark.parametrize("name", windows.__all__)
def test_windows_are_symmetric_and_the_periodic_ones_a_part(name):
    make = getattr(windows, name)
    for size in (0, 1, 2, 7, 8):
        w = make(size, dtype=ingot.float64, **OPTIONS.get(name, {})).numpy()
        np.testing.assert_allclose(w, w[::-1], atol=1e-12)
        if name in BY_NUMPY:
            np.testing.assert_allclose(w, BY_NUMPY[name](size), atol=1e-12)
        if size > 1:
            part = make(size - 1, sym=False, dtype=ingot.float64, **OPTIONS.get(name, {})).numpy()
            np.testing.assert_allclose(part, w[:-1] if size > 2 else np.ones(1), atol=1e-12)
    assert make(3, requires_grad=True, **OPTIONS.get(name, {})).requires_grad
    with pytest.raises(TypeError, match="floating"):
        make(3, dtype=ingot.int64, **OPTIONS.get(name, {}))
    with pytest.raises(ValueError, match="points"):
        make(-1, **OPTIONS.get(name, {}))


# Names of absent features.


@pytest.mark.parametrize("name", ["complex32", "chalf", "qint8", "quint8", "qint32", "quint4x2", "int4", "uint1", "uint7",
                                  "float8_e8m0fnu", "float8_e5m2fnuz", "float4_e2m1fn_x2"])
def test_dtypes_that_no_tensor_has(name):
    d = getattr(ingot, name)
    assert pickle.loads(pickle.dumps(d)) is d and repr(d).startswith("ingot.") and d != ingot.complex64
    assert isinstance(d, ingot.dtype) and d.itemsize == (4 if name in ("complex32", "chalf", "qint32") else 1)
    assert (d.is_complex, d.is_floating_point) == (name in ("complex32", "chalf"), name.startswith("float"))
    for make in (lambda: ingot.ones(2, dtype=d), lambda: ingot.ones(2).to(d)):
        with pytest.raises(TypeError, match=f"no tensor of ingot is of {str(d).removeprefix('ingot.')}; use"):
            make()


def test_tensors_that_are_shared_out_can_be_asked_for():
    from ingot.distributed import device_mesh
    from ingot.distributed import tensor as shared
    assert not isinstance(ingot.ones(2), shared.DTensor) and device_mesh.DeviceMesh is shared.DeviceMesh
    one = shared.Shard(1)
    assert one == shared.Shard(1) != shared.Shard(0) and one.is_shard(1) and not one.is_shard(0)
    assert shared.Replicate().is_replicate() and shared.Partial().is_partial() and shared.Partial().reduce_op == "sum"


# User classes that stand for tensors.


class Logged:
    """A class that handles functions."""

    known = True

    def __init__(self, x):
        self.x = x

    @classmethod
    def __torch_function__(cls, func, kinds, args=(), kwargs=None):
        if not cls.known:
            return NotImplemented
        return cls.__name__, func(*[a.x if isinstance(a, Logged) else a for a in args], **(kwargs or {}))


class Finer(Logged):
    pass


@overrides.wrap_torch_function(lambda a, b: (a, b))
def added(a, b):
    """Add two values."""
    return a + b


def test_functions_hand_over_to_classes_that_ask_for_it():
    x = ingot.ones(2)
    assert not overrides.has_torch_function((x, 1, None)) and overrides.has_torch_function_unary(Logged(x))
    assert overrides.is_tensor_like(x) and overrides.is_tensor_like(Logged(x)) and not overrides.is_tensor_like([1])
    assert added(x, x).tolist() == [2.0, 2.0]
    assert added(Logged(x), x)[0] == "Logged" and added(Logged(x), Finer(x))[0] == "Finer"
    Logged.known = False
    try:
        with pytest.raises(TypeError, match="added"):
            added(Logged(x), x)
    finally:
        Logged.known = True


# Handles, tuples, types.


def test_handles_over_tables_of_libraries():
    table, others = {}, [{}, {}]
    handle = hooks.RemovableHandle(table, extra_dict=others)
    table[handle.id] = others[0][handle.id] = len
    with handle:
        assert table
    assert not table and not others[0]
    handle.remove()
    assert hooks.unserializable_hook(added) is added


def test_arguments_for_each_dimension():
    assert tuples._pair(3) == (3, 3) and tuples._triple((1, 2, 3)) == (1, 2, 3) and tuples._single([5]) == (5,)
    assert tuples._reverse_repeat_tuple((1, 2), 2) == (2, 2, 1, 1)
    assert tuples._list_with_default((None, 4), [7, 8, 9]) == [8, 4]
    state = nn.Linear(2, 1).state_dict(prefix="module.")
    tuples.consume_prefix_in_state_dict_if_present(state, "module.")
    assert list(state) == ["weight", "bias"]


def test_layouts_are_names_of_a_type():
    assert isinstance(ingot.strided, ingot.layout) and ingot.ones(2).layout is ingot.strided
    assert ingot.ones(2).to_sparse().layout == ingot.sparse_coo != ingot.sparse_csr
    assert repr(ingot.sparse_csc) == "ingot.sparse_csc" and types._layout is ingot.layout
    traced = jit.trace(lambda x: x * 2 if x.layout == ingot.strided else x)
    assert plain(traced(vec())) == plain(traced(vec())) == plain(vec() * 2)


# Timers.


def test_a_timer_measures_and_tables_compare():
    now = [0.0]

    def work():
        now[0] += 2.0 ** -13

    timer = benchmark.Timer("f()", globals={"f": work}, timer=lambda: now[0], label="call", sub_label="f", description="now")
    once = timer.timeit(10)
    assert once.number_per_run == 10 and once.median == once.mean == 2.0 ** -13 and once.iqr == 0.0
    more = timer.blocked_autorange(min_run_time=0.02)
    assert 0.02 <= sum(more.raw_times) < 0.03 and more.num_threads == 1
    measurement = timer.adaptive_autorange(min_run_time=0.01)
    assert measurement.iqr == 0.0 and not measurement.has_warnings and sum(measurement.raw_times) < 0.02
    other = benchmark.Measurement(1, [2e-4], "g()", label="call", sub_label="g", description="then")
    both = benchmark.Measurement.merge([once, once, other])
    assert [len(m.times) for m in both] == [2, 1] and "Median: 122.07 us" in repr(both[0])
    table = benchmark.Compare([once, other])
    table.trim_significant_figures()
    printed = io.StringIO()
    with redirect_stdout(printed):
        table.print()
    rows = printed.getvalue().splitlines()
    assert "call" in rows[0] and "now" in rows[1] and rows[3].split("|")[1].strip() == "122" and "microseconds" in rows[-1]
    with pytest.raises(ValueError, match="text"):
        benchmark.Timer(lambda: None)
    with pytest.raises(ValueError, match="language"):
        benchmark.Timer("x", language="c++")


# Model files.


def test_weights_are_taken_from_where_a_download_would_put_them(tmp_path, monkeypatch):
    assert hub._folder.peek() is None
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    assert hub.get_dir() == str(tmp_path / "hub")
    url = "https://example.org/models/net-1234.safetensors?x=1"
    with pytest.raises(RuntimeError, match=r"net-1234\.safetensors"):
        model_zoo.load_url(url)
    (tmp_path / "hub" / "checkpoints").mkdir(parents=True)
    ingot.save({"w": ingot.ones(2)}, tmp_path / "hub" / "checkpoints" / "net-1234.safetensors")
    assert hub.load_state_dict_from_url(url, map_location="cpu")["w"].tolist() == [1.0, 1.0]
    (tmp_path / "hubconf.py").write_text('def small(n=2):\n    "A small one."\n    return ["net", n]\n')
    assert hub.load(tmp_path, "small", 3, source="local") == ["net", 3]
    assert hub.list(tmp_path) == ["small"] and hub.help(tmp_path, "small") == "A small one."
    for wrong, message in ((lambda: hub.load("pytorch/vision", "resnet18"), "clone"),
                        (lambda: hub.load(tmp_path, "large", source="local"), "large"),
                        (lambda: hub.download_url_to_file(url, "x"), "downloads nothing")):
        with pytest.raises((ValueError, RuntimeError), match=message):
            wrong()
    assert sum(hub.tqdm(range(4), disable=True)) == 6 and sum(hub._Quiet(range(4))) == 6


# Modules, checks, formats and states.


def is_module_class(x):
    return isinstance(x, type) and issubclass(x, nn.Module)


@pytest.mark.parametrize("name", [n for n in dir(nn) if is_module_class(getattr(nn, n)) and n not in ("DataParallel",
                                                                                                    "SyncBatchNorm")])
def test_every_module_class_is_in_nn_modules(name):
    assert getattr(nn.modules, name) is getattr(nn, name)


@pytest.mark.parametrize(("check", "kind"), [("_check", RuntimeError), ("_check_index", IndexError),
                                             ("_check_value", ValueError), ("_check_type", TypeError),
                                             ("_check_not_implemented", NotImplementedError)])
def test_checks_raise_what_they_are_named_for(check, kind):
    getattr(ingot, check)(True, lambda: 1 / 0)
    with pytest.raises(kind, match="because of 3"):
        getattr(ingot, check)(False, lambda: "because of 3")
    with pytest.raises(kind, match="did not hold"):
        getattr(ingot, check)(False)


def test_checks_of_tensors_and_sizes():
    ingot._check_tensor_all(ingot.tensor([True, True]))
    ingot._check_is_size(3)
    ingot._assert_async(ingot.tensor(True))
    ingot._check_with(KeyError, True)
    ingot._check_tensor_all_with(KeyError, ingot.tensor([True, True]))
    for call in (lambda: ingot._check_with(KeyError, 1 > 2, lambda: "less"),
                 lambda: ingot._check_tensor_all_with(KeyError, ingot.tensor([True, False]), "less")):
        with pytest.raises(KeyError, match="less"):
            call()
    for call in (lambda: ingot._check_tensor_all(ingot.tensor([True, False])), lambda: ingot._check_is_size(-1),
                 lambda: ingot._check_is_size(4, max=3), lambda: ingot._assert_async(ingot.tensor(False))):
        with pytest.raises(RuntimeError):
            call()
    assert ingot._shape_as_tensor(ingot.ones(2, 3)).tolist() == [2, 3]


@pytest.mark.parametrize("dim, dtype", [(-1, ingot.float32), (0, ingot.float64), (1, ingot.bfloat16)])
def test_the_gradient_of_softmax_from_its_result(dim, dtype):
    x, grad = ingot.randn(3, 4, requires_grad=True), ingot.randn(3, 4)
    y = ingot.softmax(x, dim)
    y.backward(grad)
    made = ingot._softmax_backward_data(grad, y.detach(), dim, dtype)
    assert made.dtype is dtype and ingot.allclose(made.float(), x.grad, atol=1e-2 if dtype is ingot.bfloat16 else 1e-6)


def test_the_gradient_of_softmax_of_one_number():
    made = ingot._softmax_backward_data(ingot.tensor(3.0), ingot.tensor(1.0), -1, ingot.float64)
    assert made.item() == 0 and made.dtype is ingot.float64 and made.shape == ()


def test_formats_go_by_their_older_names():
    assert ingot.legacy_contiguous_format is ingot.contiguous_format


def test_random_state_of_devices_that_are_not_there():
    states = ingot.cuda.get_rng_state_all()
    ingot.cuda.set_rng_state_all(states)
    state = ingot.cuda.get_rng_state()
    first = ingot.rand(3)
    ingot.cuda.set_rng_state(state)
    assert ingot.equal(ingot.rand(3), first)


def test_symbols_are_plain_numbers_outside_of_recordings():
    assert not isinstance(ingot.ones(2).shape[0], ingot.SymInt) and not isinstance(True, ingot.SymBool)
    assert (ingot.sym_int(2.7), ingot.sym_float(2), ingot.sym_max(1, 2), ingot.sym_min(1, 2), ingot.sym_not(False),
            ingot.sym_ite(False, 1, 2), ingot.sym_sqrt(4), ingot.sym_sum([1, 2])) == (2, 2.0, 2, 1, True, 2, 2.0, 3)
    traced = jit.trace(lambda x: x * ingot.sym_max(x.shape[0], 2) + ingot.sym_float(x.shape[0]), dynamic=True)
    for n in (3, 4, 5):
        assert traced(ingot.ones(n)).tolist() == [n + float(n)] * n


# Devices and what libraries of modules build on.


def test_lists_are_grouped_by_what_their_first_holds():
    from ingot.utils import _foreach_utils
    a, b, c = ingot.ones(2), ingot.ones(3, dtype=ingot.float64), ingot.zeros(1)
    found = _foreach_utils._group_tensors_by_device_and_dtype([[a, b, c], [1, 2, 3], []], with_indices=True)
    assert list(found) == [(a.device, a.dtype), (b.device, b.dtype)]
    (first, *more), places = found[a.device, a.dtype]
    assert first[0] is a and first[1] is c and more == [[1, 3], []] and places == [0, 2]
    assert not _foreach_utils._device_has_foreach_support(a.device)


def test_functions_by_the_module_that_lists_them():
    assert all(getattr(ingot.functional, name) is getattr(ingot, name) for name in ingot.functional.__all__)


def test_modules_of_devices():
    assert ingot.get_device_module("cpu") is ingot.get_device_module(ingot.device("cpu")) is ingot.cpu
    assert ingot.get_device_module("cuda:0") is ingot.cuda and ingot.Stream is ingot.cuda.Stream
    assert ingot.GradScaler is ingot.amp.GradScaler and not ingot.ones(1).is_xla
    with pytest.raises(RuntimeError, match="mps"):
        ingot.get_device_module("mps")


@pytest.mark.parametrize(("path", "names"), [
    ("nn.common_types", "_size_2_t _size_any_opt_t _ratio_3_t"), ("nn.modules.module", "_addindent"),
    ("nn.modules.batchnorm", "_NormBase _BatchNorm"), ("nn.modules.transformer", "_get_clones _get_activation_fn"),
    ("autograd.function", "InplaceFunction"), ("autograd.anomaly_mode", "detect_anomaly set_detect_anomaly"),
    ("utils.data._utils.collate", "collate_tensor_fn collate_numpy_array_fn collate_str_fn"),
    ("nn.utils.memory_format", "convert_conv2d_weight_memory_format"), ("storage", "TypedStorage UntypedStorage"),
    ("functional", "einsum split pca_lowrank"), ("types", "TensorType"), ("distributed.constants", "default_pg_timeout"),
    ("utils.data.dataloader", "_collate_fn_t _worker_init_fn_t"), ("distributed._tensor", "DTensor Shard"),
    ("distributed._composable.fsdp", "FSDPModule fully_shard"), ("_C", "_TensorMeta Graph Value"),
    ("distributions.multivariate_normal", "_precision_to_scale_tril"),
    ("distributed._tensor.experimental", "implicit_replication"), ("distributions.transforms", "_clipped_sigmoid"),
    ("utils.checkpoint", "detach_variable set_checkpoint_early_stop set_checkpoint_debug_enabled")])
def test_paths_that_libraries_import_from(path, names):
    module = importlib.import_module(f"ingot.{path}")
    assert all(hasattr(module, name) for name in names.split())


def test_weights_of_convolutions_in_another_order():
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Linear(2, 2), nn.ConvTranspose2d(4, 5, 2))
    before, x = net[0].weight, ingot.randn(1, 3, 6, 6)
    want = net[0](x)
    assert nn.utils.convert_conv2d_weight_memory_format(net, ingot.channels_last) is net
    assert net[0].weight is before and net[2].weight.is_contiguous(memory_format=ingot.channels_last)
    assert ingot.equal(net[0](x), want)


def test_states_and_leaves_of_a_checkpoint():
    x = ingot.ones(2, requires_grad=True)
    y, n = detach_variable((x * 2, 3))
    assert y.is_leaf and y.requires_grad and n == 3 and not detach_variable((x.detach(),))[0].requires_grad
    assert get_device_states(x, [x], 3) == ([], [])
    set_device_states([], [])
    with pytest.warns(UserWarning, match="no input requires grad"):
        check_backward_validity([x.detach()])
    with set_checkpoint_early_stop(False), set_checkpoint_debug_enabled(True):
        checkpoint(ingot.exp, x, use_reentrant=False).sum().backward()
    assert ingot.allclose(x.grad, x.exp())


# Causal masks.


@pytest.mark.parametrize(("queries", "keys"), [(3, 5), (4, 4), (5, 3)])
@pytest.mark.filterwarnings("ignore:of 5 queries")
def test_causal_masks_go_through_a_corner(queries, keys):
    q, k, v = (ingot.randn(2, n, 4, dtype=ingot.float64) for n in (queries, keys, keys))
    upper, lower = causal_upper_left(queries, keys), causal_lower_right(queries, keys)
    attend = nn.functional.scaled_dot_product_attention
    np.testing.assert_allclose(attend(q, k, v, attn_mask=upper).numpy(), attend(q, k, v, is_causal=True).numpy())
    np.testing.assert_array_equal(lower.numpy(), np.tril(np.ones((queries, keys), bool), keys - queries))
    assert (upper.variant, lower.variant) == (CausalVariant.UPPER_LEFT, CausalVariant.LOWER_RIGHT)
    assert (lower.seq_len_q, lower.seq_len_kv) == (queries, keys) and isinstance(lower, CausalBias)
    assert type(lower._materialize()) is ingot.Tensor


def test_a_causal_mask_that_hides_all_keys_warns():
    with pytest.warns(UserWarning, match="first 2 queries"):
        causal_lower_right(5, 3)
    with pytest.raises(ValueError, match="numbers of queries and of keys"):
        causal_upper_left(3)
    with pytest.raises(ValueError, match="CausalVariant"):
        CausalBias(1, 2, 3)


# Threads of backward, and what programs replace.


def test_backward_has_no_threads_of_its_own():
    with ingot.autograd.set_multithreading_enabled(False):
        assert not ingot.autograd.is_multithreading_enabled()
    assert ingot.get_device(ingot.ones(1)) == -1 == ingot.ones(1).get_device()


def test_functions_that_a_program_replaces_stay_replaced(monkeypatch):
    monkeypatch.setattr(ingot, "randn", lambda *shape: "mine")
    monkeypatch.delitem(vars(ingot), "cholesky_inverse", raising=False)
    assert callable(ingot.cholesky_inverse) and ingot.randn(2) == "mine"


PATCHED = """
import ingot
from ingot.runtime.api import LateMethod
{before}
names = ("uniform_", "sort", "relu_", "transpose_", "squeeze_", "values", "repeat", "neg")
there = {{name: vars(ingot.Tensor)[name] for name in names}}
for name in names:
    setattr(ingot.Tensor, name, lambda self, *args, name=name: name)
ingot.ones(2, 2).mode(), ingot.nn.init.zeros_(ingot.ones(2)), ingot.ones(2).normal_()
for name, member in there.items():
    assert getattr(ingot.ones(1), name)(0, 0) == name == getattr(ingot.Tensor, name)(ingot.ones(1))
    setattr(ingot.Tensor, name, member)                 # as mock.patch.object does
    assert getattr(ingot.Tensor, name).__name__ == name and type(vars(ingot.Tensor)[name]) is not LateMethod
assert ingot.ones(1, 2).squeeze_().sort().values.repeat(2).shape == (4,)
"""


@pytest.mark.parametrize("before",
                         ["", "ingot.ones(2).sort()",
                          "import ingot.runtime.api.random.inplace_random, ingot.runtime.api.views.storage_views"])
def test_methods_that_a_program_replaces_stay_replaced(before):
    subprocess.run([sys.executable, "-c", PATCHED.format(before=before)], check=True, timeout=120)


def test_a_class_made_without_a_module():
    made = {"nn": nn}
    exec("class Same(nn.Module):\n    def forward(self, x):\n        return x", made)
    assert made["Same"]()(3) == 3


def test_contexts_of_streams_and_older_names():
    for device in (ingot.cuda, ingot.cpu):
        with device.StreamContext(None) as stream:
            assert stream is None
    assert not ingot.cuda._initialized or ingot.cuda.is_available()
    assert ingot._C.default_generator is ingot.default_generator and ingot._C.Generator is ingot.Generator
    assert isinstance(ingot.ones(1), ingot._C.TensorBase)
    assert issubclass(nn.UninitializedParameter, nn.parameter.UninitializedTensorMixin)
    assert ingot.dsmm(ingot.eye(2).to_sparse(), ingot.ones(2, 3)).equal(ingot.ones(2, 3))


def test_a_function_stays_when_the_file_of_its_name_is_imported():
    program = "import ingot.nn.utils.weight_norm as file; import ingot; assert callable(ingot.nn.utils.weight_norm)"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
