"""Public modules that gather names of several rooms: `ingot.autograd`, `ingot.func`, `ingot.sparse`, `ingot._C`, names of older
programs.

Top of the runtime; nothing imports it but paths.py by name and jit's front.
"""
