"""`ingot inspect model.ingot`: the contents of a model file."""

import json
from collections import Counter

from .. import jit
from ..ir.draw import view
from ..ir.graph.text import show
from .console import byte_text, report


def add_arguments(parser):
    """Add the command's arguments."""
    parser.add_argument("model", help="a file that export wrote")
    parser.add_argument("--graph", action="store_true", help="the graph, as text")
    parser.add_argument("--weights", action="store_true", help="every weight")
    parser.add_argument("--kernels", action="store_true", help="the kernels that run on this machine")
    parser.add_argument("--svg", metavar="FILE", help="a picture of the graph")
    parser.add_argument("--json", action="store_true", help="signature, sizes and targets as JSON")


def run(args) -> int:
    """Run the command."""
    model = jit.load(args.model, objects=False)
    if args.svg:
        with open(args.svg, "w", encoding="utf-8") as file:
            file.write(view.svg(model.graph))
        report(f"wrote {args.svg}")
    if args.json:
        print(json.dumps(facts(model), indent=1))
        return 0
    print("\n".join(lines(model)))
    if args.weights:
        print("\n".join(["", *(f"{name}: {t.dtype.short}{list(t.shape)}" for name, t in model.weights.items())]))
    if args.graph:
        print(f"\n{show(model.graph)}")
    if args.kernels:
        print(f"\n{model.explain()}")
    return 0


def facts(model) -> dict:
    """Describe a model as data."""
    weights = model.weights.values()
    return {"file": model.path, "ingot": model.version, "signature": model.signature.as_json(), "targets": list(model.targets),
            "nodes": len(model.graph.nodes), "weights": len(model.weights), "parameters": sum(t.numel() for t in weights),
            "weight_bytes": sum(t._a.nbytes for t in weights), "members": {n: model.sizes[n] for n in sorted(model.sizes)}}


def lines(model) -> list:
    """Describe a model as lines of text."""
    known = facts(model)
    found = [f"{model.path}: {model.graph.name}, written by ingot {model.version}", "", "inputs"]
    found += [f"  {spec}" for spec in model.inputs] + ["outputs"] + [f"  {spec}" for spec in model.outputs]
    if model.signature.dims:
        found += [f"sizes that may change: {', '.join(model.signature.dims)}"]
    found += ["", f"weights: {known['weights']} tensors, {known['parameters']:,} numbers, {byte_text(known['weight_bytes'])}"]
    counts = Counter(n.op.name for n in model.graph.nodes).most_common()
    found += [f"graph: {known['nodes']} nodes: {', '.join(f'{n} {name}' for name, n in counts)}", "members of the file"]
    width = max(len(name) for name in model.sizes)
    found += [f"  {name:<{width}}  {byte_text(size)}" for name, size in sorted(model.sizes.items())]
    return [*found, f"ready code for: {', '.join(model.targets) or 'no machine'}"]
