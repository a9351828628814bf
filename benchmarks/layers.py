"""Single layers, forward and backward: convolutions, batch norm, pooling, attention, recurrent nets."""

from .cases import function_case, inference_case, randoms, training_case, with_gradients
from .sequences import lstm_outputs

MEAN_BAR = None
# batch, channels in, side, channels out, kernel, stride, groups
CONVOLUTIONS = [(1, 3, 224, 64, 7, 2, 1), (1, 64, 56, 64, 3, 1, 1), (1, 128, 28, 128, 3, 1, 1), (1, 256, 14, 256, 3, 1, 1),
                (1, 512, 7, 512, 3, 1, 1), (1, 64, 56, 128, 3, 2, 1), (1, 256, 56, 64, 1, 1, 1), (1, 64, 56, 256, 1, 1, 1),
                (8, 64, 56, 64, 3, 1, 1), (8, 256, 14, 256, 3, 1, 1), (8, 256, 14, 1024, 1, 1, 1),
                (1, 33, 30, 50, 3, 1, 1), (1, 128, 28, 128, 3, 1, 32)]
DEPTHWISE = [(1, 32, 112, 32, 3, 1, 32), (1, 96, 112, 96, 3, 2, 96), (1, 384, 14, 384, 3, 1, 384), (8, 144, 56, 144, 3, 1, 144)]
BACKWARD = [(8, 64, 56, 64, 3, 1, 1), (8, 128, 28, 128, 3, 1, 1), (8, 256, 14, 256, 3, 1, 1), (8, 512, 7, 512, 3, 1, 1),
            (8, 64, 56, 128, 3, 2, 1), (8, 256, 56, 64, 1, 1, 1), (64, 1, 28, 32, 3, 1, 1)]
TINY = [(2, 4, 9, 6, 3, 1, 1), (1, 4, 8, 4, 3, 2, 4)]


def geometry_name(geometry):
    """A geometry in words."""
    batch, c, side, out, kernel, stride, groups = geometry
    words = f"{kernel}x{kernel}{f'/{stride}' if stride > 1 else ''} {c}-{out} @{side} batch {batch}"
    return words + (f" groups {groups}" if 1 < groups < c else "")


def convolution(geometry, with_norm):
    """Makes a convolution, followed by batch norm and relu if asked."""
    _, c, _, out, kernel, stride, groups = geometry

    def build(lib):
        nn = lib.nn
        conv = nn.Conv2d(c, out, kernel, stride, kernel // 2, groups=groups, bias=not with_norm)
        return nn.Sequential(conv, nn.BatchNorm2d(out), nn.ReLU()) if with_norm else conv
    return build


def conv(plan):
    """Convolution + batch norm + relu as networks have them at inference."""
    for g in plan.pick(CONVOLUTIONS, [CONVOLUTIONS[1], CONVOLUTIONS[6]], TINY):
        yield inference_case("conv+bn+relu " + geometry_name(g), convolution(g, True), [randoms(*image(g))], plan, images=True,
                             exports=not plan.quick, compiled=False, bars={"best": 1.0})


def depthwise(plan):
    """Depthwise convolution + batch norm + relu."""
    for g in plan.pick(DEPTHWISE, DEPTHWISE[:1], TINY[1:]):
        yield inference_case("depthwise " + geometry_name(g), convolution(g, True), [randoms(*image(g))], plan, images=True,
                             exports=not plan.quick, compiled=False, bars={"best": 1.0})


def image(geometry):
    """The shape of the input."""
    batch, c, side = geometry[:3]
    return batch, c, side, side


def conv_backward(plan):
    """Convolution forward, data gradient and weight gradient."""
    for g in plan.pick(BACKWARD, BACKWARD[1:2], TINY):
        batch, c, side, out, kernel, stride, groups = g
        after = -(-side // stride)

        def make(lib, stride=stride, pad=kernel // 2, groups=groups):
            def run(x, w, dy):
                return with_gradients(lib.nn.functional.conv2d(x, w, None, stride, pad, 1, groups), x, w, along=dy)
            return run

        arrays = [randoms(*image(g)), randoms(out, c // groups, kernel, kernel), randoms(batch, out, after, after, seed=1)]
        yield function_case("conv forward + backward " + geometry_name(g), make, arrays, plan, grads=(0, 1), compiled=False,
                            tolerance=1e-3, bars={"best": 1.03}, bytes=8 * sum(a.size for a in arrays),
                            flops=6 * arrays[2].size * arrays[1][0].size)


def norm_and_pool(plan):
    """Batch norm + relu and max-pool in training, with their gradients."""
    batch, c, side = plan.pick((32, 64, 56), (8, 64, 56), (2, 3, 8))
    x, w, b = randoms(batch, c, side, side), randoms(c), randoms(c)

    def norm(lib):
        F = lib.nn.functional

        def run(x, w, b, dy):
            return with_gradients(F.relu(F.batch_norm(x, None, None, w, b, training=True)), x, w, b, along=dy)
        return run

    def pool(lib):
        F = lib.nn.functional

        def run(x, dy):
            return with_gradients(F.max_pool2d(x, 3, 2, 1), x, along=dy)
        return run

    half = (side + 1) // 2
    yield function_case(f"batch norm + relu {batch}x{c}x{side}x{side}, forward + backward", norm,
                        [x, w, b, randoms(*x.shape, seed=1)], plan, grads=(0, 1, 2), tolerance=1e-3, bars={"torch": 1.7})
    yield function_case(f"max_pool 3/2 {batch}x{c}x{side}x{side}, forward + backward", pool,
                        [x, randoms(batch, c, half, half, seed=1)], plan, grads=(0,), bars={"torch": 1.7})


def attention(plan):
    """Causal attention of 12 heads, forward alone and with its gradients. Flops count half of the square."""
    def forward(lib):
        return lambda q, k, v: lib.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)

    def backward(lib):
        def run(q, k, v, dy):
            y = lib.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            return with_gradients(y, q, k, v, along=dy)
        return run

    for batch, length in plan.pick([(1, 256), (8, 256), (1, 1024)], [(1, 256)], [(2, 9)]):
        heads, d = plan.pick((12, 64), (12, 64), (2, 8))
        arrays = [randoms(batch, heads, length, d, seed=s) for s in range(4)]
        flops = 2 * batch * heads * length * length * d
        yield function_case(f"attention batch {batch} length {length}", forward, arrays[:3], plan, compiled=False, flops=flops,
                            bytes=16 * arrays[0].size, bars={"torch": 1.8})
        yield function_case(f"attention batch {batch} length {length}, forward + backward", backward, arrays, plan,
                            grads=(0, 1, 2), compiled=False, flops=3.5 * flops, tolerance=1e-3, bars={"torch": 1.7})


def recurrent(plan):
    """A two-layer LSTM over a sequence, for inference and with gradients."""
    batch, length, width = plan.pick((16, 64, 256), (16, 32, 256), (2, 3, 4))
    words, x = f"LSTM {width} batch {batch} length {length}", randoms(batch, length, width)

    def build(lib):
        return lstm_outputs(lib, width)

    def training(lib):
        network = build(lib)

        def step(x, dy):
            network.zero_grad()
            y = network(x)
            y.backward(dy)
            return y.detach(), [p.grad for p in network.parameters()]
        return network, step

    yield inference_case(words, build, [x], plan, exports=not plan.quick, compiled=False, bars={"best": 1.0})
    arrays = [x, randoms(batch, length, width, seed=1)]
    yield training_case(words + ", forward + backward", training, arrays, plan, compiled=False, bars={"best": 1.3})


WORKLOADS = {"conv": conv, "depthwise": depthwise, "conv_backward": conv_backward, "norm_and_pool": norm_and_pool,
             "attention": attention, "recurrent": recurrent}
