"""Images: a diffusion model, a vision transformer, an adversarial pair, a codebook, two towers of contrast."""

from ..cases import indices, randoms, training_case
from ..sequences import transformer_stack
from ..training import BARS, adam, weights_decayed
from ..vision import mnist_cnn
from .step import Step


def residual_block(lib, channels, out, times):
    """The class of a U-Net's blocks: two convolutions behind group norms, moved by an embedding of time."""
    nn, F = lib.nn, lib.nn.functional

    class Residual(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.conv1 = nn.GroupNorm(8, channels), nn.Conv2d(channels, out, 3, padding=1)
            self.norm2, self.conv2 = nn.GroupNorm(8, out), nn.Conv2d(out, out, 3, padding=1)
            self.time = nn.Linear(times, out)
            self.skip = nn.Conv2d(channels, out, 1) if channels != out else nn.Identity()

        def forward(self, x, t):
            h = self.conv1(F.silu(self.norm1(x))) + self.time(t)[:, :, None, None]
            return self.skip(x) + self.conv2(F.silu(self.norm2(h)))
    return Residual()


def pixel_attention(lib, channels):
    """Attention among the pixels of an image."""
    nn, F = lib.nn, lib.nn.functional

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.GroupNorm(8, channels)
            self.into, self.out = nn.Conv2d(channels, 3 * channels, 1), nn.Conv2d(channels, channels, 1)

        def forward(self, x):
            b, c, h, w = x.shape
            q, k, v = self.into(self.norm(x)).reshape(b, 3, c, h * w).transpose(2, 3).unbind(1)
            seen = F.scaled_dot_product_attention(q, k, v)
            return x + self.out(seen.transpose(1, 2).reshape(b, c, h, w))
    return Attention()


def unet(lib, base):
    """The network of a diffusion model: three resolutions, attention at the lowest."""
    nn, F, times = lib.nn, lib.nn.functional, 4 * base

    class UNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.time = nn.Sequential(nn.Linear(base, times), nn.SiLU(), nn.Linear(times, times))
            self.first = nn.Conv2d(3, base, 3, padding=1)
            wide = [base, 2 * base, 2 * base]
            self.down = nn.ModuleList([residual_block(lib, a, b, times) for a, b in zip([base, *wide], wide)])
            self.middle, self.attend = residual_block(lib, wide[-1], wide[-1], times), pixel_attention(lib, wide[-1])
            self.up = nn.ModuleList([residual_block(lib, a + b, b, times) for a, b in zip([wide[-1], *wide[::-1]], wide[::-1])])
            self.norm, self.last = nn.GroupNorm(8, base), nn.Conv2d(base, 3, 3, padding=1)

        def forward(self, x, t):
            rates = lib.exp(lib.arange(base // 2) * (-9.2 / (base // 2)))
            angles = t[:, None] * rates
            embedded = self.time(lib.cat([angles.sin(), angles.cos()], 1))
            x, skipped = self.first(x), []
            for block in self.down:
                x = block(x, embedded)
                skipped.append(x)
                x = F.avg_pool2d(x, 2)
            x = self.attend(self.middle(x, embedded))
            for block in self.up:
                x = F.interpolate(x, scale_factor=2.0, mode="nearest")
                x = block(lib.cat([x, skipped.pop()], 1), embedded)
            return self.last(F.silu(self.norm(x)))
    return UNet()


def diffusion(plan):
    """A U-Net that predicts the noise in images of 32x32."""
    batch, base, side = plan.pick((8, 32, 32), (4, 32, 32), (2, 8, 8))

    def loss_of(lib, network, x, noise, t):
        signal_share = lib.cos(t * 1.5).square()[:, None, None, None]
        noisy = signal_share.sqrt() * x + (1 - signal_share).sqrt() * noise
        return lib.nn.functional.mse_loss(network(noisy, t * 1000), noise)

    arrays = [randoms(batch, 3, side, side), randoms(batch, 3, side, side, seed=1), (indices(1000, batch) / 1000).astype("f4")]
    yield Step(f"diffusion U-Net {side}x{side} batch {batch}, AdamW", lambda lib: unet(lib, base), arrays, loss_of,
               weights_decayed).case(plan)


def vision_transformer(lib, width, depth, patch, side, classes=10):
    """Patches of an image as tokens."""
    nn = lib.nn

    class Transformer(nn.Module):
        def __init__(self):
            super().__init__()
            self.patches = nn.Conv2d(3, width, patch, stride=patch)
            self.first = nn.Parameter(lib.zeros(1, 1, width))
            self.positions = nn.Parameter(lib.zeros(1, (side // patch) ** 2 + 1, width))
            self.blocks = transformer_stack(lib, depth, width, 4, causal=False)
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, classes)

        def forward(self, x):
            tokens = self.patches(x).flatten(2).transpose(1, 2)
            x = lib.cat([self.first.expand(len(x), -1, -1), tokens], 1) + self.positions
            return self.head(self.norm(self.blocks(x))[:, 0])
    return Transformer()


def vit(plan):
    """A vision transformer on 64 patches of 32x32 images, labels smoothed."""
    batch, width, depth, side = plan.pick((32, 128, 4, 32), (16, 128, 4, 32), (2, 16, 1, 8))

    def loss_of(lib, network, x, y):
        return lib.nn.functional.cross_entropy(network(x), y, label_smoothing=0.1)

    yield Step(f"ViT {depth} layers batch {batch}, AdamW", lambda lib: vision_transformer(lib, width, depth, 4, side),
               [randoms(batch, 3, side, side), indices(10, batch)], loss_of, weights_decayed).case(plan)


def adversaries(lib, base, latent=64):
    """The generator and the critic of DCGAN for 32x32 images."""
    nn = lib.nn

    class Adversaries(nn.Module):
        def __init__(self):
            super().__init__()
            layers = [nn.ConvTranspose2d(latent, 4 * base, 4, bias=False), nn.BatchNorm2d(4 * base), nn.ReLU()]
            for a, b in ((4 * base, 2 * base), (2 * base, base)):
                layers += [nn.ConvTranspose2d(a, b, 4, 2, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU()]
            self.generator = nn.Sequential(*layers, nn.ConvTranspose2d(base, 3, 4, 2, 1), nn.Tanh())
            layers = []
            for a, b in ((3, base), (base, 2 * base), (2 * base, 4 * base)):
                layers += [nn.Conv2d(a, b, 4, 2, 1), nn.LeakyReLU(0.2)]
            self.critic = nn.Sequential(*layers, nn.Conv2d(4 * base, 1, 4), nn.Flatten())
    return Adversaries()


def gan(plan):
    """A step of the critic and a step of the generator of DCGAN."""
    batch, base = plan.pick((32, 32), (16, 32), (2, 4))

    def fitting(lib):
        pair, F = adversaries(lib, base), lib.nn.functional
        critics, makers = (lib.optim.Adam(part.parameters(), lr=2e-4, betas=(0.5, 0.999))
                           for part in (pair.critic, pair.generator))

        def step(x, z):
            critics.zero_grad()
            made = pair.generator(z)
            loss = F.softplus(-pair.critic(x)).mean() + F.softplus(pair.critic(made.detach())).mean()
            loss.backward()
            critics.step()
            makers.zero_grad()
            fooled = F.softplus(-pair.critic(made)).mean()
            fooled.backward()
            makers.step()
            return loss.detach() + fooled.detach()
        return pair, step

    arrays = [randoms(batch, 3, 32, 32), randoms(batch, 64, 1, 1)]
    yield training_case(f"DCGAN 32x32 batch {batch}, Adam", fitting, arrays, plan, bars=BARS)


def codebook(lib, base, words):
    """A VQ-VAE: images to 8x8 words of a codebook and back."""
    nn, F = lib.nn, lib.nn.functional

    class Codebook(nn.Module):
        def __init__(self):
            super().__init__()
            self.encode = nn.Sequential(nn.Conv2d(3, base, 4, 2, 1), nn.ReLU(), nn.Conv2d(base, base, 4, 2, 1), nn.ReLU(),
                                        nn.Conv2d(base, base, 3, 1, 1))
            self.decode = nn.Sequential(nn.Conv2d(base, base, 3, 1, 1), nn.ReLU(), nn.ConvTranspose2d(base, base, 4, 2, 1),
                                        nn.ReLU(), nn.ConvTranspose2d(base, 3, 4, 2, 1))
            self.words = nn.Embedding(words, base)

        def forward(self, x):
            z = self.encode(x).permute(0, 2, 3, 1)
            flat = z.reshape(-1, base)
            with lib.no_grad():
                nearest = lib.cdist(flat, self.words.weight).argmin(1)
            q = self.words(nearest).view(z.shape)
            loss = F.mse_loss(q, z.detach()) + 0.25 * F.mse_loss(z, q.detach())
            return self.decode((z + (q - z).detach()).permute(0, 3, 1, 2)), loss
    return Codebook()


def vqvae(plan):
    """A VQ-VAE with 512 words on 32x32 images."""
    batch, base, words = plan.pick((32, 64, 512), (16, 64, 512), (2, 8, 5))

    def loss_of(lib, network, x):
        out, loss = network(x)
        return lib.nn.functional.mse_loss(out, x) + loss

    yield Step(f"VQ-VAE 32x32 batch {batch}, Adam", lambda lib: codebook(lib, base, words), [randoms(batch, 3, 32, 32)],
               loss_of, adam).case(plan)


def contrastive(plan):
    """SimCLR: two views of each image should be nearest to each other."""
    batch, width = plan.pick((64, 32), (32, 32), (3, 4))

    def loss_of(lib, network, one, two):
        F = lib.nn.functional
        seen = F.normalize(network(lib.cat([one, two])), dim=1)
        alike = seen @ seen.T / 0.5
        alike = alike.masked_fill(lib.eye(2 * batch, dtype=lib.bool), -1e9)
        return F.cross_entropy(alike, lib.cat([lib.arange(batch, 2 * batch), lib.arange(batch)]))

    yield Step(f"SimCLR 28x28 batch {batch}, Adam", lambda lib: mnist_cnn(lib, width),
               [randoms(batch, 1, 28, 28), randoms(batch, 1, 28, 28, seed=1)], loss_of, adam).case(plan)


WORKLOADS = {"diffusion": diffusion, "vit": vit, "gan": gan, "vqvae": vqvae, "contrastive": contrastive}
