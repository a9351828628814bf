"""Embeddings for TensorBoard's projector: tables beside the event file, and a configuration that names them."""

from pathlib import Path

import numpy as np

from ...ir.errors import ArgumentError, ShapeError
from . import media

_CONFIG = "projector_config.pbtxt"
_MOST_PIXELS = 8192                 # of a side of the sheet of pictures


def write(folder: Path, rows: np.ndarray, metadata=None, pictures=None, tag: str = "default", step=None, header=None):
    """Write a matrix of embeddings, with a label and a picture (N, C, H, W) for each of its rows."""
    if rows.ndim != 2:
        raise ShapeError(f"add_embedding takes a matrix with a row for each point, got shape {list(rows.shape)}")
    for name, given in (("metadata", metadata), ("label_img", pictures)):
        if given is not None and len(given) != len(rows):
            raise ArgumentError(f"add_embedding: {len(given)} entries of {name} for {len(rows)} rows")
    place = f"{step if step is not None else 0:05d}/{_safe(tag)}"
    where = folder / place
    where.mkdir(parents=True, exist_ok=True)
    _write_table(where / "tensors.tsv", rows.tolist())
    lines = [f'tensor_name: "{tag}:{place.split("/")[0]}"', f'tensor_path: "{place}/tensors.tsv"']
    if metadata is not None:
        table = [list(map(str, line)) for line in metadata] if header else [[str(line)] for line in metadata]
        _write_table(where / "metadata.tsv", ([list(header)] if header else []) + table)
        lines.append(f'metadata_path: "{place}/metadata.tsv"')
    if pictures is not None:
        height, width = _write_pictures(where / "sprite.png", pictures)
        sizes = [f"  single_image_dim: {size}" for size in (width, height)]
        lines += ["sprite {", f'  image_path: "{place}/sprite.png"', *sizes, "}"]
    with (folder / _CONFIG).open("a", encoding="utf-8") as file:
        file.write("embeddings {\n" + "".join([f"  {line}\n" for line in lines]) + "}\n")


def _safe(name):
    return "".join([c if c.isalnum() or c in "-_." else "%%%02x" % ord(c) for c in name])


def _write_table(path, rows):
    clean = [["\\n".join(str(cell).splitlines()).replace("\t", " ") for cell in row] for row in rows]
    path.write_text("".join(["\t".join(row) + "\n" for row in clean]), encoding="utf-8")


def _write_pictures(path, pictures):
    """Write a square sheet of all pictures; return (height, width) of one."""
    count, _, height, width = pictures.shape
    side = int(np.ceil(np.sqrt(count)))
    if side * max(height, width) > _MOST_PIXELS:
        raise ArgumentError(f"add_embedding: {count} pictures of {height} x {width} need over {_MOST_PIXELS} pixels a side")
    sheet = np.zeros((side * side, *pictures.shape[1:]), pictures.dtype)
    sheet[:count] = pictures
    sheet = sheet.reshape(side, side, *pictures.shape[1:]).transpose(2, 0, 3, 1, 4).reshape(-1, side * height, side * width)
    path.write_bytes(media.png(media.as_pixels(sheet, "CHW")))
    return height, width
