"""Automatic differentiation: the backward engine, hooks, user functions, checkpoints, forward mode, checks.

Way in: `backward.backward` and `backward.grad`; `function.Function` for users' operations. Histories are nodes on tensors
(core/node). The room knows no public function; backends compile its rules through `gradient_rules`.
"""
