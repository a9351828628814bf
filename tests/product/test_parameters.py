"""Every parameter of a public function has an effect, is refused, or is ignored for a reason that the function's page says."""

import hashlib

import pytest

import ingot
import unread_parameters
from ingot import library as operators
from ingot.distributed import checkpoint as dcp
from ingot.ir.errors import ArgumentError, DeviceError, FileError, IngotError


def test_no_parameter_is_ignored_without_a_word():
    found = unread_parameters.faults()
    assert not found, "read the parameter, refuse it, or say on the function's page '`name` is ignored: reason'"


def _ignores(a, verbose=False, *, other=None):
    return a


def _hands_on(a, verbose=False):
    return _ignores(a, verbose, other=verbose)


def _reads(a, verbose=False):
    return [a for _ in range(3) if verbose]


class _Stores:
    def __init__(self, a, verbose=False):
        self.a, self.verbose_for_nobody = a, verbose

    def read(self):
        return self.a


def _says(a, verbose=False):
    """Return a. `verbose` is ignored: nothing is printed."""
    return a


def _says_nothing_of_it(a, verbose=False):
    """Return a. `a` is ignored: it is a lie."""
    return a


def test_the_search_finds_what_it_should(monkeypatch):
    monkeypatch.setattr(unread_parameters, "ROOT", unread_parameters.Path(__file__).parent)
    assert unread_parameters.unread(_ignores) == ["verbose", "other"]
    assert unread_parameters.unread(_hands_on) == ["verbose"]
    assert unread_parameters.unread(_reads) == []
    assert unread_parameters.unread(_Stores.__init__) == ["verbose"]
    for function, excused in ((_says, True), (_says_nothing_of_it, False)):
        assert unread_parameters.is_excused(unread_parameters.source_of(function), "verbose") == excused


# Arguments that had no effect.


def test_assert_close_compares_devices():
    x = ingot.ones(2)
    with pytest.raises(AssertionError, match="'device' do not match: cpu != meta"):
        ingot.testing.assert_close(x, x.to("meta"))
    ingot.testing.assert_close(x, x.clone())


def test_make_tensor_takes_device_and_memory_format():
    made = ingot.testing.make_tensor(2, 3, 4, 5, dtype=ingot.float32, memory_format=ingot.channels_last)
    assert made.is_contiguous(memory_format=ingot.channels_last) and not made.is_contiguous()
    assert ingot.testing.make_tensor(2, dtype=ingot.float32, device="meta").device.type == "meta"
    with pytest.raises(ArgumentError, match="noncontiguous or memory_format"):
        ingot.testing.make_tensor(2, 3, 4, 5, dtype=ingot.float32, noncontiguous=True, memory_format=ingot.channels_last)


def test_hub_compares_the_hash_in_a_name(tmp_path):
    path = tmp_path / "net.pth"
    ingot.save({"w": ingot.ones(2)}, path)
    digits = hashlib.sha256(path.read_bytes()).hexdigest()[:8]
    right, wrong = path.rename(tmp_path / f"net-{digits}.pth"), "net-00000000.pth"
    (tmp_path / wrong).write_bytes(right.read_bytes())
    (tmp_path / "net.pth").write_bytes(right.read_bytes())

    def load(name, check_hash=True):
        return ingot.hub.load_state_dict_from_url(f"https://example.org/{name}", tmp_path, check_hash=check_hash)

    assert load(right.name)["w"].tolist() == load(wrong, False)["w"].tolist() == [1, 1]
    with pytest.raises(FileError, match="does not begin with 00000000"):
        load(wrong)
    with pytest.raises(ArgumentError, match="needs a name with a hash"):
        load("net.pth")


def test_tables_of_profiles_have_one_unit():
    with ingot.profiler.profile() as found:
        ingot.ones(2) + 1
    text = found.key_averages().table(time_unit="ms")
    assert "ms" in text and "us" not in text


def test_a_definition_goes_with_its_library():
    library = operators.Library("own_ops", "DEF")
    operators.define("own_ops::twice", "(Tensor x) -> Tensor", lib=library)
    library._destroy()
    with pytest.raises(ArgumentError, match="no operator"):
        operators.register_kernel("own_ops::twice", "cpu", lambda x: x)


class _OwnPlan(dcp.DefaultSavePlanner):
    """A plan with methods of its own."""


def _sparse():
    return ingot.eye(3).to_sparse()


REFUSED = {
    "jacfwd": (lambda: ingot.func.jacfwd(ingot.sin, randomness="different"), ArgumentError, "randomness='same'"),
    "lobpcg, method": (lambda: ingot.lobpcg(ingot.eye(9), method="best"), ArgumentError,
                       "must be one of 'basic', 'ortho', got 'best'"),
    "lobpcg, tracker": (lambda: ingot.lobpcg(ingot.eye(9), tracker=print), ArgumentError, "calls no tracker"),
    "gradcheck": (lambda: ingot.autograd.gradcheck(lambda x: x.to_dense(), _sparse().double().requires_grad_(), masked=False),
                  ArgumentError, "masked=True"),
    "to_dense": (lambda: _sparse().to_dense(masked_grad=False), ArgumentError, "masked_grad"),
    "to_dense, rows": (lambda: ingot.eye(3).to_sparse_csr().to_dense(masked_grad=False), ArgumentError, "masked_grad"),
    "sparse_csr_tensor": (lambda: ingot.sparse_csr_tensor([0, 1], [0], [1.], layout=ingot.sparse_csc), ArgumentError, "layout"),
    "fftfreq": (lambda: ingot.fft.fftfreq(4, layout=ingot.sparse_coo), IngotError, "layout"),
    "rfftfreq": (lambda: ingot.fft.rfftfreq(4, layout=ingot.sparse_coo), IngotError, "layout"),
    "from_file": (lambda: ingot.from_file("absent", size=1, pin_memory=True), ArgumentError, "cannot be pinned"),
    "Tensor": (lambda: ingot.Tensor(2, 3, device="meta"), DeviceError, "makes tensors on the CPU"),
    "save": (lambda: ingot.save(1, "absent/file", pickle_module=ingot), ArgumentError, "pickle_module"),
    "load": (lambda: ingot.load("absent", pickle_module=ingot), ArgumentError, "pickle_module"),
    "load, options": (lambda: ingot.load("absent", fix_imports=False), ArgumentError, "none of its options"),
    "Timer": (lambda: ingot.utils.benchmark.Timer("f()", global_setup="#include"), ArgumentError, "global_setup"),
    "python_code": (lambda: ingot.fx.symbolic_trace(ingot.nn.ReLU()).graph.python_code("self", verbose=True), ArgumentError,
                    "comments or colours"),
    "onnx.export": (lambda: ingot.onnx.export(ingot.nn.ReLU(), (ingot.ones(2),), report=True), ArgumentError, "no reports"),
    "table": (lambda: ingot.profiler.profile().events().table(time_unit="h"), ArgumentError, "time_unit"),
    "propagate_qconfig_": (lambda: ingot.ao.quantization.propagate_qconfig_(ingot.nn.ReLU(), None, {"a": 1}), ArgumentError,
                           "special modules"),
    "FileSystemWriter": (lambda: dcp.FileSystemWriter("c", serialization_format="x"), ArgumentError, "one format"),
    "checkpoint.save": (lambda: dcp.save({}, checkpoint_id="c", planner=_OwnPlan()), ArgumentError, "DefaultSavePlanner alone"),
    "checkpoint.load": (lambda: dcp.load({}, checkpoint_id="c", planner=object()), ArgumentError, "DefaultLoadPlanner alone"),
    "checkpoint.save, alone": (lambda: dcp.save({}, checkpoint_id="c", use_collectives=False), ArgumentError, "no_dist=True"),
    "TCPStore": (lambda: ingot.distributed.TCPStore("localhost", multi_tenant=True), ArgumentError, "PrefixStore"),
    "new_group": (lambda: ingot.distributed.new_group([0], use_local_synchronization=True), ArgumentError, "by all ranks"),
    "fully_shard": (lambda: ingot.distributed.fsdp.fully_shard(ingot.nn.Linear(2, 2), reshard_after_forward=2), ArgumentError,
                    "reshard_after_forward=2"),
    "start_processes": (lambda: ingot.multiprocessing.start_processes(print, numa_options=1), ArgumentError, "numactl"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_argument_without_effect_is_refused(name):
    call, error, text = REFUSED[name]
    with pytest.raises(error, match=text):
        call()
