"""The definition of an operator: `op(...)` makes an `Op` record and enters it in `OPS`; `Aval` is the type of a value;
`batch_rules` says what vmap does; `derived_gradients` makes the gradient of a composite from its body.

A record is inert data that carries its rules. Must not know any single operator.
"""
