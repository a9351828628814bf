"""Quantisation aware training, weight averaging, parametrised layers, lazy layers, custom operators."""

import ingot
from ingot import Tensor, library, nn
from ingot.ao.quantization import get_default_qconfig, quantize_dynamic
from ingot.nn.utils import parametrize, spectral_norm, weight_norm
from ingot.optim.swa_utils import SWALR, AveragedModel, update_bn


class Symmetric(nn.Module):
    def forward(self, X: Tensor) -> Tensor:
        return X.triu() + X.triu(1).transpose(-1, -2)


layer = nn.Linear(3, 3)
parametrize.register_parametrization(layer, "weight", Symmetric())
print(layer.weight.shape, spectral_norm(nn.Linear(2, 2)), weight_norm(nn.Linear(2, 2)))
float_model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
small = quantize_dynamic(float_model, {nn.Linear}, dtype=ingot.qint8)
print(small, get_default_qconfig("x86"))
optimizer = ingot.optim.SGD(float_model.parameters(), lr=0.1)
ema = AveragedModel(float_model, multi_avg_fn=ingot.optim.swa_utils.get_ema_multi_avg_fn(0.99))
schedule = SWALR(optimizer, swa_lr=0.05)
for _ in range(2):
    optimizer.zero_grad()
    float_model(ingot.randn(2, 4)).sum().backward()
    optimizer.step()
    ema.update_parameters(float_model)
    schedule.step()
update_bn([ingot.randn(2, 4)], ema)


@library.custom_op("mine::double", mutates_args=())
def double(x: Tensor) -> Tensor:
    return x * 2


@double.register_fake
def empty(x):
    return ingot.empty_like(x)


embedding = nn.EmbeddingBag(10, 3, mode="sum")
bag = embedding(ingot.tensor([1, 2, 4]), ingot.tensor([0, 2]))
lazy = nn.Sequential(nn.LazyConv2d(8, 3), nn.ReLU(), nn.Flatten(), nn.LazyLinear(2))
print(double(ingot.ones(2)), bag, lazy(ingot.randn(1, 3, 8, 8)), nn.PixelShuffle(2)(ingot.randn(1, 4, 2, 2)).shape)
print(nn.TripletMarginLoss(margin=0.5)(ingot.randn(2, 3), ingot.randn(2, 3), ingot.randn(2, 3)), nn.KLDivLoss(reduction="batchmean"))
print(nn.CTCLoss()(ingot.randn(5, 1, 4).log_softmax(2), ingot.tensor([[1, 2]]), ingot.tensor([5]), ingot.tensor([2])))
