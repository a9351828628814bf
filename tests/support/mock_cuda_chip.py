"""The chip (80 or 90) that kernels are compiled for on the mock driver, and their PTX is run, as `pytest --ptx` says; 0: their
source is run. Apart from `mock_cuda.py`, so that tests that need no driver need nothing of what it needs.
"""

compiled_for = 0
