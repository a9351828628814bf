"""Names of TorchScript under `ingot.jit`: `script`, `trace` with example inputs, `_get_trace_graph`, executor switches.

Each is a thin front of `jit.trace`, or a refusal that says what to call. It goes to `as_torch` when `jit/__init__` and
`trace` no longer import it.
"""
