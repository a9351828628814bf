"""Graph to graph, graph to plan, plan to text. No device is touched here.

Rooms, from the bottom to the top: codegen, rewrite, simplify, layout, networks, quantize, fusion, schedule, the files here.

A room imports itself and the rooms before it.
"""
