"""Other runtimes for the bench command, if they are installed."""

from ..ir.errors import FileError


def runners(path: str, arrays, threads: int, report) -> dict:
    """Return {name: function that runs the ONNX model once} of the installed runtimes."""
    found = {}
    for name, make in (("onnxruntime", _onnxruntime), ("openvino", _openvino)):
        try:
            found[name] = make(path, arrays, threads)
        except ImportError:
            report(f"{name} is not installed; left out")
        except Exception as e:
            raise FileError(f"{name} does not run {path}: {e}") from e
    return found


def _onnxruntime(path, arrays, threads):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    feed = {node.name: a for node, a in zip(session.get_inputs(), arrays)}
    return lambda: session.run(None, feed)


def _openvino(path, arrays, threads):
    import openvino

    core = openvino.Core()
    options = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY",
               "INFERENCE_PRECISION_HINT": "f32"}       # the default is bfloat16 on capable processors
    compiled = core.compile_model(path, "CPU", options)
    request = compiled.create_infer_request()
    return lambda: request.infer(list(arrays))
