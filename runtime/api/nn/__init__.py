"""Public functions of networks that are also `ingot.*`: activations, convolution, pooling, normalization, fake quantisation.

`nn.functional` builds on them. They know no module.
"""
