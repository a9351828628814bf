"""Transforms of functions: vmap, grad, jvp, vjp, Jacobians, cond and while_loop.

Way in: `vmap.vmap`, `transforms`, `control_flow.cond`. Under vmap a tensor stands for a batch (a DeviceArray of the kind
"batch"). `vmap_level.py` is the mechanism; `ir/opdef/batch_rules.py` has the rule of each operator. The room knows no module.

Recorders see whole batches, never samples (`SampleRecorder`). Jacobians are vmap over the identity. The steps of `vmap.py` have
PyTorch's names and are looked up at each call, so libraries can replace them.
"""
