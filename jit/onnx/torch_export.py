"""`ingot.onnx.export` and related names of PyTorch."""

from contextlib import contextmanager
from enum import Enum
from typing import Any

from ...ir.error_texts.call_errors import explained
from ...ir.errors import ArgumentError
from ...runtime.nn.base.module import Module
from ..exporting.program.dynamic_shapes import named
from .exporter import DEFAULT, to_onnx
from .format import proto
from .model import from_onnx

__all__ = ["ONNXProgram", "OperatorExportTypes", "TrainingMode", "export", "select_model_mode_for_export"]


class TrainingMode(Enum):
    """The mode in which modules are exported."""

    EVAL = 0
    PRESERVE = 1        # each module's own
    TRAINING = 2


class OperatorExportTypes(Enum):
    """Kinds of operators that PyTorch can write. ingot writes those of ONNX, and refuses other operators."""

    ONNX = 0
    ONNX_ATEN = 1
    ONNX_ATEN_FALLBACK = 2
    ONNX_FALLTHROUGH = 3


_TRAINING = {TrainingMode.EVAL: False, TrainingMode.PRESERVE: None, TrainingMode.TRAINING: True}


@contextmanager
def select_model_mode_for_export(model, mode):
    """Put a model into the mode of an export inside; restore the mode of each module afterwards."""
    if not isinstance(mode, TrainingMode):
        raise ArgumentError(f"select_model_mode_for_export takes a TrainingMode, got {mode!r}")
    before = {m: m.training for m in model.modules()} if isinstance(model, Module) else {}
    wanted = _TRAINING[mode]
    try:
        for m in before if wanted is not None else ():
            m.training = wanted
        yield
    finally:
        for m, was in before.items():
            m.training = was


class ONNXProgram(bytes):
    """An ONNX model as the bytes of its file."""

    @property
    def model_proto(self):
        """The model as an object of the onnx package."""
        return proto.package().load_from_string(bytes(self))

    def save(self, destination):
        with open(destination, "wb") as file:
            file.write(self)

    def __call__(self, *args, **kwargs) -> tuple:
        """Return the outputs of the model, run by ingot."""
        found = from_onnx(bytes(self))(*args, **kwargs)
        return found if isinstance(found, tuple) else (found,)

    def __repr__(self):
        return f"ONNXProgram({len(self)} bytes)"


@explained
def export(model, args=(), f=None, *, kwargs: dict[str, Any] | None = None, export_params: bool = True,
           verbose: bool | None = None, input_names=None, output_names=None, opset_version: int | None = None,
           dynamic_axes=None, dynamic_shapes=None, do_constant_folding: bool = True, external_data: bool | None = None,
           verify: bool = True, dynamo: bool = True, training=TrainingMode.EVAL, operator_export_type=OperatorExportTypes.ONNX,
           keep_initializers_as_inputs: bool = False, custom_opsets=None, custom_translation_table=None,
           export_modules_as_functions=False, autograd_inlining: bool = True, optimize: bool = True, report: bool = False,
           profile: bool = False, dump_exported_program: bool = False, artifacts_dir=".",
           stateful: bool = False) -> ONNXProgram | None:
    """Export with `to_onnx`, under PyTorch's names.

    `dynamic_axes` (by names of inputs) or `dynamic_shapes` (by arguments, as `ingot.export.export` takes them) declare dynamic
    dims. Weights are always part of the model, operators always those of ONNX. Without a path `f` the model is returned.

    `stateful` is as for `to_onnx`: without it a function that writes to buffers is refused, where PyTorch omits the writes.
    `dynamo`, `autograd_inlining`, `do_constant_folding` and `optimize` are ignored: there is one way to export. `verbose` is
    ignored: nothing is printed. No reports are written, so `report`, `profile` and `dump_exported_program` are refused, and
    `artifacts_dir`, their folder, is ignored: nothing is put there.
    """
    if report or profile or dump_exported_program:
        raise ArgumentError("onnx.export writes no reports; leave report, profile and dump_exported_program out, and see "
                            "jit.trace(model).explain()")
    _refuse(export_params, operator_export_type, custom_opsets, custom_translation_table, export_modules_as_functions)
    given: Any = args if isinstance(args, tuple) else (args,)
    if given and isinstance(given[-1], dict) and kwargs is None:
        given, kwargs = given[:-1], given[-1]
    example, sizes = named(dynamic_shapes if dynamic_axes is None else None, model, given, kwargs or {}, words=True)

    def write(free):
        made = to_onnx(model, example, f, opset=DEFAULT if opset_version is None else opset_version, dynamic=free,
                       input_names=input_names, output_names=output_names, external_data=external_data, verify=verify,
                       training=_TRAINING[TrainingMode(training)], weights_as_inputs=keep_initializers_as_inputs,
                       stateful=stateful)
        return None if made is None else ONNXProgram(made)

    if dynamic_axes is None:
        return sizes.tried(write)
    free = dynamic_axes
    if isinstance(free, dict) and output_names:         # dynamic sizes of results follow from the inputs
        free = {name: axes for name, axes in free.items() if name not in output_names or name in (input_names or ())}
    return write(free)


def _refuse(export_params, operator_export_type, custom_opsets, custom_translation_table, export_modules_as_functions):
    if not export_params:
        raise ArgumentError("export_params=False is not supported: the weights are a part of the model")
    if OperatorExportTypes(operator_export_type) is OperatorExportTypes.ONNX_ATEN:
        raise ArgumentError("operator_export_type=ONNX_ATEN is not supported: operators are written as those of ONNX")
    if custom_opsets or custom_translation_table or export_modules_as_functions:
        raise ArgumentError("custom_opsets, custom_translation_table and export_modules_as_functions are not supported: a "
                            "model is a graph of the operators of ONNX's own sets")
