"""Post-training static quantisation: `quantize` rewrites convolutions and products with known weights to int8.

`int8_chains` finds them, `int8_weights` computes the arrays. Quantised graphs are channels last on all machines, borders are
`pad`, max pools are maxima of slices; no layout pass follows.
"""
