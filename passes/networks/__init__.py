"""Passes that know layers of networks: batch norm into convolutions, epilogues of blocked convolutions, chains of convolutions,
packed recurrent weights; and cuts of a graph (weights made once, work for the host)."""
