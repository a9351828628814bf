"""`ingot.backends.quantized`: the engine of quantised layers. ingot has one, so the choice changes nothing."""

__all__ = ["engine", "supported_engines"]

supported_engines = ["x86", "fbgemm", "onednn", "qnnpack"]
engine = "x86"
