"""Neural style transfer: a picture keeps its content and takes on the texture of another.

Shows features of a fixed network (trained here, in a moment, to tell shapes apart), Gram matrices, and an optimizer that
changes pixels instead of weights. The difference in texture falls to a tenth or less in 40 steps; after 100 the picture is
saved as style_transfer.ppm.
"""

from pathlib import Path

import shapes
from digits import batches
from options import options

import ingot
from ingot import jit, nn, optim
from ingot.nn import functional as F

SIZE = 24


class Features(nn.Module):
    """Three convolutions; gives what each of them sees."""

    def __init__(self, width=12):
        super().__init__()
        self.layers = nn.ModuleList([nn.Conv2d(3, width, 3, padding=1), nn.Conv2d(width, 2 * width, 3, padding=1),
                                     nn.Conv2d(2 * width, 2 * width, 3, padding=1)])

    def forward(self, x):
        seen = []
        for i, layer in enumerate(self.layers):
            x = F.relu(layer(x if i == 0 else F.avg_pool2d(x, 2)))
            seen.append(x)
        return seen


def pretrain(features, epochs):
    """Teaches the features to tell shapes apart; returns the share of training pictures named right at the end."""
    pictures, kinds = shapes.make(256, SIZE, seed=1)
    head = nn.Linear(features.layers[-1].out_channels, len(shapes.NAMES))
    optimizer = optim.Adam([*features.parameters(), *head.parameters()], lr=5e-3)
    for _ in range(epochs):
        right = 0
        for x, y in batches(32, pictures, kinds):
            optimizer.zero_grad()
            logits = head(features(x)[-1].amax(dim=(2, 3)))
            F.cross_entropy(logits, y).backward()
            optimizer.step()
            right += (logits.argmax(1) == y).sum().item()
    return right / len(pictures)


def gram(x):
    """Return how often features appear together, anywhere in the image: the texture."""
    n, c, h, w = x.shape
    flat = x.view(n, c, h * w)
    return flat @ flat.transpose(1, 2) / (c * h * w)


def stripes():
    """A picture of diagonal stripes in two colours: the style."""
    y, x = ingot.meshgrid(ingot.arange(SIZE), ingot.arange(SIZE), indexing="ij")
    wave = 0.5 + 0.5 * ingot.sin((x + y).float() * 1.2)
    colours = ingot.tensor([[0.9, 0.7, 0.1], [0.1, 0.2, 0.7]]).view(2, 3, 1, 1)
    return (colours[0] * wave + colours[1] * (1 - wave))[None]


def save(picture, file):
    """Writes a picture [3, H, W] between 0 and 1 as PPM."""
    pixels = (picture.clamp(0, 1) * 255).to(ingot.uint8).permute(1, 2, 0).contiguous().numpy()
    Path(file).write_bytes(b"P6 %d %d 255\n" % (SIZE, SIZE) + pixels.tobytes())


def main(argv=None):
    """Makes a picture; returns the loss of every step and how much of the difference in texture is left."""
    args = options(__doc__, argv, epochs=100, quick=40)
    ingot.manual_seed(1)
    features = Features()
    print(f"the network names {pretrain(features, 2 if args.quick else 10):.0%} of the shapes right")
    features.requires_grad_(False)
    content, style = shapes.make(1, SIZE, seed=5)[0], stripes()
    with ingot.no_grad():
        wanted_content = features(content)[-1]
        wanted_style = [gram(x) for x in features(style)]
    picture = content.clone().requires_grad_()
    optimizer = optim.Adam([picture], lr=0.03)

    def step():
        optimizer.zero_grad()
        seen = features(picture)
        content_loss = F.mse_loss(seen[-1], wanted_content)
        style_loss = sum(F.mse_loss(gram(x), g) for x, g in zip(seen, wanted_style))
        loss = content_loss + 1e3 * style_loss
        loss.backward()
        optimizer.step()
        return loss, style_loss

    if args.trace:
        step = jit.trace(step)
    losses, texture = [], []
    for epoch in range(args.epochs):
        loss, style_loss = step()
        losses.append(loss.item())
        texture.append(style_loss.item())
        if epoch % 10 == 9:
            print(f"step {epoch + 1}: loss {losses[-1]:.4f}, difference in texture {texture[-1]:.2e}")
    if not args.quick:
        save(picture.detach()[0], "style_transfer.ppm")
        print("saved style_transfer.ppm")
    return losses, texture[-1] / texture[0]


if __name__ == "__main__":
    main()
