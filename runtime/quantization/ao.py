"""`ingot.ao`: PyTorch's place for quantisation, `ao.quantization` and `ao.nn.quantized.dynamic`."""
