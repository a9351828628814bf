"""From fused graphs to plans: steps in order, memory for values (`plan_memory`, `device_plan`), updates in place.

Small launches are batched, up to 16 alike kernels each; where later sizes leave them unlike, each is launched alone. Index
checks of updates are operators of their own and run first. Arenas are placed in time order, or largest first where that wastes
memory. `specialize_shapes` puts known sizes into a symbolic plan; `split_sizes` cuts off the end of a graph that no size
reaches. A plan is data; a backend prepares and runs it.
"""
