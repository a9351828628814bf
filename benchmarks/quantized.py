"""Networks in whole numbers of 8 bits from calibration, beside their float32, torch and ONNX Runtime on the same inputs."""

import os
import tempfile
import warnings

import ingot
from ingot import jit

from .cases import direct_flops, quiet, randoms
from .harness import Case
from .libraries import later, libraries, present, weights_of, without_gradients
from .result import FLOAT32
from .sequences import transformer_stack
from .vision import mobilenet_v2, resnet18, resnet50

BARS = {FLOAT32: 1.4, "best": 1.2}
_CALIBRATION = 4                # inputs


def static_case(name, build, shape, plan) -> Case:
    """A case of the network `build(lib)`; figures of the peers are of what they make of the same calibration inputs. The
    reference is the network in floats, run eagerly."""
    arrays = [randoms(*shape, seed=seed) for seed in range(_CALIBRATION)]
    calls, weights, flops = {}, None, 0.0
    for lib in libraries(plan, compiled=False):
        network = build(lib.module).eval()
        weights = weights_of(network) if weights is None else weights
        lib.load(network, weights)
        inputs = [lib.tensor(a) for a in arrays]
        if lib.module is ingot:
            flops = direct_flops(network, inputs[:1])
            calls["ingot eager"], calls[FLOAT32] = (quiet(ingot, fn, inputs[:1]) for fn in (network, jit.trace(network)))
            calls["ingot"] = later(
                lambda network=network, inputs=inputs: quiet(ingot, jit.quantize(network, inputs), inputs[:1]))
        else:
            calls["torch"] = later(lambda network=network, inputs=inputs: torch_static(network, inputs))
            if "onnxruntime" in present(plan):
                calls["onnxruntime"] = later(
                    lambda network=network, inputs=inputs: onnxruntime_static(network, inputs, plan.threads))
    return Case(name, calls, flops=flops, tolerance=0.25, bars=BARS, reference="ingot eager",
                note="the peak is that of float32")


def torch_static(network, inputs):
    """torch's graph mode, with its default for x86."""
    import torch
    from torch.ao.quantization import get_default_qconfig_mapping
    from torch.ao.quantization.quantize_fx import convert_fx, prepare_fx

    with warnings.catch_warnings(), torch.no_grad():        # torch says that these functions will move
        warnings.simplefilter("ignore")
        prepared = prepare_fx(network, get_default_qconfig_mapping("x86"), (inputs[0],))
        for x in inputs:
            prepared(x)
        return without_gradients(convert_fx(prepared), inputs[:1])


def onnxruntime_static(network, inputs, threads):
    """ONNX Runtime's `quantize_static`: pairs of QuantizeLinear and DequantizeLinear, a scale for each channel of weights."""
    import onnxruntime
    import torch
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Reader(CalibrationDataReader):
        """The calibration inputs, one after the other."""

        def __init__(self, name):
            self.left = [{name: x.numpy()} for x in inputs]

        def get_next(self):
            return self.left.pop() if self.left else None

    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain, ready, whole = (os.path.join(folder, f"{kind}.onnx") for kind in ("float", "ready", "int8"))
        torch.onnx.export(network, (inputs[0],), plain, dynamo=False, input_names=["x"])
        quant_pre_process(plain, ready)
        quantize_static(ready, whole, Reader("x"), quant_format=QuantFormat.QDQ, per_channel=True,
                        activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = threads, 1, 3
        session = onnxruntime.InferenceSession(whole, options, providers=["CPUExecutionProvider"])
    given = {"x": inputs[0].numpy()}
    return lambda: session.run(None, given)


def images(name, build, tiny):
    """A workload of one image of 224x224; tests take `tiny(lib)` and a small one."""
    def workload(plan):
        side = plan.pick(224, 224, 32)
        yield static_case(f"{name} batch 1, static int8", tiny if plan.tiny else build, (1, 3, side, side), plan)
    workload.__doc__ = f"{name}, quantised from calibration."
    return workload


def bert(plan):
    """BERT-base blocks, batch 1, length 128."""
    depth, width, heads, length = plan.pick((12, 768, 12, 128), (2, 768, 12, 128), (2, 8, 2, 7))

    def build(lib):
        return transformer_stack(lib, depth, width, heads, causal=False, norm_first=False)

    yield static_case(f"BERT base {depth} layers, length {length}, static int8", build, (1, length, width), plan)


WORKLOADS = {
    "resnet50_int8": images("ResNet-50", resnet50, lambda lib: resnet50(lib, width=4, classes=10)),
    "resnet18_int8": images("ResNet-18", resnet18, lambda lib: resnet18(lib, width=4, classes=10)),
    "mobilenet_v2_int8": images("MobileNetV2", mobilenet_v2, lambda lib: mobilenet_v2(lib, 8, 10)),
    "bert_int8": bert,
}
