"""`quantize_`: chosen modules compute with stored weights, near the float model, and tied weights stay one."""

import copy
import io

import numpy as np
import pytest

import ingot
from ingot import jit, nn
from ingot.ao.quantization import Int4WeightOnlyConfig, Int8WeightOnlyConfig, StoredWeight, WeightOnlyConfig, quantize_
from ingot.ir.errors import ArgumentError, DTypeError

# (configuration, largest error of a result over the largest result)
CONFIGS = [(Int4WeightOnlyConfig(), 0.2), (Int4WeightOnlyConfig(group_size=32), 0.15), (Int8WeightOnlyConfig(), 0.02),
           (Int8WeightOnlyConfig(64), 0.02), (WeightOnlyConfig("Q4_K"), 0.2), (WeightOnlyConfig("Q8_0"), 0.02),
           (WeightOnlyConfig("BF16"), 0.01), (WeightOnlyConfig("int6_group32"), 0.06)]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(11, 96)
        self.hidden = nn.Sequential(nn.Linear(96, 200), nn.GELU(), nn.Linear(200, 96, bias=False))
        self.norm = nn.LayerNorm(96)
        self.head = nn.Linear(96, 11, bias=False)
        self.head.weight = self.table.weight

    def forward(self, index):
        return self.head(self.norm(self.hidden(self.table(index))))


def has_rows(module, name):
    return isinstance(module, (nn.Linear, nn.Embedding))


@pytest.mark.parametrize("config, most", CONFIGS, ids=lambda x: repr(x))
def test_results_are_near_those_of_floats(config, most):
    ingot.manual_seed(0)
    net, index = Net(), ingot.arange(11).view(1, 11)
    want = net(index).detach()
    quantize_(net, config, has_rows)
    assert all(isinstance(net.get_submodule(name).weight, StoredWeight) for name in ("table", "hidden.0", "hidden.2", "head"))
    assert net.head.weight is net.table.weight and not net.head.weight.requires_grad
    got = net(index)
    assert (got - want).abs().max() <= most * want.abs().max()
    traced = jit.trace(net)
    with ingot.no_grad():
        for _ in range(3):
            np.testing.assert_allclose(traced(index), net(index), rtol=1e-5, atol=1e-5)
    out = io.BytesIO()
    ingot.save(net.state_dict(), out)
    out.seek(0)
    other = Net()
    quantize_(other, config, has_rows)
    other.load_state_dict(ingot.load(out))
    assert ingot.equal(other(index), got) and ingot.equal(copy.deepcopy(net)(index), got)


def test_linear_modules_are_chosen_unless_told_otherwise():
    net = Net()
    net.head.weight = nn.Parameter(net.head.weight.detach().clone())
    quantize_(net, Int8WeightOnlyConfig())
    assert isinstance(net.head.weight, StoredWeight) and not isinstance(net.table.weight, StoredWeight)
    assert net.hidden[0].weight.format == "int8_group96" and net.hidden[2].weight.format == "int8_group224"
    assert net.hidden[0].bias.requires_grad and type(net.hidden[0].bias) is nn.Parameter
    net(ingot.tensor([1])).sum().backward()
    assert net.table.weight.grad is not None and net.hidden[0].bias.grad is not None


def test_names_are_given_to_the_filter():
    net = Net()
    quantize_(net, Int4WeightOnlyConfig(), lambda module, name: name == "hidden.2")
    assert isinstance(net.hidden[2].weight, StoredWeight) and not isinstance(net.hidden[0].weight, StoredWeight)


def test_errors_change_nothing():
    net = Net()
    with pytest.raises(ArgumentError, match=r"norm \(LayerNorm\)"):
        quantize_(net, Int4WeightOnlyConfig(), lambda module, name: name in ("head", "norm"))
    assert not isinstance(net.head.weight, StoredWeight)
    with pytest.raises(DTypeError, match="WeightOnlyConfig"):
        quantize_(net, "int4")
    for wrong in (lambda: Int4WeightOnlyConfig(group_size=33), lambda: Int8WeightOnlyConfig(group_size=-32),
                  lambda: WeightOnlyConfig("Q3_X"), lambda: Int8WeightOnlyConfig().format_for(1 << 20)):
        with pytest.raises(ArgumentError):
            wrong()
    quantize_(net, Int4WeightOnlyConfig(), has_rows)
    with pytest.raises(ArgumentError, match="stored as uint4_group128 already"):
        quantize_(net, Int4WeightOnlyConfig())
