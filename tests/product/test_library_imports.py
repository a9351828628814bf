"""Names that packages import: parts of the dispatcher, switches, and rules of other exporters."""

import itertools

import pytest

import ingot
import private_names  # noqa: F401
from ingot import library


def test_keys_of_autocast_leave_it_out():
    keys, cpu = ingot._C.DispatchKeySet, ingot._C.DispatchKey.AutocastCPU
    both = keys(cpu) | keys(ingot._C.DispatchKey.AutocastXPU)
    assert both.has(cpu) and list(both - keys(cpu)) == [ingot._C.DispatchKey.AutocastXPU] and both & keys(cpu) == keys(cpu)
    assert both.remove(cpu).add(cpu) == both and "AutocastCPU" in repr(both) and len({both, keys(both)}) == 1
    x = ingot.ones(2, 2)
    with ingot.autocast("cpu"):
        with ingot._C._ExcludeDispatchKeyGuard(both):
            assert (x @ x).dtype is ingot.float32 and not ingot.is_autocast_enabled("cpu")
        assert (x @ x).dtype is ingot.bfloat16
    with pytest.raises(ValueError, match="not Autograd"):
        ingot._C._ExcludeDispatchKeyGuard(keys(ingot._C.DispatchKey.Autograd))


def test_switches_of_the_older_compiler_remember():
    setting = ingot._C._jit_set_profiling_mode
    before = setting(True)
    assert setting(before) is True and setting(before) == before and not hasattr(ingot._C, "_jit_set_anything")


def test_code_whose_results_are_not_deterministic_says_so():
    from ingot import _prims_common
    x = ingot.ones(2, 3)
    assert _prims_common.is_contiguous_or_false(x) and not _prims_common.is_contiguous_or_false(x.T)
    _prims_common.alert_not_deterministic("sums")
    ingot.use_deterministic_algorithms(True)
    try:
        with pytest.raises(RuntimeError, match="sums"):
            _prims_common.alert_not_deterministic("sums")
        ingot.use_deterministic_algorithms(True, warn_only=True)
        with pytest.warns(UserWarning, match="sums"):
            _prims_common.alert_not_deterministic("sums")
    finally:
        ingot.use_deterministic_algorithms(False)


def test_rules_of_other_exporters_are_kept_and_not_called():
    from ingot.onnx import symbolic_helper, symbolic_opset11

    @symbolic_helper.parse_args("v", "f")
    def rule(g, x, scale):
        return symbolic_opset11.squeeze(g, x, 0)

    ingot.onnx.register_custom_op_symbolic("elsewhere::scaled", rule, 11)
    assert ingot.onnx.TensorProtoDataType.FLOAT == 1
    with pytest.raises(RuntimeError, match="to_onnx"):
        rule(None, ingot.ones(2), 1.0)
    ingot.onnx.unregister_custom_op_symbolic("elsewhere::scaled", 11)
    assert not hasattr(symbolic_opset11, "__wrapped__")


def test_shapes_of_operators_whose_extension_is_not_loaded_wait_for_them():
    @library.register_fake("compiled_elsewhere::twice")
    def shape(x):
        return ingot.empty_like(x)

    with pytest.raises(AttributeError, match="compiled_elsewhere::twice"):
        ingot.ops.compiled_elsewhere.twice(ingot.ones(2))
    twice = library.custom_op("compiled_elsewhere::twice", lambda x: x * 2, mutates_args=(), schema="(Tensor x) -> Tensor")
    library.opcheck(twice, (ingot.ones(2),))
    with pytest.raises(ValueError, match="twise"):              # other operators exist, so this is a mistake
        library.register_fake("compiled_elsewhere::twise", shape)


def test_batches_are_pinned_part_by_part():
    from ingot.utils.data._utils.pin_memory import pin_memory
    batch = {"x": (ingot.ones(2), "name"), "y": [ingot.zeros(1)]}
    made = pin_memory(batch)
    assert made["x"][0].tolist() == [1.0, 1.0] and made["x"][1] == "name" and made["y"][0].tolist() == [0.0]


# Private names beside public ones.


def test_casts_by_the_names_of_dtypes():
    kinds = {"Byte": ingot.uint8, "Char": ingot.int8, "Short": ingot.int16, "Int": ingot.int32, "Long": ingot.int64,
             "Half": ingot.float16, "Float": ingot.float32, "Double": ingot.float64}
    for name, dtype in kinds.items():
        made = getattr(ingot, f"_cast_{name}")(ingot.tensor([1.0, 2.0]))
        assert made.dtype is dtype and made.tolist() == [1, 2]


def test_masks_become_such_that_are_added():
    F = ingot.nn.functional
    mask = ingot.tensor([True, False])
    added = F._canonical_mask(mask, "mask", F._none_or_dtype(None), "other", ingot.float32)
    assert added.tolist() == [float("-inf"), 0.0] and mask.tolist() == [True, False]
    assert F._canonical_mask(added, "mask", F._none_or_dtype(added), "other", ingot.float32) is added
    assert F._canonical_mask(None, "mask", ingot.bool, "other", ingot.float32) is None
    for given, other in ((mask, ingot.float32), (added, ingot.bool)):
        with pytest.warns(UserWarning, match="mask and other"):
            F._canonical_mask(given, "mask", other, "other", ingot.float32)
        F._canonical_mask(given, "mask", other, "other", ingot.float32, check_other=False)
    with pytest.raises(ValueError, match="int64"):
        F._canonical_mask(mask.long(), "mask", None, "other", ingot.float32)


def test_loaders_say_what_kind_of_dataset_they_have():
    from ingot.utils.data import DataLoader, IterableDataset, dataloader

    class Counted(IterableDataset):
        def __iter__(self):
            return iter(range(3))

    kind = dataloader._DatasetKind
    assert DataLoader([1, 2])._dataset_kind == kind.Map != kind.Iterable == DataLoader(Counted())._dataset_kind
    assert [int(b) for b in dataloader._SingleProcessDataLoaderIter(DataLoader([1, 2]))] == [1, 2]


class OwnLoader:
    """A loader like fastai's, with only the attributes that DataLoader's iterators read."""

    def __init__(self, n, num_workers):
        from ingot.utils.data.dataloader import _DatasetKind
        self.n, self.num_workers, self.dataset, self._dataset_kind = n, num_workers, self, _DatasetKind.Iterable
        self.pin_memory = self.persistent_workers = self.drop_last = self._auto_collation = False
        self.generator = self.worker_init_fn = self.multiprocessing_context = self._IterableDataset_len_called = None
        self.timeout, self.in_order, self.prefetch_factor, self._index_sampler = 0, True, 2, itertools.count()

    def collate_fn(self, batch):
        return batch * 2

    def __iter__(self):
        from ingot.utils.data import get_worker_info
        info = get_worker_info()
        return iter(range(info.id if info else 0, self.n, info.num_workers if info else 1))


@pytest.mark.parametrize("num_workers", [0, 2])
def test_iterators_of_loaders_take_loaders_that_are_none_of_ours(num_workers):
    from ingot.utils.data import DataLoader, dataloader
    one, several = dataloader._SingleProcessDataLoaderIter, dataloader._MultiProcessingDataLoaderIter
    made = (several if num_workers else one)(OwnLoader(7, num_workers))
    assert list(made) == [2 * i for i in range(7)]
    usual = iter(DataLoader([1, 2], num_workers=num_workers))
    assert isinstance(usual, dataloader._BaseDataLoaderIter) and type(usual) is type(made)
    if num_workers:
        usual._shutdown_workers()
    assert isinstance(usual, several) == bool(num_workers) != isinstance(usual, one)


def test_a_profile_without_a_schedule_records():
    from ingot.profiler import profiler
    assert profiler._default_schedule_fn(3) is profiler.ProfilerAction.RECORD is ingot.profiler.ProfilerAction.RECORD
