"""TensorBoard, the profiler, timings, progress: what training scripts report."""

import time
from pathlib import Path

import ingot
from ingot import nn
from ingot.profiler import ProfilerActivity, profile, record_function
from ingot.utils import benchmark
from ingot.utils.tensorboard import SummaryWriter

model = nn.Linear(10, 2)
writer = SummaryWriter(log_dir="runs")
for step in range(3):
    began = time.perf_counter()
    loss = model(ingot.randn(4, 10)).square().mean()
    loss.backward()
    writer.add_scalar("loss", loss.item(), step)
    writer.add_scalars("all", {"loss": loss.item(), "seconds": time.perf_counter() - began}, global_step=step)
    for name, p in model.named_parameters():
        writer.add_histogram(name, p, step)
writer.flush()
writer.close()
with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as prof, record_function("forward"):
    model(ingot.randn(4, 10))
print(prof.key_averages().table(sort_by="cpu_time_total", row_limit=5))
timer = benchmark.Timer("model(x)", globals={"model": model, "x": ingot.randn(4, 10)})
print(timer.timeit(10))
ingot.set_printoptions(precision=3, sci_mode=False)
ingot.set_num_threads(2)
ingot.set_default_dtype(ingot.float64)
ingot.use_deterministic_algorithms(True)
path = Path("out") / "model.pt"
path.parent.mkdir(exist_ok=True)
ingot.save(model, path)
with open(path, "rb") as file:
    print(ingot.load(file, weights_only=False))
print(ingot.__version__, ingot.finfo(ingot.float32).eps, ingot.iinfo(ingot.int8).max, ingot.get_num_threads())
