"""Automatic mixed precision, gradient scaling, checkpoints of activations, resuming."""

import os

import ingot
from ingot import nn, optim
from ingot.amp import GradScaler, autocast
from ingot.utils.checkpoint import checkpoint, checkpoint_sequential

device = "cuda" if ingot.cuda.is_available() else "cpu"
block = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
head = nn.Linear(8, 2)
model = nn.Sequential(block, head).to(device)
optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scaler = GradScaler(device, enabled=device == "cuda")
start = 0
best = float("inf")
if os.path.exists("last.pt"):
    state = ingot.load("last.pt", map_location=device)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    scaler.load_state_dict(state["scaler"])
    start, best = state["epoch"] + 1, state["best"]
criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
for epoch in range(start, 3):
    x, y = ingot.randn(4, 8, device=device), ingot.randint(0, 2, (4,), device=device)
    optimizer.zero_grad()
    with autocast(device_type=device, dtype=ingot.bfloat16):
        hidden = checkpoint(block, x, use_reentrant=False)
        loss = criterion(head(hidden), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    best = min(best, loss.item())
    ingot.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "scaler": scaler.state_dict(),
                "epoch": epoch, "best": best}, "last.pt")
print(checkpoint_sequential(model, 2, ingot.randn(1, 8), use_reentrant=False), ingot.get_default_dtype())


@ingot.autocast("cpu", dtype=ingot.bfloat16)
def forward(x: ingot.Tensor) -> ingot.Tensor:
    return model(x)


print(forward(ingot.ones(1, 8)).dtype)
if ingot.cuda.is_available():
    ingot.cuda.synchronize()
    print(ingot.cuda.get_device_name(0), ingot.cuda.memory_allocated() / 2**20, ingot.cuda.device_count())
