"""The state of a loaded model: the buffers that a call reads and writes."""

import threading

from ....ir.errors import FileError
from ....runtime.autograd.grad_mode import no_grad
from ....runtime.core.tensor import Tensor
from ..capture import treespec


class State:
    """Buffers of a model; their values are those of its weights of these names, in memory that may be written.

    Calls of one model follow each other, so that each sees what the one before has written.
    """

    def __init__(self, signature, weights: dict):
        self.names, self.lock = signature.state, threading.RLock()
        self._specs = signature.inputs[len(signature.inputs) - len(self.names):]
        for name, spec in zip(self.names, self._specs):
            t = weights.get(name)
            if t is None or t.dtype is not spec.dtype or tuple(t.shape) != spec.shape:
                raise FileError(f"the buffer {name} is not what the signature says")
            weights[name] = t.clone()

    def __bool__(self):
        return bool(self.names)

    def __repr__(self):
        return f"<state: {', '.join(self.names) or 'none'}>"

    def hand_on(self, model, other):
        """Gives another model from the same file the buffers of one."""
        with self.lock, no_grad():
            for name in self.names:
                other.weights[name].copy_(model.weights[name])

    def call(self, model, args, kwargs):
        """What a call of the model gives, once its buffers are written."""
        given = model.signature.arrays_of(args, kwargs)
        buffers = [model.weights[name] for name in self.names]
        with self.lock:
            results = model.results([*given, *buffers])
            with no_grad():
                for t, new in zip(buffers, results[-len(buffers):]):
                    t.copy_(new)
        results = results[:-len(buffers)]
        if given and not any(isinstance(x, Tensor) for x in given):
            results = [t.cpu().numpy() for t in results]
        return treespec.rebuild(model.signature.results, results)
