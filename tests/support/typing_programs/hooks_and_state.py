"""Modules as containers: parameters, buffers, hooks, state dicts, iteration."""

from collections import OrderedDict
from typing import Any, assert_type

import ingot
from ingot import Tensor, nn
from ingot.nn import Parameter
from ingot.nn.utils import parameters_to_vector, parametrizations, prune, vector_to_parameters


class Scale(nn.Module):
    count: Tensor

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.gain = Parameter(ingot.ones(dim))
        self.shift = nn.Parameter(ingot.zeros(dim), requires_grad=False)
        self.register_buffer("count", ingot.zeros(1))
        self.layers = nn.ModuleList([nn.Linear(dim, dim) for _ in range(3)])
        self.named = nn.ModuleDict({"a": nn.ReLU(), "b": nn.Identity()})
        self.weights = nn.ParameterList([ingot.ones(2), ingot.ones(3)])

    def forward(self, x: Tensor, which: str = "a") -> Tensor:
        self.count += 1
        for i, layer in enumerate(self.layers):
            x = layer(x) * (i + 1)
        return self.named[which](x) * self.gain + self.shift + self.weights[0].sum()

    def extra_repr(self) -> str:
        return f"dim={self.gain.shape[0]}"


net = Scale(4)
assert_type(net(ingot.ones(2, 4), which="b"), Tensor)
assert_type(net.gain, Parameter)
assert_type(net.eval(), Scale)
assert_type(net.to("cpu").train(False).double().float(), Scale)
assert_type(net.state_dict(), dict[str, Any])
for name, p in net.named_parameters():
    assert_type(name, str)
    p.requires_grad_(not name.startswith("shift"))
for name, child in net.named_children():
    print(name, child, child.training)
for module in net.modules():
    if isinstance(module, nn.Linear):
        nn.init.xavier_uniform_(module.weight, gain=nn.init.calculate_gain("relu"))
        nn.init.constant_(module.bias, 0.1)
        print(module.in_features + module.out_features)


def forward_hook(module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
    print(type(module).__name__, inputs[0].shape, output.shape)


handle = net.register_forward_hook(forward_hook)
net.register_forward_pre_hook(lambda module, args: None)
net.register_full_backward_hook(lambda module, grad_input, grad_output: None)
handle.remove()
seq = nn.Sequential(OrderedDict([("conv", nn.Conv1d(1, 2, 3)), ("act", nn.SiLU())]))
seq.append(nn.Flatten())
first = seq[0]
print(len(seq), first, seq[1:], [type(m) for m in seq], sum(p.numel() for p in net.parameters() if p.requires_grad))
missing = net.load_state_dict(net.state_dict(), strict=False)
print(missing.missing_keys, missing.unexpected_keys)
vector_to_parameters(parameters_to_vector(net.parameters()), net.parameters())
normed = parametrizations.weight_norm(nn.Linear(3, 3))
prune.l1_unstructured(nn.Linear(3, 3), "weight", amount=0.5)
net.apply(lambda m: m.reset_parameters() if isinstance(m, nn.Linear) else None)
print(net.get_submodule("layers.0"), net.get_parameter("gain"), normed)
net.layers.extend([nn.Linear(4, 4)])
net.layers += [nn.Tanh()]
net.zero_grad(set_to_none=True)
