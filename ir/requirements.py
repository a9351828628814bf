"""Packages that parts of ingot need, and the commands that install them.

Messages name packages, not extras of ingot: ingot is on no package index, so `pip install 'ingot[...]'` would install the files
of anybody who takes that name there. `pyproject.toml` has the same requirements (`tests/product/test_packaging.py`).
"""

NEEDED = ("numpy>=2.2.6", "ml_dtypes>=0.5", "networkx>=3.3", "llvmlite>=0.45", "safetensors>=0.4.3", "rich>=13")
# by the extra of pyproject.toml that has them
EXTRAS = {
    "gpu": ("triton>=3.6",),
    "generate": ("jinja2>=3.1",),
    "onnx": ("onnx>=1.17",),
    "bench": ("torch", "jax", "onnxruntime", "openvino", "matplotlib", "onnx>=1.17"),
    "mpi": ("mpi4py>=4.1", "mpich>=5"),
    "nccl-cu12": ("nvidia-nccl-cu12>=2.18",),
    "nccl-cu13": ("nvidia-nccl-cu13>=2.27",),
}


def package_of(requirement: str) -> str:
    """Return the name of a package: "triton" for "triton>=3.6"."""
    return requirement.partition(">")[0]


_BY_PACKAGE = {package_of(r): r for r in (*NEEDED, *[r for extra in EXTRAS.values() for r in extra])}


def install(*packages: str) -> str:
    """Return the command that installs packages: `pip install "triton>=3.6"`."""
    found = [_BY_PACKAGE[name] for name in packages]
    return " ".join(["pip install", *[f'"{r}"' if ">" in r else r for r in found]])


def install_extra(extra: str) -> str:
    """Return the command that installs the packages of an extra."""
    return install(*map(package_of, EXTRAS[extra]))
