"""Private names of PyTorch that libraries import: operators in `ops.aten`, futures, the build, parts of printing."""

import copy
import gc
import importlib
import threading
import time
import warnings

import numpy as np
import pytest

import ingot
import private_names  # noqa: F401
from ingot import __config__ as build
from ingot import _dynamo, _tensor_str, futures, fx, nn, optim
from ingot.distributed import optim as sharded

aten = ingot.ops.aten
X = np.arange(12.0).reshape(3, 4)

OPERATORS = {
    "add.Tensor": (lambda x: aten.add.Tensor(x, x, alpha=2), 3 * X),
    "alias": (lambda x: aten.alias(x), X),
    "cat.default": (lambda x: aten.cat.default([x, x], dim=1), np.concatenate([X, X], 1)),
    "index.Tensor": (lambda x: aten.index.Tensor(x, [None, ingot.tensor([3, 0])]), X[:, [3, 0]]),
    "mul_.Tensor": (lambda x: aten.mul_.Tensor(x, 2), 2 * X),
    "relu.default": (lambda x: aten.relu.default(x - 5), np.maximum(X - 5, 0)),
    "select.int": (lambda x: aten.select.int(x, 1, 2), X[:, 2]),
    "slice.Tensor": (lambda x: aten.slice.Tensor(x, 1, 1, 4, 2), X[:, 1:4:2]),
    "slice of the last": (lambda x: aten.slice.Tensor(x, -1, 2), X[:, 2:]),
    "sort.stable": (lambda x: aten.sort.stable(-x, stable=True, dim=1)[0], np.sort(-X)),
    "_to_copy": (lambda x: aten._to_copy.default(x, dtype=ingot.int32), X.astype(np.int32)),
    "_unsafe_view": (lambda x: aten._unsafe_view(x, [4, 3]), X.reshape(4, 3)),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_of_aten_are_functions(name):
    call, wanted = OPERATORS[name]
    got = call(ingot.tensor(X))
    np.testing.assert_array_equal(got.numpy(), wanted)
    assert got.numpy().dtype == wanted.dtype


def test_operators_of_aten_are_keys_and_say_their_names():
    assert aten.add.Tensor is aten.add.Tensor and {aten.add.Tensor: 1}[aten.add.Tensor] == 1
    assert aten.add.Tensor is not aten.add.Scalar and aten.add.Tensor.overloadpacket is aten.add
    assert aten.add.default.name() == "aten::add" and aten.add.Tensor.name() == "aten::add.Tensor"
    assert "Scalar" in aten._foreach_maximum_.overloads() and repr(aten.add).endswith("'aten.add')>")
    assert not hasattr(aten, "nothing_of_the_kind") and not hasattr(aten.add, "__wrapped__")
    x = ingot.tensor(X)
    assert aten.alias(x).data_ptr() == x.data_ptr() != aten._to_copy(x).data_ptr()


def test_futures_hand_over_results():
    first, second = futures.Future[int](), futures.Future()
    heard = []
    after = first.then(lambda f: f.value() + 1)
    first.add_done_callback(lambda f: heard.append(f.wait()))
    both = futures.collect_all([first, second])
    with pytest.raises(RuntimeError, match="no value yet"):
        first.value()
    threading.Timer(0.01, first.set_result, [1]).start()
    assert after.wait() == 2 and first.done() and not both.done()
    second.set_result("two")
    assert both.wait() == [first, second] and futures.wait_all([first, second]) == [1, "two"] and heard == [1]
    with pytest.raises(RuntimeError, match="already"):
        first.set_result(3)
    assert futures.collect_all([]).done() and ingot.Future is futures.Future


def test_futures_hand_over_exceptions():
    failed = futures.Future()
    failed.set_exception(KeyError("gone"))
    later = failed.then(lambda f: f.wait())
    for f in (failed, later):
        with pytest.raises(KeyError, match="gone"):
            f.wait()
    with pytest.raises(KeyError):
        futures.wait_all([failed])
    with pytest.raises(ValueError, match="exception"):
        futures.Future().set_exception("text")


def test_the_build_says_what_takes_part():
    assert np.__version__ in build.show() and "USE_MKL=OFF" in build.show()
    assert str(ingot.get_num_threads()) in build.parallel_info()


def test_libraries_ask_whether_something_is_compiled():
    net = nn.Linear(2, 2)
    assert isinstance(ingot.compile(net), _dynamo.OptimizedModule) and not isinstance(net, _dynamo.OptimizedModule)
    assert not _dynamo.is_compiling()
    assert importlib.import_module("ingot._dynamo.eval_frame").OptimizedModule is _dynamo.OptimizedModule
    assert fx.wrap(abs) is abs and not isinstance(net, fx.Proxy)


def test_libraries_ask_what_compile_takes():
    module = importlib.import_module("ingot._dynamo.utils")
    assert _dynamo.is_dynamo_supported() and module.is_compile_supported("cpu") and not module.is_compile_supported("meta")
    with importlib.import_module("ingot._dynamo._trace_wrapped_higher_order_op").TransformGetItemToIndex():
        rows = ingot.func.vmap(lambda i: ingot.arange(5)[i])(ingot.tensor([3, 1]))
    assert rows.tolist() == [3, 1]


def test_libraries_look_behind_samples():
    levels, seen = ingot._C._functorch, []

    def inner(x, y):
        seen.append((levels.maybe_get_level(x), levels.maybe_get_level(y), levels.maybe_current_level(),
                     levels.maybe_get_bdim(x), levels.is_batchedtensor(x), levels.get_unwrapped(y).shape,
                     levels.is_gradtrackingtensor(x)))
        return x * y

    x, y = ingot.ones(2, 3), ingot.ones(4, 3)
    ingot.vmap(lambda a: ingot.vmap(lambda b: inner(a, b))(y))(x)
    assert seen == [(1, 2, 2, 0, True, (4, 3), False)]
    assert (levels.maybe_get_level(x), levels.maybe_get_bdim(x), levels.maybe_current_level()) == (-1, -1, None)
    assert levels.get_unwrapped(x) is x and not levels.is_functorch_wrapped_tensor(x)


def test_libraries_ask_about_memory_and_modes():
    x, core = ingot.ones(3), ingot._C
    assert core._is_alias_of(x, x[1:]) and not core._is_alias_of(x, x.clone())
    assert not core._is_torch_function_mode_enabled()
    with ingot.overrides.TorchFunctionMode():
        assert core._is_torch_function_mode_enabled()
    assert importlib.import_module("ingot._guards").active_fake_mode() is None
    assert isinstance(x.untyped_storage(), ingot.StorageBase) and issubclass(nn.parameter._ParameterMeta, type(ingot.Tensor))
    assert isinstance(nn.Dropout(), importlib.import_module("ingot.nn.modules.dropout")._DropoutNd)
    kinds = importlib.import_module("ingot.distributions.kl")._KL_REGISTRY
    assert (ingot.distributions.Normal, ingot.distributions.Normal) in kinds
    wrapper = importlib.import_module("ingot.utils._python_dispatch").is_traceable_wrapper_subclass
    assert not wrapper(x)


def test_libraries_ask_for_named_tuples_of_c():
    is_struct = importlib.import_module("ingot.utils._pytree").is_structseq_instance
    assert is_struct(time.localtime()) and not is_struct(ingot.ones(2).max(0)) and not is_struct((1, 2))


def test_libraries_look_for_an_accelerator():
    parts = importlib.import_module("ingot._utils")
    found = parts._get_available_device_type()
    assert (found is not None) is ingot.accelerator.is_available() and parts._get_device_module("cuda") is ingot.cuda
    with pytest.raises(RuntimeError, match="only about cpu, cuda"):
        parts._get_device_module("linalg")


def test_seeds_of_workers_are_those_of_pytorch():
    made = importlib.import_module("ingot.utils.data._utils.worker")._generate_state
    assert made(1234567890123, 3) == [911343142, 720453872, 3335628216, 1002736992]


def test_tensors_and_children_are_exchanged():
    places = importlib.import_module("ingot.nn.utils._named_member_accessor")
    net, other = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)), ingot.zeros(2, 2)
    weight = net[0].weight
    assert places.swap_tensor(net[0], "weight", other) is weight and net[0]._parameters["weight"] is other
    assert places.swap_tensor(net[0], "weight", places._MISSING) is other and "weight" not in net[0]._parameters
    assert places.swap_tensor(net[1], "running_mean", other[0]).tolist() == [0, 0] and net[1].running_mean.shape == (2,)
    assert places.swap_tensor(net, "extra", other, allow_missing=True) is places._MISSING and net.extra is other
    assert places.swap_submodule(net, "0", nn.ReLU()).bias is not None and type(net[0]) is nn.ReLU
    for error, call in ((AttributeError, lambda: places.swap_tensor(net, "gone", other)),
                        (KeyError, lambda: places.swap_tensor(net, "1.weight", other)),
                        (TypeError, lambda: places.swap_tensor(net, "extra", 3)),
                        (TypeError, lambda: places.swap_tensor(net, "training", other)),
                        (AttributeError, lambda: places.swap_submodule(net, "gone", nn.ReLU())),
                        (TypeError, lambda: places.swap_submodule(net, "0", other))):
        with pytest.raises(error):
            call()


class Depth(importlib.import_module("ingot.utils._contextlib")._NoParamDecoratorContextManager):
    now = 0

    def __enter__(self):
        Depth.now += 1

    def __exit__(self, *error):
        Depth.now -= 1


def test_context_managers_decorate_functions_and_generators():
    @Depth
    def steps():
        try:
            heard = yield Depth.now
            yield heard, Depth.now
        except KeyError:
            yield "caught", Depth.now
        return Depth.now

    @Depth()
    def whole():
        return Depth.now

    run = steps()
    assert next(run) == 1 and Depth.now == 0 and run.send("said") == ("said", 1) and whole() == 1
    assert run.throw(KeyError()) == ("caught", 1)
    with pytest.raises(StopIteration) as end:
        next(run)
    assert end.value.value == 1 and Depth.now == 0
    closed = steps()
    next(closed)
    closed.close()
    assert Depth.now == 0


def test_libraries_ask_whether_values_can_be_read():
    seen, active = [], ingot._C._are_functorch_transforms_active
    ingot.func.vmap(lambda x: seen.append(active()) or x)(ingot.ones(2))
    assert seen == [True] and not active()
    assert importlib.import_module("ingot.fx.experimental.proxy_tensor").get_proxy_mode() is None
    assert not importlib.import_module("ingot._subclasses.fake_tensor").is_fake(ingot.ones(1, device="meta"))
    assert importlib.import_module("ingot._guards").active_fake_mode() is None


def test_placements_have_a_module_of_their_own():
    kinds = importlib.import_module("ingot.distributed.tensor.placement_types")
    assert kinds._StridedShard(1, split_factor=2).is_shard(1) and kinds.Shard is ingot.distributed.tensor.Shard


def test_optimizers_that_share_state_are_looked_for():
    assert not isinstance(optim.SGD([ingot.ones(1, requires_grad=True)]), sharded.ZeroRedundancyOptimizer)
    with pytest.raises(ValueError, match="init_process_group"):
        sharded.ZeroRedundancyOptimizer([ingot.ones(1)], optim.SGD, lr=0.1)


REFUSED = [("utils.cpp_extension", "load", "library.custom_op"), ("utils.cpp_extension", "load_inline", "jit.trace"),
           ("utils.cpp_extension", "CUDAExtension", "library.custom_op"),
           ("utils.cpp_extension", "BuildExtension", "library.custom_op"), ("serialization", "PyTorchFileReader", "mmap=True")]


@pytest.mark.parametrize("path, name, instead", REFUSED, ids=lambda v: v)
def test_missing_names_say_what_to_use_instead(path, name, instead):
    thing = getattr(importlib.import_module(f"ingot.{path}"), name)
    assert not isinstance(thing, type) or not isinstance(nn.Linear(2, 2), thing)
    with pytest.raises(RuntimeError, match=instead) as failed:
        thing(nn.Linear(2, 2))
    assert isinstance(failed.value, ingot.IngotError)


def test_script_functions_at_the_top_level():
    assert ingot.ScriptModule is ingot.jit.ScriptModule and ingot.PyTorchFileReader is ingot.serialization.PyTorchFileReader
    assert ingot.TensorType is ingot.types.TensorType and ingot.DeviceObjType is ingot.types.DeviceObjType


PARSED = [(("cpu",), {}, (ingot.device("cpu"), None, False, None)), ((ingot.float16,), {}, (None, ingot.float16, False, None)),
          ((ingot.ones(1, dtype=ingot.float64),), {}, (ingot.device("cpu"), ingot.float64, False, None)),
          (("cpu", ingot.half, True), {}, (ingot.device("cpu"), ingot.half, True, None)),
          ((), {"dtype": ingot.half, "non_blocking": True, "memory_format": ingot.channels_last},
           (None, ingot.half, True, ingot.channels_last))]


@pytest.mark.parametrize("args, options, want", PARSED)
def test_arguments_of_module_to(args, options, want):
    assert ingot._C._nn._parse_to(*args, **options) == want


def test_compiler_annotations_are_accepted():
    x = ingot.ones(3)
    for note in (_dynamo.mark_dynamic, _dynamo.maybe_mark_dynamic, _dynamo.mark_static, _dynamo.mark_unbacked):
        assert note(x, 0) is None
    assert _dynamo.mark_static_address(x) is None


def test_compiler_marks_and_frontends():
    x = ingot.ones(3)
    for mark in (_dynamo.assume_constant_result, _dynamo.disallow_in_graph, _dynamo.forbid_in_graph, _dynamo.nonstrict_trace):
        assert mark(test_helpers_of_printing) is test_helpers_of_printing
    for front in (_dynamo.optimize("inductor", nopython=True), _dynamo.optimize_assert()):
        assert front(lambda x: x * 2)(x).tolist() == [2.0] * 3
    with _dynamo.error_on_graph_break(False), _dynamo.patch_dynamo_config(recompile_limit=3):
        assert _dynamo.config.recompile_limit == 3
    _dynamo.config.reorderable_logging_functions.add(print)
    _dynamo.config.reorderable_logging_functions.clear()
    assert _dynamo.config.automatic_dynamic_shapes and not _dynamo.config.fail_on_recompile_limit_hit


def test_a_second_recording_is_an_error_on_request():
    traced = ingot.compile(lambda x, n: x * n if x.shape[0] > 2 else x)
    x = ingot.ones(3)
    with _dynamo.config.patch(error_on_recompile=True):
        assert traced(x, 2).tolist() == traced(x + 0, 2).tolist() == [2.0] * 3
        with pytest.raises(ingot.jit.TraceError, match=r"would be recorded again: .*error_on_recompile"):
            traced(ingot.ones(2), 2)
        assert traced(x, 2).tolist() == [2.0] * 3
    assert traced(ingot.ones(2), 2).tolist() == [1.0] * 2 and not _dynamo.config.error_on_recompile


def test_errors_and_warnings_of_traces_are_caught_and_filtered_by_name():
    jit = ingot.jit
    assert jit.Error is jit.TraceError and issubclass(jit.TracingCheckError, jit.Error)
    jit.TracerWarning.ignore_lib_warnings()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", category=jit.TracerWarning)
        warnings.warn("a trace", jit.TracerWarning, stacklevel=1)
    assert ingot.torch is ingot and nn.modules.module._EXTRA_STATE_KEY_SUFFIX == "_extra_state"


def test_dictionaries_by_identity_that_keep_no_tensor():
    weak = ingot.utils.weak
    a, b = ingot.ones(2), ingot.ones(2)
    for kind in (weak.WeakIdKeyDictionary, weak.WeakTensorKeyDictionary):
        table = kind({a: [1], b: 2})
        assert table[a] == [1] and table[b] == 2 and len(table) == 2 and {*map(id, table)} == {id(a), id(b)}
        deep, flat = copy.deepcopy(table), copy.copy(table)
        assert deep[a] == [1] and deep[a] is not table[a] and flat[a] is table[a] and a in deep and 3 not in deep
        del table[a], b
        gc.collect()
        assert len(table) == 0 and len(deep) == len(flat) == 1 and flat.keyrefs()[0]() is a
        with pytest.raises(KeyError):
            table[a]
        b = ingot.ones(2)
    first, second, other = weak.WeakIdRef(a), weak.WeakIdRef(a), weak.WeakIdRef(b)
    assert first == second and hash(first) == hash(second) and first != other
    of_tensor = weak.TensorWeakRef(a)
    assert of_tensor() is a
    del a
    gc.collect()
    assert of_tensor() is None and first != second and first == first
    with pytest.raises(TypeError):
        weak.TensorWeakRef(3)


def test_helpers_of_printing():
    x = ingot.tensor([[1.5, 2.0], [3.0, 4.0]])
    assert _tensor_str._tensor_str(x, 2) == "[[1.5000, 2.0000],\n   [3.0000, 4.0000]]"
    assert _tensor_str._add_suffixes("Own(", ["size=3", "n=2"], 4, False) == "Own(, size=3, n=2)"
    assert _tensor_str._add_suffixes("Own(1", ["size=3"], 4, force_newline=True) == "Own(1,\n    size=3)"
    assert _tensor_str.PRINT_OPTS.threshold == 1000


class Counting(nn.ModuleDict):
    """A ModuleDict with an update() that must not run before its own __init__."""

    def __init__(self, modules):
        super().__init__()
        self.updates = 0
        self.update(modules)

    def update(self, modules):
        self.updates += 1
        super().update(modules)


def test_containers_made_of_nothing_call_no_method_of_the_users():
    assert Counting({"a": nn.ReLU()}).updates == 1
    for kind, method in ((nn.ModuleList, "extend"), (nn.ParameterList, "extend"), (nn.ParameterDict, "update")):
        made = type("Own", (kind,), {method: lambda self, values: 1 / 0})()
        assert len(made) == 0


def test_initialisers_by_the_names_behind_them():
    weight = nn.Parameter(ingot.zeros(5))
    nn.init._no_grad_uniform_(weight, 2.0, 3.0)
    assert (weight >= 2).all() and (weight < 3).all() and weight.is_leaf
    assert nn.init._no_grad_fill_(weight, 4.0).tolist() == [4.0] * 5 and not nn.init._no_grad_zero_(weight).any()


# Switches of PyTorch's compiler.


@pytest.mark.parametrize("path", ["_dynamo", "_inductor"])
def test_switches_of_the_compiler_are_accepted(path):
    module, config = importlib.import_module(f"ingot.{path}"), importlib.import_module(f"ingot.{path}.config")
    assert module.config is config and getattr(ingot, path).config is config
    before, config.cache_size_limit = config.cache_size_limit, 64
    config.triton.cudagraphs = config.of_a_later_version = True
    assert config.cache_size_limit == 64 and config.triton.cudagraphs and not config.suppress_errors

    @config.patch({"triton.cudagraphs": False, "suppress_errors": True}, new_one=3)
    def inside():
        return config.triton.cudagraphs, config.suppress_errors, config.new_one

    assert inside() == (False, True, 3)
    with config.patch("verbose", True), pytest.raises(ValueError):
        assert config.verbose
        raise ValueError
    assert config.triton.cudagraphs and not config.verbose and not hasattr(config, "new_one")
    with pytest.raises(ValueError, match="error_on_recompile"):
        config.fail_on_recompile_limit_hit = True
    config.cache_size_limit = before
    del config.of_a_later_version, config.triton.cudagraphs
