"""How a function becomes public: argument names, numpy spellings, type promotion, `out=`, `name_` in place,
`__torch_function__`.

Way in: the decorator `register.api`, `type_promotion.promote`, `torch_function.asks_for`. Every room of api stands on it; it
knows none of their functions.
"""
