"""Device kernels fetch the fewest bytes: they recompute values, with the same bits, and sums that read one value are joined."""

import numpy as np
import pytest

import ingot
import mock_cuda
from graph_interpreter import interpret
from graphs import graph_of, same_bits
from ingot import jit, nn
from ingot.ir import dtype as dt
from ingot.ir.graph.graph import Builder, Graph
from ingot.ir.opdef.aval import Aval
from ingot.ir.ops.core import elementwise as ew
from ingot.ir.ops.core.reduce import sum_
from ingot.ir.ops.core.shape import expand
from ingot.ir.ops.index.sort import argsort
from ingot.nn import functional as F
from ingot.passes.codegen.triton.loops import configs
from ingot.passes.fusion import recompute as passes
from ingot.passes.schedule import device_plan as plans
from ingot.runtime.cuda import backend
from ingot.runtime.cuda.graph import eager
from ingot.runtime.cuda.graph.program import DeviceGraph


@pytest.fixture(autouse=True)
def any_size(monkeypatch):
    monkeypatch.setattr(passes, "LEAST", 0)


def reads_and_writes(text) -> list:
    """Return (names of its reads, of its writes) for each step."""
    graph = graph_of(text)
    names = {v: f"in{i}" for i, v in enumerate(graph.inputs)}
    names |= {v: f"{n.op.name}.{v.dtype.short}" for n in graph.nodes for v in n.outputs}
    return [(sorted({names[v] for v in s.reads}), sorted(names[v] for v in s.writes)) for s in plans.plan(graph).steps]


def test_a_wide_value_is_recomputed_from_a_narrow_one():
    """The centring kernel stores row sums; the last kernel reads these and the narrow input."""
    text = """
        graph g(%x: bf16[64,256], %w: f32[256,256]) {
          %0: bf16[64,256] = copy(%x)
          %1: f32[64,256] = cast(%x, dtype=f32)
          %2: f32[64,1] = sum(%1, dim=(1,), keepdim=True)
          %3: f32[64,256] = expand(%2, shape=(64, 256))
          %4: f32[64,256] = sub(%1, %3)
          %5: f32[64,1] = amax(%4, dim=(1,), keepdim=True)
          %6: f32[64,256] = expand(%5, shape=(64, 256))
          %7: f32[64,256] = matmul(%6, %w)
          %8: f32[64,256] = mul(%7, %4)
          %9: f32[64,1] = sum(%8, dim=(1,), keepdim=True)
          return %5, %9
        }"""
    first, _, last = reads_and_writes(text)
    assert first == (["in0"], ["amax.f32", "sum.f32"])
    assert last[0] == ["in0", "matmul.f32", "sum.f32"] and "sub.f32" not in last[1]


def test_the_slope_of_an_expensive_function_is_recomputed_from_the_product():
    """A bias that is cast for its kernel is cast again; the product stays in memory for both."""
    text = """
        graph g(%x: bf16[64,256], %w: bf16[256,256], %b: f32[256]) {
          %0: bf16[64,256] = matmul(%x, %w)
          %1: bf16[256] = cast(%b, dtype=bf16)
          %2: bf16[64,256] = expand(%1, shape=(64, 256))
          %3: bf16[64,256] = add(%0, %2)
          %4: bf16[64,256] = gelu(%3)
          %5: bf16[64,256] = matmul(%4, %w)
          %6: f32[64,256] = cast(%3, dtype=f32)
          %7: f32[64,256] = erf(%6)
          %8: f32[64,256] = exp(%6)
          %9: f32[64,256] = mul(%7, %8)
          %10: bf16[64,1] = sum(%5, dim=(1,), keepdim=True)
          %11: bf16[64,256] = expand(%10, shape=(64, 256))
          %12: f32[64,256] = cast(%11, dtype=f32)
          %13: f32[64,256] = mul(%12, %9)
          return %13
        }"""
    steps = reads_and_writes(text)
    assert (["in2", "matmul.bf16"], ["gelu.bf16"]) in steps
    assert steps[-1][0][0] == "in2" and "matmul.bf16" in steps[-1][0] and not any("mul.f32" in r for r, _ in steps)


def test_a_norm_after_a_sum_reads_the_stored_sum():
    """Both kernels that need the normalised rows compute them from the sum and the row statistics, though the input is
    narrower."""
    steps = reads_and_writes("""
        graph g(%x: f32[64,256], %y: bf16[64,256], %w: bf16[256,256]) {
          %0: f32[64,256] = cast(%y, dtype=f32)
          %1: f32[64,256] = add(%x, %0)
          %2: f32[64,1] = amax(%1, dim=(1,), keepdim=True)
          %3: f32[64,256] = expand(%2, shape=(64, 256))
          %4: f32[64,256] = sub(%1, %3)
          %5: bf16[64,256] = cast(%4, dtype=bf16)
          %6: bf16[64,256] = matmul(%5, %w)
          %7: f32[64,256] = cast(%6, dtype=f32)
          %8: f32[64,256] = mul(%7, %4)
          %9: f32[64,1] = sum(%8, dim=(1,), keepdim=True)
          %10: f32[256] = sum(%8, dim=(0,), keepdim=False)
          return %1, %9, %10
        }""")
    assert steps[0] == (["in0", "in1"], ["add.f32", "amax.f32", "cast.bf16"])
    assert steps[2:] == [(["add.f32", "amax.f32", "matmul.bf16"], ["sum.f32"])] * 2


@pytest.mark.parametrize("cheap, again", [("tanh(%1)", True), ("lgamma(%1)", False)], ids=["few", "many"])
def test_expensive_values_are_read(cheap, again):
    steps = reads_and_writes(f"""
        graph g(%x: bf16[64,256], %w: f32[256,256]) {{
          %1: f32[64,256] = cast(%x, dtype=f32)
          %2: f32[64,256] = {cheap}
          %3: f32[64,256] = matmul(%2, %w)
          %4: f32[64,256] = matmul(%w, %3)
          %5: f32[64,1] = sum(%4, dim=(1,), keepdim=True)
          %6: f32[64,256] = expand(%5, shape=(64, 256))
          %7: f32[64,256] = mul(%6, %2)
          return %7
        }}""".replace("matmul(%w, %3)", "matmul(%3, %w)"))
    assert ("in0" in steps[-1][0]) == again


def test_an_index_is_picked_from_the_narrow_logits():
    steps = reads_and_writes("""
        graph g(%x: bf16[64,256], %t: i64[64]) {
          %1: f32[64,256] = cast(%x, dtype=f32)
          %2: f32[64] = take_class(%1, %t)
          return %2
        }""")
    assert steps == [(["in0", "in1"], ["take_class.f32"])]


def random_program(rng) -> Graph:
    """Return casts, scalar functions and row sums of one input, some of which meet again behind sorted values."""
    b = Builder("late")
    x = b.input("x", Aval((24, 40), dt.bfloat16))
    values, wall = [ew.cast(x, dtype=dt.float32)], None

    def pick():
        return values[int(rng.integers(len(values)))]

    for step in range(14):
        if step == 7:
            wall = ew.cast(argsort(pick(), dim=1, descending=False), dtype=dt.float32)
        a, kind = pick(), int(rng.integers(6))
        if kind == 0:
            values.append(expand(sum_(a, dim=(1,), keepdim=True), shape=(24, 40)))
        elif kind == 1:
            values.append(ew.cast(ew.cast(a, dtype=dt.bfloat16), dtype=dt.float32))
        elif kind == 2:
            values.append(ew.where(ew.gt(a, 0.5), pick(), a))
        else:
            values.append((ew.mul, ew.sub, ew.maximum)[kind - 3](a, pick() if step < 7 else wall))
    late = [ew.mul(wall, v) for v in values[4:8]]
    return b.finish([values[-1], *late, sum_(late[0], dim=(0,), keepdim=False), sum_(late[1], dim=(1,), keepdim=False)])


def test_random_programs_keep_every_bit(monkeypatch):
    changed = 0

    def counted(groups, *rest):
        nonlocal changed
        found = passes.recompute(groups, *rest)
        changed += found is not groups
        return found

    for seed in range(40):
        graph = random_program(np.random.default_rng([11, seed]))
        x = np.random.default_rng(seed).standard_normal((24, 40)).astype(dt.bfloat16.np)
        found = []
        with mock_cuda.installed():
            for one in (counted, lambda groups, *rest: groups):
                monkeypatch.setattr(plans, "recompute", one)
                made = DeviceGraph(graph, eager.run)
                found.append([backend.to_host(r) for r in made.run([backend.to_device(x, 0)])])
        assert all(same_bits(a, b) for a, b in zip(*found)), seed
    assert changed > 20, changed


class Net(nn.Module):
    """A normalised, residual, clipped network with a classifier."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4)
        self.side, self.head = nn.Conv2d(3, 4, 1), nn.Linear(4, 7)

    def forward(self, x):
        h = F.relu(self.norm(self.conv(x)) + self.side(x))
        return self.head(F.gelu(h).mean((2, 3)))


@pytest.mark.parametrize("cut", [False, True], ids=["whole", "cut"])
def test_a_step_under_autocast_is_eager_s_and_copies_no_parameter(cut, monkeypatch):
    for name, value in (("PART", 64), ("PART_ACROSS", 16), ("SWEPT_AGAIN", 128), ("WHOLE", 32)) if cut else ():
        monkeypatch.setattr(configs, name, value)
    found = []
    with mock_cuda.installed() as cuda:
        for traced in (False, True):
            ingot.manual_seed(0)
            net = Net().to("cuda")
            opt = ingot.optim.Adam(net.parameters(), lr=1e-2)

            def step(x, y, net=net, opt=opt):
                opt.zero_grad()
                with ingot.amp.autocast("cuda", dtype=ingot.bfloat16):
                    loss = F.cross_entropy(net(x), y)
                loss.backward()
                opt.step()
                return loss.detach()

            run, losses = jit.trace(step) if traced else step, []
            for i in range(4):
                x, y = ingot.randn(4, 3, 8, 8).cuda(), ingot.tensor([0, 3, 6, 2]).cuda()
                before = cuda.calls.get("cuMemcpyDtoDAsync_v2", 0)
                losses.append(run(x, y).item())
                copies = cuda.calls.get("cuMemcpyDtoDAsync_v2", 0) - before
                assert not (traced and i == 2 and copies), f"{copies} copies beside the kernels"
            found.append((losses, [p.detach().cpu().numpy() for p in net.parameters()]))
    (want, weights), (got, there) = found
    np.testing.assert_allclose(got, want, rtol=2e-2)
    for a, b in zip(weights, there):
        np.testing.assert_allclose(a, b, atol=2e-2)


def normal(rng, shape):
    return rng.standard_normal(shape).astype(np.float32)


def whole(rng, shape):
    """Return small integers as floats, whose sums of products are exact in any order."""
    return rng.integers(-3, 4, shape).astype(np.float32)


def check_steps(text, targets, numbers=normal):
    """Return [(operator names, read inputs, written inputs)] of the steps of a graph after it ran."""
    graph = graph_of(text)
    steps = plans.plan(graph, frozenset(), targets)
    arrays = [numbers(np.random.default_rng(i), v.shape) for i, v in enumerate(graph.inputs)]
    with mock_cuda.installed():
        there = [backend.to_device(a) for a in arrays]
        made = DeviceGraph(steps, eager.run_into)
        found = made.run(there)
        for i, a in enumerate(found):
            rtol, atol = (0, 0) if numbers is whole else (1e-4, 1e-4)
            np.testing.assert_allclose(backend.to_host(a), interpret(graph, arrays).outputs[i], rtol=rtol, atol=atol)
        assert all(found[i].memory is there[targets[i]].memory for i in made.in_place)
    return [(sorted({n.op.name for n in (s.group.nodes if getattr(s, "group", None) else [s.node])}),
             sorted(graph.inputs.index(v) for v in set(s.reads) if v.is_input)) for s in steps.steps], made.in_place


def test_gradients_of_a_norm_are_one_kernel():
    """Both sums need the product; the row kernel made its other factor before."""
    steps, in_place = check_steps("""
        graph g(%w: f32[64], %b: f32[64], %x: f32[96,64], %m: f32[64,64]) {
          %0: f32[96,64] = matmul(%x, %m)
          %1: f32[96,64] = mul(%0, %x)
          %2: f32[96,1] = sum(%1, dim=(1,), keepdim=True)
          %3: f32[96,64] = expand(%2, shape=(96, 64))
          %4: f32[96,64] = mul(%0, %3)
          %5: f32[64,64] = matmul(%m, %m)
          %6: f32[64] = sum(%1, dim=(0,), keepdim=False)
          %7: f32[64] = sub(%w, %6)
          %8: f32[64] = sum(%0, dim=(0,), keepdim=False)
          %9: f32[64] = sub(%b, %8)
          return %7, %9, %4
        }""", {0: 0, 1: 1}, whole)
    assert (["mul", "sub", "sum"], [0, 1, 2]) in steps and in_place == {0, 1}
    assert sum("sub" in names for names, _ in steps) == 1


UPDATES = """
    graph g(%p: f32[8,8], %q: f32[8,8], %x: f32[8,8]) {
      %0: f32[8,8] = matmul(%x, %p)
      %1: f32[8,8] = sub(%q, %0)
      %2: f32[8,8] = matmul(%0, %x)
      %3: f32[8,8] = mul(%p, %2)
      %4: f32[8,8] = matmul(%2, LATE)
      %5: f32[8,8] = sort_of(%4)
      return %3, %1, %5
    }"""


@pytest.mark.parametrize("late, order", [("%x", ["matmul", "sub", "matmul", "mul", "matmul", "argsort"]),
                                         ("%p", ["matmul", "sub", "matmul", "matmul", "mul", "argsort"]),
                                         ("%q", ["matmul", "matmul", "mul", "matmul", "sub", "argsort"])],
                         ids=["nothing", "one", "the other"])
def test_updates_run_after_all_readers_of_the_memory_that_they_overwrite(late, order, monkeypatch):
    text = UPDATES.replace("LATE", late).replace("f32[8,8] = sort_of(%4)", "i64[8,8] = argsort(%4, descending=False, dim=1)")
    for name in ("fuse_epilogues", "fuse_prologues"):
        monkeypatch.setattr(plans, name, lambda groups, *rest: groups)
    steps, in_place = check_steps(text, {0: 0, 1: 1})
    assert [names[0] for names, _ in steps] == order and in_place == {0, 1}


def test_an_update_runs_before_another_one_that_overwrites_its_operand():
    text = """
        graph g(%p: f32[8,8], %q: f32[8,8], %x: f32[8,8]) {
          %0: f32[8,8] = mul(%p, %x)
          %1: f32[8,8] = matmul(%x, %x)
          %2: f32[8,8] = exp(%1)
          %3: f32[8,1] = sum(%2, dim=(1,), keepdim=True)
          %4: f32[8,8] = expand(%3, shape=(8, 8))
          %5: f32[8,8] = matmul(%4, %x)
          %6: f32[8,8] = matmul(%p, %5)
          %7: f32[8,8] = sub(%q, %6)
          return %0, %7
        }"""
    check_steps(text, {0: 0, 1: 1})
    check_steps(text.replace("matmul(%p, %5)", "matmul(%5, %5)").replace("sub(%q, %6)", "sub(%p, %6)"), {0: 0, 1: 1})
