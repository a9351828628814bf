"""Pictures and sounds for TensorBoard: PNG and WAV files as bytes."""

import math
import struct
import zlib

import numpy as np

from ...ir.errors import ArgumentError, ShapeError

_COLOURS = {1: 0, 2: 4, 3: 2, 4: 6}          # PNG's number for so many channels
_COLUMNS = 8                                 # of a sheet of pictures


def as_pixels(picture: np.ndarray, dataformats: str) -> np.ndarray:
    """Return a picture (height, width, channels) of bytes; several (N) are laid out on a sheet. Floats are from 0 to 1."""
    letters = dataformats.upper()
    if len(letters) != picture.ndim or len(set(letters)) != len(letters) or not set("HW") <= set(letters) <= set("NCHW"):
        raise ShapeError(f"dataformats {dataformats!r} does not name the dims of a picture of shape {list(picture.shape)}")
    order = [letters.index(dim) for dim in "NHWC" if dim in letters]
    picture = picture.transpose(order)
    if "C" not in letters:
        picture = picture[..., None]
    if "N" in letters:
        picture = _sheet(picture)
    if picture.shape[-1] not in _COLOURS:
        raise ShapeError(f"a picture has 1 to 4 channels, got {picture.shape[-1]} (shape {list(picture.shape)}, "
                         f"{dataformats!r})")
    if picture.dtype != np.uint8:
        scaled = np.nan_to_num(picture.astype(np.float32) * 255.0)
        picture = np.clip(scaled, 0, 255).astype(np.uint8)
    return picture


def _sheet(pictures):
    count, height, width, channels = pictures.shape
    columns = min(count, _COLUMNS)
    rows = math.ceil(count / max(1, columns))
    sheet = np.zeros((rows * columns, height, width, channels), pictures.dtype)
    sheet[:count] = pictures
    sheet = sheet.reshape(rows, columns, height, width, channels).swapaxes(1, 2)
    return sheet.reshape(rows * height, columns * width, channels)


def png(picture: np.ndarray) -> bytes:
    """Return the file of a picture of bytes (height, width, channels)."""
    height, width, channels = picture.shape
    if not height or not width:
        raise ShapeError(f"a picture of shape {list(picture.shape)} has no pixels")
    lines = np.zeros((height, 1 + width * channels), np.uint8)          # each line begins with the number of its filter
    lines[:, 1:] = picture.reshape(height, -1)
    head = struct.pack(">IIBBBBB", width, height, 8, _COLOURS[channels], 0, 0, 0)
    parts = (b"IHDR", head), (b"IDAT", zlib.compress(lines.tobytes())), (b"IEND", b"")
    chunks = [struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in parts]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def wav(sound: np.ndarray, rate: int) -> tuple:
    """Return (the file of a sound from -1 to 1, channels, frames); one channel (frames) or several (channels, frames)."""
    sound = np.squeeze(np.asarray(sound))
    if sound.ndim not in (1, 2):
        raise ShapeError(f"a sound is (frames) or (channels, frames), got shape {list(sound.shape)}")
    if rate <= 0:
        raise ArgumentError(f"a sound has a positive sample rate, got {rate}")
    channels = 1 if sound.ndim == 1 else sound.shape[0]
    samples = (np.clip(np.nan_to_num(sound), -1, 1) * 32767).astype("<i2")
    data = np.atleast_2d(samples).T.tobytes()
    head = struct.pack("<HHIIHH", 1, channels, rate, rate * channels * 2, channels * 2, 16)
    body = b"WAVEfmt " + struct.pack("<I", len(head)) + head + b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body, channels, sound.shape[-1]
