"""Operators of ingot as ONNX nodes, one file a family.

Way in: `Writer`, `@emits`. A writer claims an operator; an operator without a writer is refused by name. It must not know the
importers.
"""
