"""A call that takes several pool jobs: `void steps_launch(ptr block)` runs a *plan* on the addresses in a block.

A plan is an array of 64-bit words: the number of steps, then for each step {task, chunks, words, template, patches, patch
list}. Chunks also say how many threads take them (`fork_join.at_most`). The template is the step's job as it is the same for
every call; a patch {word, slot, offset} says that a word of the job is the address in a slot of the block plus an offset. The
job is put together on the stack, so that threads may run one plan at the same time. The last word of the block is the plan's
address.
"""

from .....ir.target import Target
from ..ir.emit import Module
from ..ir.types import I64, PTR
from .tasks import WORD

LAUNCH = "steps_launch"
SLOTS = 7                           # addresses in a block; the plan comes after them
MAX_WORDS = 64                      # words of a job, at most
STEP_WORDS = 6
PATCH_WORDS = 3


def launch_text(target: Target) -> str:
    """The module that defines the launcher."""
    module = Module(target)
    f = module.function(LAUNCH, [(PTR, "block")])
    block, = f.params
    job, plan = f.local(WORD * MAX_WORDS), f.load(PTR, f.at(block, WORD * SLOTS))
    steps = f.load(I64, plan)
    with f.loop(0, steps) as loop:
        step = f.at(plan, f.add(f.mul(loop.index, WORD * STEP_WORDS), WORD))
        task, template, patches = (f.load(PTR, f.at(step, WORD * place)) for place in (0, 3, 5))
        chunks, words, count = (f.load(I64, f.at(step, WORD * place)) for place in (1, 2, 4))
        with f.loop(0, words) as copy:
            f.store(f.load(I64, f.at(template, copy.index, I64)), f.at(job, copy.index, I64))
        with f.loop(0, count) as each:
            patch = f.at(patches, f.mul(each.index, WORD * PATCH_WORDS))
            word, slot, offset = (f.load(I64, f.at(patch, WORD * place)) for place in range(PATCH_WORDS))
            f.store(f.add(f.load(I64, f.at(block, slot, I64)), offset), f.at(job, word, I64))
        f.call("ingot_pool_run", "void", task, job, chunks)
    f.ret()
    return module.text()
