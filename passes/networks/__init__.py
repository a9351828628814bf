"""Passes over layers of networks: batch norm into convolutions, epilogues, chains of convolutions, packed recurrent weights.

Also cuts of a graph: weights packed once, work for the host. Packing all weights would cost ResNet-18 two percent of a training
step; Winograd needs plain weights for tiles with infinities.
"""
