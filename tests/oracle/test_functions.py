"""Every public function of the top level, and every method and attribute of tensors, has rows."""

import types
from functools import cache

import pytest

import ingot
from oracle import completeness

RANDOM, FREE = "its results are random", "its results are memory as it was found"
SWITCH, STATE = "a switch of the whole program", "tells the state of the program"
CALLS, PYTHON = "takes Python functions: tests of their own", "Python's own protocol, which has tests of its own"
OWN = "PyTorch does not have the name: a function with a method's name, or a method with a function's"
DEVICES, HOOK = "concerns devices", "registers what runs in the backward pass: tests/test_autograd_hooks.py"

# Names without two rows -> why.
EXEMPT = {
    **dict.fromkeys("""bernoulli binomial multinomial normal poisson rand rand_like randint randint_like randn randn_like randperm
        pca_lowrank svd_lowrank Tensor.bernoulli Tensor.bernoulli_ Tensor.cauchy_ Tensor.exponential_ Tensor.geometric_
        Tensor.log_normal_ Tensor.multinomial Tensor.normal_ Tensor.random_ Tensor.uniform_""".split(), RANDOM),
    **dict.fromkeys("""empty empty_like empty_permuted empty_strided Tensor.new Tensor.new_empty Tensor.new_empty_strided
        Tensor.resize_as_sparse_ Tensor.sparse_resize_ Tensor.sparse_resize_and_clear_""".split(), FREE),
    **dict.fromkeys("""clear_autocast_cache manual_seed seed set_autocast_cache_enabled set_autocast_cpu_dtype
        set_autocast_cpu_enabled set_autocast_dtype set_autocast_enabled set_autocast_gpu_dtype set_default_device
        set_default_dtype set_default_tensor_type set_deterministic_debug_mode set_float32_matmul_precision set_flush_denormal
        set_num_interop_threads set_num_threads set_printoptions set_rng_state set_warn_always
        use_deterministic_algorithms""".split(), SWITCH),
    **dict.fromkeys("""are_deterministic_algorithms_enabled get_autocast_cpu_dtype get_autocast_dtype get_autocast_gpu_dtype
        get_default_device get_default_dtype get_deterministic_debug_mode get_float32_matmul_precision get_num_interop_threads
        get_num_threads get_rng_state initial_seed is_anomaly_check_nan_enabled is_anomaly_enabled is_autocast_cache_enabled
        is_autocast_cpu_enabled is_autocast_enabled is_deterministic_algorithms_warn_only_enabled is_grad_enabled
        is_inference_mode_enabled is_warn_always_enabled""".split(), STATE),
    **dict.fromkeys("compile cond vmap while_loop".split(), CALLS),
    **dict.fromkeys("get_device_module Tensor.cuda Tensor.pin_memory Tensor.record_stream Tensor.share_memory_".split(), DEVICES),
    **dict.fromkeys("from_dlpack from_file frombuffer load save".split(), "concerns files, and memory of other libraries"),
    **dict.fromkeys("from_numpy Tensor.numpy".split(), "carries every row between numpy and the library"),
    **dict.fromkeys("""Tensor.backward Tensor.register_hook Tensor.register_post_accumulate_grad_hook
        Tensor.retain_grad""".split(), HOOK),
    **dict.fromkeys("Tensor.data_ptr Tensor.storage Tensor.untyped_storage".split(), "tells where memory is"),
    "Tensor.as_subclass": "takes a class of the user's",
    "native_norm": "PyTorch has its name, and no kernel on a CPU",
    "typename": "the names of types are each library's own",
    **dict.fromkeys("""absolute_ add_ addbmm_ addcdiv_ addcmul_ addmm_ addr_ angle_ arctan2_ atan2_ baddbmm_ bitwise_and_
        bitwise_left_shift_ bitwise_not_ bitwise_or_ bitwise_right_shift_ bitwise_xor_ copysign_ cumprod_ cumsum_ digamma_ div_
        divide_ eq_ erfinv_ float_power_ floor_divide_ fmax_ fmin_ fmod_ ge_ greater_ greater_equal_ gt_ heaviside_ hypot_
        igamma_ igammac_ index_add_ index_copy_ index_fill_ index_reduce_ is_autocast_available isfinite_ isinf_ isnan_
        isneginf_ isposinf_ le_ lerp_ less_ less_equal_ lgamma_ logaddexp2_ logaddexp_ logical_and_ logical_not_ logical_or_
        logical_xor_ lt_ masked_fill_ masked_scatter_ maximum_ minimum_ mul_ multi_dot multiply_ mvlgamma_ ne_ nelement
        nextafter_ not_equal_ one_hot pow_ put_ remainder_ renorm_ scatter_ scatter_add_ scatter_reduce_ sgn_ sign_ signbit_
        sub_ subtract_ tril_ triu_ true_divide_ Tensor.angle_ Tensor.bucketize Tensor.combinations Tensor.fmax_ Tensor.fmin_
        Tensor.isfinite_ Tensor.isinf_ Tensor.isnan_ Tensor.isneginf_ Tensor.isposinf_ Tensor.logaddexp2_ Tensor.logaddexp_
        Tensor.maximum_ Tensor.minimum_ Tensor.searchsorted Tensor.signbit_ Tensor.to_device""".split(), OWN),
    **dict.fromkeys("""Tensor.aval Tensor.grad Tensor.grad_fn Tensor.device Tensor.layout Tensor.is_hip Tensor.is_ipu Tensor.is_maia
        Tensor.is_mtia Tensor.is_vulkan Tensor.is_xla""".split(), "an object of the library, or a kind of device without one"),
    **{f"Tensor.__{name}__": PYTHON for name in """array array_interface array_namespace array_priority array_ufunc buffer copy
        cuda_array_interface dlpack dlpack_device format getattribute getstate hash init new reduce reduce_ex repr setattr sizeof
        str torch_function annotations dict delattr dir doc init_subclass module slots subclasshook weakref""".split()},
}
found = cache(completeness.rows)


def names() -> list[str]:
    """Return the paths of functions of the top level, and of methods and attributes of tensors."""
    functions = [n for n, v in ((n, getattr(ingot, n)) for n in dir(ingot)) if not n.startswith("_") and callable(v)
                 and not isinstance(v, (type, types.ModuleType))]
    members = [n for n in dir(ingot.Tensor) if not n.startswith("_") or n.startswith("__")]
    members = [n for n in members if not isinstance(getattr(ingot.Tensor, n), type) or n == "__class__"]
    return sorted(functions) + [f"Tensor.{n}" for n in sorted(members) if n != "__class__"]


NAMES = names()


@pytest.mark.parametrize("target", NAMES)
def test_every_function_and_method_has_two_rows(target):
    rows = len(found()[target])
    assert rows >= 2 or target in EXEMPT, f"{target} has {rows} rows"


def test_every_exemption_is_needed():
    assert not [target for target in EXEMPT if target not in NAMES]
    assert not [target for target in EXEMPT if len(found()[target]) >= 2]
