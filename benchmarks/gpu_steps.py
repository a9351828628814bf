"""Whole training steps for a GPU, each with what is known of it before it is measured (`gpu_ledger.py`)."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from .cases import indices, randoms
from .device import training
from .harness import Case
from .sequences import gpt, lstm_lm, mlp
from .vision import resnet18, resnet50

COMPILED = {"torch.compile": 1.0}
HOW = {"bfloat16": {"low": True}, "tf32": {"precision": "high"}, "float32": {}}
FLOORS = Path(__file__).parent / "gpu_floors.json"


@dataclass(frozen=True)
class Step:
    """A training step with Adam: a network, its inputs, and whether it is in bfloat16 by autocast, in TF32, or in float32."""

    name: str
    build: Callable
    arrays: Callable
    kind: str = "float32"
    small: bool = False
    images: bool = False
    bars: dict = field(default_factory=dict)

    def case(self, plan) -> Case:
        """The step for the libraries of a run, with the least time that its launches take as far as that is known."""
        floor = 0.0 if plan.tiny or plan.quick else floors().get(self.name, {}).get("floor", 0.0)
        return training(self.name, self.build, self.arrays(), plan, small=self.small, images=self.images, bars=self.bars,
                        floor=floor, **HOW[self.kind])


def floors() -> dict:
    """Return the results of `python -m benchmarks.gpu_ledger --json`, by the names of steps."""
    return json.loads(FLOORS.read_text()) if FLOORS.exists() else {}


def gpt2(plan, kind="bfloat16") -> Iterator[Step]:
    """GPT-2 small."""
    form = plan.pick((50257, 12, 768, 12, 1024), (50257, 12, 768, 12, 256), (11, 1, 8, 2, 5))
    batch = plan.pick(8, 4, 2)
    yield Step(f"GPT-2 small batch {batch}x{form[4]} + Adam, {kind}", lambda lib: gpt(lib, *form),
               lambda: [indices(form[0], batch, form[4], seed=s) for s in (0, 1)], kind, bars=COMPILED)


def images(plan, kind="bfloat16") -> Iterator[Step]:
    """ResNet-50."""
    batch, side = plan.pick((64, 224), (16, 128), (2, 32))
    options = plan.pick({}, {}, {"width": 4, "classes": 10})
    yield Step(f"ResNet-50 batch {batch}x{side} + Adam, {kind}", lambda lib: resnet50(lib, **options),
               lambda: [randoms(batch, 3, side, side), indices(plan.pick(1000, 1000, 10), batch)], kind, images=True,
               bars=COMPILED)


def small(plan) -> Iterator[Step]:
    """Steps that are over before they are launched."""
    sizes = plan.pick((784, 128, 128, 10), (784, 128, 128, 10), (6, 5, 4))
    form = plan.pick((64, 4, 128, 4, 32), (64, 4, 128, 4, 32), (11, 1, 8, 2, 5))
    yield Step("MLP batch 32 + Adam", lambda lib: mlp(lib, *sizes), lambda: [randoms(32, sizes[0]), indices(sizes[-1], 32)],
               small=True, bars={"best": 1.0})
    yield Step("GPT 4 layers of 128 + Adam", lambda lib: gpt(lib, *form),
               lambda: [indices(form[0], 2, form[4], seed=s) for s in (0, 1)], small=True, bars={"best": 1.0})


def middling(plan) -> Iterator[Step]:
    """An MLP, a GPT, an LSTM and a ResNet-18 in float32."""
    batch = plan.pick(256, 256, 4)
    yield Step("MLP + Adam", lambda lib: mlp(lib, 784, 512, 512, 10), lambda: [randoms(batch, 784), indices(10, batch)])
    sizes = plan.pick((512, 6, 384, 6, 256), (512, 4, 128, 4, 64), (11, 1, 8, 2, 5))
    yield Step("GPT + Adam", lambda lib: gpt(lib, *sizes),
               lambda: [indices(sizes[0], 16, sizes[4]), indices(sizes[0], 16, sizes[4], seed=1)])
    form = plan.pick((512, 256, 32, 64), (512, 128, 16, 32), (11, 4, 2, 3))
    yield Step("LSTM + Adam", lambda lib: lstm_lm(lib, *form[:2]),
               lambda: [indices(form[0], *form[2:]), indices(form[0], *form[2:], seed=1)])
    count = plan.pick(64, 16, 2)
    options = plan.pick({"classes": 10}, {"classes": 10}, {"width": 4, "classes": 10})
    yield Step("ResNet-18 32x32 + Adam", lambda lib: resnet18(lib, **options),
               lambda: [randoms(count, 3, 32, 32), indices(10, count)])


def every(plan) -> list[Step]:
    """All of them."""
    return [s for kind in ("bfloat16", "tf32") for make in (gpt2, images) for s in make(plan, kind)] \
        + [*small(plan), *middling(plan)]
