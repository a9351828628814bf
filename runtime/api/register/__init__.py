"""Publication of functions: argument names, NumPy spellings, promotion, `out=`, `name_` in place, `__torch_function__`.

Way in: the decorator `register.api`, `type_promotion.promote`, `torch_function.asks_for`. Every room of api imports this one;
it knows none of their functions.
"""
