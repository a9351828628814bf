"""Devices, the limits of dtypes, switches, and the answers of accelerator modules on machines without an accelerator."""

import numpy as np
import pytest

import ingot

without_accelerator = pytest.mark.skipif(ingot.accelerator.is_available(), reason="this machine has an accelerator")


# Devices.


@pytest.mark.parametrize("args, kind, index, text", [
    (("cpu",), "cpu", None, "cpu"), (("cuda:1",), "cuda", 1, "cuda:1"), (("cuda", 2), "cuda", 2, "cuda:2"),
    ((3,), "cuda", 3, "cuda:3"), ((ingot.device("cpu"),), "cpu", None, "cpu"), (("cpu:0",), "cpu", 0, "cpu:0"),
])
def test_names_of_devices(args, kind, index, text):
    d = ingot.device(*args)
    assert (d.type, d.index, str(d)) == (kind, index, text)
    assert eval(repr(d), {"device": ingot.device}) == d
    assert hash(d) == hash(ingot.device(text))


def test_devices_compare_by_kind_and_index():
    assert ingot.device("cpu") == ingot.device("cpu") != ingot.device("cpu:0")
    assert ingot.device("cpu") != "cpu"


@pytest.mark.parametrize("bad, error", [("gpu", RuntimeError), ("cuda:x", RuntimeError), ("cuda:-1", RuntimeError),
                                        ("cuda:01", RuntimeError),
                                        (-1, RuntimeError), (1.5, TypeError), (None, TypeError), (True, TypeError)])
def test_wrong_device_names_raise(bad, error):
    with pytest.raises(error):
        ingot.device(bad)


def test_device_and_index_twice():
    with pytest.raises(ValueError, match="index"):
        ingot.device("cuda:0", 1)


def test_devices_cannot_be_changed():
    with pytest.raises(AttributeError):
        ingot.device("cpu").type = "cuda"


def test_tensors_have_a_device():
    t = ingot.ones(2)
    assert t.device == ingot.device("cpu") and t.is_cpu and not t.is_cuda and not t.is_meta
    assert t.get_device() == -1
    assert t.to(t.device) is t
    assert ingot.zeros(2, device=t.device).device == t.device


def test_default_device():
    with ingot.device("cpu"):
        assert ingot.get_default_device() == ingot.device("cpu")
    ingot.set_default_device("cpu")
    assert ingot.zeros(1).device == ingot.get_default_device()
    ingot.set_default_device(None)


@without_accelerator
def test_missing_devices_are_named():
    for use in (lambda: ingot.set_default_device("cuda"), lambda: ingot.device("cuda").__enter__(),
                lambda: ingot.zeros(1, device="cuda"), lambda: ingot.ones(1).to("cuda:0")):
        with pytest.raises(RuntimeError, match=r"cuda.*cpu"):
            use()


# Accelerators that are not there.


@without_accelerator
def test_plain_answers_without_an_accelerator():
    assert not ingot.accelerator.is_available() and ingot.accelerator.current_accelerator() is None
    assert ingot.accelerator.device_count() == ingot.cuda.device_count() == 0
    assert not ingot.cuda.is_available() and not ingot.cuda.is_initialized() and not ingot.cuda.is_bf16_supported()
    assert ingot.cuda.memory_allocated() == ingot.cuda.max_memory_allocated() == ingot.accelerator.memory_allocated() == 0
    assert ingot.cuda.memory_stats() == {} and ingot.cuda.get_arch_list() == []
    for harmless in (ingot.cuda.empty_cache, ingot.cuda.reset_peak_memory_stats, ingot.accelerator.synchronize,
                     ingot.accelerator.empty_cache, ingot.cuda.ipc_collect):
        harmless()
    ingot.cuda.manual_seed_all(0)
    with ingot.cuda.device(None), ingot.cuda.stream(None), ingot.cuda.device(-1), ingot.accelerator.device_index(None):
        pass


@without_accelerator
@pytest.mark.parametrize("name", ["current_device", "synchronize", "get_device_name", "get_device_properties", "Stream",
                                  "Event", "current_stream", "mem_get_info", "init"])
def test_functions_that_need_a_device_raise_without_one(name):
    with pytest.raises(RuntimeError, match="no cuda device"):
        getattr(ingot.cuda, name)()


class FakeDriver:
    """A driver of two devices that counts its calls."""

    def __init__(self):
        self.now, self.waited = 0, []

    count = staticmethod(lambda: 2)
    current = lambda self: self.now
    set_current = lambda self, i: setattr(self, "now", i)
    synchronize = lambda self, i: self.waited.append(i)
    memory = lambda self, i: {"allocated": 10 + i, "reserved": 20}
    total_memory = staticmethod(lambda i: 100)
    free_memory = staticmethod(lambda i: 80)
    capability = staticmethod(lambda i: (9, 0))
    properties = staticmethod(lambda i: {"name": f"fake {i}"})


@without_accelerator
def test_a_registered_driver_is_queried(monkeypatch):
    from ingot.runtime.core import device

    driver = FakeDriver()
    monkeypatch.setitem(device.DRIVERS, "cuda", driver)
    assert ingot.cuda.is_available() and ingot.cuda.device_count() == 2
    with ingot.cuda.device("cuda:1"):
        assert ingot.cuda.current_device() == 1 and ingot.cuda.memory_allocated() == 11
        ingot.cuda.synchronize()
    assert ingot.cuda.current_device() == 0 and driver.waited == [1]
    assert ingot.cuda.mem_get_info(0) == (80, 100)
    assert ingot.cuda.get_device_properties(1).name == "fake 1" and ingot.cuda.get_arch_list() == ["sm_90"]
    assert ingot.accelerator.current_accelerator() == ingot.device("cuda")
    with ingot.accelerator.device_index(1):
        assert ingot.accelerator.current_device_index() == 1
    with pytest.raises(RuntimeError, match="out of range"):
        ingot.cuda.set_device(2)


def test_backends():
    import ingot.backends.cudnn as cudnn

    assert ingot.backends.cudnn is cudnn
    cudnn.benchmark = True
    with cudnn.flags(enabled=False, benchmark=False):
        assert not cudnn.benchmark
    assert cudnn.benchmark
    cudnn.benchmark = False
    assert not ingot.backends.mkl.is_available()
    assert ingot.backends.cpu.get_cpu_capability() in ("DEFAULT", "AVX2", "AVX512", "NEON")
    assert not ingot.backends.mps.is_available()
    ingot.backends.cuda.matmul.allow_tf32 = False


# dtypes.


@pytest.mark.parametrize("dtype, bits, eps, largest, tiny", [
    (ingot.float16, 16, 2.0 ** -10, 65504.0, 2.0 ** -14), (ingot.bfloat16, 16, 2.0 ** -7, 3.3895313892515355e38, 2.0 ** -126),
    (ingot.float32, 32, 2.0 ** -23, 3.4028234663852886e38, 2.0 ** -126),
    (ingot.float64, 64, 2.0 ** -52, 1.7976931348623157e308, 2.0 ** -1022),
    (ingot.complex64, 32, 2.0 ** -23, 3.4028234663852886e38, 2.0 ** -126),
])
def test_finfo(dtype, bits, eps, largest, tiny):
    f = ingot.finfo(dtype)
    assert (f.bits, f.eps, f.max, f.min, f.tiny, f.smallest_normal) == (bits, eps, largest, -largest, tiny, tiny)


def test_finfo_of_the_default_dtype_and_refusals():
    assert ingot.finfo() == ingot.finfo(ingot.float32)
    with pytest.raises(TypeError, match="iinfo"):
        ingot.finfo(ingot.int32)
    with pytest.raises(TypeError, match="finfo"):
        ingot.iinfo(ingot.float32)


@pytest.mark.parametrize("dtype", [ingot.uint8, ingot.int8, ingot.int16, ingot.int32, ingot.int64, ingot.uint64], ids=str)
def test_iinfo(dtype):
    i, n = ingot.iinfo(dtype), np.iinfo(dtype.np)
    assert (i.bits, i.min, i.max, i.dtype) == (n.bits, n.min, n.max, dtype.name)


def test_promotion_questions():
    assert ingot.promote_types(ingot.int32, ingot.float16) is ingot.float16
    assert ingot.result_type(ingot.ones(2, dtype=ingot.int32), 1.5) is ingot.float32
    assert ingot.result_type(ingot.ones(2, dtype=ingot.float16), ingot.tensor(1.0)) is ingot.float16
    one = ingot.ones((), dtype=ingot.complex128)
    assert (ingot.ones(2) + one).dtype is ingot.complex64 and (ingot.ones(2).double() * 1j).dtype is ingot.complex128
    assert (ingot.arange(2) + one).dtype is (ingot.ones(()) + one).dtype is ingot.complex128
    assert ingot.can_cast(ingot.float32, ingot.float16) and not ingot.can_cast(ingot.float32, ingot.int64)


# Switches.


def test_threads():
    before = ingot.get_num_threads()
    try:
        ingot.set_num_threads(1)
        assert ingot.get_num_threads() == 1
        with pytest.raises(ValueError):
            ingot.set_num_threads(0)
    finally:
        ingot.set_num_threads(before)


def test_determinism_and_precision_switches():
    ingot.use_deterministic_algorithms(True, warn_only=True)
    assert ingot.are_deterministic_algorithms_enabled() and ingot.is_deterministic_algorithms_warn_only_enabled()
    assert ingot.get_deterministic_debug_mode() == 1
    ingot.set_deterministic_debug_mode("default")
    assert not ingot.are_deterministic_algorithms_enabled()
    ingot.set_float32_matmul_precision("high")
    assert ingot.get_float32_matmul_precision() == "high"
    ingot.set_float32_matmul_precision("highest")
    with pytest.raises(ValueError):
        ingot.set_float32_matmul_precision("low")
    assert ingot.set_flush_denormal(False) and not ingot.set_flush_denormal(True)


def test_typename():
    assert ingot.typename(ingot.ones(1)) == "ingot.FloatTensor"
    assert ingot.typename(3) == "int" and ingot.typename(ingot.device("cpu")).endswith("Device")
