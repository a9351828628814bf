"""Links between the tensors of a run and the graph."""

import weakref

from ...runtime.core.composite_tensors import PARTS
from ...runtime.core.tensor import Tensor
from .recording import Link


class LinkTable:
    """Weak references to the tensors that hold a `Link` of this recorder, so that they can be untied at the end."""

    def __init__(self, recorder):
        self._recorder = recorder
        self._tensors: list = []
        self.touched: set = set()       # ids of all tensors that were tied, once the run has ended

    def tie(self, t, link: Link) -> Link:
        """Give a tensor a link."""
        t.__dict__["_traced"] = link
        self.remember(t)
        return link

    def give(self, t, link: Link):
        """Give a tensor from outside a link."""
        link.is_given = True
        self.tie(t, link)

    def remember(self, t):
        """Untie a tensor at the end of the run."""
        self._tensors.append(weakref.ref(t))

    def live(self):
        """Return (tensor, link) of the live tensors that are tied to this recorder."""
        tensors = [t for t in [ref() for ref in self._tensors] if t is not None]
        return [(t, link) for t in tensors if (link := t.__dict__.get("_traced")) is not None
                and link.recorder is self._recorder]

    def release(self):
        """Untie all tensors."""
        for t in [ref() for ref in self._tensors]:
            if t is not None:
                self._untie(t)
        self._tensors = []

    def _untie(self, t: Tensor):
        self.touched.add(id(t))
        link = t.__dict__.get("_traced")
        if link is not None and link.recorder is self._recorder:
            del t.__dict__["_traced"]
        if type(t) not in PARTS and self._recorder.cell_of(t) is not None:
            del t._storage.cell
        t.__dict__.pop("_gradient_of", None)
