"""Public functions of networks that are also `ingot.*`: activations, convolution, pooling, normalization, distances, fake
quantisation.

`nn.functional` is made of them. It knows no module.
"""
