"""Whole networks at inference in float32, beside everything else that runs them on a CPU."""

from .cases import indices, inference_case, randoms
from .sequences import lstm_lm, mlp, ncf, transformer_stack
from .vision import alexnet, mobilenet_v2, resnet18, resnet50, vgg

MEAN_BAR = 1.3
BARS = {"best": 1.0, "eager": 1.0}


def images(name, build, tiny, bars, tiny_side=32, in_quick=True):
    """A workload of images of 224x224, batch 1 and 8; tests take `tiny(lib)` and small images."""
    def workload(plan):
        for batch in plan.pick((1, 8), (1,) if in_quick else (), (2,)):
            side = plan.pick(224, 224, tiny_side)
            yield inference_case(f"{name} batch {batch}", tiny if plan.tiny else build, [randoms(batch, 3, side, side)], plan,
                                 images=True, tolerance=1e-3, bars=BARS | bars)
    workload.__doc__ = f"{name} on images."
    return workload


def blocks(name, layers, width, heads, lengths, causal, norm_first, bars):
    """A workload of a stack of transformer blocks, without the embedding and the head."""
    def workload(plan):
        for length in plan.pick(lengths, lengths[:1], (7,)):
            depth, d, h = plan.pick((layers, width, heads), (layers // 6, width, heads), (2, 8, 2))
            flops = depth * (24 * length * d * d + (2 if causal else 4) * length * length * d)

            def build(lib, depth=depth, d=d, h=h):
                return transformer_stack(lib, depth, d, h, causal, norm_first)

            yield inference_case(f"{name} {depth} layers, length {length}", build, [randoms(1, length, d)], plan, flops=flops,
                                 tolerance=1e-3, bars=BARS | bars.get(length, {}))
    workload.__doc__ = f"{name} blocks, batch 1."
    return workload


def perceptron(plan):
    """784-512-512-10, one row and many."""
    for batch in plan.pick((1, 128), (128,), (3,)):
        yield inference_case(f"MLP batch {batch}", lambda lib: mlp(lib, 784, 512, 512, 10), [randoms(batch, 784)], plan,
                             bars=BARS)


def language(plan):
    """The LSTM language model."""
    batch, length, width, words = plan.pick((1, 35, 256, 10_000), (1, 35, 128, 2000), (2, 3, 4, 11))
    yield inference_case(f"LSTM LM {width} batch {batch}x{length}", lambda lib: lstm_lm(lib, words, width),
                         [indices(words, batch, length)], plan, bars=BARS)


def recommendation(plan):
    """Neural collaborative filtering."""
    batch, users, items = plan.pick((1024, 6040, 3706), (1024, 6040, 3706), (5, 9, 7))
    arrays = [indices(users, batch), indices(items, batch, seed=1)]
    yield inference_case(f"NCF batch {batch}", lambda lib: ncf(lib, users, items), arrays, plan, bars=BARS)


PEAK = {"peak": 0.85}
WORKLOADS = {
    "alexnet": images("AlexNet", alexnet, lambda lib: alexnet(lib, 4, 16, 10, side=1), {}, 64, in_quick=False),
    "vgg19": images("VGG-19", vgg, lambda lib: vgg(lib, (1, 1, 2, 1, 1), 4, 16, 10, side=1), {"best": 1.5}, in_quick=False),
    "resnet18": images("ResNet-18", resnet18, lambda lib: resnet18(lib, width=4, classes=10), {"best": 1.5} | PEAK),
    "resnet50": images("ResNet-50", resnet50, lambda lib: resnet50(lib, width=4, classes=10), {"best": 1.2} | PEAK,
                       in_quick=False),
    "mobilenet_v2": images("MobileNetV2", mobilenet_v2, lambda lib: mobilenet_v2(lib, 8, 10), {"best": 1.05} | PEAK),
    "mlp_inference": perceptron,
    "gpt2": blocks("GPT-2 small", 12, 768, 12, (256, 128, 1024), True, True, {256: {"best": 1.05} | PEAK, 1024: PEAK}),
    "bert": blocks("BERT base", 12, 768, 12, (128,), False, False, {128: PEAK}),
    "lstm_lm": language,
    "ncf": recommendation,
}
