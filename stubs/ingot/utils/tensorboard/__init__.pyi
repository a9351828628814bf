"""`ingot.utils.tensorboard`: event files that TensorBoard shows, written without its packages."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t
from ingot import layout as _layout
from ingot.utils.tensorboard import summary as summary
from ingot.utils.tensorboard import writer as writer

class FileWriter:
    """A file of events in a folder. It is flushed after `max_queue` events or `flush_secs`. Threads may share it; a forked
    process continues in a file of its own."""
    path: _t.Any
    def __init__(self, log_dir: _t.Any, max_queue: _b.int = 10, flush_secs: _b.float = 120,
                 filename_suffix: _b.str = '') -> None: ...
    def add_event(self, field: _b.tuple[_t.Any, ...], step: _b.int | None = None, walltime: _b.float | None = None) -> None:
        """Write an event with a field of its message."""
    def add_summary(self, summary: _b.bytes, global_step: _b.int | None = None, walltime: _b.float | None = None) -> None:
        """Write a summary message at a step."""
    def close(self) -> None:
        """Write everything to the disk."""
    def flush(self) -> None:
        """Write everything to the disk."""
    def get_logdir(self) -> _b.str:
        """Return the folder."""
    def reopen(self) -> None:
        """Do nothing: a closed file takes further events."""

class SummaryWriter:
    """Writes what a run logs into `log_dir` ("runs/<time>_<machine><comment>" unless given)."""
    log_dir: _b.str
    def __enter__(self) -> _t.Self: ...
    def __exit__(self, *_: _t.Any) -> None: ...
    def __init__(self, log_dir: _t.Any = None, comment: _b.str = '', purge_step: _b.int | None = None,
                 max_queue: _b.int = 10, flush_secs: _b.float = 120, filename_suffix: _b.str = '') -> None: ...
    def add_audio(self, tag: _t.Any, snd_tensor: _t.Any, global_step: _t.Any = None, sample_rate: _t.Any = 44100,
                  walltime: _t.Any = None) -> None:
        """Log a sound of values from -1 to 1."""
    def add_custom_scalars(self, layout: _layout) -> None:
        """Log the layout of charts: {category: {title: ["Multiline" or "Margin", [tags]]}}."""
    def add_custom_scalars_marginchart(self, tags: _t.Any, category: _b.str = 'default', title: _b.str = 'untitled') -> None:
        """Show a scalar between two others."""
    def add_custom_scalars_multilinechart(self, tags: _t.Any, category: _b.str = 'default', title: _b.str = 'untitled') -> None:
        """Show scalars in one chart."""
    def add_embedding(self, mat: _t.Any, metadata: _t.Any = None, label_img: _t.Any = None,
                      global_step: _t.Any = None, tag: _b.str = 'default', metadata_header: _t.Any = None) -> None:
        """Log points for the projector, with a label and a picture for each."""
    def add_figure(self, tag: _t.Any, figure: _t.Any, global_step: _t.Any = None, close: _b.bool = True,
                   walltime: _t.Any = None) -> None:
        """Log a figure of matplotlib, or a list of them."""
    def add_graph(self, model: _t.Any, input_to_model: _t.Any = None, verbose: _b.bool = False,
                  use_strict_trace: _b.bool = True) -> None:
        """Log the operations of a module's call on an input, as one run of `jit.trace` records them. `use_strict_trace` is
        ignored: containers among the results need no permission."""
    def add_histogram(self, tag: _t.Any, values: _t.Any, global_step: _t.Any = None, bins: _b.str = 'tensorflow',
                      walltime: _t.Any = None, max_bins: _t.Any = None) -> None:
        """Log the distribution of a tensor's elements; `bins` as `numpy.histogram` takes them, or "tensorflow"."""
    def add_histogram_raw(self, tag: _t.Any, min: _t.Any, max: _t.Any, num: _t.Any, sum: _t.Any, sum_squares: _t.Any,
                          bucket_limits: _t.Any, bucket_counts: _t.Any, global_step: _t.Any = None,
                          walltime: _t.Any = None) -> None:
        """Log a histogram that was counted elsewhere."""
    def add_hparams(self, hparam_dict: _t.Any, metric_dict: _t.Any, hparam_domain_discrete: _t.Any = None,
                    run_name: _t.Any = None, global_step: _t.Any = None) -> None:
        """Log the hyperparameters of a run and its metrics, in a run of their own below this one."""
    def add_image(self, tag: _t.Any, img_tensor: _t.Any, global_step: _t.Any = None, walltime: _t.Any = None,
                  dataformats: _b.str = 'CHW') -> None:
        """Log a picture: bytes, or floats from 0 to 1."""
    def add_images(self, tag: _t.Any, img_tensor: _t.Any, global_step: _t.Any = None, walltime: _t.Any = None,
                   dataformats: _b.str = 'NCHW') -> None:
        """Log several pictures on a sheet."""
    def add_pr_curve(self, tag: _t.Any, labels: _t.Any, predictions: _t.Any, global_step: _t.Any = None,
                     num_thresholds: _t.Any = 127, weights: _t.Any = None, walltime: _t.Any = None) -> None:
        """Log precision against recall of predictions from 0 to 1."""
    def add_pr_curve_raw(self, tag: _t.Any, true_positive_counts: _t.Any, false_positive_counts: _t.Any,
                         true_negative_counts: _t.Any, false_negative_counts: _t.Any, precision: _t.Any,
                         recall: _t.Any, global_step: _t.Any = None, num_thresholds: _t.Any = 127,
                         weights: _t.Any = None, walltime: _t.Any = None) -> None:
        """Log precision against recall, counted elsewhere. `num_thresholds` and `weights` are ignored: the counts contain
        them."""
    def add_scalar(self, tag: _t.Any, scalar_value: _t.Any, global_step: _t.Any = None, walltime: _t.Any = None,
                   new_style: _b.bool = False, double_precision: _b.bool = False) -> None:
        """Log a number at a step."""
    def add_scalars(self, main_tag: _t.Any, tag_scalar_dict: _t.Any, global_step: _t.Any = None,
                    walltime: _t.Any = None) -> None:
        """Log several numbers in one chart, each as a run of its own below this one."""
    def add_tensor(self, tag: _t.Any, tensor: _t.Any, global_step: _t.Any = None, walltime: _t.Any = None) -> None:
        """Log a number as a tensor of 64 bits."""
    def add_text(self, tag: _t.Any, text_string: _t.Any, global_step: _t.Any = None, walltime: _t.Any = None) -> None:
        """Log text, as Markdown."""
    def close(self) -> None:
        """Write everything to the disk."""
    @_b.property
    def file_writer(self) -> FileWriter:
        """The event file of the run."""
    def flush(self) -> None:
        """Write everything to the disk."""
    def get_logdir(self) -> _b.str:
        """Return the folder of the run."""
