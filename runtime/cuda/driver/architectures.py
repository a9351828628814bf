"""Kinds of NVIDIA GPUs, by number: 90 for sm_90."""

# Bytes of shared memory that a block may have, and multiprocessors (of the largest of its kind).
CHIPS = {75: (65536, 72), 80: (166912, 108), 86: (101376, 84), 87: (166912, 16), 89: (101376, 142), 90: (232448, 132),
         100: (232448, 148), 103: (232448, 160), 120: (101376, 188), 121: (101376, 48)}
