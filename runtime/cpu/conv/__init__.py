"""Convolutions, pools and batch normalisation of images: plain arrays (N, C, ...) and blocked channels.

Way in: `conv.forward` and its gradients for eager code, `blocked.choose` for the layout pass, and the tables `OPERATORS`. The
algorithm follows from shapes alone. Must not know graphs.
"""
