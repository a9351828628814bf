"""Docstrings in numpydoc form: every parameter has an entry, and the example runs. The table of names only grows."""

import doctest
import inspect

import pytest

import ingot
from ingot import nn, optim
from ingot.optim import lr_scheduler
from ingot.tools.manual.docstrings import parameters_of, sections_of

MODULES = {"nn": nn, "optim": optim, "optim.lr_scheduler": lr_scheduler}
DONE = {
    "nn": """
        AdaptiveAvgPool2d AvgPool2d BCELoss BCEWithLogitsLoss BatchNorm1d BatchNorm2d Bilinear Conv1d Conv2d Conv3d
        ConvTranspose2d CosineSimilarity CrossEntropyLoss Dropout Embedding Flatten GELU GRU GroupNorm HuberLoss
        KLDivLoss L1Loss LSTM LSTMCell LayerNorm LeakyReLU Linear LogSoftmax MSELoss MaxPool2d ModuleDict ModuleList
        MultiheadAttention NLLLoss Parameter ParameterList PixelShuffle RMSNorm RNN ReLU Sequential SiLU Sigmoid
        SmoothL1Loss Softmax Tanh TransformerEncoderLayer Upsample""",
    "optim": "Adagrad Adam AdamW LBFGS NAdam RMSprop SGD",
    "optim.lr_scheduler": """
        CosineAnnealingLR ExponentialLR LambdaLR LinearLR MultiStepLR OneCycleLR ReduceLROnPlateau StepLR""",
}
NAMES = [(path, name) for path, names in DONE.items() for name in names.split()]
HIDDEN = {"_weight", "_freeze", "self"}         # parameters that only other methods of the class pass


def doc_of(path, name) -> str:
    return inspect.cleandoc(vars(getattr(MODULES[path], name)).get("__doc__") or "")


def documented(doc) -> list:
    """Return the parameters with an entry, in order."""
    entries = parameters_of(sections_of(doc).get("Parameters", []))
    return [name.lstrip("*").strip() for names, _, text in entries for name in names.split(",") if any(map(str.strip, text))]


@pytest.mark.parametrize("path, name", NAMES)
def test_every_parameter_has_an_entry(path, name):
    takes = [p for p in inspect.signature(getattr(MODULES[path], name)).parameters if p not in HIDDEN]
    assert sorted(documented(doc_of(path, name))) == sorted(takes)


@pytest.mark.parametrize("path, name", NAMES)
def test_the_example_runs(path, name):
    example = "\n".join(sections_of(doc_of(path, name))["Examples"])
    test = doctest.DocTestParser().get_doctest(example, {"ingot": ingot, "nn": nn, "optim": optim}, name, None, 0)
    said: list = []
    ingot.manual_seed(0)
    outcome = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE).run(test, out=said.append)
    assert outcome.attempted and not outcome.failed, "".join(said)


def test_the_table_has_every_name_in_that_form():
    """So an entry cannot leave the table while its docstring stays, and a new docstring comes under the checks above."""
    written = {(path, name) for path, module in MODULES.items() for name in module.__all__
               if isinstance(getattr(module, name), type)
               if "\nParameters\n----------" in doc_of(path, name) or "\nExamples\n--------" in doc_of(path, name)}
    assert written == set(NAMES)
    assert len(NAMES) >= 63
