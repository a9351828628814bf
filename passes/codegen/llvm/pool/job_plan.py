"""Pool jobs on the arrays of a call: `void jobs_launch_<n>(ptr block)` runs a *plan* on n arrays.

The block holds the addresses of the arrays, of the plan and of the call's scratch memory. A plan is 64-bit words: the number of
jobs, then for each job {task, chunks (and how many threads, `fork_join.at_most`), turns, words, address of its words}. A job is
put together on the stack, so that threads may run one plan at the same time: the arrays' addresses, the scratch's, the turn
(jobs with several turns run once for each, one after the other), then its words.
"""

from .....ir.target import Target
from ..ir.emit import Module
from ..ir.types import I64, PTR

PLAN_ROW = 5
MOST_WORDS = 64                     # words of a job after its head, at most
WORD = 8


def launch_name(arrays: int) -> str:
    """The launcher's symbol."""
    return f"jobs_launch_{arrays}"


def launch_text(target: Target, arrays: int) -> str:
    """The module that defines the launcher for calls with so many arrays."""
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
