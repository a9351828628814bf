"""The models of examples/, untrained, as things to export: (what to call, arguments, sizes that may change)."""

import importlib
import sys
from pathlib import Path

import ingot
from ingot import jit, nn

FOLDER = Path(ingot.__file__).parent / "examples"


def program(name):
    """A program of examples/ as a module."""
    sys.path.insert(0, str(FOLDER))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(FOLDER))


def pictures(*shape):
    return ingot.randn(*shape)


def mnist_cnn():
    return program("mnist_cnn").Net(), (pictures(4, 1, 8, 8),), {"x": {0: "batch"}}


def resnet():
    return program("resnet").ResNet(5), (pictures(4, 3, 16, 16),), {"x": {0: "batch"}}


def gpt():
    model = program("gpt").GPT(40, context=24, width=32, heads=2)
    return model, (ingot.randint(0, 40, (3, 12)),), {"x": {0: "batch", 1: "length"}}


def language_model():
    model = program("language_model").Model(30, width=16)
    state = (ingot.zeros(2, 4, 16), ingot.zeros(2, 4, 16))
    free = {1: "batch"}
    return model, (ingot.randint(0, 30, (6, 4)), state), {"words": free, "state_0": free, "state_1": free}


def dcgan_generator():
    return program("dcgan").generator(), (pictures(3, program("dcgan").LATENT, 1, 1),), {"input": {0: "batch"}}


def dcgan_discriminator():
    return program("dcgan").discriminator(), (pictures(3, 1, 8, 8),), {"input": {0: "batch"}}


def vae_decoder():
    return program("vae").VAE().decoder, (pictures(5, 8),), {"input": {0: "batch"}}


def super_resolution():
    model = program("super_resolution").SuperResolution()
    return model, (pictures(2, 1, 12, 12),), {"x": {0: "batch", 2: "height", 3: "width"}}


def style_features():
    return program("style_transfer").Features(), (pictures(2, 3, 16, 16),), {"x": {0: "batch"}}


def actor_critic():
    return program("actor_critic").Policy(), (pictures(6, 4),), {"x": {0: "batch"}}


def sentence_pairs():
    words = [ingot.randint(0, 20, (3, 7)), ingot.randint(0, 20, (3, 7))]
    return program("sentence_pairs").Judge(20, width=8), tuple(words), {"premise": {0: "batch"}, "hypothesis": {0: "batch"}}


def time_series():
    return program("time_series").Sequence(width=8), (pictures(4, 6),), None


def graph_network():
    source = program("graph_network")
    adjacency, features, _ = source.make_graph()
    model = source.GCN(width=8).eval()
    return (lambda x: model(x, adjacency)), (features,), None


MODELS = (mnist_cnn, resnet, gpt, language_model, dcgan_generator, dcgan_discriminator, vae_decoder, super_resolution,
          style_features, actor_critic, sentence_pairs, time_series, graph_network)


def made(model, seed=0):
    """(function or module ready for inference, arguments, dynamic) of an entry of MODELS."""
    ingot.manual_seed(seed)
    fn, args, dynamic = model()
    return fn.eval() if isinstance(fn, nn.Module) else fn, args, dynamic


def mlp(seed=0):
    """A small network that takes rows of 6."""
    ingot.manual_seed(seed)
    return nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 3)).eval()


def small_file(folder):
    """(path, module, example) of a small model in a file, with a free batch."""
    fn, x = mlp(), ingot.randn(4, 6)
    jit.export(fn, x, folder / "mlp.ingot", dynamic={"input": {0: "batch"}})
    return folder / "mlp.ingot", fn, x


def quiet(fn, *args):
    """Call a function without gradients."""
    with ingot.no_grad():
        return fn(*args)
