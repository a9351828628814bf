"""Base class of what guards expect at a place, where that is no value to compare with as it is."""


class Expectation:
    """A demand on a value. Expected values may be objects of users, with methods of any name, so guards ask for this class."""

    __slots__ = ()

    def matches(self, now) -> bool:
        """Return whether a value is as expected."""
        raise NotImplementedError

    def test(self, place: str, name_of) -> str | None:
        """Return that test in code, of what the expression `place` gives; None if it takes a call of `matches`."""
        return None


class PartsExpectation(Expectation):
    """A demand on the items or attributes of a value: `step` leads from it to one of them."""

    __slots__ = ()
    step: str

    def differing(self, now) -> list:
        """Return (key, expected, found) of the parts that differ, if the rest is as expected."""
        raise NotImplementedError


def is_expectation(x) -> bool:
    """Return whether an expected value is a demand. Code of a user's object does not run."""
    return issubclass(type(x), Expectation)
