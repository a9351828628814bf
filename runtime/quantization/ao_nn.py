"""`ingot.ao.nn`: where PyTorch keeps modules of whole numbers, `quantized` and `quantized.dynamic`."""
