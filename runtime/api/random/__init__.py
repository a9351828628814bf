"""Random tensors.

Way in: `rand`, `randn`, `bernoulli`, `x.normal_()`. Each function draws one key from its Generator (core/random); all numbers
are a function of that key.
"""
