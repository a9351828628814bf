"""Summary messages: logged values under a tag, as TensorBoard's plugins read them."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t
import numpy as _np

def audio(tag: _b.str, sound: _np.ndarray[_t.Any, _t.Any], rate: _b.int) -> _b.bytes:
    """Return the summary of a sound."""
def edges(bins: _t.Any) -> _b.object:
    """Return bins for `np.histogram`: TensorFlow's grow by a tenth from 1e-12 on, on both sides of zero."""
def graph(nodes: _t.Any) -> _b.bytes:
    """Return a graph of (name, operator, inputs, shapes of the results)."""
def histogram(tag: _b.str, values: _np.ndarray[_t.Any, _t.Any], bins: _b.str = 'tensorflow',
              max_bins: _b.int | None = None) -> _b.bytes:
    """Return the summary of a distribution of finite values."""
def histogram_raw(tag: _t.Any, low: _t.Any, high: _t.Any, count: _t.Any, total: _t.Any, squares: _t.Any,
                  limits: _t.Any, counts: _t.Any) -> _b.bytes:
    """Return the summary of a histogram with given buckets: their upper limits and counts."""
def hparams(hparam_dict: _b.dict[_t.Any, _t.Any], metric_dict: _t.Any,
            hparam_domain_discrete: _b.dict[_t.Any, _t.Any] | None = None) -> _b.list[_t.Any]:
    """Return the three summaries of hyperparameters: all that exist, those of this run, and its end."""
def image(tag: _b.str, picture: _np.ndarray[_t.Any, _t.Any], dataformats: _b.str) -> _b.bytes:
    """Return the summary of a picture."""
def layout(charts: _b.dict[_t.Any, _t.Any]) -> _b.bytes:
    """Return the layout of charts: {category: {title: ["Multiline" or "Margin", [tags]]}}."""
def pr_curve(tag: _b.str, labels: _np.ndarray[_t.Any, _t.Any], predictions: _np.ndarray[_t.Any, _t.Any],
             num_thresholds: _b.int, weights: _t.Any = None) -> _b.bytes:
    """Return precision and recall of predictions from 0 to 1, at thresholds between."""
def pr_curve_raw(tag: _t.Any, tp: _t.Any, fp: _t.Any, tn: _t.Any, fn: _t.Any, precision: _t.Any,
                 recall: _t.Any) -> _b.bytes:
    """Return the same from its numbers at each threshold."""
def scalar(tag: _b.str, value: _b.float, new_style: _b.bool = False, double_precision: _b.bool = False) -> _b.bytes:
    """Return the summary of a number; `new_style` ones are tensors of the plugin, in 64 bits if asked for."""
def text(tag: _b.str, words: _b.str) -> _b.bytes:
    """Return the summary of Markdown."""
