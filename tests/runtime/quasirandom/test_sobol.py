"""Sobol sequences: PyTorch's points, evenness, and continuation."""

import copy
import hashlib
import pickle

import numpy as np
import pytest

import ingot
from ingot import jit
from ingot.quasirandom import SobolEngine
from ingot.runtime.quasirandom.sobol_directions import direction_numbers, primitive_polynomials

FIRST = [[0, 0, 0, 0], [0.5, 0.5, 0.5, 0.5], [0.75, 0.25, 0.25, 0.25], [0.25, 0.75, 0.75, 0.75], [0.375, 0.375, 0.625, 0.875]]
# PyTorch's draws with scramble=True, seed=7 (Owen's scrambling of these).
SCRAMBLED = [[0.19947312772274017, 0.17093220353126526, 0.7493569254875183],
             [0.6922082901000977, 0.7114949226379395, 0.48982980847358704],
             [0.8505491018295288, 0.2962706387042999, 0.7879806160926819],
             [0.3578137159347534, 0.8368963003158569, 0.04311750829219818]]


def test_the_first_points():
    assert SobolEngine(4).draw(5).tolist() == FIRST


def test_scrambled_points_of_a_seed():
    assert SobolEngine(3, scramble=True, seed=7).draw(4).tolist() == SCRAMBLED


def test_the_table_of_joe_and_kuo():
    digest = hashlib.sha256(direction_numbers(SobolEngine.MAXDIM).astype("<i8").tobytes()).hexdigest()
    assert digest == "4a6c1b3e473e79ebf849fc9a695e6cbc566dff5cc899272a4dfc9b5038c3beca"


@pytest.mark.peer
@pytest.mark.parametrize("dimension", [1, 2, 3, 4, 40, 1111])
def test_peer(dimension):
    torch = pytest.importorskip("torch")
    theirs = torch.quasirandom.SobolEngine(dimension)
    ours = SobolEngine(dimension)
    assert np.array_equal(ours.sobolstate.numpy(), theirs.sobolstate.numpy())
    for n in (1, 3, 0, 12):
        assert np.array_equal(ours.draw(n).numpy(), theirs.draw(n).numpy())
    assert np.array_equal(ours.quasi.numpy(), theirs.quasi.numpy()) and ours.num_generated == theirs.num_generated


@pytest.mark.peer
@pytest.mark.parametrize("seed", [0, 1234, 2 ** 40 + 3, -5])
@pytest.mark.parametrize("dimension", [1, 6])
def test_scrambled_peer(seed, dimension):
    torch = pytest.importorskip("torch")
    theirs = torch.quasirandom.SobolEngine(dimension, scramble=True, seed=seed)
    ours = SobolEngine(dimension, scramble=True, seed=seed)
    assert np.array_equal(ours.draw(5).numpy(), theirs.draw(5).numpy())     # PyTorch's first point is float32
    assert np.array_equal(ours.draw(20, dtype=ingot.float64).numpy(), theirs.draw(20, dtype=torch.float64).numpy())
    assert np.array_equal(ours.shift.numpy(), theirs.shift.numpy())


def count_of_primitive(degree):
    order = 2 ** degree - 1
    return int(np.sum(np.gcd(np.arange(order) + 1, order) == 1)) // degree


@pytest.mark.parametrize("degree", range(1, 12))
def test_primitive_polynomials(degree):
    found = primitive_polynomials(degree)
    assert len(found) == count_of_primitive(degree) and sorted(set(found.tolist())) == found.tolist()
    for p in found.tolist()[:: max(1, len(found) // 8)]:
        seen, x = set(), 1
        while x not in seen:            # the powers of x reach every remainder but zero
            seen.add(x)
            x <<= 1
            x ^= p if x >> degree else 0
        assert len(seen) == 2 ** degree - 1


@pytest.mark.parametrize("scramble", [False, True])
def test_each_coordinate_visits_each_interval_once(scramble):
    points = SobolEngine(300, scramble=scramble, seed=3).draw_base2(7, dtype=ingot.float64).numpy()
    assert np.array_equal(np.sort(np.floor(points * 128), 0), np.tile(np.arange(128.0)[:, None], 300))


@pytest.mark.parametrize("scramble", [False, True])
def test_pieces(scramble):
    def engine():
        return SobolEngine(5, scramble, seed=11)

    whole = engine().draw(50).numpy()
    pieces = engine()
    drawn = np.concatenate([pieces.draw(n).numpy() for n in (1, 1, 0, 2, 13, 33)])
    assert drawn.tobytes() == whole.tobytes()
    assert pieces.reset().draw(50).numpy().tobytes() == whole.tobytes()
    for left_out in (0, 1, 2, 31, 32):
        ahead = engine().fast_forward(left_out)
        assert ahead.num_generated == left_out
        for other in (ahead, copy.deepcopy(ahead), pickle.loads(pickle.dumps(ahead))):
            assert other.draw(50 - left_out).numpy().tobytes() == whole[left_out:].tobytes()


def test_scrambling_without_a_seed_takes_random_numbers():
    ingot.manual_seed(4)
    first, second = SobolEngine(3, True).draw(4), SobolEngine(3, True).draw(4)
    ingot.manual_seed(4)
    assert np.array_equal(first, SobolEngine(3, True).draw(4)) and not np.array_equal(first, second)


def test_results():
    engine, out = SobolEngine(3), ingot.empty(0)
    assert engine.draw(2, out=out) is out and out.tolist() == [[0, 0, 0], [0.5, 0.5, 0.5]]
    assert engine.draw().shape == (1, 3) and engine.draw(0).shape == (0, 3)
    assert engine.draw(2, dtype=ingot.float64).dtype is ingot.float64
    assert repr(SobolEngine(3, True, 5)) == "SobolEngine(dimension=3, scramble=True, seed=5)"
    assert engine.draw(out=ingot.empty(0, dtype=ingot.float64)).dtype is ingot.float64


@pytest.mark.parametrize("call, kind, words", [
    (lambda: SobolEngine(0), ValueError, r"range of dimensionality for SobolEngine is \[1, 21201\]"),
    (lambda: SobolEngine(21202), ValueError, "got 21202"),
    (lambda: SobolEngine(2.5), TypeError, "must be an int"),
    (lambda: SobolEngine(2).draw(-1), ValueError, "must be non-negative"),
    (lambda: SobolEngine(2).fast_forward(-1), ValueError, "must be non-negative"),
    (lambda: SobolEngine(2).draw(3, dtype=ingot.float16), TypeError, "float32 and float64"),
    (lambda: SobolEngine(2).fast_forward(5).draw_base2(2), ValueError, "n = 5 [+] 2[*][*]2 = 9"),
    (lambda: SobolEngine(2).fast_forward(2 ** 30).draw(), ValueError, "has 2[*][*]30 points"),
])
def test_errors(call, kind, words):
    with pytest.raises(kind, match=words):
        call()


def test_a_trace_names_the_line():
    engine = SobolEngine(2)
    with pytest.raises(jit.TraceError, match="SobolEngine"):
        jit.trace(lambda x: x + engine.draw(1))(ingot.ones(2))
    assert engine.num_generated == 0
