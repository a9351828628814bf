"""Python state in an exported run: what it reads becomes constants of the file, and what it writes is refused.

An export records with the tracker of traces. Guards of a trace are here what the file fixes: numbers, texts and flags that the
function took from globals, closures, attributes and containers, and answers of the process.
"""

from ....runtime.nn.base.module import Module
from ...bytecode.user_code import is_own
from ...guards.guards import Guard, ModulesGuard, ReadCondition
from ...guards.snapshot import Snapshot, brief, is_plain

_REFUSAL = ("it writes to {place}, and an exported model leaves Python as it is; return the value instead, or keep a tensor in "
            "a buffer (register_buffer) and export with stateful=True")


def refuse_effects(effects, limits):
    """Refuse the writes of a run, except for buffers that its state holds."""
    for t in effects:
        if not (isinstance(t.owner, Module) and limits.state.holds(t.owner, t.key)):
            limits.refuse(_REFUSAL.format(place=t.text))


def constants(guards, module_reads) -> dict:
    """Return {name: value, in words, and the function that reads it} of the Python state that guards compare."""
    found: dict = {}
    for g in guards:
        if type(g) is Guard and (is_plain(g.expected) or type(g.expected) is Snapshot):
            found[str(g.chain)] = brief(g.expected) + (f" (read in {g.where})" if g.where else "")
        elif type(g) is ReadCondition and is_plain(g.expected):
            found[g.text] = brief(g.expected)
        elif isinstance(g, ModulesGuard):
            found |= {f"{type(m).__name__}.{name}": brief(value) for m, state in g.states if not is_own(type(m).__module__)
                      for name, value in state.items() if (id(m), name) in module_reads and is_plain(value)}
    return found
