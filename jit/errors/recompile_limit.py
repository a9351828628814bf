"""When recording does not pay: a function that is recorded at many of its calls had better run as it is at most of them."""

STOCK = 64      # recordings that a function may make at once
CALLS = 32      # for which it may make one more; the longer that goes on the more, or recordings would fill memory
SLOWER = STOCK * CALLS      # calls that ran as they are, after which one more takes twice as many calls


class Restraint:
    """Says, of calls that no recording fits, which are recorded: as many as are in stock, which calls fill up again."""

    __slots__ = ("_number", "_pause", "_rests", "_stock", "_until")

    def __init__(self):
        self._stock, self._number, self._rests = float(STOCK), 0, 0
        self._pause = self._until = 0        # calls for which it rests after a recording of no use, and up to which one

    def fails(self):
        """A recording was of no use, and others will not be: the next one comes after twice as many calls as this one."""
        self._pause = min(2 * max(self._pause, 1), SLOWER)
        self._until = self._number + self._pause

    def rests(self, number: int) -> bool:
        """Whether the call with this number runs as it is. One that does not is recorded."""
        if number <= self._until:
            return True
        self._stock = min(STOCK, self._stock + (number - self._number) / (CALLS * (1 + self._rests / SLOWER)))
        self._number = number
        if self._stock < 1:
            self._rests += 1
            return True
        if self._stock == STOCK:        # it has been quiet for long
            self._rests = 0
        self._stock -= 1
        return False
