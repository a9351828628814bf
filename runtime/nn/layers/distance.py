"""Distance modules."""

from .. import functional as F
from ..base.module import Module


class CosineSimilarity(Module):
    """The cosine of the angle between two tensors along a dimension.

    Parameters
    ----------
    dim : int
        Dimension along which the cosine is computed.
    eps : float
        Least norm by which is divided.

    Shape
    -----
    Inputs: two shapes that broadcast. Output: that shape without `dim`.

    Examples
    --------
    >>> nn.CosineSimilarity(dim=0)(ingot.tensor([1.0, 0.0]), ingot.tensor([1.0, 1.0]))
    tensor(0.7071)
    """

    def __init__(self, dim=1, eps=1e-8):
        super().__init__()
        self.dim, self.eps = dim, eps

    def forward(self, x1, x2):
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """The p-norm of the difference along the last dimension."""

    def __init__(self, p=2.0, eps=1e-6, keepdim=False):
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1, x2):
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)
