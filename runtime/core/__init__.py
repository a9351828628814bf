"""Tensors and the one way to run an operator on them.

Way in: `dispatch.call(op, *args, **params)` runs, puts on the tape and tells the recorder; `tensor.wrap` makes a Tensor of an
array. Invariant: nothing changes a tensor's memory without `writes.wrote`. It knows no backend, no public function and no
gradient algorithm; backends, recorders and observers enter themselves.
"""
