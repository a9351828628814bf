"""Summary messages: logged values under a tag, as TensorBoard's plugins read them."""

import time

import numpy as np

from ...ir.errors import ArgumentError, DTypeError
from ...runtime.core.tensor import Tensor
from . import media
from .event_file import Float, message

_FLOAT, _STRING = 1, 7                                   # element types of TensorFlow
_TEXT, _NUMBER_TYPE, _BOOL = 1, 3, 2                     # types of hyperparameters
_HPARAMS = "_hparams_/"
_LEAST, _LARGEST, _GROWTH = 1e-12, 1e20, 1.1             # edges of a histogram


def _summary(*values) -> bytes:
    return message(*[(1, value) for value in values])


def _plugin(name: str, content: bytes = b"") -> bytes:
    return message((1, message((1, name), (2, content))))


def _tensor(element, shape, *fields) -> bytes:
    sizes = message(*[(2, message((1, n))) for n in shape])
    return message((1, element), (2, sizes), *fields)


def scalar(tag: str, value: float, new_style: bool = False, double_precision: bool = False) -> bytes:
    """Return the summary of a number; `new_style` ones are tensors of the plugin, in 64 bits if asked for."""
    if not new_style:
        return _summary(message((1, tag), (2, Float(value))))
    kind, field = (2, 6) if double_precision else (_FLOAT, 5)
    number = np.array([value], np.float64 if double_precision else np.float32)
    return _summary(message((1, tag), (8, _tensor(kind, (), (field, number))), (9, _plugin("scalars"))))


def edges(bins) -> object:
    """Return bins for `np.histogram`: TensorFlow's grow by a tenth from 1e-12 on, on both sides of zero."""
    if bins != "tensorflow":
        return bins
    count = int(np.log(_LARGEST / _LEAST) / np.log(_GROWTH)) + 1
    positive = np.multiply.accumulate([_LEAST] + [_GROWTH] * (count - 1))
    return np.concatenate([-positive[::-1], [0.0], positive])


def histogram(tag: str, values: np.ndarray, bins="tensorflow", max_bins: int | None = None) -> bytes:
    """Return the summary of a distribution of finite values."""
    values = np.asarray(values).reshape(-1)
    if values.dtype.kind not in "fiub":
        raise DTypeError(f"add_histogram takes real numbers, got {values.dtype.name}")
    values = values.astype(np.float64)
    if not values.size:
        raise ArgumentError(f"add_histogram({tag!r}): there are no values")
    if not np.isfinite(values).all():
        raise ArgumentError(f"add_histogram({tag!r}): {np.count_nonzero(~np.isfinite(values))} of {values.size} values are "
                            "NaN or infinite")
    counts, limits = np.histogram(values, edges(bins))
    if max_bins is not None and len(counts) > max_bins:
        joined = -(-len(counts) // max_bins)
        counts = np.add.reduceat(counts, np.arange(0, len(counts), joined))
        limits = np.append(limits[:-1:joined], limits[-1])
    filled = np.flatnonzero(counts)
    first, end = (filled[0], filled[-1] + 1) if filled.size else (0, len(counts))
    counts, limits = np.append(0, counts[first:end]), limits[first:end + 1]       # the first bucket ends where values begin
    return histogram_raw(tag, values.min(), values.max(), values.size, values.sum(), values @ values, limits, counts)


def histogram_raw(tag, low, high, count, total, squares, limits, counts) -> bytes:
    """Return the summary of a histogram with given buckets: their upper limits and counts."""
    if len(limits) != len(counts):
        raise ArgumentError(f"add_histogram_raw({tag!r}): {len(limits)} limits and {len(counts)} counts")
    numbers = [(i + 1, float(v)) for i, v in enumerate((low, high, count, total, squares))]
    packed = [(i, np.asarray(v, np.float64)) for i, v in ((6, limits), (7, counts))]
    return _summary(message((1, tag), (5, message(*numbers, *packed))))


def image(tag: str, picture: np.ndarray, dataformats: str) -> bytes:
    """Return the summary of a picture."""
    picture = media.as_pixels(picture, dataformats)
    height, width, channels = picture.shape
    return _summary(message((1, tag), (4, message((1, height), (2, width), (3, channels), (4, media.png(picture))))))


def audio(tag: str, sound: np.ndarray, rate: int) -> bytes:
    """Return the summary of a sound."""
    data, channels, frames = media.wav(sound, rate)
    fields = message((1, Float(rate)), (2, channels), (3, frames), (4, data), (5, "audio/wav"))
    return _summary(message((1, tag), (6, fields)))


def text(tag: str, words: str) -> bytes:
    """Return the summary of Markdown."""
    return _summary(message((1, f"{tag}/text_summary"), (8, _tensor(_STRING, (1,), (8, words))), (9, _plugin("text"))))


def pr_curve(tag: str, labels: np.ndarray, predictions: np.ndarray, num_thresholds: int, weights=None) -> bytes:
    """Return precision and recall of predictions from 0 to 1, at thresholds between."""
    labels, predictions = np.asarray(labels).reshape(-1).astype(bool), np.asarray(predictions, np.float64).reshape(-1)
    weights = np.broadcast_to(1.0 if weights is None else np.asarray(weights, np.float64).reshape(-1), labels.shape)
    if labels.shape != predictions.shape:
        raise ArgumentError(f"add_pr_curve({tag!r}): {labels.size} labels and {predictions.size} predictions")
    count = min(num_thresholds, 127)
    if count < 2:
        raise ArgumentError(f"add_pr_curve({tag!r}): there must be 2 thresholds or more, got {num_thresholds}")
    buckets = np.clip(np.floor(predictions * (count - 1)), 0, count - 1)
    given = {"bins": count, "range": (0, count - 1)}
    right, _ = np.histogram(buckets, weights=weights * labels, **given)
    wrong, _ = np.histogram(buckets, weights=weights * ~labels, **given)
    tp, fp = (np.cumsum(found[::-1])[::-1] for found in (right, wrong))
    tn, fn = fp[0] - fp, tp[0] - tp
    least = 1e-7
    return pr_curve_raw(tag, tp, fp, tn, fn, tp / np.maximum(least, tp + fp), tp / np.maximum(least, tp + fn))


def pr_curve_raw(tag, tp, fp, tn, fn, precision, recall) -> bytes:
    """Return the same from its numbers at each threshold."""
    table = np.stack([np.asarray(line, np.float32) for line in (tp, fp, tn, fn, precision, recall)])
    content = message((2, table.shape[1]))
    tensor = _tensor(_FLOAT, table.shape, (5, table.reshape(-1)))
    return _summary(message((1, tag), (8, tensor), (9, _plugin("pr_curves", content))))


def layout(charts: dict) -> bytes:
    """Return the layout of charts: {category: {title: ["Multiline" or "Margin", [tags]]}}."""
    categories = []
    for name, titles in charts.items():
        found = []
        for title, (kind, tags) in titles.items():
            if kind == "Margin":
                if len(tags) != 3:
                    raise ArgumentError(f"add_custom_scalars: a margin has 3 tags (value, lower, upper), got {list(tags)}")
                chart = (3, message((1, message(*zip((1, 2, 3), tags)))))
            else:
                chart = (2, message(*[(1, tag) for tag in tags]))
            found.append((2, message((1, title), chart)))
        categories.append((2, message((1, name), *found)))
    content = _tensor(_STRING, (), (8, message(*categories)))
    return _summary(message((1, "custom_scalars__config__"), (8, content), (9, _plugin("custom_scalars"))))


def hparams(hparam_dict: dict, metric_dict, hparam_domain_discrete: dict | None = None) -> list:
    """Return the three summaries of hyperparameters: all that exist, those of this run, and its end."""
    infos, values = [], []
    for name, given in hparam_dict.items():
        kind, number = _hparam(name, given.item() if isinstance(given, Tensor) else given)
        choices = (hparam_domain_discrete or {}).get(name)
        offered = None if choices is None else message(*[(1, _hparam(name, choice)[1]) for choice in choices])
        infos.append((4, message((1, name), (4, kind), (5, offered))))
        values.append((1, message((1, name), (2, number))))
    measured = [(5, message((1, message((2, tag))))) for tag in metric_dict]
    now = time.time()
    parts = (("experiment", (2, message((3, now), *infos, *measured))), ("session_start_info", (3, message(*values, (5, now)))),
             ("session_end_info", (4, message((1, 1), (2, now)))))
    return [_summary(message((1, _HPARAMS + name), (9, _plugin("hparams", message(part))))) for name, part in parts]


def _hparam(name, value):
    if isinstance(value, str):
        return _TEXT, message((3, value))
    if isinstance(value, (bool, np.bool_)):
        return _BOOL, message((4, int(value)))
    if isinstance(value, (int, float, np.number)):
        return _NUMBER_TYPE, message((2, float(value)))
    raise ArgumentError(f"add_hparams: {name!r} is a {type(value).__name__}; a number, a bool or text is wanted")


def graph(nodes) -> bytes:
    """Return a graph of (name, operator, inputs, shapes of the results)."""
    defined = []
    for name, op, inputs, shapes in nodes:
        sizes = message(*[(7, message(*[(2, message((1, n))) for n in shape])) for shape in shapes])
        attribute = message((1, "_output_shapes"), (2, message((1, sizes))))
        defined.append((1, message((1, name), (2, op), *[(3, one) for one in inputs], (5, attribute))))
    return message(*defined, (4, message((1, 22))))
