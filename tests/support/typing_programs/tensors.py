"""Results of everyday tensor code, with their types."""

from typing import assert_type

import numpy as np

import ingot
from ingot import Size, Tensor

x = ingot.zeros(2, 3, requires_grad=True)
assert_type(x + 1, Tensor)
assert_type(2.0 ** x, Tensor)
assert_type(1 - x, Tensor)
assert_type(-x, Tensor)
assert_type(x @ x.T, Tensor)
assert_type(x[0, :2], Tensor)
assert_type(x > 0, Tensor)
assert_type(x == x, Tensor)
assert_type((x > 0) & (x < 1), Tensor)
assert_type(x.shape, Size)
assert_type(x.size(), Size)
assert_type(x.size(0), int)
assert_type(x.shape[0], int)
assert_type(x.numel(), int)
assert_type(x.dim(), int)
assert_type(len(x), int)
assert_type(x.grad, Tensor | None)
assert_type(x.max(), Tensor)
assert_type(x.max(dim=1).values, Tensor)
assert_type(x.max(1).indices, Tensor)
values, indices = x.max(dim=1, keepdim=True)
assert_type(values, Tensor)
values, indices = ingot.min(x, 0)
assert_type(indices, Tensor)
assert_type(x.topk(2).values, Tensor)
assert_type(x.sort(dim=1).values, Tensor)
assert_type(x.sum(dim=1, keepdim=True), Tensor)
assert_type(x.sum(axis=1, keepdims=True), Tensor)
assert_type(x.sum((0, 1)), Tensor)
assert_type(x.mean([0, 1]), Tensor)
assert_type(x.softmax(dim=-1), Tensor)
assert_type(x.split(1, dim=0), tuple[Tensor, ...])
assert_type(ingot.is_tensor(x), bool)
assert_type(ingot.nonzero(x), Tensor)
assert_type(x.nonzero(as_tuple=True), tuple[Tensor, ...])
assert_type(ingot.unique(x), Tensor)
assert_type(ingot.where(x > 0, x, 0.0), Tensor)
assert_type(x.device, ingot.device)
assert_type(x.dtype, ingot.dtype)
assert_type(x.is_contiguous(), bool)
assert_type(x.allclose(x), bool)
assert_type(ingot.equal(x, x), bool)
assert_type(ingot.randn(3, dtype=ingot.float64, device=ingot.device("cpu")), Tensor)
assert_type(ingot.float32, ingot.dtype)
number: float = x.sum().item()
count: int = (x > 0).sum().item()
rows: list[list[float]] = x.tolist()
b, c = x.shape
assert_type(b, int)
for row in x:
    assert_type(row, Tensor)

# Views, sizes, copies.
y = x.view(-1).reshape(3, 2).permute(1, 0).unsqueeze(0).expand(4, -1, -1).contiguous()
y = y.transpose(0, 1).flatten(1).squeeze().t().clone().detach()
y = ingot.cat([y, y], dim=0)
y = ingot.stack((y, y))
y = ingot.arange(10).float().to("cpu").to(ingot.float16).double().to(x).to(device="cpu", dtype=ingot.float32)
y[0] = 1
y[y > 3] = 0.0
y[..., None, 2:5] *= 2
y += 1
y.add_(1).mul_(2).clamp_(min=0, max=1).zero_()
y.uniform_(0, 1).normal_(0.0, 1.0)
p, q = ingot.meshgrid(ingot.linspace(0, 1, 3), ingot.linspace(0, 1, steps=4), indexing="ij")
u, s, vh = ingot.linalg.svd(x, full_matrices=False)
assert_type(ingot.linalg.eigh(x @ x.T).eigenvalues, Tensor)
spectrum = ingot.fft.rfft(x, dim=-1, norm="ortho").abs()
mean, std = ingot.std_mean(x), x.std()
same = ingot.einsum("ij,kj->ik", x, x)
picked = x.gather(1, ingot.zeros(2, 1, dtype=ingot.int64)).scatter_add(0, ingot.zeros(1, 1, dtype=ingot.int64), x)

# NumPy.
array = x.detach().cpu().numpy()
assert_type(ingot.from_numpy(array), Tensor)
close = np.allclose(array, np.asarray(x.detach()))
print(np.abs(array).max(), np.array(x.tolist()), ingot.tensor(array) > np.float32(1), ingot.as_tensor(np.ones(3)))
if (x.sum() > 0) and bool(x.any()) and int(x.sum()) + float(x.mean()) > 0:
    print(f"{x.sum().item():.3f}", round(x.mean().item(), 3), [1, 2][x.argmax()])

# Averages of weights.
with ingot.no_grad():
    assert_type(x.detach().clone().lerp_(x, 0.05), Tensor)
    assert_type(ingot.lerp(x, x, x.sigmoid()), Tensor)
