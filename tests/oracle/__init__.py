"""PyTorch's results, kept as data, for a test suite that has no torch.

`tools/write_oracle.py` builds rows with `families/`, runs them by PyTorch and writes inputs and results to `expected/`. The
tests read these files (`files.py`), run the same rows by ingot, eagerly and traced, and compare (`test_oracle.py`). A row
(`row.py`) names a library function by its path, so both libraries run it by the same code (`kinds/`). Differences that are
meant stand in `differences.py`, one table with reasons, which docs/differences.md shows.

Invariants: reading a file runs no code from it; expected values come from PyTorch only; no row takes the same tensor twice.
"""
