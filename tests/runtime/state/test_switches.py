"""Switches: each read and write is heard, and no public function answers from state that nobody hears of."""

import threading

import pytest

import ingot
import public_questions
from ingot.runtime.state.mode import tls
from ingot.runtime.state.recorder import NullRecorder
from ingot.runtime.state.switches import LentSwitch, Setting, Switch, ThreadSwitch, question


class Listener(NullRecorder):
    """A recorder that counts what it hears of switches; while it is in force, random state is refused."""

    def __init__(self):
        self.heard = []

    def __enter__(self):
        tls.m.recorder = self
        tls.m.refresh()
        return self

    def __exit__(self, *exc):
        tls.m.recorder = None
        tls.m.refresh()

    def switch_read(self, switch):
        self.heard.append(("read", switch.name))

    def switch_set(self, switch, is_restored):
        self.heard.append(("restored" if is_restored else "set", switch.name))

    def asked(self, name, question):
        self.heard.append(("asked", name))

    def refuse(self, what, instead):
        self.heard.append(("refused", what))
        raise PermissionError(what)


KEPT: list = [1]
KINDS = {"process": lambda: Switch("s", 1), "thread": lambda: ThreadSwitch("s", 1),
         "lent": lambda: LentSwitch("s", lambda: KEPT[0], lambda value: KEPT.__setitem__(0, value))}


@pytest.mark.parametrize("kind", KINDS)
def test_reads_and_writes_are_heard(kind):
    KEPT[0] = 1
    switch = KINDS[kind]()
    with Listener() as listener:
        assert switch.get() == switch.peek() == 1
        switch.set(2)
        with switch.held(3):
            assert switch.get() == 3
        assert switch.get() == 2
        switch.put(4)
    assert switch.get() == 4
    assert listener.heard == [("read", "s"), ("set", "s"), ("restored", "s"), ("read", "s"), ("read", "s")]


def test_held_values_are_put_back_after_an_error():
    switch = Switch("s", 1)
    with pytest.raises(ZeroDivisionError), switch.held(2):
        raise ZeroDivisionError
    assert switch.peek() == 1


def test_threads_have_values_of_their_own():
    switch, seen = ThreadSwitch("s", 1), []
    switch.set(2)
    other = threading.Thread(target=lambda: seen.append((switch.get(), switch.set(3), switch.get())))
    other.start()
    other.join()
    assert (switch.get(), seen) == (2, [(1, None, 3)])


def test_settings_are_attributes():
    class Board:
        flag = Setting("board.flag", False)

    board = Board()
    with Listener() as listener:
        board.flag = not board.flag
    assert board.flag is True
    assert listener.heard == [("read", "board.flag"), ("set", "board.flag")]
    assert type(Board.flag) is Setting


def test_questions_are_heard_with_their_arguments():
    asked = []

    @question
    def rank(group=None, *, scale=1):
        asked.append((group, scale))
        return 7

    class Asking(Listener):
        def asked(self, name, question):
            self.heard.append((name, question()))

    with Asking() as listener:
        assert rank("all", scale=2) == 7
    assert listener.heard == [("rank", 7)]
    assert asked == [("all", 2)] * 2
    assert rank.__name__ == "rank"


# Answers that stay what they are in one process, or that the key of a trace holds.
IN_THE_KEY = {f"ingot.{name}" for name in (
    "get_default_device", "get_default_dtype", "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "is_autocast_cpu_enabled",
    "is_autocast_enabled", "is_autocast_enabled(cpu)", "is_grad_enabled", "is_inference_mode_enabled")}
CONSTANT = {
    "what ingot is": """
        __config__.show array_api.__array_namespace_info__ autograd.is_multithreading_enabled backends.mkl.is_available
        backends.cuda.fp16_bf16_reduction_math_sdp_allowed backends.cuda.is_built backends.cuda.is_flash_attention_available
        backends.cuda.preferred_blas_library backends.cuda.preferred_linalg_library backends.cudnn.is_available
        backends.cudnn.is_acceptable(cpu) backends.mkldnn.is_available backends.mps.is_available backends.mps.is_built
        compiler.get_default_backend compiler.is_compiling compiler.is_exporting compiler.is_recording compiler.list_backends
        cuda.get_allocator_backend distributed.is_available distributed.is_gloo_available distributed.is_mpi_available
        distributed.is_nccl_available distributed.is_ucc_available distributed.is_xccl_available
        distributed.is_backend_available(cpu) distributed.get_default_backend_for_device(cpu)
        distributed.rpc.is_available is_autocast_available(cpu) mps.device_count mps.is_available mps.current_device
        multiprocessing.get_all_sharing_strategies multiprocessing.get_sharing_strategy overrides.get_default_nowrap_functions
        overrides.get_ignored_functions overrides.get_overridable_functions overrides.get_testing_overrides
        profiler.kineto_available profiler.supported_activities library.get_ctx utils.checkpoint.get_device_states""",
    "what the machine is": """
        accelerator.device_count accelerator.is_available accelerator.get_device_capability backends.cpu.get_cpu_capability
        cpu.current_device cpu.device_count cpu.is_available cpu.machine_arch cuda.default_stream cuda.device_count
        cuda.driver_version cuda.get_arch_list cuda.get_device_capability cuda.get_device_name cuda.get_device_properties
        cpu.cpu_flags cuda.is_available cuda.is_bf16_supported cuda.is_tf32_supported cuda.why_not_available
        utils.collect_env.get_env_info utils.collect_env.get_pretty_env_info cuda.streams.default get_device_module(cpu)""",
    "what only a device has, and is heard or refused where there is one": """
        cuda.current_device accelerator.max_memory_allocated accelerator.max_memory_reserved accelerator.memory_allocated
        accelerator.memory_reserved accelerator.memory_stats cuda.max_memory_allocated cuda.max_memory_cached
        cuda.memory_allocated cuda.memory_cached cuda.memory_stats cuda.memory_stats_as_nested_dict cuda.memory_summary
        cuda.list_gpu_processes cuda.get_rng_state_all cuda.current_stream accelerator.current_stream""",
    "what it computes from no arguments": """
        broadcast_shapes linalg.broadcast_shapes linalg.batched broadcast_tensors atleast_1d atleast_2d atleast_3d meshgrid
        array_api.broadcast_arrays array_api.meshgrid distributions.bernoulli.broadcast_all export.dims
        overrides.has_torch_function_variadic distributed.fsdp.wrap.always_wrap_policy utils.checkpoint.noop_context_fn
        cuda.comm.device_of(cpu) cuda.comm.require(cpu) distributed.constants.as_device(cpu) utils.tensorboard.summary.message
        distributed.constants.requested_engine(cpu)
        export.default_decompositions autograd.function.user_line fx.experimental.users_line
        ao.quantization.get_default_dynamic_quant_module_mappings ao.quantization.get_default_qat_module_mappings
        ao.quantization.get_default_qat_qconfig ao.quantization.get_default_qconfig
        ao.quantization.get_default_static_quant_module_mappings ao.quantization.get_embedding_qat_module_mappings""",
}
PLAIN = (bool, int, float, str, bytes, list, tuple, dict, set, frozenset, ingot.dtype, ingot.device)


def answer(ask):
    """Return what a listener hears, and the answer or error."""
    with Listener() as listener:
        try:
            found = ask()
        except Exception as error:
            found = error
    return listener.heard, found


def test_every_public_question_is_heard_or_known_to_be_constant():
    known = {f"ingot.{path}" for paths in CONSTANT.values() for path in paths.split()} | IN_THE_KEY
    silent = []
    for path, ask in public_questions.questions().items():
        heard, found = answer(ask)
        tells = isinstance(found, PLAIN) or (isinstance(found, Exception) and public_questions.is_like_question(path))
        if tells and not heard and path not in known:
            silent.append((path, found))
    assert not silent, "let these read a Switch, or pass through `question`; or say why they are constant"


def test_every_setting_of_a_backend_is_heard():
    constant = {f"ingot.backends.{name}" for name in ("has_lapack", "has_mkl", "has_mkldnn", "has_openmp")}
    found = public_questions.settings()
    silent = [path for path, (owner, name) in found.items() if not answer(lambda o=owner, n=name: getattr(o, n))[0]]
    assert set(silent) <= constant
    assert len(found) >= 20, sorted(found)
