"""Protocol buffers of ONNX: the only file that knows the onnx package.

Way in: `read_model`, `make_model`, `make_node`. Models are checked when read and when written.
"""
