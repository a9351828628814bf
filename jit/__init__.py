"""`@jit.trace`: records a run, guards what it read, replays it as compiled code. `export` and `load` put such code in files.

Rooms, from the bottom to the top: errors, bytecode, fx, fx/passes, proxies, guards,
side_effects, host, recorder, inspect, replay, python_state, tracing, custom_ops, exporting/capture, exporting/file,
exporting/link, exporting/program, onnx/format, onnx/importers, onnx/writers, onnx, tensorboard, torchscript.

A room imports itself and the rooms before it.
"""

import importlib as _importlib
import sys as _sys
from typing import TYPE_CHECKING

from ..ir.doors import door as _door
from ..ir.doors import give_doors as _give_doors
from ..ir.suggestions import unknown_name as _unknown_name
from .errors.errors import ExportError, NotFiniteError, TraceError, TracerWarning, TracingCheckError
from .host.host_call import host

if TYPE_CHECKING:
    from .exporting.capture.static_quantization import Calibration
    from .exporting.file.loader import load
    from .exporting.file.model import Model
    from .exporting.file.writer import export, quantize
    from .exporting.link.c_library import to_c
    from .inspect.debugging import debug
    from .inspect.profiling import Profile, profile
    from .onnx import from_onnx, to_onnx
    from .torchscript.example_trace import trace
    from .tracing.record_graph import record_graph
    from .tracing.trace import Traced

# Loaded when it is first asked for, so that a program that only runs exported models is quick to start: the name, and the
# module that it is in.
_LATE = {"Calibration": ".exporting.capture.static_quantization", "Model": ".exporting.file.model",
         "Profile": ".inspect.profiling",
         "Traced": ".tracing.trace", "debug": ".inspect.debugging", "export": ".exporting.file.writer",
         "from_onnx": ".onnx", "load": ".exporting.file.loader", "profile": ".inspect.profiling",
         "quantize": ".exporting.file.writer",
         "record_graph": ".tracing.record_graph", "to_c": ".exporting.link.c_library", "to_onnx": ".onnx",
         "trace": ".torchscript.example_trace"}
_SCRIPTING = ("Attribute", "Final", "Future", "RecursiveScriptModule", "ScriptFunction", "ScriptModule", "annotate", "fork",
              "freeze", "ignore", "interface", "is_scripting", "is_tracing", "isinstance", "optimize_for_inference", "save",
              "script", "script_if_tracing", "script_method", "trace_module", "unused", "wait")
_LATE.update(dict.fromkeys(_SCRIPTING, ".torchscript.scripting"))    # names of PyTorch's older compiler
_LATE.update(dict.fromkeys(("enable_onednn_fusion", "fuser", "onednn_fusion_enabled", "optimized_execution",
                            "set_fusion_strategy", "strict_fusion"), ".torchscript.executor_switches"))

Error = TraceError          # as older programs catch it

__all__ = ["Calibration", "Error", "ExportError", "Model", "NotFiniteError", "Profile", "TraceError", "Traced", "TracerWarning",
           "TracingCheckError", "debug", "export", "from_onnx", "host", "load", "profile", "quantize", "record_graph", "to_c",
           "to_onnx", "trace"]


@_door
def __getattr__(name):
    if name not in _LATE:
        raise _unknown_name(_sys.modules[__name__], name, __name__)
    value = globals()[name] = getattr(_importlib.import_module(_LATE[name], __name__), name)
    _give_doors({name: value})
    return value


def __dir__():
    return sorted({*globals(), *_LATE})
