"""Writer of `cond`: an `If` whose two graphs hold what only one branch needs, so that only one is computed."""

from itertools import takewhile

from ....ir.ops.core.pointwise import choose
from ....ir.symbols.symbolic import is_symbol
from ..format import proto
from .graph_writer import EMITTERS, Writer, emits
from .recorded_ops import Item, Recorded, Ref


class Branches:
    """Assignment of a program's items to branches of (nested) `If`s, or to the outside.

    groups   {a choice: all choices of its cond}: they follow each other, and become one `If`
    inside   {(the first choice of a group, which branch): the items that only it needs, in order}
    """

    def __init__(self, program: Recorded):
        self.groups: dict = {}
        self.inside: dict = {}
        self.homes: dict = {}        # item -> its branches, the outermost first
        group: list = []
        for item in program.items:
            group = group if _joins(item, group) else []
            if item.op is choose:
                self.groups[item] = group
                group.append(item)
        wanted: dict = dict.fromkeys(program.outputs, ())       # ref -> the common branches of its readers
        for item in reversed(program.items):
            self._find(item, wanted)
        for item in program.items:
            if self.homes[item]:
                self.inside.setdefault(self.homes[item][-1], []).append(item)

    def _find(self, item: Item, wanted):
        """Assign an item to branches; its operands are then needed there, or in its own branches."""
        group = self.groups.get(item, [item])
        homes = [wanted[ref] for one in group for ref in one.outputs if ref in wanted]
        home = self.homes[item] = _common(homes)
        branches = [home] * len(item.inputs)
        if item.op is choose:
            branches[1:] = [(*home, (group[0], holds)) for holds in (True, False)]
        for ref, place in zip(item.inputs, branches):
            if type(ref) is Ref:
                wanted[ref] = _common([wanted.get(ref, place), place])


def _joins(item: Item, group) -> bool:
    """Return whether an item is a further choice of the group: by the same answer, between earlier values."""
    made = {one.outputs[0] for one in group}
    return bool(group) and item.op is choose and item.inputs[0] is group[0].inputs[0] and made.isdisjoint(item.inputs[1:])


def _common(homes) -> tuple:
    return tuple([steps[0] for steps in takewhile(lambda steps: len(set(steps)) == 1, zip(*homes))])


@emits(choose)
def _choose(w: Writer, item, pred, x, y):
    if item.outputs[0] not in w.names:
        group = w.root.branches.groups[item]
        graphs = [_graph(w, group, holds) for holds in (True, False)]
        made = w.node("If", w.name(pred), outputs=len(group), then_branch=graphs[0], else_branch=graphs[1])
        for one, name in zip(group, [made] if isinstance(made, str) else made):
            w.names[one.outputs[0]] = name
    return w.names[item.outputs[0]]


def _graph(w: Writer, group, holds: bool):
    with w.inner() as inside:
        for item in w.root.branches.inside.get((group[0], holds), ()):
            if EMITTERS[item.op].lazy is None:
                inside.write(item)
        inside.item = None
        given = [one.inputs[1 if holds else 2] for one in group]
        names = [inside.node("Identity", inside.name(ref), hint="taken") for ref in given]
        outputs = [proto.make_value(name, ref.dtype, [None if is_symbol(n) else n for n in ref.shape])
                   for name, ref in zip(names, given)]
    return proto.make_graph(w.fresh("branch"), inside.nodes, [], outputs)
