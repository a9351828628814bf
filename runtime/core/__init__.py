"""Tensors, and the single function that runs operators on them.

Way in: `dispatch.call(op, *args, **params)` runs an operator, puts it on the tape and reports it to the recorder; `tensor.wrap`
makes a Tensor of an array. The room knows no backend, no public function and no gradient algorithm: backends enter themselves
(backend.py), recorders and observers are Protocols (recorder.py).

Invariants: writes in place go through writes.py or inplace.py, which count the version that aliases share (storage.py); writes
through `t.data` are not checked against saved values. The expand that broadcasting implies is a node of the tape. Results that
are not elementwise are row-major, whatever computes them (`dispatch.by_rows`). Autocast is special only to operators whose
arguments it casts. A process without device arrays pays nothing for them (`route_kernels`).
"""
