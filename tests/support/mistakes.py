"""Mistakes that users of a tensor library make, as programs of a few lines, and the words that the error must have.

`MISTAKES` is a list of `Mistake`. `run` runs one in this process; `source` is its text, for tests that run it as a script.
"""

import sys
from contextlib import redirect_stderr
from io import StringIO
from typing import NamedTuple

from ingot.ir.errors import (
    ArgumentError,
    AutogradError,
    DeviceError,
    DimError,
    DTypeError,
    FileError,
    ShapeError,
)

PREAMBLE = "import ingot\nfrom ingot import nn, optim\nfrom ingot.nn import functional as F\n"


class Mistake(NamedTuple):
    """A program, the class of its error, words that the message has, words that it lacks, and the most lines it may take."""

    name: str
    program: str
    error: type
    words: tuple
    absent: tuple = ()
    lines: int = 3

    @property
    def source(self) -> str:
        return PREAMBLE + self.program + "\n"


def shown(error: BaseException) -> str:
    """Return the text of an error, with the suggestion that the interpreter adds to an AttributeError of its own."""
    if type(error) is not AttributeError:
        return str(error)
    error.__context__ = error.__cause__ = error.__traceback__ = None
    with redirect_stderr(StringIO()) as text:
        sys.__excepthook__(type(error), error, None)
    return text.getvalue().partition(": ")[2].rstrip("\n")


def run(mistake: Mistake, directory: str) -> None:
    """Run a program; `folder` in it is `directory`."""
    exec(compile(mistake.source, f"<{mistake.name}>", "exec"), {"__name__": "mistake", "folder": directory})


MISTAKES = [Mistake(*row) for row in [
    # Layers and their inputs.
    ("linear input", "net = nn.Linear(4, 2)\nnet(ingot.ones(3, 5))", ShapeError, ("linear", "[3, 5]", "float32[2, 4] takes 4")),
    ("linear transposed input", "nn.Linear(4, 2)(ingot.ones(4, 3))", ShapeError, ("[4, 3]", "float32[2, 4] takes 4", "last")),
    ("linear of integers", "nn.Linear(4, 2)(ingot.arange(4))", DTypeError, ("linear", "int64", "float32", ".float()")),
    ("linear of float64", "nn.Linear(4, 2)(ingot.ones(3, 4, dtype=ingot.float64))", DTypeError,
     ("float64", "float32", ".float()")),
    ("layer of an array", "import numpy as np\nnn.Linear(4, 2)(np.ones((3, 4)))", DTypeError,
     ("Linear", "float64[3, 4]", "tensor(")),
    ("layer of None", "nn.Sequential(nn.Linear(4, 2))(None)", DTypeError, ("Linear", "input", "None", "return")),
    ("layer with two arguments", "nn.Linear(4, 2)(ingot.ones(3, 4), ingot.ones(3, 4))", TypeError,
     ("Linear", "forward(input)", "2 were given")),
    ("conv2d channels", "nn.Conv2d(3, 8, 3)(ingot.ones(2, 1, 8, 8))", ShapeError,
     ("conv2d", "[2, 1, 8, 8]", "3 channels", "1")),
    ("conv2d channels unbatched", "nn.Conv2d(3, 8, 3)(ingot.ones(1, 8, 8))", ShapeError,
     ("conv2d", "[1, 8, 8]", "3 channels"), ("[1, 1, 8, 8]",)),
    ("conv2d channels last", "nn.Conv2d(3, 8, 3)(ingot.ones(2, 32, 32, 3))", ShapeError,
     ("[2, 32, 32, 3]", "3 channels", "permute(0, 3, 1, 2)")),
    ("conv1d channels unbatched", "nn.Conv1d(4, 8, 3)(ingot.ones(5, 9))", ShapeError, ("conv1d", "[5, 9]", "4 channels")),
    ("conv_transpose2d channels unbatched", "nn.ConvTranspose2d(3, 8, 3)(ingot.ones(5, 9, 9))", ShapeError,
     ("conv_transpose2d", "[5, 9, 9]", "3 channels")),
    ("conv2d dims", "nn.Conv2d(3, 8, 3)(ingot.ones(8, 8))", ShapeError, ("conv2d", "[8, 8]", "[N, C, H, W]", "[C, H, W]")),
    ("conv2d too small", "nn.Conv2d(3, 8, 5)(ingot.ones(1, 3, 4, 4))", ShapeError, ("conv2d", "5", "4", "padding")),
    ("max_pool2d too small", "nn.MaxPool2d(4)(ingot.ones(1, 3, 2, 2))", ShapeError, ("max_pool2d", "4", "2")),
    ("lstm layout, batch first", "nn.LSTM(4, 8, batch_first=True)(ingot.ones(2, 5, 3))", ShapeError,
     ("LSTM", "[batch, time, 4]", "[2, 5, 3]", "input_size")),
    ("gru layout, time first", "nn.GRU(4, 8)(ingot.ones(5, 2, 3))", ShapeError, ("GRU", "[time, batch, 4]", "[5, 2, 3]")),
    ("rnn layout, no batch", "nn.RNN(4, 8)(ingot.ones(5, 3))", ShapeError, ("RNN", "[time, 4]", "[5, 3]")),
    ("lstm state", "nn.LSTM(4, 8, batch_first=True)(ingot.ones(2, 5, 4), (ingot.ones(1, 5, 8), ingot.ones(1, 5, 8)))",
     ShapeError, ("h_0", "[1, 2, 8]", "[1, 5, 8]")),
    ("batch_norm channels", "nn.BatchNorm2d(3)(ingot.ones(2, 4, 8, 8))", ShapeError, ("3", "4", "[2, 4, 8, 8]")),
    ("batch_norm of one value", "nn.BatchNorm1d(3)(ingot.ones(1, 3))", ArgumentError, ("[1, 3]", "eval()")),
    ("layer_norm shape", "nn.LayerNorm(6)(ingot.ones(2, 4))", ShapeError, ("layer_norm", "[6]", "[2, 4]")),
    ("group_norm groups", "nn.GroupNorm(4, 6)", ArgumentError, ("6", "4", "num_groups")),
    ("embedding index", "nn.Embedding(10, 4)(ingot.tensor([1, 12]))", DimError, ("embedding", "12", "10")),
    ("embedding of floats", "nn.Embedding(10, 4)(ingot.ones(3))", DTypeError, ("embedding", "float32", "int64", ".long()")),
    ("attention heads", "nn.MultiheadAttention(10, 3)", ArgumentError, ("embed_dim", "10", "num_heads", "3")),
    # Losses.
    ("cross_entropy class", "F.cross_entropy(ingot.ones(2, 3), ingot.tensor([0, 3]))", DimError, ("3", "0 to 2")),
    ("cross_entropy batch", "F.cross_entropy(ingot.ones(2, 3), ingot.tensor([0, 1, 2]))", ShapeError,
     ("cross_entropy", "[2, 3]", "[3]", "[2]")),
    ("bce of integers", "F.binary_cross_entropy(ingot.ones(3) / 2, ingot.tensor([0, 1, 1]))", DTypeError,
     ("target", "int64", "floating point", ".float()")),
    ("bce with logits of integers", "nn.BCEWithLogitsLoss()(ingot.ones(3), ingot.tensor([0, 1, 1]))", DTypeError,
     ("target", "int64", "floating point", ".float()")),
    ("bce shapes", "nn.BCELoss()(ingot.ones(3, 1) / 2, ingot.ones(3))", ShapeError, ("[3, 1]", "[3]", "target")),
    ("bce outside of 0 to 1", "F.binary_cross_entropy(ingot.tensor([2.0]), ingot.ones(1))", ArgumentError,
     ("input", "0", "1", "sigmoid")),
    ("reduction", "F.mse_loss(ingot.ones(2), ingot.ones(2), reduction='men')", ArgumentError, ("men", "did you mean 'mean'")),
    # Shapes and dtypes of operators.
    ("add shapes", "ingot.ones(3, 4) + ingot.ones(3, 5)", ShapeError, ("[3, 4]", "[3, 5]", "4", "5")),
    ("matmul shapes", "ingot.ones(3, 4) @ ingot.ones(3, 4)", ShapeError, ("[3, 4]", ".mT")),
    ("mm shapes", "ingot.mm(ingot.ones(3, 4), ingot.ones(5, 6))", ShapeError, ("mm", "[3, 4]", "[5, 6]", "4", "5")),
    ("matmul dtypes", "ingot.ones(2, 2) @ ingot.ones(2, 2).double()", DTypeError, ("float32", "float64", ".double()")),
    ("cat shapes", "ingot.cat([ingot.ones(2, 3), ingot.ones(2, 3), ingot.ones(2, 4)], dim=0)", ShapeError,
     ("cat", "tensors[2]", "[2, 4]", "[2, 3]")),
    ("stack shapes", "ingot.stack([ingot.ones(2), ingot.ones(3)])", ShapeError, ("stack", "tensors[1]", "[3]", "[2]")),
    ("concat", "ingot.concat([ingot.ones(2, 3), ingot.ones(3, 2)])", ShapeError, ("[3, 2]", "[2, 3]", "tensors[1]")),
    ("view size", "ingot.ones(3, 4).view(5, 2)", ShapeError, ("view", "[3, 4]", "[5, 2]", "12", "10")),
    ("view of transposed", "ingot.ones(3, 4).t().view(12)", ShapeError, ("view", "reshape")),
    ("reshape -1", "ingot.ones(3, 4).reshape(-1, 5)", ShapeError, ("reshape", "12", "5", "[-1, 5]")),
    ("dim out of range", "ingot.ones(2, 3).sum(dim=2)", DimError, ("dim 2", "-2", "1")),
    ("index out of range", "ingot.ones(3)[5]", IndexError, ("5", "3")),
    ("index of float", "ingot.ones(3)[1.5]", IndexError, ("1.5", "integer")),
    ("mask shape", "ingot.ones(3, 4)[ingot.ones(4, dtype=ingot.bool)]", IndexError, ("mask", "[4]", "[3, 4]")),
    ("gather index dtype", "ingot.ones(2, 3).gather(1, ingot.ones(2, 3))", DTypeError, ("gather", "index", "float32", "int64")),
    ("scatter sizes", "ingot.zeros(2, 3).scatter_(1, ingot.zeros(4, 3, dtype=ingot.int64), 1.0)", ShapeError,
     ("scatter_", "[4, 3]", "[2, 3]")),
    ("einsum sizes", "ingot.einsum('ij,jk->ik', ingot.ones(2, 3), ingot.ones(4, 5))", ShapeError, ("einsum", "'j'", "3", "4")),
    ("einsum label", "ingot.einsum('ij,jk->iq', ingot.ones(2, 3), ingot.ones(3, 5))", ArgumentError, ("einsum", "'q'")),
    ("einsum dims", "ingot.einsum('ijk,jk->ik', ingot.ones(2, 3), ingot.ones(3, 5))", ShapeError,
     ("einsum", "'ijk'", "3", "[2, 3]", "operands[0]")),
    ("max of nothing", "ingot.ones(0).max()", DimError, ("max", "[0]", "empty"), ("amax",)),
    ("item of many", "ingot.ones(3).item()", RuntimeError, ("3", "[3]", "tolist()")),
    ("bool of many", "if ingot.ones(3) > 0: pass", RuntimeError, ("bool", "[3]", "any()", "all()")),
    ("ragged list", "ingot.tensor([[1, 2], [3]])", ValueError, ("length", "2", "1")),
    ("interpolate mode", "F.interpolate(ingot.ones(1, 3, 8, 8), size=4, mode='bilinaer')", ArgumentError,
     ("mode", "'bilinaer'", "did you mean 'bilinear'")),
    ("interpolate dims", "F.interpolate(ingot.ones(3, 8, 8), size=(4, 4), mode='bilinear')", ShapeError,
     ("bilinear", "[3, 8, 8]", "[N, C, H, W]")),
    ("padding_mode", "nn.Conv2d(3, 8, 3, padding_mode='zeors')", ArgumentError, ("padding_mode", "did you mean 'zeros'")),
    # Gradients.
    ("no gradient", "ingot.ones(2).sum().backward()", AutogradError, ("requires_grad",)),
    ("backward of many", "x = ingot.ones(2, requires_grad=True)\n(x * 2).backward()", AutogradError, ("[2]", "sum()")),
    ("backward twice", "x = ingot.ones(2, requires_grad=True)\ny = (x * x).sum()\ny.backward()\ny.backward()", AutogradError,
     ("second time", "retain_graph=True")),
    ("write to a leaf", "x = ingot.ones(2, requires_grad=True)\nx += 1", AutogradError, ("leaf", "no_grad()")),
    ("overwritten operand", "x = ingot.ones(2, requires_grad=True)\ny = x.exp()\ny += 1\ny.sum().backward()", AutogradError,
     ("exp", "overwritten by __iadd__", "clone()")),
    ("numpy with gradient", "ingot.ones(2, requires_grad=True).numpy()", RuntimeError, ("detach()",)),
    ("gradient of integers", "ingot.tensor([1, 2], requires_grad=True)", AutogradError, ("int64", "floating point")),
    # Names.
    ("function typo", "ingot.zeross(3)", AttributeError, ("zeross", "did you mean 'zeros'")),
    ("class typo", "nn.Linaer(3, 4)", AttributeError, ("Linaer", "did you mean 'Linear'")),
    ("functional typo", "F.rellu(ingot.ones(2))", AttributeError, ("rellu", "did you mean 'relu'")),
    ("optimizer typo", "optim.Adamm", AttributeError, ("Adamm", "did you mean 'Adam'")),
    ("method typo", "ingot.ones(2).summ()", AttributeError, ("summ", "Did you mean: 'sum'"), ("smm",)),
    ("imported typo", "from ingot import autogard", ImportError, ("cannot import", "'autogard'", "did you mean 'autograd'")),
    ("imported class typo", "from ingot.nn import Lienar", ImportError, ("'ingot.nn'", "did you mean 'Linear'"), ("runtime",)),
    ("imported function typo", "from ingot.nn.functional import rellu", ImportError, ("did you mean 'relu'",)),
    ("imported trace typo", "from ingot.jit import trcae", ImportError, ("did you mean 'trace'",)),
    ("imported name of NumPy", "from ingot import array", ImportError, ("use ingot.tensor()",)),
    ("module typo", "import ingot.autogard", ModuleNotFoundError, ("No module named", "did you mean 'ingot.autograd'")),
    ("inner module typo", "import ingot.utils.dta.distributed", ModuleNotFoundError, ("did you mean 'ingot.utils.data'",)),
    ("jit typo", "ingot.jit.trcae", AttributeError, ("did you mean 'trace'",)),
    ("dtype typo", "ingot.flaot32", AttributeError, ("flaot32", "did you mean 'float32'")),
    ("dtype name typo", "ingot.ones(2, dtype='flaot32')", TypeError, ("flaot32", "did you mean 'float32'")),
    ("keyword typo", "nn.Linear(3, 4, biass=False)", TypeError,
     ("Linear(in_features, out_features, bias=True", "'biass'", "did you mean 'bias'"), ("__init__",)),
    ("function keyword typo", "ingot.zeros(3, requires_grd=True)", TypeError,
     ("zeros(", "'requires_grd'", "did you mean 'requires_grad'")),
    ("method keyword typo", "ingot.ones(3).sum(dimm=0)", TypeError, ("sum(", "'dimm'", "did you mean 'dim'")),
    ("optimizer keyword typo", "optim.Adam([ingot.ones(1, requires_grad=True)], learning_rate=1)", TypeError,
     ("Adam(params, lr=", "'learning_rate'", "did you mean 'lr'")),
    ("missing argument", "nn.Linear(3)", TypeError, ("Linear(in_features, out_features", "'out_features'")),
    ("surplus argument", "ingot.celu(ingot.ones(2), 1, 2, 3)", TypeError, ("celu(input", "4 were given")),
    # Functions as quick as a call of Python have the text of Python (`checked` in runtime/api/register/register.py).
    ("surplus argument of a quick function", "ingot.relu(ingot.ones(2), 1, 2, 3)", TypeError, ("relu()", "4 were given")),
    ("numpy method", "ingot.ones(2).astype('float32')", AttributeError, ("astype", ".to(")),
    ("device typo", "ingot.ones(2).to('cudaa')", DeviceError, ("cudaa", "did you mean 'cuda'")),
    ("device gpu", "ingot.ones(2, device='gpu')", DeviceError, ("gpu", "did you mean 'cuda'")),
    # Modules and optimizers.
    ("list of layers", "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
     "        self.layers = [nn.Linear(2, 2)]\noptim.SGD(Net().parameters(), lr=0.1)", ArgumentError,
     ("Net", "layers", "ModuleList"), ("once something has gone through it",)),
    ("generator twice", "p = nn.Linear(2, 2).parameters()\nfor q in p: pass\noptim.SGD(p, lr=0.1)", ArgumentError,
     ("empty", "generator", "parameters()")),
    ("optimizer over a tensor", "optim.SGD(nn.Linear(2, 2).weight, lr=0.1)", TypeError, ("params", "[", "tensor")),
    ("optimizer over a module", "optim.SGD(nn.Linear(2, 2), lr=0.1)", TypeError, ("Linear", ".parameters()")),
    ("optimizer over numbers", "optim.SGD([1.0], lr=0.1)", TypeError, ("params[0]", "float")),
    ("negative lr", "optim.Adam(nn.Linear(2, 2).parameters(), lr=-1)", ValueError, ("lr", "-1")),
    ("no super().__init__", "class Net(nn.Module):\n    def __init__(self):\n        self.a = nn.Linear(2, 2)\nNet()",
     AttributeError, ("Net", "super().__init__()")),
    ("sequential of a list", "nn.Sequential([nn.Linear(2, 2)])", TypeError, ("Sequential", "list", "*")),
    ("module attribute", "nn.Linear(2, 2).weigth", AttributeError, ("Linear", "weigth", "Did you mean: 'weight'")),
    ("state_dict keys", "a = nn.Linear(2, 2).state_dict()\na['wieght'] = a.pop('weight')\nnn.Linear(2, 2).load_state_dict(a)",
     RuntimeError, ("Linear", "wieght", "weight", "did you mean"), (), 4),
    ("state_dict shapes", "nn.Linear(2, 2).load_state_dict(nn.Linear(3, 2).state_dict())", RuntimeError,
     ("weight", "[2, 3]", "[2, 2]"), ("Size",)),
    ("scheduler of a module", "optim.lr_scheduler.StepLR(nn.Linear(2, 2), 1)", TypeError, ("StepLR", "Linear", "optimizer")),
    # Options of constructors: the message names the class and the option.
    ("size as text", "nn.Linear('3', 4)", DTypeError, ("Linear: ", "'3'"), ("empty",)),
    ("layers as text", "nn.LSTM(4, 8, '2')", DTypeError, ("LSTM does not take str as num_layers",), ("input_size",)),
    ("betas one by one", "optim.Adam([ingot.ones(1, requires_grad=True)], 2e-3, 0.5, 0.999)", DTypeError,
     ("Adam does not take float as betas",), ("__init__", "tensors[")),
    ("betas of a subclass", "class Mine(optim.Adam):\n    def __init__(self, p):\n        super().__init__(p, 2e-3, 0.5)\n"
     "Mine([ingot.ones(1, requires_grad=True)])", DTypeError, ("Adam does not take float as betas",), ("__init__", "Mine")),
    ("lr as text", "optim.SGD([ingot.ones(1, requires_grad=True)], '0.1')", DTypeError, ("SGD", "lr", "'0.1'", "float()")),
    ("loss of tensors at once", "nn.CrossEntropyLoss(ingot.ones(2, 3), ingot.tensor([0, 1]))", DTypeError,
     ("CrossEntropyLoss()(", "tensor"), ("bool",)),
    ("dropout of a tensor at once", "nn.Dropout(ingot.ones(3))", DTypeError, ("Dropout()(", "tensor"), ("bool",)),
    ("activation of a tensor at once", "nn.ReLU(ingot.ones(3))", DTypeError, ("ReLU()(", "tensor")),
    ("function as a layer", "nn.Sequential(nn.Linear(2, 2), F.relu)", DTypeError,
     ("Sequential", "'1'", "function", "forward()")),
    ("step with a loss", "optim.SGD([ingot.ones(1, requires_grad=True)], 0.1).step(ingot.ones(1))", DTypeError,
     ("step", "closure", "Tensor", "backward()"), ("inside ingot",)),
    ("format of several", "f'{ingot.ones(2, 3):.3f}'", TypeError, ("'.3f'", "float32[2, 3]", "item()"), ("inside ingot",)),
    ("None among numbers", "ingot.tensor([[1.0], [None]])", DTypeError, ("data[1][0] is None",)),
    ("number as a generator", "ingot.randn(3, generator=0)", DTypeError, ("randn", "generator", "int", "manual_seed(")),
    ("draws of a float tensor", "ingot.multinomial(ingot.ones(3), ingot.ones(()))", DTypeError, ("multinomial", "num_samples"),
     ("bit_length",)),
    # Memory, nan, and nothing. NumPy's own error of memory names no function.
    ("memory of a matrix", "ingot.eye(10 ** 7)", MemoryError, ("eye", "TiB", "10000000")),
    ("memory of counts", "ingot.bincount(ingot.tensor([10 ** 12]))", MemoryError, ("bincount", "TiB")),
    ("memory of classes", "F.one_hot(ingot.tensor([10 ** 12]))", MemoryError, ("one_hot", "TiB")),
    ("memory of a layer", "nn.Linear(10 ** 7, 10 ** 7)", MemoryError, ("Linear", "TiB"), ("empty",)),
    ("memory of random numbers", "ingot.randn(10 ** 13)", MemoryError, ("randn", "GiB"), ("bytes",)),
    ("int of nan", "int(ingot.tensor(float('nan')))", ValueError, ("NaN", "float32[]"), ("inside ingot",)),
    ("int of infinity", "int(ingot.tensor(float('inf')))", OverflowError, ("infinity", "float32[]"), ("inside ingot",)),
    ("empty dataset", "from ingot.utils.data import DataLoader\nDataLoader([], shuffle=True)", ValueError,
     ("dataset", "no samples")),
    # Distributions.
    ("negative probabilities", "from ingot.distributions import Categorical\n"
     "Categorical(probs=ingot.tensor([[-1.0, 3.0]] * 9))", ValueError,
     ("probs (float32[9, 2])", "Simplex()", ": -0.5, 1.5, -0.5, 1.5, ..."), ("Size", "tensor(")),
    ("nan logits", "from ingot.distributions import Categorical\nCategorical(logits=ingot.full((16, 5), float('nan')))",
     ValueError, ("logits (float32[16, 5])", "nan"), ("tensor(",)),
    ("value outside of the support", "from ingot.distributions import Categorical\n"
     "Categorical(ingot.ones(16, 5)).log_prob(ingot.arange(16))", ValueError, ("int64[16]", ": 5, 6, 7, 8, ..."), ("tensor(",)),
    # Data and files.
    ("dataset without a length", "from ingot.utils.data import DataLoader, Dataset\nclass Rows(Dataset):\n"
     "    def __getitem__(self, i):\n        return i\nDataLoader(Rows(), shuffle=True)", DTypeError,
     ("DataLoader does not take", "Rows as dataset", "len()"), ("__init__", "tensors[")),
    ("collate sizes", "from ingot.utils.data import DataLoader\n"
     "next(iter(DataLoader([ingot.ones(2), ingot.ones(3)], batch_size=2)))", RuntimeError, ("[3]", "[2]", "collate_fn", "1")),
    ("missing file", "ingot.load(folder + '/absent.pt')", FileNotFoundError, ("absent.pt",)),
    ("damaged file", "open(folder + '/broken.pt', 'wb').write(b'PK and no more')\ningot.load(folder + '/broken.pt')", FileError,
     ("broken.pt",)),
    ("pickled class", "import fractions\ningot.save({'a': fractions.Fraction(1, 2)}, folder + '/a.pt')\n"
     "ingot.load(folder + '/a.pt')", FileError, ("fractions.Fraction",
     "add_safe_globals([(Fraction", "state_dict()"), ("holds Python objects",)),
    ("jit.load of weights", "ingot.save({'a': ingot.ones(1)}, folder + '/b.pt')\ningot.jit.load(folder + '/b.pt')", FileError,
     ("b.pt", "ingot.load")),
    # Tracing, transforms, processes.
    ("graphs of nothing", "@ingot.jit.trace\ndef f(x):\n    return x + 1\nf.graphs[0]", KeyError,
     ("graph 0", "nothing is recorded yet")),
    ("kernels of nothing", "@ingot.jit.trace\ndef f(x):\n    return x + 1\nf.kernels['a']", KeyError,
     ("kernel 'a'", "nothing is recorded yet")),
    ("graph index", "@ingot.jit.trace\ndef f(x):\n    return x + 1\nf(ingot.ones(2))\nf(ingot.ones(2))\nf.graphs[0]", KeyError,
     ("graph 0", "there are 'f'")),
    ("stage name", "@ingot.jit.trace\ndef f(x):\n    return x + 1\nf(ingot.ones(2))\nf.graphs['f']['recordd']", KeyError,
     ("'recordd'", "did you mean 'recorded'")),
    ("kernel name", "@ingot.jit.trace\ndef f(x):\n    return x.exp() + 1\nf(ingot.ones(2))\nf(ingot.ones(2))\n"
     "f.kernels['nope']", KeyError, ("kernel 'nope'", "there are 'exp_add")),
    ("trace keyword", "ingot.jit.trace(dynamc=True)", TypeError, ("trace(func=None", "did you mean 'dynamic'")),
    ("export keyword", "ingot.jit.export(abs, ingot.ones(2), dynamc=True)", TypeError, ("export(fn", "did you mean 'dynamic'")),
    ("compile keyword", "ingot.compile(abs, dynamc=True)", TypeError, ("compile(model", "did you mean 'dynamic'")),
    ("quantize keyword", "ingot.jit.quantize(abs, [], dynamc=True)", TypeError, ("did you mean 'dynamic'",)),
    ("onnx keyword", "ingot.jit.to_onnx(abs, [], dynamc=True)", TypeError, ("did you mean 'dynamic'",)),
    ("trace of an absent name", "import socket\n@ingot.jit.trace\ndef f(x):\n    socket.socket()\n    return x + 1\n"
     "f(ingot.ones(2))\nf(ingot.ones(2))", RuntimeError, ("socket",)),
    ("vmap in_dims", "ingot.func.vmap(lambda x: x + 1, in_dims=3)(ingot.ones(2, 3))", ValueError,
     ("in_dims", "3", "[2, 3]")),
    ("vmap sizes", "ingot.func.vmap(lambda x, y: x + y)(ingot.ones(2, 3), ingot.ones(4, 3))", ValueError,
     ("2", "4", "in_dims")),
    ("process group without environment", "import ingot.distributed as dist\ndist.init_process_group('gloo')", ValueError,
     ("RANK", "WORLD_SIZE")),
]]
