"""Launchers of job plans: one native call runs several pool jobs, on arrays or on a block of addresses.

`void jobs_launch_<n>(ptr block)` runs a plan on n arrays. The block holds the addresses of the arrays, of the plan and of the
call's scratch memory. A plan is 64-bit words: the number of jobs, then for each job {task, chunks (with a limit of threads,
`fork_join.at_most`), turns, words, address of its words}. A job is the arrays' addresses, the scratch's, the turn, then its
words. Jobs with several turns run once for each, in order.

`void steps_launch(ptr block)` runs a plan on the addresses in a block of SLOTS; the last word is the plan's address. A plan is
the number of steps, then for each step {task, chunks, words, template, patches, patch list}. The template holds the words that
are the same for every call. A patch {word, slot, offset} puts the address in a slot plus an offset into a word of the job.

Both build jobs on the stack, so threads may run one plan at the same time.
"""

from .....ir.target import Target
from ..ir.emit import Module
from ..ir.types import I64, PTR
from .tasks import WORD

PLAN_ROW = 5
MOST_WORDS = 64                     # words of a job after its head, at most


def launch_name(arrays: int) -> str:
    """Return the symbol of the launcher for `arrays` arrays."""
    return f"jobs_launch_{arrays}"


def launch_text(target: Target, arrays: int) -> str:
    """Return the module with the launcher for `arrays` arrays."""
    module = Module(target)
    f = module.function(launch_name(arrays), [(PTR, "block")])
    block, = f.params
    job, plan = f.local(WORD * (arrays + 2 + MOST_WORDS)), f.load(PTR, f.at(block, WORD * arrays))
    for number in range(arrays):
        f.store(f.load(I64, f.at(block, WORD * number)), f.at(job, WORD * number))
    f.store(f.load(I64, f.at(block, WORD * (arrays + 1))), f.at(job, WORD * arrays))
    with f.loop(0, f.load(I64, plan)) as loop:
        row = f.at(plan, f.add(f.mul(loop.index, WORD * PLAN_ROW), WORD))
        task, words = f.load(PTR, row), f.load(PTR, f.at(row, 4 * WORD))
        chunks, turns, count = (f.load(I64, f.at(row, WORD * place)) for place in (1, 2, 3))
        with f.loop(0, count) as copy:
            f.store(f.load(I64, f.at(words, copy.index, I64)), f.at(f.at(job, WORD * (arrays + 2)), copy.index, I64))
        with f.loop(0, turns) as turn:
            f.store(turn.index, f.at(job, WORD * (arrays + 1)))
            f.call("ingot_pool_run", "void", task, job, chunks)
    f.ret()
    return module.text()


SLOTS_LAUNCH = "steps_launch"
SLOTS = 7                           # addresses in a block; the plan comes after them
STEP_WORDS = 6
PATCH_WORDS = 3


def slots_text(target: Target) -> str:
    """Return the module with the launcher of plans on a block of addresses."""
    module = Module(target)
    f = module.function(SLOTS_LAUNCH, [(PTR, "block")])
    block, = f.params
    job, plan = f.local(WORD * MOST_WORDS), f.load(PTR, f.at(block, WORD * SLOTS))
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
