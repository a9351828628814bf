"""Runs under way that write over their inputs. An interrupt may stop such a run, which goes on from there later.

While a replay must be able to finish such runs, `Mode.journal` has what each of them has done, by its graph. After an interrupt
the replay asks whether any of them `writes`. If so, it runs the same graphs again, on the same arrays, and they go on.
"""

from typing import Any


class Progress:
    """A run under way: `done` has an item for each step whose results are in `env`, or in the inputs that it writes over.

    Steps have `writes_inputs`, `run_once(env, progress)`, which notes a step in the instruction that writes over inputs, and
    `settle(env, progress)`, which finishes a step that is noted, and may be repeated.

    pending   what the step that was noted last leaves to `settle`
    checked   (a step that may find wrong data, before it writes anything; what `settle` checks), from its start on
    unnoted   number of steps that may have written something before they are noted
    """

    __slots__ = ("checked", "done", "env", "pending", "steps")
    unnoted = 1

    def __init__(self, env, steps):
        self.env, self.steps, self.pending = env, steps, None
        self.checked: Any = None, ()
        self.done: list[Any] = []

    @property
    def writes(self) -> bool:
        """Whether all that comes before the first write is done: nothing can fail from there on."""
        return any([step.writes_inputs for step in self.steps[:len(self.done) + self.unnoted]])  # noqa: C419

    @property
    def has_written(self) -> bool:
        """Whether a step is done that writes, so that the call must not be made in another way."""
        return any([step.writes_inputs for step in self.steps[:len(self.done)]])  # noqa: C419


class Repeated:
    """The note of writes that are made again from their beginning after an interrupt, such as copies of results."""

    writes = has_written = True


def resume(progress):
    """Run the steps that are not done yet."""
    env, steps, done = progress.env, progress.steps, progress.done
    if done:
        steps[len(done) - 1].settle(env, progress)
    for step in steps[len(done):]:
        step.run_once(env, progress)
