"""Build backend: setuptools, with the type stubs where checkers look for them.

A wheel has the files of `stubs/ingot` inside of `ingot`, beside the source. The root of the repository is the package, so
setuptools installs an editable package through an import hook, which no type checker follows. An editable wheel has the folder
`stubs` on the path instead: checkers read `stubs/ingot`, and its `__init__.py` loads the package from the root.
"""

import base64
import hashlib
import os
import zipfile
from pathlib import Path

from setuptools import build_meta
from setuptools.build_meta import (  # noqa: F401  the hooks that stay as they are
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

ROOT = Path(__file__).resolve().parents[2]
STUBS = ROOT / "stubs"


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Build a wheel that contains the stubs."""
    name = build_meta.build_wheel(wheel_directory, config_settings, metadata_directory)
    files = {file.relative_to(STUBS).as_posix(): file.read_bytes() for file in sorted(STUBS.rglob("*.pyi"))}
    rewrite(Path(wheel_directory, name), lambda member: False, files)
    return name


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """Build a wheel that points to this checkout."""
    name = build_meta.build_editable(wheel_directory, config_settings, metadata_directory)
    rewrite(Path(wheel_directory, name), lambda member: member.startswith("__editable__"), {"ingot.pth": f"{STUBS}\n".encode()})
    return name


def rewrite(wheel: Path, dropped, added: dict) -> None:
    """Drop and add files of a wheel; its record lists them again."""
    with zipfile.ZipFile(wheel) as archive:
        files = {info.filename: archive.read(info) for info in archive.infolist() if not dropped(info.filename)} | added
    record, = [name for name in files if name.endswith(".dist-info/RECORD")]
    del files[record]
    rows = [f"{name},sha256={digest(data)},{len(data)}" for name, data in files.items()]
    files[record] = "\n".join([*rows, f"{record},,", ""]).encode()
    finished = wheel.with_suffix(".part")
    with zipfile.ZipFile(finished, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    os.replace(finished, wheel)


def digest(data: bytes) -> str:
    """Return the hash of a file as records of wheels write it."""
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
