"""Transforms of functions: vmap, grad, jvp, vjp, Jacobians, cond and while_loop.

Way in: `vmap.vmap`, `transforms`, `control_flow.cond`. Under vmap a tensor stands for a batch (a DeviceArray of the kind
"batch"). `vmap_level.py` is the mechanism; `ir/opdef/batch_rules.py` has the rule of each operator. The room knows no module.
"""
