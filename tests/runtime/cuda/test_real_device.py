"""On a real GPU (`make test-gpu`): the operator table against the CPU, training, memory over many steps, launch costs.

Without a device every test here is skipped and says what is missing; the mock driver covers the same ground elsewhere.
"""

import gc
import time

import numpy as np
import pytest

import ingot
from ingot import jit
from ingot.ir.opdef.op import OPS
from tests.passes.codegen.scalars import test_special_function_units as units
from tests.passes.codegen.triton.contract import test_prologue as prologues
from tests.runtime import test_float8 as float8
from tests.runtime.cuda import test_hazards as hazards
from tests.runtime.cuda import test_programs as programs
from tests.runtime.cuda import test_random_programs as fuzz
from tests.runtime.cuda.ops import test_operators as table

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not ingot.cuda.is_available(), reason=ingot.cuda.why_not_available() or "-"),
              pytest.mark.timeout(600)]        # (every operator in every dtype is a hundred kernels for some)


@pytest.mark.parametrize("name", table.NAMES)
def test_every_operator_in_every_dtype(name):
    for sample in table.rows(name):
        for kind in table.EVERY.get(sample.dtypes, sample.dtypes):
            table.compare(name, sample, kind)


@pytest.mark.parametrize("traced", [False, True], ids=["eager", "traced"])
def test_training_gives_the_losses_of_the_cpu(traced):
    def losses(device):
        ingot.manual_seed(0)
        net = ingot.nn.Sequential(ingot.nn.Linear(64, 256), ingot.nn.GELU(), ingot.nn.LayerNorm(256), ingot.nn.Linear(256, 10))
        net.to(device)
        opt = ingot.optim.AdamW(net.parameters(), lr=1e-3)

        def step(x, y):
            opt.zero_grad()
            loss = ingot.nn.functional.cross_entropy(net(x), y)
            loss.backward()
            opt.step()
            return loss

        step = jit.trace(step) if traced else step
        ingot.manual_seed(1)
        found = []
        for _ in range(12):
            x, y = ingot.randn(32, 64), ingot.randint(0, 10, (32,))
            found.append(step(x.to(device), y.to(device)))
        return [t.item() for t in found]

    np.testing.assert_allclose(losses("cuda"), losses("cpu"), rtol=2e-3)


@pytest.mark.parametrize("name, domain, right, far, function, floor", units.BOUNDS, ids=[r[0] for r in units.BOUNDS])
def test_special_units_have_the_documented_accuracy(name, domain, right, far, function, floor):
    x = units.everywhere(*domain)
    got, = table.results(OPS[name], table.tensors([x], "cuda"), {})
    units.check(name, x, got, far, function, floor)


def test_memory_does_not_grow_over_random_shapes():
    rng = np.random.default_rng(0)
    held = []
    for step in range(10_000):
        n, m = rng.integers(1, 600, 2)
        x = ingot.ones(int(n), int(m), device="cuda")
        (x * 2).sum().item()
        if step in (2000, 9999):
            del x
            gc.collect()
            held.append(ingot.cuda.memory_reserved())
    assert ingot.cuda.memory_allocated() < 64 << 20 and held[1] <= 2 * held[0] + (64 << 20), held


def test_products_on_tensor_cores():
    for dtype, tolerance in ((ingot.bfloat16, 2e-2), (ingot.float16, 2e-3), (ingot.float32, 1e-5)):
        x, y = ingot.randn(300, 513).to(dtype), ingot.randn(513, 257).to(dtype)
        want = x.double() @ y.double()
        got = (x.cuda() @ y.cuda()).cpu().double()
        error = ((got - want).abs().max() / want.abs().max()).item()
        assert error < tolerance, f"{dtype}: {error}"


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", prologues.CASES)
def test_factors_that_products_compute(name, dtype):
    """Traced, where they are part of the product, beside eager, where they are not, and beside the CPU in float64."""
    f, shapes = prologues.CASES[name]
    given = [prologues.draw(*s, dtype=dtype) + 0.5 for s in shapes]
    there, run = [x.cuda() for x in given], jit.trace(f)
    for _ in range(4):
        got = run(*there)
    for g, e, want in zip(*[found if isinstance(found, tuple) else (found,) for found in
                            (got, f(*there), f(*[x.double() for x in given]))]):
        size = want.abs().max().item()
        assert (g.cpu().double() - want).abs().max().item() < (1e-5 if dtype == "float32" else 5e-2) * size
        assert (g.cpu().double() - e.cpu().double()).abs().max().item() < (1e-6 if dtype == "float32" else 1e-2) * size


@pytest.mark.parametrize("kind", float8.KINDS, ids=str)
@pytest.mark.parametrize("source", ["float16", "bfloat16", "float32"])
def test_casts_to_float8_have_the_bits_of_the_cpu(source, kind):
    x = ingot.from_numpy(float8.SOURCES[source])
    made = x.cuda().to(kind)
    assert (float8.raw(made.cpu()) == float8.raw(x.to(kind))).all()
    assert ingot.equal(made.float().nan_to_num().cpu(), x.to(kind).float().nan_to_num())


def test_memory_is_shared_with_torch():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("this PyTorch has no GPU")
    for dtype in (ingot.float32, ingot.bfloat16, ingot.int64, ingot.uint8):
        x = ingot.arange(24, dtype=dtype, device="cuda").reshape(4, 6)
        seen = torch.from_dlpack(x.t())
        assert seen.device.type == "cuda" and seen.shape == (6, 4) and seen.data_ptr() == x.data_ptr()
        seen += 1
        torch.cuda.synchronize()
        assert x[0, :3].tolist() == [1, 2, 3]
        back = ingot.from_dlpack(torch.full((3, 5), 7, device="cuda").to(seen.dtype))
        assert back.device.type == "cuda" and back.dtype is dtype and back.tolist() == [[7] * 5] * 3


@pytest.mark.parametrize("program", programs.PROGRAMS, ids=lambda f: f.__name__)
def test_programs_equal_the_cpu(program):
    if "two_parts" in program.__name__ and ingot.cuda.device_count() < 2:
        pytest.skip("there is one GPU")
    ingot.manual_seed(1337)
    want = program("cpu")
    ingot.manual_seed(1337)
    tolerance = 2e-2 if program is programs.nanogpt else 1e-3
    np.testing.assert_allclose(program("cuda"), want, rtol=tolerance, atol=tolerance)


def test_threads_and_captures_on_a_real_device():
    x = ingot.arange(1000.0, device="cuda")
    warm = (x * 2 + 1).sum().item()
    assert hazards.in_thread(lambda: (x * 2 + 1).sum().item()) == warm
    for make in hazards.MAKERS:
        hazards.capture_without_a_run(make)
    hazards.replay_copies_from_the_host()
    hazards.draw_by_replays()


@pytest.mark.parametrize("seed", range(10))
def test_random_programs_over_streams_and_graphs(seed):
    fuzz.World(seed, ingot.cuda.device_count()).run()


def test_copies_overlap_with_work():
    x = ingot.randn(1 << 20).pin_memory()
    side = ingot.cuda.Stream()
    with ingot.cuda.stream(side):
        y = x.to("cuda", non_blocking=True)
        z = y * 2
    side.synchronize()
    assert ingot.equal(z.cpu(), x * 2)


def test_an_eager_operator_is_quick_to_launch():
    x = ingot.ones(1024, device="cuda")
    for _ in range(100):
        y = x + x
    ingot.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(2000):
        y = x + x
    spent = (time.perf_counter() - start) / 2000
    ingot.cuda.synchronize()
    assert y.sum().item() == 2048 and spent < 500e-6, f"{spent * 1e6:.1f} us per operator"
