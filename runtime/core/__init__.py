"""Tensors, and the single function that runs operators on them.

Way in: `dispatch.call(op, *args, **params)` runs an operator, puts it on the tape and reports it to the recorder; `tensor.wrap`
makes a Tensor of an array. Invariant: a write in place always goes through writes.py or inplace.py, which count versions. The
room knows no backend, no public function and no gradient algorithm: backends enter themselves (backend.py), recorders and
observers are Protocols (recorder.py).
"""
