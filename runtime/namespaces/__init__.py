"""Public modules that gather names of several rooms: `ingot.autograd`, `ingot.func`, `ingot.sparse`, names of older programs.

Top of the runtime: only `paths.py` names these modules.
"""
