"""Tree of recorded paths: a first segment, and the answers that lead to further ones."""

from ..errors.errors import TraceError
from ..host.post_host_guards import StateBefore, monitored
from .compile_segment import TooDear
from .replay import Failed, Outdated, Replay, Unseen
from .segments import segments_of


class Tree:
    """All recorded paths of a cache entry, which share Python state."""

    def __init__(self, recording):
        segments = segments_of(recording)
        self.first = segments[0]
        self._extend(self.first, segments, recording.cuts)
        if self.first.question is None:
            self.first.cleared = tuple(recording.cleared)
        self.first.settle()
        self._watched = monitored(recording.hosted)

    def merge(self, recording, before) -> bool:
        """Add another path, after calling `before`; return False if it begins in another way."""
        segments = segments_of(recording)
        here, i, way = self.first, 0, []
        while True:
            way.append((here.stage, segments[i].stage))
            if here.signature != segments[i].signature or here.question != segments[i].question:
                return False
            if i == len(recording.cuts):
                if not here.finish.template.leaves_the_same(recording.template) or not here.finish.has_order_of(recording):
                    return False
                before()
                self._agree(way)
                return True
            i += 1
            key = recording.cuts[i - 1].answer, segments[i].stage.conditions
            if key not in here.answers:
                before()
                self._watched = monitored(recording.hosted, self._watched)
                self._extend(segments[i], segments[i:], recording.cuts[i:])
                here.coming = segments[i]
                self.first.settle()                 # other threads may take it as soon as it is an answer
                here.answers, here.coming = {**here.answers_beside(key), key: segments[i]}, None
                self._agree(way)
                return True
            here = here.answers[key]

    @staticmethod
    def _agree(way):
        for here, there in way:
            here.agreed(there)

    def agrees(self, recording, give) -> bool | None:
        """Return whether a symbolic recording, with the sizes that `give` puts in, is a path of this tree; None if Python saw
        other values, so that nothing is known."""
        here = self.first
        for i, segment in enumerate(segments_of(recording, give)):
            if here.signature != segment.signature or here.question != segment.question:
                return False
            if i == len(recording.cuts):
                return here.finish.has_order_of(recording)
            following = here.answers.get((recording.cuts[i].answer, ()))
            if following is None:
                return None
            here = following
        return None

    @staticmethod
    def _extend(here, segments, cuts):
        for cut, following in zip(cuts, segments[1:]):
            here.answers[cut.answer, following.stage.conditions] = following
            here = following

    def run(self, arguments, symbols=(), call=None):
        """Replay a call, and return (its result, the output template). Raise Unseen before anything was written."""
        while True:
            replay = Replay(arguments, symbols)
            try:
                try:
                    return self._follow(replay, call) if self._watched is None else self._follow_after_hosts(
                        replay, self._watched, call)
                except Outdated as missing:
                    replay.give_up(call)
                    if replay.is_up_to_date:
                        raise TraceError(f"{missing}, which is an error of ingot's own") from missing
                except (Unseen, Failed, TooDear):
                    replay.give_up(call)
                    raise
            except BaseException:
                replay.roll_back()      # once more: this may be an interrupt of that
                raise

    def _follow_after_hosts(self, replay, monitored, call):
        """Replay a path that reads something behind host steps."""
        replay.before = StateBefore(monitored, replay.arguments, () if call is None else call.changeable())
        return self._follow(replay, call)

    def single_segment(self, symbols=()):
        """Return (inputs, `Job.ready`, positions of its results) of a single segment without writes, gradients or draws, once
        it is native code or a captured graph; else None. Inputs are numbers of arguments, and captured tensors. A position
        comes with the permutation that restores the order of dims."""
        here, work = self.first, self.first.work
        finish, ready = here.finish, work.job.ready(symbols)
        compiled = None if ready is None else ready.compiled
        if here.question is not None or compiled is None or not here.is_plain or finish.does_more:
            return None
        if not (compiled.is_native or getattr(compiled, "replayed", None)):
            return None
        if any(o.does_more or (o.device is None) is not compiled.is_native for _, o in finish.outputs):
            return None
        return [here.sources[-1 - slot].what for slot in work.job.slots], ready, [
            (at, o.back) for at, (_, o) in zip(work.hand[0], finish.outputs)]

    def _follow(self, replay, call):
        here = self.first
        while True:
            work = here.work
            if here.question is None:
                return replay.finish(here, work, () if call is None else call.given), here.finish.template
            replay.go(here, work)
            answer = replay.answer(*here.question)
            following, replay.symbols = here.following(answer, replay.symbols)
            if following is None:
                raise Unseen(here.question[1], answer, here.line, here.place)
            here = following
