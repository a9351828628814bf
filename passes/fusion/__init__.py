"""Groups of operations become kernels: `fuse` makes groups, `lower` gives a `Kernel`, epilogues and prologues go into products,
recomputation and rematerialisation trade memory for work.

No cycle arises and no bit changes.
"""
