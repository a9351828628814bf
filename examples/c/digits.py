"""Writes a small network for handwritten digits as a C library, and pictures to try it on.

    python examples/c/digits.py build
    cc -O2 -Ibuild examples/c/digits.c build/digits.o -lm -o build/digits
    build/digits build/pictures.bin

With the shared library instead of the object: `cc -O2 -Ibuild examples/c/digits.c -Lbuild -ldigits -Wl,-rpath,build ...`.
"""

import sys
from pathlib import Path

import numpy as np

import ingot
from ingot import jit, nn, optim
from ingot.nn import functional as F

DIGITS = Path(__file__).parent.parent / "data" / "digits.npz"
BATCH = 16


def network():
    """Two convolutions with batch norm, a classifier, probabilities."""
    return nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 16, 3, padding=1),
                         nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(256, 10), nn.Softmax(-1))


def trained(images, labels, epochs):
    """The network after some passes over the pictures."""
    model = network()
    optimizer = optim.Adam(model.parameters(), lr=3e-3)

    @jit.trace
    def step(x, y):
        optimizer.zero_grad()
        loss = F.nll_loss(model(x).log(), y)
        loss.backward()
        optimizer.step()
        return loss

    for _ in range(epochs):
        for i in range(0, len(images) - BATCH + 1, BATCH):
            step(ingot.tensor(images[i:i + BATCH]), ingot.tensor(labels[i:i + BATCH]))
    return model.eval()


def main(folder, epochs=3):
    """Writes digits.h, digits.o, libdigits.so and pictures.bin; gives the pictures, what eager says of them, and the labels."""
    ingot.manual_seed(0)
    with np.load(DIGITS, allow_pickle=False) as f:
        images, labels = (f["images"].astype(np.float32) / 16)[:, None], f["labels"].astype(np.int64)
    model = trained(images[BATCH:], labels[BATCH:], epochs)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    pictures = np.ascontiguousarray(images[:BATCH])
    written = jit.to_c(model, ingot.tensor(pictures), folder / "digits")
    pictures.tofile(folder / "pictures.bin")
    with ingot.no_grad():
        said = model(ingot.tensor(pictures)).numpy()
    print(f"wrote {written.header}, {written.object} and {written.shared}", file=sys.stderr)
    return pictures, said, labels[:BATCH]


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "build")
