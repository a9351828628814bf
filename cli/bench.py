"""`ingot bench model.ingot`: latency and throughput of a model, alone or beside other runtimes."""

import json
import time

import numpy as np

from .. import jit
from ..ir.errors import ArgumentError, FileError
from ..runtime.cpu.calls import pool
from ..runtime.serialization.numpy_files import read_arrays
from .console import UsageError, parse_numbers, report
from .run import in_order

_IDLE = 0.02        # seconds between two runtimes, so that the threads of the first are asleep


def add_arguments(parser):
    """Add the command's arguments."""
    parser.add_argument("model", help="a file that export wrote")
    parser.add_argument("--batch", default="", help="sizes of the first named dim, such as 1,8 (default: 1, or what is fixed)")
    parser.add_argument("--size", action="append", default=[], metavar="NAME=N", help="the size of another named dim")
    parser.add_argument("--threads", default="", help="numbers of threads, such as 1,2 (default: what the machine lets it use)")
    parser.add_argument("--seconds", type=float, default=2.0, help="how long each measurement takes (default: 2)")
    parser.add_argument("--inputs", help="an .npz file with the inputs (default: random numbers, and zeros for integers)")
    parser.add_argument("--onnx", metavar="FILE", help="the same model as ONNX, run beside by onnxruntime and openvino")
    parser.add_argument("--json", action="store_true", help="the figures as JSON")


def run(args) -> int:
    """Run the command."""
    if not args.seconds > 0:
        raise UsageError(f"--seconds takes a positive number, got {args.seconds}")
    threads = parse_numbers(args.threads, "--threads") if args.threads else [pool.get_num_threads()]
    model = jit.load(args.model)
    rows: list = []
    for count in threads:
        for batch in batches(model, args.batch):
            if args.inputs:
                arrays = in_order(model.inputs, read_arrays(args.inputs))
            else:
                arrays = random_inputs(model, sizes(model, batch, args.size))
            report(f"measuring {count} thread{'s' * (count > 1)}, {shapes_text(arrays)}")
            pool.set_num_threads(count)
            runners = {"ingot": lambda arrays=arrays: model.run(arrays)}
            if args.onnx:
                runners |= other_runtimes(args.onnx, arrays, count)
            about = {"threads": count, "inputs": shapes_text(arrays), "batch": len(arrays[0]) if arrays[0].ndim else 1}
            rows += [{"runtime": name, **about, **statistics(times)} for name, times in measure(runners, args.seconds).items()]
    print(json.dumps(rows, indent=1) if args.json else "\n".join(table(rows)))
    return 0


def other_runtimes(path: str, arrays, threads: int) -> dict:
    """Return {name: function that runs the ONNX model once} of the installed runtimes."""
    runners = {}
    for name, make in (("onnxruntime", _onnxruntime), ("openvino", _openvino)):
        try:
            runners[name] = make(path, arrays, threads)
        except ImportError:
            report(f"{name} is not installed; left out")
        except Exception as e:
            raise FileError(f"{name} does not run {path}: {e}") from e
    return runners


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


def batches(model, text) -> list:
    """Return the sizes of the first named dim, or [None] for fixed sizes."""
    if not text:
        return [1 if model.signature.dims else None]
    batch_sizes = parse_numbers(text, "--batch")
    if model.signature.dims:
        return batch_sizes
    first = model.inputs[0].shape[0] if model.inputs[0].shape else 1
    if batch_sizes != [first]:
        raise ArgumentError(f"--batch {text}: the model was exported for size {first} alone; export it with "
                            f"dynamic={{'{model.inputs[0].name}': {{0: 'batch'}}}}")
    return [None]


def sizes(model, batch, others) -> dict:
    """Return the sizes of the named dims."""
    if batch is None:
        return {}
    found = dict.fromkeys(model.signature.dims, 16) | {model.signature.dims[0]: batch}
    for text in others:
        name, _, number = text.partition("=")
        if not number.isdigit():
            raise UsageError(f"--size takes NAME=N, got {text!r}")
        if name not in found:
            raise ArgumentError(f"--size takes NAME=N for one of {', '.join(model.signature.dims)}, got {text!r}")
        found[name] = int(number)
    return found


def random_inputs(model, named: dict) -> list:
    """Return random inputs of given sizes."""
    generator, found = np.random.default_rng(0), []
    for spec in model.signature.at(named).inputs:
        random = generator.standard_normal(spec.shape, np.float32) if spec.dtype.is_inexact else np.zeros(spec.shape)
        found.append(random.astype(spec.dtype.np))
    return found


def shapes_text(arrays) -> str:
    """Return the types of arrays as text."""
    return ", ".join(f"{a.dtype}{list(a.shape)}" for a in arrays)


def measure(runners: dict, seconds: float) -> dict:
    """Return {name: seconds of each run}: runtimes alternate until the time is over."""
    for call in runners.values():
        call()
        call()
    found: dict = {name: [] for name in runners}
    end = time.perf_counter() + seconds * len(runners)
    while time.perf_counter() < end or min(map(len, found.values())) < 5:
        for name, call in runners.items():
            time.sleep(_IDLE if len(runners) > 1 else 0)
            call()
            until = time.perf_counter() + seconds / 10
            while time.perf_counter() < until:
                start = time.perf_counter()
                call()
                found[name].append(time.perf_counter() - start)
    return found


def statistics(times) -> dict:
    """Return percentiles of latency in milliseconds, and runs per second."""
    p50, p90, p99 = np.percentile(times, (50, 90, 99)) * 1e3
    return {"runs": len(times), "p50_ms": float(p50), "p90_ms": float(p90), "p99_ms": float(p99),
            "per_second": len(times) / sum(times)}


def table(rows) -> list:
    """Return the figures as lines of text."""
    found = [f"{'runtime':<12} {'threads':>7}  {'p50 ms':>9} {'p90 ms':>9} {'p99 ms':>9} {'runs/s':>9} {'items/s':>9}  inputs"]
    found += [f"{r['runtime']:<12} {r['threads']:>7}  {r['p50_ms']:>9.3f} {r['p90_ms']:>9.3f} {r['p99_ms']:>9.3f} "
              f"{r['per_second']:>9.1f} {r['per_second'] * r['batch']:>9.1f}  {r['inputs']}" for r in rows]
    return found
