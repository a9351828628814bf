"""Definition of an operator. `op(...)` makes a record `Op` and enters it in `OPS`; `Aval` is the type of a value; `batch_rules`
states what vmap does; `derived_gradients` differentiates a composite through its body.

A record is inert data that carries its rules. Must not know any single operator.
"""
