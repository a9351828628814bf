"""Run graphs on a device: eager operators as graphs of one node, traced graphs of many.

Way in: `program.DeviceGraph`, `eager.run(op, inputs, params)`, `traced.Traced`. Operators without device code run on the
host; results never differ. Operators enter themselves in `eager.OWN`; this room imports none of them.
"""
