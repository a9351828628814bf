"""Lists of tensors at once: one fused kernel for many small updates.

Way in: `lists.*`, `_foreach_*`. Functions of lists.py return None or False, and do nothing, if the tensors do not qualify;
the caller then goes one by one.
"""
