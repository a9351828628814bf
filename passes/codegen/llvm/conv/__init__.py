"""Convolutions, pools and batch norm on the CPU, mostly in blocked channels.

Each file writes one kind of pool task with named job words: direct, depthwise, Winograd, int8, batch norm, pools, reorders.
`runtime/cpu/conv` chooses among them and fills the jobs. Bias, residual and ReLU share one code whose job words choose at run
time (`Usual`), which saves a fifth of LLVM's time for a residual network's first call. Winograd tiles are 2x4 from 32 channels
on, and sums of 64 channels are separate, so errors do not grow with channels. Weight gradients of wide 3x3 convolutions use
F(2) unless numerics are strict; their RMS error stays below twice the direct kernel's. Planes of fewer than 128 pixels are cut
by channels; otherwise an item is rows of all channels, so threads reuse their caches.
"""
