"""`ingot.ao.nn`: PyTorch's place for int8 modules, `quantized` and `quantized.dynamic`."""
