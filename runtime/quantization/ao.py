"""`ingot.ao`: where PyTorch keeps quantisation, `ao.quantization` and `ao.nn.quantized.dynamic`."""
