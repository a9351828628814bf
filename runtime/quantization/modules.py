"""`ingot.nn.quantized` (and `ao.nn.quantized`, `ao.nn`): modules of whole numbers. There are those of `dynamic`."""
