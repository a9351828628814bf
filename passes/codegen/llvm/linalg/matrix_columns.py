"""A matrix in a worker's scratch with its columns as rows of whole vectors, for factorisations that go down columns."""

from ..ir.types import I32, I64, Value, bytes_of, iota, vector


class Columns:
    """The columns of a matrix in the scratch."""

    def __init__(self, f, element, start, apart, rows):
        self.f, self.element, self.start, self.apart, self.rows = f, element, start, apart, rows
        self.lanes, self.size = f.lanes(element), bytes_of(element)
        self.type = vector(self.lanes, element)
        self.number = I32 if self.size == 4 else I64

    def column(self, index) -> Value:
        return self.f.at(self.start, self.f.mul(index, self.apart))

    def spot(self, row, column) -> Value:
        """Return the address of an element."""
        return self.f.at(self.column(column), row, self.element)

    def rows_of(self, start) -> Value:
        """Return the row numbers of the vector that begins at a row."""
        return self.f.binary("add", iota(self.lanes, self.number), self.spread(start))

    def spread(self, row) -> Value:
        """Return a row's number in every lane."""
        f = self.f
        return f.splat(f.cast("trunc", row, I32) if self.number == I32 else row, self.lanes)

    def below(self, start, row) -> Value:
        """Return which rows of the vector that begins at `start` are `row` or further down."""
        return self.f.compare("sge", self.rows_of(start), self.spread(row))

    def vectors_from(self, row, carry=()):
        """Loop over the vectors with rows from `row` on."""
        return self.f.loop(self.f.bit_and(row, -self.lanes), self.rows, self.lanes, carry)
