"""Post-training static quantisation: `quantize` rewrites convolutions and products with known weights to int8, `int8_chains`
finds them, `int8_weights` makes the arrays."""
