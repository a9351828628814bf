"""Optimizers, schedules, closures, state."""

from typing import assert_type

import ingot
import ingot.optim as optim
from ingot import Tensor, nn
from ingot.optim import lr_scheduler
from ingot.optim.lr_scheduler import CosineAnnealingLR, LambdaLR, LinearLR, OneCycleLR, ReduceLROnPlateau, SequentialLR
from ingot.optim.swa_utils import AveragedModel

model = nn.Linear(4, 1)
x, y = ingot.randn(8, 4), ingot.randn(8, 1)
lbfgs = optim.LBFGS(model.parameters(), lr=1, history_size=5, line_search_fn="strong_wolfe")


def closure() -> Tensor:
    lbfgs.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    return loss


assert_type(lbfgs.step(closure), Tensor)
sgd = optim.SGD([{"params": model.weight, "lr": 0.1}, {"params": [model.bias]}], lr=0.01, momentum=0.9, nesterov=True)
assert_type(sgd.step(), None)
everything: list[optim.Optimizer] = [
    sgd, optim.Adam(model.parameters()), optim.AdamW(list(model.parameters()), 1e-3, (0.9, 0.99), weight_decay=0.1),
    optim.RMSprop(model.parameters(), alpha=0.9), optim.Adagrad([model.weight], lr=0.1),
    optim.Adam(model.named_parameters(), lr=ingot.tensor(0.1)),
]
warm = LinearLR(sgd, start_factor=0.1, total_iters=5)
schedule = SequentialLR(sgd, [warm, CosineAnnealingLR(sgd, T_max=20, eta_min=1e-5)], milestones=[5])
cycle = OneCycleLR(everything[1], max_lr=0.1, total_steps=100)
scaled = LambdaLR(everything[2], lr_lambda=lambda epoch: 0.95 ** epoch)
plateau = ReduceLROnPlateau(everything[3], mode="min", patience=3, factor=0.5)
halved = lr_scheduler.MultiStepLR(everything[4], milestones=[3, 6], gamma=0.5)
averaged = AveragedModel(model)
for epoch in range(3):
    for optimizer in everything:
        optimizer.zero_grad(set_to_none=True)
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
    for scheduler in (schedule, cycle, scaled, halved):
        scheduler.step()
    plateau.step(loss)
    averaged.update_parameters(model)
    print(schedule.get_last_lr(), sgd.param_groups[0]["lr"], loss.item())
state = sgd.state_dict()
sgd.load_state_dict(state)
sgd.add_param_group({"params": [nn.Parameter(ingot.ones(2))]})
for p in model.parameters():
    if p.grad is not None:
        p.grad.zero_()
