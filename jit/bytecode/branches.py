"""Branches that a frame cannot take: those that its arguments decide, as in `mask = self.mask if mask is None else mask`.

Reads of the other branch do not count. The arguments are decided by what the caller has read, so replays of the recording
take the same branch.
"""

from functools import lru_cache
from typing import NamedTuple

from .reads import reads_at, reads_of
from .stack import JUMPS, following_of, instructions_of, of_code, offsets_after, variables_of

_TRUTHS = frozenset((bool, type(None)))      # types of arguments whose truth counts here


class _Branch(NamedTuple):
    """Jump that an argument decides: whether it is None, or (`by_truth`) whether it is true."""

    argument: str
    by_truth: bool
    jumps_if: bool
    target: int
    next: int


@of_code()
def branches_of(code) -> dict:
    """Return {position: `_Branch`} of the jumps that arguments decide which code has not assigned to before."""
    instructions, found = instructions_of(code), {}
    arguments = set(code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]).difference(code.co_cellvars)
    index = {ins.offset: at for at, ins in enumerate(instructions)}
    for at, ins in enumerate(instructions):
        if ins.opcode in JUMPS and ins.opname.startswith("POP_JUMP"):
            before = at - 1 - (instructions[at - 1].opname == "TO_BOOL")
            moves = variables_of(instructions[before]) or [(True, "")]
            is_store, name = moves[-1]
            is_joined = any(i.is_jump_target for i in instructions[before + 1:at + 1])
            if not (is_store or is_joined or (True, name) in moves) and name in arguments and not _may_be_assigned(
                    code, name, instructions[before].offset):
                by_truth = not ins.opname.endswith("NONE")
                jumps_if = not ins.opname.endswith(("NOT_NONE", "FALSE"))
                found[at] = _Branch(name, by_truth, jumps_if, index[ins.argval], at + 1)
    return found


def _may_be_assigned(code, name, offset) -> bool:
    """Return whether code may assign to a variable before an instruction."""
    for at, ins in enumerate(instructions_of(code)):
        changes = ins.argval == name and ins.opname.startswith(("DELETE_FAST", "LOAD_FAST_AND_CLEAR"))
        if (changes or (True, name) in (variables_of(ins) or ())) and offset in offsets_after(code, at):
            return True
    return False


def reads_with(code, local) -> tuple:
    """Return the chains that a frame may read which starts with the arguments `local`."""
    branches = branches_of(code)
    if not branches:
        return reads_of(code)
    taken = []
    for at, branch in branches.items():
        value = local.get(branch.argument)
        if branch.argument in local and (not branch.by_truth or type(value) in _TRUTHS):
            taken.append((at, (bool(value) if branch.by_truth else value is None) == branch.jumps_if))
    return _reads_taking(code, tuple(taken))


@lru_cache(maxsize=4096)
def _reads_taking(code, taken) -> tuple:
    """Return the chains that code may read; `taken` says of some jumps whether they are taken."""
    branches, following, instructions = branches_of(code), following_of(code), instructions_of(code)
    ends = {at: branches[at].target if jumps else branches[at].next for at, jumps in taken}
    seen: set = set()
    waiting = [0]
    while waiting:
        at = waiting.pop()
        if at not in seen:
            seen.add(at)
            waiting += [ends[at]] if at in ends else following[at]
    offsets = {instructions[at].offset for at in seen}
    return tuple(dict.fromkeys([chain for offset, chain in reads_at(code) if offset in offsets]))
