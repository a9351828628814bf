"""From fused graphs to plans: steps in order, memory for values (`plan_memory`, `device_plan`), updates in place, launches
joined, and known sizes put into a symbolic plan (`specialize_shapes`).

A plan is data; a backend prepares and runs it.
"""
