"""Random convolutional networks in evaluation mode, for the passes that lay images out in blocks."""

import numpy as np

import ingot
from ingot import nn
from ingot.nn import functional as F

ACTIVATIONS = (F.relu, F.relu6, F.silu, F.hardswish, F.leaky_relu, lambda x: x.clamp(-0.5, 0.75), lambda x: x * 0.5 + 1.0,
               lambda x: x.tanh(), F.gelu)


KINDS = ("conv", "conv", "conv", "depthwise", "pool", "act", "skip", "cat", "scale", "bn", "mean", "pad")


class RandomNet(nn.Module):
    """A sequence of random layers with skips; `forward` makes the same choices every time."""

    def __init__(self, seed, dims=2, depth=6, dtype=ingot.float32):
        super().__init__()
        ingot.manual_seed(seed)
        self.rng = rng = np.random.default_rng(seed)
        self.dims, self.layers, self.plan = dims, nn.ModuleList(), []
        self.channels = int(rng.choice([1, 3, 5, 16]))
        c = self.channels
        for _ in range(depth):
            c = self._add(c, str(rng.choice(KINDS)))
        self.to(dtype)
        for m in self.modules():
            if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
                for t in (m.running_var, m.weight):
                    t.data.copy_(ingot.tensor(rng.uniform(0.5, 1.5, t.shape)))
                for t in (m.running_mean, m.bias):
                    t.data.copy_(ingot.tensor(rng.normal(0, 0.3, t.shape)))

    def _layer(self, kind, *args, **options):
        module = getattr(nn, f"{kind}{self.dims}d")(*args, **options)
        self.layers.append(module)
        return len(self.layers) - 1

    def _add(self, c, what):
        rng = self.rng
        if what in ("conv", "depthwise"):
            groups = c if what == "depthwise" else int(rng.choice([g for g in (1, 1, 2, 4, 16) if c % g == 0]))
            out = c if what == "depthwise" else groups * int(rng.choice([1, 4, 8, 16, 24]))
            kernel, dilation = int(rng.choice([1, 3, 3, 5])), int(rng.choice([1, 1, 2]))
            padding = int(rng.integers(0, kernel // 2 + 1)) + (kernel // 2) * (dilation - 1) + kernel // 2
            stride, bias = int(rng.choice([1, 1, 2])), bool(rng.integers(2))
            i = self._layer("Conv", c, out, kernel, stride, padding, dilation, groups, bias)
            after = [self._layer("BatchNorm", out)] if rng.random() < 0.5 else []
            self.plan.append(("layers", [i, *after], int(rng.integers(len(ACTIVATIONS) + 2))))
            return out
        if what == "bn":
            self.plan.append(("layers", [self._layer("BatchNorm", c)], len(ACTIVATIONS)))
        elif what == "pool":
            kind = str(rng.choice(["MaxPool", "AvgPool"]))
            self.plan.append(("layers", [self._layer(kind, 3, int(rng.choice([1, 2])), 1)], len(ACTIVATIONS)))
        elif what == "skip":
            i = self._layer("Conv", c, c, 3, 1, 1)
            self.plan.append(("skip", i, int(rng.integers(len(ACTIVATIONS) + 1))))
        elif what == "cat":
            more = int(rng.choice([8, 16]))
            self.plan.append(("cat", self._layer("Conv", c, more, 1)))
            return c + more
        else:
            self.plan.append((what, int(rng.integers(len(ACTIVATIONS)))))
        return c

    def forward(self, x):
        for what, *rest in self.plan:
            x = getattr(self, f"_{what}")(x, *rest)
        return x

    @staticmethod
    def _activate(x, number):
        return ACTIVATIONS[number](x) if number < len(ACTIVATIONS) else x

    def _layers(self, x, which, act):
        for i in which:
            x = self.layers[i](x)
        return self._activate(x, act)

    def _act(self, x, act):
        return self._activate(x, act)

    def _skip(self, x, i, act):
        return self._activate(self.layers[i](x) + x, act)

    def _cat(self, x, i):
        return ingot.cat([x, self.layers[i](x)], 1)

    def _scale(self, x, act):
        return x * x.mean(dim=tuple(range(2, x.ndim)), keepdim=True).sigmoid()

    def _mean(self, x, act):
        return x - x.mean(dim=tuple(range(2, x.ndim)), keepdim=True)

    def _pad(self, x, act):
        return F.pad(x, (1, 0) * self.dims)


class BlockedText:
    """Text of graphs of convolutions in blocks, whose images all have the same shape: `kind` is its text."""

    def __init__(self, kind):
        self.kind = kind

    def conv(self, x, beside="", epilogue="()"):
        """A 3x3 convolution of 8 channels into 8."""
        return (f"{self.kind} = conv_blocked({x}, %w{beside}, dilation=(1, 1), epilogue={epilogue}, filters=(8, 8, 3, 3), "
                "groups=1, in_blocks=True, kernel=('direct', 1, True, 4), lanes=4, padding=((1, 1), (1, 1)), stride=(1, 1))")

    def graph(self, *lines, returns):
        """Of an image %x, weights %w and a number for each channel, %c."""
        head = f"graph g(%x: {self.kind}, %w: f64[576], %c: f64[1,2,1,1,4]) {{"
        return "\n".join([head, *lines, f"return {returns}", "}"])


def images(net, seed, batch=2, dtype=ingot.float32):
    """An input for a network."""
    rng = np.random.default_rng([seed, 1])
    sizes = [int(n) for n in rng.integers(7, 20, net.dims)]
    return ingot.tensor(rng.standard_normal((batch, net.channels, *sizes)), dtype=dtype)
