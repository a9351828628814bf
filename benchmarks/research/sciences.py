"""Sciences: graphs, points, radiance fields, differential equations, operators of frequencies, Gaussian processes, flows."""

import numpy as np

from ..cases import indices, randoms
from ..sequences import mlp
from ..training import adam
from .step import Step


def graph_layers(lib, width, heads):
    """Two layers of graph attention: softmax over the edges that arrive, by sums and maxima at nodes."""
    nn, F = lib.nn, lib.nn.functional

    class Layer(nn.Module):
        def __init__(self, into, out):
            super().__init__()
            self.linear = nn.Linear(into, heads * out, bias=False)
            self.source, self.target = nn.Parameter(lib.ones(heads, out)), nn.Parameter(lib.ones(heads, out))

        def forward(self, x, edges):
            start, end = edges
            h = self.linear(x).view(len(x), heads, -1)
            score = F.leaky_relu((h * self.source).sum(-1)[start] + (h * self.target).sum(-1)[end], 0.2)
            at = end[:, None].expand(-1, heads)
            top = lib.full((len(x), heads), -1e9).scatter_reduce(0, at, score.detach(), "amax")
            weight = (score - top[end]).exp()
            total = lib.zeros(len(x), heads).scatter_add(0, at, weight)
            sent = h[start] * (weight / total[end])[..., None]
            return lib.zeros_like(h).index_add(0, end, sent).flatten(1)

    class Graph(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two = Layer(width, 8), Layer(8 * heads, 8)
            self.head = nn.Linear(8 * heads, 7)

        def forward(self, x, edges):
            return self.head(F.elu(self.two(F.elu(self.one(x, edges)), edges)))
    return Graph()


def graph_attention(plan):
    """Graph attention over Cora's size: 2,700 nodes, 10,500 edges."""
    nodes, edges, width = plan.pick((2700, 10_500, 256), (2700, 10_500, 64), (9, 20, 4))
    ends = np.concatenate([indices(nodes, 2, edges), np.arange(nodes).repeat(2).reshape(nodes, 2).T], 1)
    yield Step(f"graph attention, {nodes} nodes, Adam", lambda lib: graph_layers(lib, width, 8),
               [randoms(nodes, width), ends, indices(7, nodes)], optimizer=adam).case(plan)


def edge_convolutions(lib, width, near):
    """DGCNN: features of neighbours in the space of features, the largest of each."""
    nn = lib.nn

    def neighbours(x):
        b, n, c = x.shape
        found = lib.cdist(x, x).topk(near, largest=False)[1]
        around = x.gather(1, found.reshape(b, n * near, 1).expand(-1, -1, c)).view(b, n, near, c)
        centre = x[:, :, None].expand(-1, -1, near, -1)
        return lib.cat([around - centre, centre], -1)

    class Points(nn.Module):
        def __init__(self):
            super().__init__()
            self.one = nn.Sequential(nn.Linear(6, width), nn.LeakyReLU(0.2), nn.Linear(width, width))
            self.two = nn.Sequential(nn.Linear(2 * width, 2 * width), nn.LeakyReLU(0.2))
            self.head = mlp(lib, 2 * width, width, 10)

        def forward(self, x):
            x = self.one(neighbours(x)).amax(2)
            x = self.two(neighbours(x)).amax(2)
            return self.head(x.amax(1))
    return Points()


def point_cloud(plan):
    """Clouds of 256 points, 16 neighbours."""
    batch, points, width, near = plan.pick((8, 256, 32, 16), (4, 256, 32, 16), (2, 9, 4, 3))
    yield Step(f"DGCNN batch {batch}x{points}, Adam", lambda lib: edge_convolutions(lib, width, near),
               [randoms(batch, points, 3), indices(10, batch)], optimizer=adam).case(plan)


def radiance(lib, width):
    """NeRF: positions and directions in waves, to density and colour."""
    nn = lib.nn

    def waves(x, count):
        scaled = x[..., None] * 2.0 ** lib.arange(count)
        return lib.cat([scaled.sin(), scaled.cos()], -1).flatten(-2)

    class Field(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = mlp(lib, 3 * 2 * 6, width, width, width)
            self.density, self.colour = nn.Linear(width, 1), mlp(lib, width + 3 * 2 * 4, width // 2, 3)

        def forward(self, origins, directions, depths):
            points = origins[:, None] + directions[:, None] * depths[..., None]
            h = lib.relu(self.body(waves(points, 6)))
            sigma = lib.nn.functional.softplus(self.density(h)[..., 0])
            view = waves(directions, 4)[:, None].expand(-1, depths.shape[1], -1)
            colour = self.colour(lib.cat([h, view], -1)).sigmoid()
            gaps = lib.cat([depths[:, 1:] - depths[:, :-1], lib.full((len(depths), 1), 1e2)], 1)
            alpha = 1 - lib.exp(-sigma * gaps)
            through = lib.cumprod(lib.cat([lib.ones(len(depths), 1), 1 - alpha + 1e-7], 1), 1)[:, :-1]
            return ((alpha * through)[..., None] * colour).sum(1)
    return Field()


def nerf(plan):
    """256 rays of 32 samples."""
    rays, samples, width = plan.pick((256, 32, 128), (128, 32, 128), (3, 4, 8))

    def loss_of(lib, network, origins, directions, depths, colours):
        return lib.nn.functional.mse_loss(network(origins, directions, depths), colours)

    depths = np.sort(np.abs(randoms(rays, samples, seed=3)) * 2 + 0.5, 1)
    yield Step(f"NeRF {rays} rays of {samples}, Adam", lambda lib: radiance(lib, width),
               [randoms(rays, 3), randoms(rays, 3, seed=1), depths, abs(randoms(rays, 3, seed=2)).clip(0, 1)], loss_of,
               adam).case(plan)


def physics(plan):
    """A network that solves the heat equation: second derivatives of its outputs inside of the loss."""
    points, width = plan.pick((1024, 64), (512, 64), (5, 8))

    def build(lib):
        nn = lib.nn
        return nn.Sequential(nn.Linear(2, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(),
                             nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))

    def loss_of(lib, network, x, t):
        x, t = x.clone().requires_grad_(), t.clone().requires_grad_()
        u = network(lib.cat([x, t], 1))
        along_x, along_t = lib.autograd.grad(u.sum(), (x, t), create_graph=True)
        twice, = lib.autograd.grad(along_x.sum(), x, create_graph=True)
        start = network(lib.cat([x, lib.zeros_like(t)], 1))
        return (along_t - 0.1 * twice).square().mean() + (start - lib.sin(3.1416 * x)).square().mean()

    yield Step(f"physics-informed network, {points} points, Adam", build, [randoms(points, 1), abs(randoms(points, 1, seed=1))],
               loss_of, adam).case(plan)


def differential(plan):
    """A neural differential equation: 10 Runge-Kutta steps, differentiated as they are."""
    batch, width, steps = plan.pick((128, 64, 10), (64, 64, 10), (3, 4, 2))

    def loss_of(lib, network, x, y):
        h = 1.0 / steps
        for _ in range(steps):
            k1 = network(x)
            k2 = network(x + 0.5 * h * k1)
            k3 = network(x + 0.5 * h * k2)
            k4 = network(x + h * k3)
            x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return lib.nn.functional.mse_loss(x, y)

    def build(lib):
        nn = lib.nn
        return nn.Sequential(nn.Linear(8, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 8))

    yield Step(f"neural ODE, {steps} steps, batch {batch}, Adam", build, [randoms(batch, 8), randoms(batch, 8, seed=1)],
               loss_of, adam).case(plan)


def fourier_layers(lib, width, modes, depth):
    """A Fourier neural operator in two dims: low frequencies are mixed by complex weights."""
    nn, F = lib.nn, lib.nn.functional

    class Spectral(nn.Module):
        def __init__(self):
            super().__init__()
            self.low = nn.Parameter(lib.zeros(width, width, modes, modes, 2))
            self.high = nn.Parameter(lib.zeros(width, width, modes, modes, 2))
            self.local = nn.Conv2d(width, width, 1)

        def forward(self, x):
            seen = lib.fft.rfft2(x)
            mixed = lib.zeros_like(seen)
            for part, rows in ((self.low, slice(None, modes)), (self.high, slice(-modes, None))):
                low_modes = seen[:, :, rows, :modes]
                mixed[:, :, rows, :modes] = lib.einsum("bixy,ioxy->boxy", low_modes, lib.view_as_complex(part))
            return F.gelu(lib.fft.irfft2(mixed, s=x.shape[-2:]) + self.local(x))
    return nn.Sequential(nn.Conv2d(3, width, 1), *[Spectral() for _ in range(depth)], nn.Conv2d(width, 1, 1))


def fourier(plan):
    """4 layers of a Fourier neural operator on a grid of 64x64."""
    batch, side, width, modes, depth = plan.pick((4, 64, 24, 12, 4), (2, 64, 24, 12, 4), (2, 8, 4, 2, 1))

    def loss_of(lib, network, x, y):
        return lib.nn.functional.mse_loss(network(x), y)

    yield Step(f"Fourier operator {side}x{side} batch {batch}, Adam", lambda lib: fourier_layers(lib, width, modes, depth),
               [randoms(batch, 3, side, side), randoms(batch, 1, side, side)], loss_of, adam).case(plan)


def kernel_of(lib):
    """The scales of a Gaussian process with a squared exponential."""
    class Kernel(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.length, self.height, self.noise = (lib.nn.Parameter(lib.zeros(())) for _ in range(3))

        def forward(self, x):
            far = lib.cdist(x / self.length.exp(), x / self.length.exp()).square()
            return self.height.exp() * lib.exp(-0.5 * far) + (self.noise.exp() + 0.1) * lib.eye(len(x))
    return Kernel()


def gaussian_process(plan):
    """The likelihood of 256 values: distances, a Cholesky factor, its solution and determinant."""
    points = plan.pick(256, 256, 6)

    def loss_of(lib, network, x, y):
        factor = lib.linalg.cholesky(network(x))
        half = lib.linalg.solve_triangular(factor, y[:, None], upper=False)
        return 0.5 * half.square().sum() + factor.diagonal().log().sum()

    yield Step(f"Gaussian process, {points} points, Adam", kernel_of, [randoms(points, 4), randoms(points)], loss_of,
               adam).case(plan)


def couplings(lib, width, depth):
    """RealNVP: half of the numbers scale and shift the other half, in turns."""
    nn = lib.nn

    class Flow(nn.Module):
        def __init__(self):
            super().__init__()
            self.nets = nn.ModuleList([mlp(lib, 4, width, width, 8) for _ in range(depth)])
            self.register_buffer("mean", lib.zeros(8))
            self.register_buffer("spread", lib.ones(8))

        def log_prob(self, x):
            volume = 0
            for net in self.nets:
                kept, moved = x.chunk(2, 1)
                scale, shift = net(kept).chunk(2, 1)
                scale = scale.tanh()
                x = lib.cat([moved * scale.exp() + shift, kept], 1)
                volume = volume + scale.sum(1)
            return lib.distributions.Normal(self.mean, self.spread).log_prob(x).sum(1) + volume
    return Flow()


def flow(plan):
    """8 coupling layers on batches of 512."""
    batch, width, depth = plan.pick((512, 64, 8), (256, 64, 8), (3, 4, 2))
    yield Step(f"RealNVP {depth} layers batch {batch}, Adam", lambda lib: couplings(lib, width, depth), [randoms(batch, 8)],
               lambda lib, network, x: -network.log_prob(x).mean(), adam).case(plan)


WORKLOADS = {"graph_attention": graph_attention, "point_cloud": point_cloud, "nerf": nerf, "physics": physics,
             "differential": differential, "fourier": fourier, "gaussian_process": gaussian_process, "flow": flow}
