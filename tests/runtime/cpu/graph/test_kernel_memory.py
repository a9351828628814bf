"""Memory of kernels that differ in a constant alone."""

import gc
import tracemalloc

import ingot
from ingot import jit

_MOST = 9_000       # bytes for a constant: the object of its kernel and what writes its text again; 12,100 with the text itself


def test_the_text_of_a_kernel_is_not_kept():
    x = ingot.ones(2)

    def run(first, last):
        for k in range(first, last):
            f = jit.trace(lambda x, k=float(k): x * k + 1)
            f(x)
            f(x)
        gc.collect()

    run(0, 60)
    tracemalloc.start()
    try:
        run(60, 360)
        assert tracemalloc.get_traced_memory()[0] < 300 * _MOST
    finally:
        tracemalloc.stop()
