"""`@jit.trace`: records a run, guards what it read, replays it as compiled code. `export` and `load` put such code in files."""

import importlib as _importlib
from typing import TYPE_CHECKING

from .errors import ExportError, NotFiniteError, TraceError, TracerWarning, TracingCheckError
from .host import host

if TYPE_CHECKING:
    from .capture import record_graph
    from .debugging import debug
    from .exported.c_library import to_c
    from .exported.loaded import Model, load
    from .exported.quantized import Calibration
    from .exported.writer import export, quantize
    from .onnx import from_onnx, to_onnx
    from .profiling import Profile, profile
    from .traced import Traced, trace

# Loaded when it is first asked for, so that a program that only runs exported models is quick to start: the name, and the
# module that it is in.
_LATE = {"Calibration": ".exported.quantized", "Model": ".exported.loaded", "Profile": ".profiling",
         "Traced": ".traced", "debug": ".debugging", "export": ".exported.writer",
         "from_onnx": ".onnx", "load": ".exported.loaded", "profile": ".profiling", "quantize": ".exported.writer",
         "record_graph": ".capture", "to_c": ".exported.c_library", "to_onnx": ".onnx", "trace": ".traced"}
_SCRIPTING = ("Attribute", "Final", "Future", "RecursiveScriptModule", "ScriptFunction", "ScriptModule", "annotate", "fork",
              "freeze", "ignore", "interface", "is_scripting", "is_tracing", "isinstance", "optimize_for_inference", "save",
              "script", "script_if_tracing", "script_method", "trace_module", "unused", "wait", "_overload", "_overload_method",
              "_script_if_tracing")
_LATE.update(dict.fromkeys(_SCRIPTING, ".scripting"))    # names of PyTorch's older compiler
_LATE["_get_trace_graph"] = ".call_graph"
_LATE.update(dict.fromkeys(("enable_onednn_fusion", "fuser", "onednn_fusion_enabled", "optimized_execution",
                            "set_fusion_strategy", "strict_fusion"), ".script_switches"))

Error = TraceError          # as older programs catch it

__all__ = ["Calibration", "Error", "ExportError", "Model", "NotFiniteError", "Profile", "TraceError", "Traced", "TracerWarning",
           "TracingCheckError", "debug", "export", "from_onnx", "host", "load", "profile", "quantize", "record_graph", "to_c",
           "to_onnx", "trace"]


def __getattr__(name):
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(_importlib.import_module(_LATE[name], __name__), name)
    return value
