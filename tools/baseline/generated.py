"""Generated code of the fixed programs, as hashes: LLVM IR for CPU levels, Triton source for GPUs, and recorded graphs.

One process serves one target and forks a child for each program, so that what a program asks for depends on no other program.
Texts are hashed where they go to the compiler, before any cache is asked. GPUs are those of the mock driver in `tests/`.
"""

import contextlib
import hashlib
import json
import os
import re
import subprocess
import sys
import traceback
from pathlib import Path

from .checkout import COMMAND, ROOT, defining, environment

LEVELS = "x86-64", "x86-64-v3", "x86-64-v4"
CHIPS = 80, 90
CALLS = 2               # of each way, for each list of arguments: the second one replays
_COMMENT = re.compile(r" +# .*$", re.M)
_DEFINED = re.compile(r"^define (?!internal)[^@]*@([\w.]+)\(", re.M)
_TIMES = re.compile(r"compiled in \d+ ms")


def targets() -> list[str]:
    """Return the targets that this machine can generate for and run."""
    target = defining("usable_cpus")
    return [*(level for level in LEVELS[1:] if target.supports(target.cpu(level))), *(f"sm_{chip}" for chip in CHIPS)]


def read(target: str, names=(), texts=None) -> dict:
    """Return what `of_target` returns, from a process of its own."""
    more = {} if target.startswith("sm_") else {"INGOT_CPU_LEVEL": target}
    order = [*COMMAND, "target", target, *names, *(["--texts", str(texts)] if texts else [])]
    done = subprocess.run(order, cwd=ROOT, env=environment(**more), capture_output=True, text=True)
    return json.loads(done.stdout) if not done.returncode else {"failed": done.stderr[-2000:]}


def of_target(target: str, names=(), texts: Path | None = None) -> dict:
    """Return `{program: what is generated for it}`."""
    is_gpu = target.startswith("sm_")
    if is_gpu:
        load_mock()
    folder = None if texts is None else Path(texts) / target
    return {name: in_child(one, target, name, folder) for name, one in table().items()
            if (not names or name in names) and (one.on_gpu or not is_gpu)}


def table() -> dict:
    """Return the programs."""
    from .programs import PROGRAMS
    return PROGRAMS


def load_mock():
    """Import the mock driver of the tests."""
    folders = {path.parent for name in ("mock_cuda.py", "this_checkout.py") for path in (ROOT / "tests").rglob(name)}
    sys.path[:0] = map(str, sorted(folders))
    import mock_cuda
    return mock_cuda


def in_child(one, target, name, texts):
    """Run a program in a forked process, and return what it reports."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        status = 1
        try:
            found = on_gpu(one, int(target[3:]), name, texts) if target.startswith("sm_") else on_cpu(one, name, texts)
            status = 0
        except BaseException as error:
            traceback.print_exc()
            found = {"failed": f"{type(error).__name__}: {error}".splitlines()[0][:200]}
        with os.fdopen(writing, "w") as out:
            json.dump(found, out)
        os._exit(status)
    os.close(writing)
    with os.fdopen(reading) as said:
        text = said.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else {"failed": "the process died"}


def on_cpu(one, name, texts) -> dict:
    """Return the graphs and LLVM IR of a program."""
    compiler, caches = defining("module_key"), defining("second_level")
    caches._FOLDER = Path("/nowhere")           # every machine has the caches that are usual
    seen: dict = {}
    key = compiler.module_key

    def recorded_key(text, target, passes=None):
        said = f"; {target}, passes: {passes}\n{text}"
        seen.setdefault(said, " ".join(_DEFINED.findall(said)[:2]))
        return key(text, target, passes)

    compiler.module_key = recorded_key
    graphs = ran(one, "cpu")
    return summary(seen, texts, name, ".ll") | graphs


def on_gpu(one, chip, name, texts) -> dict:
    """Return the graphs and Triton source of a program on the mock driver."""
    compiler = defining("use_binaries")
    with load_mock().installed(arch=chip):
        graphs = ran(one, "cuda")
        seen = {}
        for variant in compiler.binaries():
            known = variant.warps, variant.stages, sorted(variant.aligned), variant.even, variant.wide, variant.constants
            seen[f"# {known}, {sorted(variant.signature().items())}\n{variant.source.text}"] = variant.source.name
    return summary(seen, texts, name, ".py") | graphs


def ran(one, device) -> dict:
    """Run a program eagerly and traced, and return hashes of its graphs and their plans."""
    import ingot

    from .programs import DYNAMIC
    ingot.manual_seed(0)
    with ingot.device(device) if device != "cpu" else contextlib.nullcontext():
        fn, calls = one.make()
    if one.is_traced:
        made = ingot.jit.trace(fn, dynamic=True) if one.make.__name__ in DYNAMIC else ingot.jit.trace(fn)
    for args in calls:
        for run in [fn] * CALLS + ([made] * CALLS if one.is_traced else []):
            run(*args)
    if not one.is_traced:
        return {}
    stages = [(job, list(graphs.values())) for job, graphs in made.graphs.items()]
    plan = re.findall(r"[\d.]+", _TIMES.sub("", _COMMENT.sub("", made.explain())))
    recorded, lowered = ({job: digest(_COMMENT.sub("", str(graphs[at]))) for job, graphs in stages} for at in (0, -1))
    return {"recorded": recorded, "lowered": lowered, "plan": digest(" ".join(plan))}


def summary(seen: dict, texts, name, ending) -> dict:
    """Return the digests of texts by name, and keep the texts where a folder is given."""
    kernels = sorted(f"{symbols or 'text'} {digest(text)}" for text, symbols in seen.items())
    if texts:
        folder = Path(texts) / name
        folder.mkdir(parents=True, exist_ok=True)
        for text, symbols in seen.items():
            (folder / f"{re.sub(r'[^A-Za-z0-9_]+', '_', symbols)[:60]}-{digest(text)}{ending}").write_text(text)
    return {"kernels": kernels, "bytes": sum(map(len, seen))}


def digest(text: str) -> str:
    """Return a short hash of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]
