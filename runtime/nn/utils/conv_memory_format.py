"""Memory formats of convolution weights."""

from ..layers.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d


def _convert(module, memory_format, kinds):
    for part in module.modules():
        if isinstance(part, kinds):
            part.weight.data = part.weight.detach().clone(memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module, memory_format):
    """Change the memory format of the weights of 2d convolutions in a module."""
    return _convert(module, memory_format, (Conv2d, ConvTranspose2d))


def convert_conv3d_weight_memory_format(module, memory_format):
    """Change the memory format of the weights of 3d convolutions in a module."""
    return _convert(module, memory_format, (Conv3d, ConvTranspose3d))
