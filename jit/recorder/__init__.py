"""Functionalisation: operators run eagerly and are appended to a graph; each storage has one current graph value.

Way in: `Recorder`; result: `Recording`, which is plain data. Inputs keep their source: argument, captured tensor, gradient,
random key, changing number. It must not compile, and it must not watch Python state.
"""
