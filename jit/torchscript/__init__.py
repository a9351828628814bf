"""TorchScript's public names under `ingot.jit`: `script`, `trace` with example inputs, `save`, executor switches, annotations.

Each is a thin front of `jit.trace`, or a refusal that names the function to call. `jit/__init__.py` loads them on first use.
"""
