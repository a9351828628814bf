"""Docstrings in numpydoc form: every parameter has an entry, and the example runs. The table of names only grows."""

import doctest
import inspect

import pytest

import ingot
from ingot import amp, nn, optim, utils
from ingot.optim import lr_scheduler
from ingot.tools.manual.docstrings import parameters_of, sections_of
from ingot.utils import data

MODULES = {"nn": nn, "optim": optim, "optim.lr_scheduler": lr_scheduler, "utils.data": data, "amp": amp}
DONE = {
    "nn": """
        AdaptiveAvgPool2d AdaptiveMaxPool2d AvgPool2d BCELoss BCEWithLogitsLoss BatchNorm1d BatchNorm2d BatchNorm3d
        Bilinear Conv1d Conv2d Conv3d ConvTranspose2d CosineSimilarity CrossEntropyLoss Dropout Dropout2d Embedding
        EmbeddingBag Flatten GELU GRU GRUCell GroupNorm HuberLoss InstanceNorm2d KLDivLoss L1Loss LSTM LSTMCell
        LayerNorm LeakyReLU Linear LogSoftmax MSELoss MaxPool1d MaxPool2d Module ModuleDict ModuleList
        MultiheadAttention NLLLoss PReLU Parameter ParameterList PixelShuffle RMSNorm RNN ReLU Sequential SiLU Sigmoid
        SmoothL1Loss Softmax Tanh TransformerDecoderLayer TransformerEncoder TransformerEncoderLayer Upsample""",
    "optim": "Adadelta Adagrad Adam AdamW Adamax LBFGS NAdam RAdam RMSprop SGD",
    "optim.lr_scheduler": """
        CosineAnnealingLR CosineAnnealingWarmRestarts ExponentialLR LambdaLR LinearLR MultiStepLR OneCycleLR PolynomialLR
        ReduceLROnPlateau SequentialLR StepLR""",
    "utils.data": "DataLoader DistributedSampler",
    "amp": "GradScaler autocast",
}
NAMES = [(path, name) for path, names in DONE.items() for name in names.split()]
HIDDEN = {"_weight", "_freeze", "self"}         # parameters that only other methods of the class pass


def doc_of(path, name) -> str:
    return inspect.cleandoc(vars(getattr(MODULES[path], name)).get("__doc__") or "")


def documented(doc) -> list:
    """Return the parameters with an entry, in order."""
    entries = parameters_of(sections_of(doc).get("Parameters", []))
    return [name.strip(" *") for names, _, text in entries for name in names.split(",") if any(map(str.strip, text))]


@pytest.mark.parametrize("path, name", NAMES)
def test_every_parameter_has_an_entry(path, name):
    takes = [p for p in inspect.signature(getattr(MODULES[path], name)).parameters if p not in HIDDEN]
    assert sorted(documented(doc_of(path, name))) == sorted(takes)


@pytest.mark.parametrize("path, name", NAMES)
def test_the_example_runs(path, name):
    example = "\n".join(sections_of(doc_of(path, name))["Examples"])
    names = {"ingot": ingot, "nn": nn, "optim": optim, "amp": amp, "utils": utils}
    test = doctest.DocTestParser().get_doctest(example, names, name, None, 0)
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
    assert len(NAMES) >= 84
