"""Datasets, samplers, collation, and loading in this process."""

import importlib
import pickle
import random
from collections import OrderedDict, namedtuple

import numpy as np
import pytest

import ingot
import private_names  # noqa: F401
from ingot.utils import data
from ingot.utils.data import DataLoader, default_collate, default_convert

Point = namedtuple("Point", "x y")


class Squares(data.Dataset):
    def __init__(self, n=10):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if not -self.n <= i < self.n:
            raise IndexError(i)
        return i * i


class AtOnce(Squares):
    """Dataset that returns a batch in a fixed number of parts."""

    def __init__(self, parts):
        super().__init__(7)
        self.parts = parts

    def __getitems__(self, indices):
        return tuple([i * part for i in indices] for part in range(self.parts))


class Stream(data.IterableDataset):
    def __init__(self, n=7):
        self.n = n

    def __iter__(self):
        info = data.get_worker_info()
        return iter(range(self.n) if info is None else range(info.id, self.n, info.num_workers))


# Datasets.


def test_tensor_dataset():
    x, y = ingot.arange(12.0).reshape(4, 3), ingot.arange(4)
    d = data.TensorDataset(x, y)
    assert len(d) == 4 and d[2][0].tolist() == [6, 7, 8] and d[2][1].item() == 2 and d[-1][1].item() == 3
    assert d[1:3][0].shape == (2, 3)
    with pytest.raises(IndexError):
        d[4]
    with pytest.raises(ValueError, match="one length"):
        data.TensorDataset(x, ingot.arange(3))
    w = ingot.ones(2, 2, requires_grad=True)
    data.TensorDataset(w)[0][0].sum().backward()
    assert w.grad.tolist() == [[1, 1], [0, 0]]


def test_joined_datasets():
    d = Squares(3) + Squares(2)
    assert len(d) == 5 and [d[i] for i in range(5)] == [0, 1, 4, 0, 1] and d[-1] == 1 and d.cumulative_sizes == [3, 5]
    for bad in (5, -6):
        with pytest.raises(IndexError, match="out of range"):
            d[bad]
    with pytest.raises(TypeError, match="iterable"):
        data.ConcatDataset([Squares(), Stream()])
    with pytest.raises(ValueError, match="at least one"):
        data.ConcatDataset([])
    assert list(Stream(2) + Stream(3)) == [0, 1, 0, 1, 2]
    with pytest.raises(TypeError, match="ConcatDataset"):
        list(data.ChainDataset([Squares()]))


def test_stacked_datasets():
    d = data.StackDataset(Squares(3), Squares(3))
    assert d[2] == (4, 4) and d.__getitems__([0, 2]) == [(0, 0), (4, 4)]
    named = data.StackDataset(a=Squares(3), b=Squares(3))
    assert named[1] == {"a": 1, "b": 1} and len(named) == 3
    with pytest.raises(ValueError, match=r"returned \[2, 3\] samples for 2 indices"):
        data.StackDataset(Squares(7), AtOnce(3)).__getitems__([0, 1])
    with pytest.raises(ValueError, match="one length"):
        data.StackDataset(Squares(3), Squares(4))
    with pytest.raises(ValueError, match="at least one"):
        data.StackDataset()


def test_subsets_and_random_split():
    d = data.Subset(Squares(), [3, 1])
    assert len(d) == 2 and d[0] == 9 and d.__getitems__([1, 0]) == [1, 9]
    parts = data.random_split(Squares(10), [0.5, 0.25, 0.25], ingot.Generator().manual_seed(1))
    assert [len(p) for p in parts] == [6, 2, 2]
    assert sorted(i for p in parts for i in p.indices) == list(range(10))
    again = data.random_split(Squares(10), [6, 2, 2], ingot.Generator().manual_seed(1))
    assert [p.indices for p in again] == [p.indices for p in parts]
    with pytest.raises(ValueError, match="sum to 9"):
        data.random_split(Squares(10), [5, 4])
    with pytest.warns(UserWarning, match="part 1 is empty"):
        data.random_split(Squares(1), [0.9, 0.1])


# Samplers.


class Anew:
    """Iterator over batches of indices that restarts at each iter()."""

    def __iter__(self):
        self.left = [[0, 1], [2], [3, 4]]
        return self

    def __next__(self):
        if not self.left:
            raise StopIteration
        return self.left.pop(0)

    def __len__(self):
        return 3


@pytest.mark.parametrize("workers", [0, 1])
def test_samplers_are_asked_once_for_an_iterator(workers):
    loader = data.DataLoader(ingot.arange(5), batch_sampler=Anew(), num_workers=workers)
    for _ in range(2):
        assert [batch.tolist() for batch in loader] == [[0, 1], [2], [3, 4]]
    assert list(data.DataLoader(ingot.arange(5), batch_sampler=[])) == []



def test_samplers_give_every_index_once():
    for s in (data.SequentialSampler(Squares()), data.RandomSampler(Squares()), data.SubsetRandomSampler(range(10))):
        assert sorted(s) == list(range(10)) and len(s) == 10
    assert list(data.SequentialSampler(Squares(3))) == [0, 1, 2]
    g = ingot.Generator().manual_seed(3)
    first = list(data.RandomSampler(Squares(50), generator=g))
    assert first != list(data.RandomSampler(Squares(50), generator=g))
    assert first == list(data.RandomSampler(Squares(50), generator=ingot.Generator().manual_seed(3)))


def test_samplers_with_counts_and_weights():
    assert len(list(data.RandomSampler(Squares(3), num_samples=8))) == 8
    drawn = list(data.RandomSampler(Squares(3), replacement=True, num_samples=5000))
    assert len(drawn) == 5000 and set(drawn) == {0, 1, 2}
    weighted = list(data.WeightedRandomSampler([0.0, 1.0, 3.0], 4000, generator=ingot.Generator().manual_seed(0)))
    assert 0 not in weighted and abs(weighted.count(2) / 4000 - 0.75) < 0.03
    assert sorted(data.WeightedRandomSampler([1.0, 1.0, 3.0], 3, replacement=False)) == [0, 1, 2]
    for bad in (0, -1, 2.5, True):
        with pytest.raises(ValueError, match="num_samples"):
            data.WeightedRandomSampler([1.0], bad)
    with pytest.raises(TypeError, match="replacement"):
        data.RandomSampler(Squares(), replacement=1)


def test_batch_sampler():
    s = data.SequentialSampler(Squares(7))
    assert list(data.BatchSampler(s, 3, False)) == [[0, 1, 2], [3, 4, 5], [6]] and len(data.BatchSampler(s, 3, False)) == 3
    assert list(data.BatchSampler(s, 3, True)) == [[0, 1, 2], [3, 4, 5]] and len(data.BatchSampler(s, 3, True)) == 2
    for bad in (0, 1.5, True):
        with pytest.raises(ValueError, match="batch_size"):
            data.BatchSampler(s, bad, False)


def test_distributed_sampler_shares_out():
    parts = [data.DistributedSampler(Squares(10), num_replicas=3, rank=r, seed=5) for r in range(3)]
    orders = [list(p) for p in parts]
    assert [len(o) for o in orders] == [4, 4, 4] and {i for o in orders for i in o} == set(range(10))
    parts[0].set_epoch(1)
    assert list(parts[0]) != orders[0]
    short = [list(data.DistributedSampler(Squares(10), 3, r, shuffle=False, drop_last=True)) for r in range(3)]
    assert short == [[0, 3, 6], [1, 4, 7], [2, 5, 8]]
    with pytest.raises(ValueError, match=r"rank should be in the interval \[0, 2\]"):
        data.DistributedSampler(Squares(), 3, 3)
    with pytest.raises(ValueError, match="WORLD_SIZE"):
        data.DistributedSampler(Squares())


# Indices of each replica of n samples in order, for 1 to 5 replicas, as in PyTorch 2.13; - where there are none.
SHARES = {
    False: [
        ("-", "- -", "- - -", "- - - -", "- - - - -"),
        ("0", "0 0", "0 0 0", "0 0 0 0", "0 0 0 0 0"),
        ("01", "0 1", "0 1 0", "0 1 0 1", "0 1 0 1 0"),
        ("012", "02 10", "0 1 2", "0 1 2 0", "0 1 2 0 1"),
        ("0123", "02 13", "03 10 21", "0 1 2 3", "0 1 2 3 0"),
        ("01234", "024 130", "03 14 20", "04 10 21 32", "0 1 2 3 4"),
        ("012345", "024 135", "03 14 25", "04 15 20 31", "05 10 21 32 43"),
        ("0123456", "0246 1350", "036 140 251", "04 15 26 30", "05 16 20 31 42")],
    True: [
        ("-", "- -", "- - -", "- - - -", "- - - - -"),
        ("0", "- -", "- - -", "- - - -", "- - - - -"),
        ("01", "0 1", "- - -", "- - - -", "- - - - -"),
        ("012", "0 1", "0 1 2", "- - - -", "- - - - -"),
        ("0123", "02 13", "0 1 2", "0 1 2 3", "- - - - -"),
        ("01234", "02 13", "0 1 2", "0 1 2 3", "0 1 2 3 4"),
        ("012345", "024 135", "03 14 25", "0 1 2 3", "0 1 2 3 4"),
        ("0123456", "024 135", "03 14 25", "0 1 2 3", "0 1 2 3 4")]}


def shared_out(count, replicas, epoch=0, **options):
    """Return the indices of each replica, each as many as its sampler says."""
    found = []
    for rank in range(replicas):
        sampler = data.DistributedSampler(range(count), replicas, rank, **options)
        sampler.set_epoch(epoch)
        found.append(list(sampler))
        assert len(found[-1]) == len(sampler)
    return found


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("count", range(8))
def test_a_distributed_sampler_shares_out_as_pytorch_does(count, drop_last):
    """Samples repeat as often as needed, also if there are fewer than replicas."""
    for replicas, want in enumerate(SHARES[drop_last][count], 1):
        got = shared_out(count, replicas, shuffle=False, drop_last=drop_last)
        assert [[int(i) for i in part if part != "-"] for part in want.split()] == got, f"{replicas} replicas"


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("replicas", range(1, 6))
def test_a_distributed_sampler_shuffles_all_samples_anew_in_each_epoch(replicas, drop_last):
    for count in [*range(8), 23, 40]:
        orders = []
        for epoch in range(4):
            parts = shared_out(count, replicas, epoch, seed=3, drop_last=drop_last)
            size, = {len(part) for part in parts}
            assert size == len(range(0, count, replicas)) - bool(drop_last and count % replicas)
            given = [i for part in parts for i in part]
            assert set(given) <= set(range(count)) and len(set(given)) == min(len(given), count)
            orders.append(parts)
            assert parts == shared_out(count, replicas, epoch, seed=3, drop_last=drop_last)
            assert parts == shared_out(count, replicas, epoch + 1, seed=2, drop_last=drop_last), "seed and epoch are added"
        assert count < 20 or len({str(parts) for parts in orders}) == 4


@pytest.mark.parametrize("count", [1, 3, 5])
@pytest.mark.parametrize("wanted", [None, 1, 2, 3, 7, 10])
def test_a_random_sampler_goes_through_all_samples_before_it_begins_anew(count, wanted):
    size = count if wanted is None else wanted
    for seed in range(10):
        drawn = list(data.RandomSampler(range(count), num_samples=wanted, generator=ingot.Generator().manual_seed(seed)))
        assert len(drawn) == size == len(data.RandomSampler(range(count), num_samples=wanted))
        for at in range(0, size, count):
            rounds = drawn[at:at + count]
            assert len(set(rounds)) == len(rounds) and set(rounds) <= set(range(count))


@pytest.mark.parametrize("wanted", [None, 1, 2, 5, 9, 5000])
def test_a_random_sampler_with_replacement_draws_each_by_itself(wanted):
    orders = [list(data.RandomSampler(range(5), True, wanted, ingot.Generator().manual_seed(seed))) for seed in range(40)]
    size = 5 if wanted is None else wanted
    assert {len(o) for o in orders} == {size} and {i for o in orders for i in o} == set(range(5))
    assert size == 1 or any(len(set(o[:5])) < len(o[:5]) for o in orders)
    counts = [sum(o.count(i) for o in orders) for i in range(5)]
    assert size < 5000 or max(abs(n - 40000) for n in counts) < 1000        # five standard deviations


@pytest.mark.parametrize("wanted", [0, -1, 2.0])
def test_a_random_sampler_refuses_counts_that_are_not_positive(wanted):
    """This holds for an empty dataset, with or without replacement, as in PyTorch."""
    for replacement in (False, True):
        with pytest.raises(ValueError, match="num_samples"):
            data.RandomSampler(range(3), replacement, wanted)
        with pytest.raises(ValueError, match="num_samples"):
            data.RandomSampler([], replacement)
    with pytest.raises(ValueError, match="num_samples"):
        data.DataLoader([], shuffle=True)


def test_a_subset_sampler_yields_each_index_once():
    orders = [list(data.SubsetRandomSampler([7, 5, 5, 9, 2], ingot.Generator().manual_seed(seed))) for seed in range(30)]
    assert {tuple(sorted(o)) for o in orders} == {(2, 5, 5, 7, 9)} and len({tuple(o) for o in orders}) > 15
    assert sorted(data.SubsetRandomSampler("abc")) == ["a", "b", "c"] and len(data.SubsetRandomSampler("abc")) == 3
    assert list(data.SubsetRandomSampler([])) == []


@pytest.mark.parametrize("replacement", [True, False])
def test_a_weighted_sampler_draws_from_its_generator_alone(replacement):
    def rows(seed, of_all):
        ingot.manual_seed(of_all)
        before = ingot.get_rng_state()
        found = list(data.WeightedRandomSampler([1.0] * 40, 20, replacement, ingot.Generator().manual_seed(seed)))
        assert ingot.equal(ingot.get_rng_state(), before)
        return found

    assert rows(1, 1) == rows(1, 2) != rows(2, 1)


def test_a_weighted_sampler_without_replacement_takes_the_likely_ones_first():
    """Rows without weight come last, as in PyTorch if all are requested."""
    assert sorted(data.WeightedRandomSampler([1.0, 0.0, 2.0], 2, replacement=False)) == [0, 2]
    assert list(data.WeightedRandomSampler([1.0, 0.0, 2.0], 3, replacement=False))[2] == 1
    seeds = map(ingot.Generator().manual_seed, range(400))
    firsts = [next(iter(data.WeightedRandomSampler([1.0, 3.0], 2, False, seeded))) for seeded in seeds]
    assert abs(sum(firsts) / 400 - 0.75) < 0.11         # five standard deviations
    assert list(data.WeightedRandomSampler([0.0, 2.0], 1)) == [1] and len(data.WeightedRandomSampler([0.0, 2.0], 1)) == 1
    assert len(data.WeightedRandomSampler([1.0, 2.0], 7)) == 7 == len(list(data.WeightedRandomSampler([1.0, 2.0], 7)))
    for weights, size, replacement in (([1.0, 2.0], 3, False), ([0.0, 0.0], 2, True), ([1.0, -1.0], 2, True),
                                       ([[1.0, 2.0]], 1, True), ([float("nan"), 1.0], 1, True)):
        with pytest.raises(ValueError, match=r"multinomial|weights"):
            list(data.WeightedRandomSampler(weights, size, replacement))


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("size", [1, 2, 3, 6, 7, 8])
@pytest.mark.parametrize("count", [0, 1, 6, 7])
def test_batches_are_whole_but_for_the_last_one(count, size, drop_last):
    sampler = data.BatchSampler(data.SequentialSampler(range(count)), size, drop_last)
    batches = list(sampler)
    assert len(sampler) == len(batches) == (count // size if drop_last else (count + size - 1) // size)
    assert [i for batch in batches for i in batch] == list(range(len(batches) * size if drop_last else count))
    assert all(len(batch) == size for batch in batches[:-1]) and all(0 < len(batch) <= size for batch in batches)
    assert list(sampler) == batches


# Collation.


def test_collate_by_type():
    c = default_collate
    assert c([1, 2]).dtype is ingot.int64 and c([1.0, 2.0]).dtype is ingot.float64 and c([True, False]).dtype is ingot.bool
    assert c(["a", "b"]) == ["a", "b"] and c([b"a"]) == [b"a"]
    assert c([ingot.zeros(2, 3)] * 4).shape == (4, 2, 3) and c([ingot.tensor(1, dtype=ingot.int8)] * 2).dtype is ingot.int8
    assert c([np.float32(1), np.float32(2)]).dtype is ingot.float32 and c([np.ones(3, np.int16)] * 2).dtype is ingot.int16
    nested = c([{"a": 1, "b": [ingot.ones(2), 2.0]}, {"a": 2, "b": [ingot.zeros(2), 3.0]}])
    assert nested["a"].tolist() == [1, 2] and nested["b"][0].tolist() == [[1, 1], [0, 0]] and nested["b"][1].tolist() == [2, 3]
    assert type(c([OrderedDict(a=1)] * 2)) is OrderedDict
    point = c([Point(1, 2.0), Point(3, 4.0)])
    assert type(point) is Point and point.x.tolist() == [1, 3] and point.y.tolist() == [2, 4]
    assert [t.tolist() for t in c([(1, 2), (3, 4)])] == [[1, 3], [2, 4]]
    grown = c([ingot.ones(2, requires_grad=True)] * 2)
    assert grown.requires_grad
    bf = c([ingot.ones(2, dtype=ingot.bfloat16)] * 2)
    assert bf.dtype is ingot.bfloat16 and bf.shape == (2, 2)


def test_collate_errors():
    with pytest.raises(RuntimeError, match=r"equal size, but got \[3\] at entry 0 and \[4\] at entry 1"):
        default_collate([ingot.zeros(3), ingot.zeros(4)])
    with pytest.raises(RuntimeError, match="each element in list of batch should be of equal size"):
        default_collate([(1, 2), (3,)])
    with pytest.raises(TypeError, match="found <class 'object'>"):
        default_collate([object()])
    with pytest.raises(TypeError, match="found an array of"):
        default_collate([np.array(["a"])])


def test_collate_functions_of_ones_own():
    from ingot.utils.data._utils.collate import collate, default_collate_fn_map
    got = collate([Squares(1), Squares(2)], collate_fn_map={Squares: lambda batch, *, collate_fn_map=None: len(batch),
                                                            **default_collate_fn_map})
    assert got == 2


def test_tensors_of_a_class_stay_of_that_class():
    class Named(ingot.Tensor):
        pass

    samples = [{"x": ingot.full((2,), float(i)).as_subclass(Named)} for i in range(4)]
    for batch in (default_collate(samples), next(iter(DataLoader(samples, batch_size=4)))):
        assert type(batch["x"]) is Named and batch["x"].tolist() == [[i, i] for i in range(4)]


def test_convert():
    a = np.arange(3.0)
    t = default_convert(a)
    a[0] = 9
    assert isinstance(t, ingot.Tensor) and t[0].item() == 9
    got = default_convert({"x": [np.float32(1), "s"], "p": Point(np.int64(1), None), "t": (1, np.ones(1))})
    assert isinstance(got["x"][0], ingot.Tensor) and got["x"][1] == "s" and isinstance(got["p"].x, ingot.Tensor)
    assert type(got["t"]) is list


# Loading in this process.


def test_batches_in_order():
    loader = DataLoader(Squares(5), batch_size=2)
    assert [b.tolist() for b in loader] == [[0, 1], [4, 9], [16]] and len(loader) == 3 and len(iter(loader)) == 3
    assert [b.tolist() for b in DataLoader(Squares(5), batch_size=2, drop_last=True)] == [[0, 1], [4, 9]]
    assert list(DataLoader(Squares(3), batch_size=None)) == [0, 1, 4]
    assert [b.tolist() for b in DataLoader(Squares(5), batch_sampler=[[4, 0], [1]])] == [[16, 0], [1]]
    assert [b.tolist() for b in DataLoader(Squares(5), sampler=[3, 1], batch_size=2)] == [[9, 1]]
    assert list(DataLoader(Squares(4), batch_size=2, collate_fn=sum)) == [1, 13]
    assert list(DataLoader(AtOnce(3), batch_size=4, collate_fn=list))[1] == [[0, 0, 0], [4, 5, 6], [8, 10, 12]]
    with pytest.raises(ValueError, match="collate_fn of its own"):
        list(DataLoader(AtOnce(3), batch_size=4))


def test_iterable_datasets():
    assert [b.tolist() for b in DataLoader(Stream(5), batch_size=2)] == [[0, 1], [2, 3], [4]]
    assert [b.tolist() for b in DataLoader(Stream(5), batch_size=2, drop_last=True)] == [[0, 1], [2, 3]]
    assert list(DataLoader(Stream(3), batch_size=None)) == [0, 1, 2]
    for given in ({"shuffle": True}, {"sampler": [1]}, {"batch_sampler": [[1]]}):
        with pytest.raises(ValueError, match="IterableDataset takes no"):
            DataLoader(Stream(), **given)


def test_too_many_samples_are_noticed():
    class Liar(Stream):
        def __len__(self):
            return 2

    with pytest.warns(UserWarning, match="length is 2"):
        assert len(list(DataLoader(Liar(5), batch_size=1))) == 5


def test_shuffling_follows_the_seed():
    def epochs(seed):
        ingot.manual_seed(seed)
        loader = DataLoader(Squares(30), batch_size=7, shuffle=True)
        return [[b.tolist() for b in loader] for _ in range(2)]

    assert epochs(1) == epochs(1) != epochs(2) and epochs(1)[0] != epochs(1)[1]
    mine = [[b.tolist() for b in DataLoader(Squares(30), 7, shuffle=True, generator=ingot.Generator().manual_seed(4))]
            for _ in range(2)]
    assert mine[0] == mine[1]


def test_without_workers_samples_draw_like_other_code():
    class Noisy(Squares):
        def __getitem__(self, i):
            return [random.random(), np.random.rand()]

    random.seed(0), np.random.seed(0)
    got = [[column.tolist() for column in batch] for batch in DataLoader(Noisy(6), batch_size=2)]
    random.seed(0), np.random.seed(0)
    drawn = [Noisy(6)[i] for i in range(6)]
    assert got == [[[a[0], b[0]], [a[1], b[1]]] for a, b in zip(drawn[::2], drawn[1::2])]


@pytest.mark.parametrize("bad, match", [
    ({"num_workers": -1}, "num_workers"), ({"timeout": -1}, "timeout"), ({"prefetch_factor": 2}, "prefetch_factor"),
    ({"persistent_workers": True}, "persistent_workers"), ({"num_workers": 1, "prefetch_factor": 0}, "prefetch_factor"),
    ({"sampler": [1], "shuffle": True}, "mutually exclusive"), ({"batch_sampler": [[1]], "batch_size": 2},
                                                                "mutually exclusive"),
    ({"batch_size": None, "drop_last": True}, "batch_size=None"), ({"multiprocessing_context": "fork"}, "num_workers"),
    ({"num_workers": 1, "multiprocessing_context": "teleport"}, "must be one of"), ({"batch_size": 0}, "batch_size"),
])
def test_arguments_are_checked(bad, match):
    with pytest.raises(ValueError, match=match):
        DataLoader(Squares(), **bad)


def test_loaders_cannot_be_rebuilt_in_place():
    loader = DataLoader(Squares())
    with pytest.raises(ValueError, match="batch_size of a DataLoader cannot be set"):
        loader.batch_size = 3
    loader.custom = 1
    assert loader.custom == 1


def test_module_paths_that_scripts_use():
    from ingot.utils.data.dataloader import default_collate as there
    from ingot.utils.data.dataset import Dataset
    from ingot.utils.data.distributed import DistributedSampler
    from ingot.utils.data.sampler import RandomSampler
    assert there is default_collate and Dataset is data.Dataset
    assert DistributedSampler is data.DistributedSampler and RandomSampler is data.RandomSampler
    assert ingot.utils.data is data


class Unsized(data.IterableDataset):
    def __iter__(self):
        yield from range(3)


@pytest.mark.parametrize("dataset", [Unsized(), data.ChainDataset([Unsized(), Unsized()])])
def test_iterable_datasets_need_no_length(dataset):
    want = list(dataset)
    assert [x for batch in data.DataLoader(dataset, batch_size=2) for x in batch.tolist()] == want
    with pytest.raises(TypeError, match="len"):
        len(data.DataLoader(dataset))


class Indexed(data.Dataset):
    """Samples of another dataset, one after the other."""

    def __init__(self, of):
        self.of = of

    def __getitem__(self, index):
        return self.of[index]

    def __len__(self):
        return len(self.of)


ROWS = {
    "tensors": lambda: data.TensorDataset(ingot.arange(24.0).reshape(8, 3), ingot.arange(8), ingot.arange(8) % 2 == 0),
    "turned": lambda: data.TensorDataset(ingot.arange(24.0).reshape(3, 8).T, ingot.ones(8, 2, dtype=ingot.bfloat16)[:, :1]),
    "a part": lambda: data.Subset(data.Subset(data.TensorDataset(ingot.arange(24.0).reshape(8, 3)), [5, 1, -1, 2, 2]),
                                  [4, 2, 0]),
    "with a history": lambda: data.TensorDataset(ingot.arange(8.0, requires_grad=True) * 2, ingot.arange(8)),
    "empty rows": lambda: data.TensorDataset(ingot.zeros(4, 0, 3), ingot.arange(4)),
}


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("name", ROWS)
def test_batched_fetches_equal_single_samples(name, workers):
    if workers and name == "with a history":
        pytest.skip("histories stay in their process")
    made = ROWS[name]()
    for index in (None, [[0, 2], [-1], [1, 1, 0]], [np.array([1, 0])], [[ingot.tensor(1), ingot.tensor(0)]]):
        how = {"batch_size": 3} if index is None else {"batch_sampler": index}
        found, expected = (list(DataLoader(d, num_workers=workers, **how)) for d in (made, Indexed(made)))
        assert len(found) == len(expected)
        for batch, other in zip(found, expected):
            assert type(batch) is list and len(batch) == len(other)
            for t, u in zip(batch, other):
                assert t.dtype is u.dtype and t.shape == u.shape and t.requires_grad == u.requires_grad
                assert t.is_contiguous() and (t == u).all() and not t._is_view()


def test_rows_that_are_not_there_are_told_by_their_dataset():
    made = ROWS["tensors"]()
    for index in ([0, 8], [-9]):
        with pytest.raises(IndexError):
            next(iter(DataLoader(made, batch_sampler=[index])))
    batch = next(iter(DataLoader(made, batch_size=8)))[0]
    batch.zero_()
    assert made[1][0].tolist() == [3, 4, 5]


def test_loaders_in_annotations():
    def train(loader: DataLoader[ingot.Tensor]) -> None:
        """Do nothing: the annotation must be valid."""

    assert train.__annotations__["loader"].__origin__ is DataLoader


def test_datasets_that_are_made_of_each_other():
    """Classes as methods of others, as in pipelines."""
    class Numbers(data.IterDataPipe):
        def __init__(self, n):
            self.n = n

        def __iter__(self):
            yield from range(self.n)

    @data.functional_datapipe("scaled_for_test")
    class Scaled(data.IterDataPipe):
        def __init__(self, source, by):
            self.source, self.by = source, by

        def __iter__(self):
            return (x * self.by for x in self.source)

    try:
        pipe = Numbers(4).scaled_for_test(by=3).scaled_for_test(2)
        assert list(pipe) == [0, 6, 12, 18] and isinstance(pipe, data.IterableDataset) and pipe.reset() is None
        assert [b.tolist() for b in DataLoader(pipe, batch_size=2)] == [[0, 6], [12, 18]]
        assert list(pickle.loads(pickle.dumps(data.IterDataPipe())).__dict__) == []
        with pytest.raises(AttributeError, match="unknown"):
            pipe.unknown()
        with pytest.raises(ValueError, match="already"):
            data.functional_datapipe("scaled_for_test")(Scaled)
    finally:
        del data.IterDataPipe.functions["scaled_for_test"]
    with pytest.raises(ValueError, match="subclasses of"):
        data.functional_datapipe("name")(list)
    assert issubclass(data.MapDataPipe, data.Dataset) and data.MapDataPipe.functions is not data.IterDataPipe.functions
    assert importlib.import_module("ingot.utils.data.datapipes.datapipe").IterDataPipe is data.IterDataPipe


class Boasting(data.IterableDataset):
    """Dataset whose length is too small, or no number."""

    def __init__(self, told):
        self.told = told

    def __iter__(self):
        return iter(range(12))

    def __len__(self):
        if self.told is None:
            raise KeyError("not known yet")
        return self.told


@pytest.mark.parametrize(("batch_size", "told", "beyond"), [(None, 12, 0), (None, 9, 3), (4, 12, 0), (4, 5, 1), (4, 4, 2)])
@pytest.mark.parametrize("workers", [0, 1])
def test_loaders_warn_of_batches_beyond_their_declared_length(batch_size, told, beyond, workers):
    loader = DataLoader(Boasting(told), batch_size, num_workers=workers)
    count = sum(1 for _ in loader)          # list() would ask for the length
    assert len(loader) == count - beyond
    it = iter(loader)
    for _ in range(len(loader)):
        next(it)
    for _ in range(beyond):
        with pytest.warns(UserWarning, match="has said that its length is"):
            next(it)


def test_loaders_do_not_query_the_length_of_streams():
    loader = DataLoader(Boasting(None), 4)
    assert sum(1 for _ in loader) == 3
    with pytest.raises(KeyError):
        len(loader)


@pytest.mark.parametrize("make", [lambda: ingot.arange(12.0).reshape(4, 3), lambda: ingot.arange(12.0).reshape(3, 4).T,
                                  lambda: ingot.arange(24.0).reshape(8, 3)[::2], lambda: ingot.arange(4),
                                  lambda: ingot.ones(4, 3, requires_grad=True)])
@pytest.mark.parametrize("index", [0, 2, 3, -1])
def test_samples_of_tensors_are_views_of_them(make, index):
    t = make()
    sample, = data.TensorDataset(t)[index]
    assert sample._base is t[index]._base and sample._chain == t[index]._chain
    assert (sample.storage_offset(), sample.stride()) == (t[index].storage_offset(), t[index].stride())
    assert sample.as_strided((1,), (1,), 0).tolist() == t[index].as_strided((1,), (1,), 0).tolist()
