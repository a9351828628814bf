"""`python -m ingot demo`: a small network learns handwritten digits, eagerly and traced."""

import time
from pathlib import Path

import numpy as np

from . import jit
from .ir.draw import view
from .runtime import nn, optim
from .runtime.autograd.grad_mode import no_grad
from .runtime.core.random import manual_seed
from .runtime.core.tensor import wrap

DIGITS = Path(__file__).parent / "examples" / "data" / "digits.npz"
BATCH = 64
TRAIN = 1500


def load_digits():
    """Return (images [N, 1, 8, 8] in 0..1, labels) for training, and the same for testing."""
    with np.load(DIGITS, allow_pickle=False) as f:
        images = (f["images"].astype(np.float32) / 16)[:, None]
        labels = f["labels"].astype(np.int64)
    order = np.random.default_rng(0).permutation(len(images))
    images, labels = images[order], labels[order]
    return (images[:TRAIN], labels[:TRAIN]), (images[TRAIN:], labels[TRAIN:])


def make_network():
    """Return two convolutions and a classifier, with the same weights at every call."""
    manual_seed(1)
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(512, 64), nn.ReLU(), nn.Linear(64, 10))


def make_step(net, optimizer):
    """Return a training step: forward, backward, update."""

    def step(images, labels):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(images), labels)
        loss.backward()
        optimizer.step()
        return loss

    return step


def train(step, data, epochs, seed=0):
    """Return the losses of all steps, and the seconds per step of the later epochs."""
    images, labels = data
    order = np.random.default_rng(seed)
    losses, seconds, steps = [], 0.0, 0
    for epoch in range(epochs):
        start = time.perf_counter()
        shuffled = order.permutation(len(images))
        for at in range(0, len(images) - BATCH + 1, BATCH):
            pick = shuffled[at: at + BATCH]
            losses.append(step(wrap(images[pick]), wrap(labels[pick])).item())
        if epoch:
            seconds += time.perf_counter() - start
            steps += len(images) // BATCH
    return losses, seconds / max(1, steps)


def accuracy(net, data) -> float:
    """Return the share of correctly classified images."""
    net.eval()
    with no_grad():
        guess = net(wrap(data[0])).argmax(1).numpy()
    net.train()
    return float((guess == data[1]).mean())


def curve(losses, title: str, width=720, height=300) -> str:
    """Return a curve of losses as SVG."""
    smooth = [float(np.mean(losses[max(0, i - 9): i + 1])) for i in range(len(losses))]
    top, left, bottom = max(smooth), 56, 40
    xs = [left + i * (width - left - 16) / max(1, len(smooth) - 1) for i in range(len(smooth))]
    ys = [24 + (1 - v / top) * (height - 24 - bottom) for v in smooth]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(xs, ys))
    marks = "".join(f'<text x="{left - 8}" y="{24 + (1 - k / 4) * (height - 24 - bottom) + 4:.0f}" text-anchor="end">'
                    f"{top * k / 4:.2f}</text>" for k in range(5))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">'
            f'<rect width="{width}" height="{height}" fill="white"/>'
            f'<text x="{left}" y="16" font-weight="bold">{title}</text>{marks}'
            f'<line x1="{left}" y1="{height - bottom}" x2="{width - 16}" y2="{height - bottom}" stroke="#999"/>'
            f'<text x="{width - 16}" y="{height - bottom + 18}" text-anchor="end">{len(losses)} steps</text>'
            f'<polyline points="{line}" fill="none" stroke="#2563eb" stroke-width="2"/></svg>\n')


def run(out: str, epochs: int) -> int:
    """Run the demonstration; pictures go to the folder `out`."""
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    training, testing = load_digits()
    print(f"{len(training[0])} handwritten digits to learn from, {len(testing[0])} to be tested on\n")
    results = {}
    for name in ("eager", "traced"):
        net = make_network()
        optimizer = optim.Adam(net.parameters(), lr=1e-3)
        step = make_step(net, optimizer)
        if name == "traced":
            step = jit.trace(step)
        losses, per_step = train(step, training, epochs)
        results[name] = losses
        print(f"{name:>7}: loss {losses[0]:.3f} -> {np.mean(losses[-20:]):.4f}, {accuracy(net, testing):.1%} of the test "
              f"digits right, {per_step * 1e3:.2f} ms a step")
    gap = max(abs(a - b) for a, b in zip(results["eager"], results["traced"]))
    print(f"\nlargest difference between the two losses at any step: {gap:.2g}")
    print(f"the traced step was compiled {step.stats()['compiles']} time(s) for {step.stats()['calls']} calls")
    (folder / "loss.svg").write_text(curve(results["traced"], "Training loss, mean of 10 steps"))
    export(net, testing, folder)
    print(f"pictures: {folder / 'loss.svg'}, {folder / 'network.svg'}")
    return 0


def export(net, testing, folder):
    """Export the trained network, run the file, and draw its graph."""
    path, images = folder / "digits.ingot", wrap(testing[0])
    start = time.perf_counter()
    jit.export(net.eval(), images[:BATCH], path, dynamic={"input": {0: "batch"}})
    seconds = time.perf_counter() - start
    model = jit.load(path)
    with no_grad():
        gap = float((model(images) - net(images)).abs().max())
        right = float((model(images).argmax(1).numpy() == testing[1]).mean())
    print(f"exported to {path} in {seconds:.1f} s ({path.stat().st_size / 1024:.0f} KiB, any batch size): run back, it names "
          f"{right:.1%} of the\ntest digits right; largest difference to eager {gap:.2g}")
    view.save(model.graph, folder / "network.svg")
