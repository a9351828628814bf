"""Graphs on a GPU: operators as graphs of one node, gradient rules, writes in place, traced graphs.

Way in: `eager.run(op, inputs, params)` and `traced.Traced`. Tables `eager.OWN` and `eager.INTO` have the operators with own
launches. Python numbers are launch parameters, so no number compiles code; only divisibility by 16 (8 or 4 from 64 on) and
powers of two are compiled in. A trace runs launch by launch first. It gets no CUDA graph if copying inputs and results costs
more than launching. Gradients up to 1 MB leave a CUDA graph in one copy (`Captured`); holding one holds the memory of all.
"""
