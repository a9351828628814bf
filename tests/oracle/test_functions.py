"""Every public function of the top level, and every method and attribute of tensors, has rows."""

import types

import ingot
from ingot.runtime.api.tensor_classes.absent_methods import INSTEAD
from oracle import completeness

# Why names have no two rows -> these names.
REASONS = {
    "its results are random": """
        bernoulli binomial multinomial normal poisson rand rand_like randint randint_like randn randn_like
        randperm pca_lowrank svd_lowrank Tensor.bernoulli Tensor.bernoulli_ Tensor.cauchy_ Tensor.exponential_
        Tensor.geometric_ Tensor.log_normal_ Tensor.multinomial Tensor.normal_ Tensor.random_ Tensor.uniform_""",
    "its results are memory as it was found": """
        empty empty_like empty_permuted empty_strided Tensor.new Tensor.new_empty Tensor.new_empty_strided
        Tensor.resize_as_sparse_ Tensor.sparse_resize_ Tensor.sparse_resize_and_clear_""",
    "a switch of the whole program": """
        clear_autocast_cache manual_seed seed set_autocast_cache_enabled set_autocast_cpu_dtype
        set_autocast_cpu_enabled set_autocast_dtype set_autocast_enabled set_autocast_gpu_dtype
        set_default_device set_default_dtype set_default_tensor_type set_deterministic_debug_mode
        set_float32_matmul_precision set_flush_denormal set_num_interop_threads set_num_threads set_printoptions
        set_rng_state set_warn_always use_deterministic_algorithms""",
    "tells the state of the program": """
        are_deterministic_algorithms_enabled get_autocast_cpu_dtype get_autocast_dtype get_autocast_gpu_dtype
        get_default_device get_default_dtype get_deterministic_debug_mode get_float32_matmul_precision
        get_num_interop_threads get_num_threads get_rng_state initial_seed is_anomaly_check_nan_enabled
        is_anomaly_enabled is_autocast_cache_enabled is_autocast_cpu_enabled is_autocast_enabled
        is_deterministic_algorithms_warn_only_enabled is_grad_enabled is_inference_mode_enabled
        is_warn_always_enabled""",
    "takes Python functions: tests of their own": """
        compile cond vmap while_loop""",
    "concerns devices": """
        get_device_module Tensor.cuda Tensor.pin_memory Tensor.record_stream Tensor.share_memory_""",
    "concerns files, and memory of other libraries": """
        from_dlpack from_file frombuffer load save""",
    "carries every row between numpy and the library": """
        from_numpy Tensor.numpy""",
    "registers what runs in the backward pass: tests/runtime/autograd/test_hooks.py": """
        Tensor.backward Tensor.register_hook Tensor.register_post_accumulate_grad_hook Tensor.retain_grad""",
    "tells where memory is": """
        Tensor.data_ptr Tensor.storage Tensor.untyped_storage""",
    "takes a class of the user's": """
        Tensor.as_subclass""",
    "PyTorch has its name, and no kernel on a CPU": """
        native_norm""",
    "the names of types are each library's own": """
        typename""",
    "PyTorch does not have the name: a function with a method's name, or a method with a function's": """
        absolute_ add_ addbmm_ addcdiv_ addcmul_ addmm_ addr_ angle_ arctan2_ atan2_ baddbmm_ bitwise_and_
        bitwise_left_shift_ bitwise_not_ bitwise_or_ bitwise_right_shift_ bitwise_xor_ copysign_ cumprod_
        cumsum_ digamma_ div_ divide_ eq_ erfinv_ float_power_ floor_divide_ fmax_ fmin_ fmod_ ge_ greater_
        greater_equal_ gt_ heaviside_ hypot_ igamma_ igammac_ index_add_ index_copy_ index_fill_ index_reduce_
        is_autocast_available isfinite_ isinf_ isnan_ isneginf_ isposinf_ le_ lerp_ less_ less_equal_ lgamma_
        logaddexp2_ logaddexp_ logical_and_ logical_not_ logical_or_ logical_xor_ lt_ masked_fill_
        masked_scatter_ maximum_ minimum_ mul_ multi_dot multiply_ mvlgamma_ ne_ nelement nextafter_ not_equal_
        one_hot pow_ put_ remainder_ renorm_ scatter_ scatter_add_ scatter_reduce_ sgn_ sign_ signbit_ sub_
        subtract_ tril_ triu_ true_divide_ Tensor.angle_ Tensor.bucketize Tensor.combinations Tensor.fmax_
        Tensor.fmin_ Tensor.isfinite_ Tensor.isinf_ Tensor.isnan_ Tensor.isneginf_ Tensor.isposinf_
        Tensor.logaddexp2_ Tensor.logaddexp_ Tensor.maximum_ Tensor.minimum_ Tensor.searchsorted Tensor.signbit_
        Tensor.to_device""",
    "an object of the library, or a kind of device without one": """
        Tensor.aval Tensor.grad Tensor.grad_fn Tensor.device Tensor.layout Tensor.is_hip Tensor.is_ipu
        Tensor.is_maia Tensor.is_mtia Tensor.is_vulkan Tensor.is_xla""",
    "Python's own protocol, which has tests of its own": """
        Tensor.__array__ Tensor.__array_interface__ Tensor.__array_namespace__
        Tensor.__array_ufunc__ Tensor.__buffer__ Tensor.__copy__ Tensor.__cuda_array_interface__
        Tensor.__dir__ Tensor.__dlpack__ Tensor.__dlpack_device__ Tensor.__format__
        Tensor.__hash__ Tensor.__init__ Tensor.__new__ Tensor.__reduce_ex__ Tensor.__repr__
       """,
}
EXEMPT = {name: why for why, names in REASONS.items() for name in names.split()}


def is_operator(name: str) -> bool:
    """Return whether tensors define a name with double underscores: not `object` alone, and no data of the class."""
    held = next((vars(cls)[name] for cls in ingot.Tensor.__mro__[:-1] if name in vars(cls)), None)
    return callable(held) or isinstance(held, property)


def names() -> list[str]:
    """Return the paths of functions of the top level, and of methods and attributes of tensors."""
    held = {name: getattr(ingot, name) for name in dir(ingot) if not name.startswith("_")}
    functions = [name for name, v in held.items() if callable(v) and not isinstance(v, (type, types.ModuleType))]
    members = [name for name in dir(ingot.Tensor) if name not in INSTEAD
               and (not name.startswith("_") or (name.startswith("__") and is_operator(name)))]
    return sorted(functions) + [f"Tensor.{name}" for name in sorted(members)]


def test_every_function_and_method_has_two_rows():
    rows = completeness.rows()
    missing = {name: len(rows[name]) for name in names() if len(rows[name]) < 2 and name not in EXEMPT}
    assert not missing, f"names with their number of rows: {missing}"


def test_every_exemption_is_needed():
    rows, public = completeness.rows(), names()
    assert not [name for name in EXEMPT if name not in public]
    assert not [name for name in EXEMPT if len(rows[name]) >= 2]
