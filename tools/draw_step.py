"""Write `docs/step.svg`, the picture in README: a training step as a trace records it.

    python tools/draw_step.py             # writes it
    python tools/draw_step.py --check     # says whether the code still draws it so
"""

import sys
from pathlib import Path

import ingot
from ingot.ir.draw import view

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "step.svg"
PROGRAM = """import ingot
from ingot import jit

w = ingot.zeros(16, 4, requires_grad=True)


@jit.trace
def step(x, y):
    loss = ((x @ w).tanh() - y).square().mean()
    loss.backward()
    with ingot.no_grad():
        w.sub_(w.grad * 0.1)
    w.grad = None
    return loss
"""


def picture() -> str:
    """Return the drawing of the recorded step."""
    names: dict = {}
    exec(compile(PROGRAM, "step.py", "exec"), names)
    step = names["step"]
    for _ in range(2):
        step(ingot.ones(8, 16), ingot.ones(8, 4))
    stages, *_ = step.graphs.values()
    return view.svg(stages["recorded"]) + "\n"


def main(arguments) -> int:
    if "--check" in arguments:
        is_same = PICTURE.read_text(encoding="utf-8") == picture()
        print(f"{PICTURE.name} is {'as drawn' if is_same else 'drawn in another way now: python tools/draw_step.py'}")
        return not is_same
    PICTURE.write_text(picture(), encoding="utf-8")
    print(f"wrote {PICTURE}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
