"""Models exported, quantised, written as ONNX and C, and loaded again."""

from pathlib import Path

import ingot
from ingot import jit, nn, onnx

model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 2))
model.eval()
example = ingot.randn(1, 3, 8, 8)
jit.export(model, (example,), "model.ingot", dynamic={0: {0: "batch"}}, freeze=True)
jit.export(model, (example,), Path("model.ingot"))
loaded = jit.load("model.ingot")
y = loaded(example)
print(loaded.inputs, loaded.explain(), y)
perceptron = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)).eval()
row = ingot.randn(8, 64)
small = jit.quantize(perceptron, [(row,)])
jit.export(small, (row,), "small.ingot")
jit.export(perceptron, (row,), "static.ingot", quantize=jit.Calibration([(row,)]))
written = jit.to_onnx(model, (example,), "model.onnx", opset=18, input_names=["image"], output_names=["scores"], verify=False)
again = jit.from_onnx("model.onnx")
library = jit.to_c(model, (example,), path="model_c", threads=2)
print(library)
onnx.export(model, (example,), "other.onnx", opset_version=18)
program = ingot.export.export(model, (example,))
print(program.graph_module, program.module()(example))

with jit.profile() as profile:
    model(example)
print(profile)
with jit.debug(nan=True):
    model(example)
try:
    jit.export(model, (example,), "model.ingot")
except (jit.ExportError, jit.TraceError, ingot.IngotError) as error:
    print(error)
