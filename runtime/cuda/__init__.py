"""The CUDA backend as the runtime sees it: `backend.py` joins the rooms below and enters their operators.

It is the only file that knows all families.
"""
