"""Convolutions, pools and batch normalisation of images: plain arrays (N, C, ...) and blocked channels.

Way in: `conv.forward` and its gradients for eager code, `blocked.choose` for the layout pass, `blocked.kernel_for` for
graphs. The algorithm follows from shapes alone. Must not know graphs.
"""
