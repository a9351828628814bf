"""ONNX operators as functions of ingot, one file a family.

Way in: `importer_of(node)`, `program_of(graph)`. Importers register with `@onnx_op`. Sizes stay symbolic where a model
computes shapes from shapes. It must not know the writers.
"""
