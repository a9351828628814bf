"""Suggestions for misspelt names in messages: "did you mean 'bias'?"."""

from .errors import ArgumentError

_CLOSE = 0.6        # ratio of equal letters from which a name is suggested


class UnknownName(AttributeError):
    """A module lacks a name. The suggestion is searched when the message is read, so `hasattr` stays quick."""

    def __init__(self, module, name: str, called: str, hint: str = ""):
        # Python adds a suggestion of its own to an error with a `name`.
        super().__init__(f"module '{called}' has no attribute '{name}'{hint}", obj=module)
        self._missing, self._searches = name, not hint

    def __str__(self):
        return f"{self.args[0]}{did_you_mean(self._missing, dir(self.obj)) if self._searches else ''}"

    def __reduce__(self):
        return AttributeError, (str(self),)


UnknownName.__module__, UnknownName.__name__ = "builtins", AttributeError.__name__     # tracebacks show it by this name
UnknownName.__qualname__ = AttributeError.__name__


def close_name(name: str, known) -> str | None:
    """Return the known name that a misspelt one means, or None. Equal letters count first, then the first letters."""
    import difflib  # here, since most programs make no such mistake

    best, meant = (_CLOSE, 0, 0), None
    lower = name.lower()
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2(lower)
    for other in known:
        if not isinstance(other, str) or (other[:1] == "_" and name[:1] != "_"):
            continue
        if lower == other.lower() or _initials(lower) == other:
            return other
        matcher.set_seq1(other.lower())
        if matcher.real_quick_ratio() < best[0] or matcher.quick_ratio() < best[0]:
            continue
        rank = matcher.ratio(), _common_start(lower, other.lower()), -len(other)
        if rank > best:
            best, meant = rank, other
    return meant


def _initials(name: str) -> str:
    """Return the first letters of the words of a name: `lr` of `learning_rate`."""
    return "".join([word[:1] for word in name.split("_")]) if "_" in name else ""


def _common_start(a: str, b: str) -> int:
    return next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))


def did_you_mean(name, known) -> str:
    """Return "; did you mean 'x'?" for the end of a message, or nothing."""
    meant = close_name(name, known) if isinstance(name, str) else None
    return f"; did you mean {meant!r}?" if meant is not None else ""


def unknown_choice(what: str, value, choices) -> ArgumentError:
    """Return the error for a value that is none of the choices of an argument. `what` names the function and the argument."""
    choices = [*choices]
    return ArgumentError(f"{what} must be one of {', '.join(map(repr, choices))}, got {value!r}{did_you_mean(value, choices)}")
