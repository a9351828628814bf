"""`SummaryWriter`: logs of a run, in event files."""

import socket
import time
from datetime import datetime
from pathlib import Path

import numpy as np

from ...ir.errors import ArgumentError
from ...ir.locks import new_lock
from ...ir.requirements import install as _install
from ...runtime.core.tensor import Tensor
from ..host.host_call import host
from . import model_graph, projector, summaries
from .event_file import EventFile, message

_START = message((1, 1))                # of a session: what is in earlier files from its step on does not count


def _array(x) -> np.ndarray:
    """Return a tensor on any device, an array or numbers as an array."""
    if isinstance(x, Tensor):
        x = x.detach().cpu()
        return x.float().numpy() if x.dtype.name in ("bfloat16", "float16") else x.numpy()
    if isinstance(x, (list, tuple)) and any(isinstance(one, Tensor) for one in x):
        return np.stack([_array(one) for one in x])
    return np.asarray(x)


def _number(x, where: str) -> float:
    found = _array(x)
    if found.size != 1:
        raise ArgumentError(f"{where} takes one number, got {found.size} (shape {list(found.shape)})")
    return float(found.reshape(())[()])


class SummaryWriter:
    """Writes what a run logs into `log_dir` ("runs/<time>_<machine><comment>" unless given).

    purge_step       after a crash: what earlier files say from this step on is not shown
    max_queue        events that wait in memory, at most for `flush_secs`
    filename_suffix  the end of the file's name
    """

    def __init__(self, log_dir=None, comment: str = "", purge_step: int | None = None, max_queue: int = 10,
                 flush_secs: float = 120, filename_suffix: str = ""):
        if not log_dir:
            log_dir = Path("runs") / f"{datetime.now():%b%d_%H-%M-%S}_{socket.gethostname()}{comment}"
        self.log_dir = str(log_dir)
        self._options = max_queue, flush_secs, filename_suffix
        self._files: dict = {}
        self._lock = new_lock()
        file = self._file()
        if purge_step is not None:
            file.add_event((7, _START), step=purge_step)

    def _file(self, below: str = "") -> EventFile:
        with self._lock:
            if below not in self._files:
                self._files[below] = EventFile(Path(self.log_dir) / below, *self._options)
            return self._files[below]

    @property
    def file_writer(self) -> EventFile:
        """The event file of the run."""
        return self._file()

    def _get_file_writer(self) -> EventFile:
        return self._file()

    def get_logdir(self) -> str:
        """Return the folder of the run."""
        return self.log_dir

    @host
    def add_scalar(self, tag, scalar_value, global_step=None, walltime=None, new_style=False, double_precision=False):
        """Log a number at a step."""
        value = _number(scalar_value, f"add_scalar({tag!r})")
        self._file().add_summary(summaries.scalar(tag, value, new_style, double_precision), global_step, walltime)

    @host
    def add_scalars(self, main_tag, tag_scalar_dict, global_step=None, walltime=None):
        """Log several numbers in one chart, each as a run of its own below this one."""
        for tag, value in tag_scalar_dict.items():
            summary = summaries.scalar(main_tag, _number(value, f"add_scalars({main_tag!r}): {tag!r}"))
            self._file(f"{main_tag.replace('/', '_')}_{tag}").add_summary(summary, global_step, walltime)

    @host
    def add_tensor(self, tag, tensor, global_step=None, walltime=None):
        """Log a number as a tensor of 64 bits."""
        value = _number(tensor, f"add_tensor({tag!r})")
        self._file().add_summary(summaries.scalar(tag, value, True, True), global_step, walltime)

    @host
    def add_histogram(self, tag, values, global_step=None, bins="tensorflow", walltime=None, max_bins=None):
        """Log the distribution of a tensor's elements; `bins` as `numpy.histogram` takes them, or "tensorflow"."""
        self._file().add_summary(summaries.histogram(tag, _array(values), bins, max_bins), global_step, walltime)

    @host
    def add_histogram_raw(self, tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts, global_step=None,
                          walltime=None):
        """Log a histogram that was counted elsewhere."""
        limits, counts = _array(bucket_limits), _array(bucket_counts)
        summary = summaries.histogram_raw(tag, min, max, num, sum, sum_squares, limits, counts)
        self._file().add_summary(summary, global_step, walltime)

    @host
    def add_image(self, tag, img_tensor, global_step=None, walltime=None, dataformats="CHW"):
        """Log a picture: bytes, or floats from 0 to 1."""
        self._file().add_summary(summaries.image(tag, _array(img_tensor), dataformats), global_step, walltime)

    @host
    def add_images(self, tag, img_tensor, global_step=None, walltime=None, dataformats="NCHW"):
        """Log several pictures on a sheet."""
        self._file().add_summary(summaries.image(tag, _array(img_tensor), dataformats), global_step, walltime)

    @host
    def add_figure(self, tag, figure, global_step=None, close=True, walltime=None):
        """Log a figure of matplotlib, or a list of them."""
        try:
            from matplotlib import pyplot
            from matplotlib.backends.backend_agg import FigureCanvasAgg
        except ImportError as e:
            raise ArgumentError(f"add_figure takes figures of matplotlib; install it with: {_install('matplotlib')}") from e
        figures, drawn = figure if isinstance(figure, (list, tuple)) else [figure], []
        for one in figures:
            canvas = FigureCanvasAgg(one)
            canvas.draw()
            drawn.append(np.asarray(canvas.buffer_rgba())[..., :3])
            if close:
                pyplot.close(one)
        self._file().add_summary(summaries.image(tag, np.stack(drawn), "NHWC"), global_step, walltime)

    @host
    def add_audio(self, tag, snd_tensor, global_step=None, sample_rate=44100, walltime=None):
        """Log a sound of values from -1 to 1."""
        self._file().add_summary(summaries.audio(tag, _array(snd_tensor), sample_rate), global_step, walltime)

    @host
    def add_text(self, tag, text_string, global_step=None, walltime=None):
        """Log text, as Markdown."""
        self._file().add_summary(summaries.text(tag, text_string), global_step, walltime)

    @host
    def add_pr_curve(self, tag, labels, predictions, global_step=None, num_thresholds=127, weights=None, walltime=None):
        """Log precision against recall of predictions from 0 to 1."""
        weights = None if weights is None else _array(weights)
        summary = summaries.pr_curve(tag, _array(labels), _array(predictions), num_thresholds, weights)
        self._file().add_summary(summary, global_step, walltime)

    @host
    def add_pr_curve_raw(self, tag, true_positive_counts, false_positive_counts, true_negative_counts, false_negative_counts,
                         precision, recall, global_step=None, num_thresholds=127, weights=None, walltime=None):
        """Log precision against recall, counted elsewhere. `num_thresholds` and `weights` are ignored: the counts contain
        them."""
        given = (true_positive_counts, false_positive_counts, true_negative_counts, false_negative_counts, precision, recall)
        self._file().add_summary(summaries.pr_curve_raw(tag, *map(_array, given)), global_step, walltime)

    @host
    def add_custom_scalars(self, layout):
        """Log the layout of charts: {category: {title: ["Multiline" or "Margin", [tags]]}}."""
        self._file().add_summary(summaries.layout(layout))

    @host
    def add_custom_scalars_multilinechart(self, tags, category="default", title="untitled"):
        """Show scalars in one chart."""
        self._file().add_summary(summaries.layout({category: {title: ["Multiline", tags]}}))

    @host
    def add_custom_scalars_marginchart(self, tags, category="default", title="untitled"):
        """Show a scalar between two others."""
        self._file().add_summary(summaries.layout({category: {title: ["Margin", tags]}}))

    @host
    def add_hparams(self, hparam_dict, metric_dict, hparam_domain_discrete=None, run_name=None, global_step=None):
        """Log the hyperparameters of a run and its metrics, in a run of their own below this one."""
        file = self._file(run_name or str(time.time()))
        for summary in summaries.hparams(hparam_dict, metric_dict, hparam_domain_discrete):
            file.add_summary(summary)
        for tag, value in metric_dict.items():
            file.add_summary(summaries.scalar(tag, _number(value, f"add_hparams: {tag!r}")), global_step)

    @host
    def add_embedding(self, mat, metadata=None, label_img=None, global_step=None, tag="default", metadata_header=None):
        """Log points for the projector, with a label and a picture for each."""
        pictures = None if label_img is None else _array(label_img)
        projector.write(Path(self.log_dir), _array(mat), metadata, pictures, tag, global_step, metadata_header)

    @host
    def add_graph(self, model, input_to_model=None, verbose=False, use_strict_trace=True):
        """Log the operations of a module's call on an input, as one run of `jit.trace` records them. `use_strict_trace` is
        ignored: containers among the results need no permission."""
        nodes = model_graph.nodes_of(model, input_to_model)
        self._file().add_event((4, summaries.graph(nodes)))
        if verbose:
            print("\n".join([f"{name} = {op}({', '.join(inputs)})" for name, op, inputs, _ in nodes]))

    def flush(self):
        """Write everything to the disk."""
        for file in list(self._files.values()):
            file.flush()

    close = flush

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self
