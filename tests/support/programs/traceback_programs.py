"""Programs with a common mistake each. The innermost line of the user that the mistake runs ends in `# here`.

Each is a script of its own, after `HEAD`."""

HEAD = """import ingot
import ingot.nn as nn
import ingot.nn.functional as F
x = ingot.randn(2, 3)
"""

_TEXT = r"""
### matmul_operator
x @ x  # here

### add_sizes
x + ingot.randn(4)  # here

### add_text
x + 'a'  # here

### inplace_sizes
x += ingot.randn(5, 2, 3)  # here

### inplace_leaf
w = ingot.ones(3, requires_grad=True)
w += 1  # here

### matmul_function
ingot.matmul(x, x)  # here

### method_mm
x.mm(x)  # here

### method_view
x.view(4, 2)  # here

### method_reshape
x.reshape(7)  # here

### method_sum_dim
x.sum(dim=4)  # here

### method_squeeze_name
x.softmx(0)  # here

### item_of_many
x.item()  # here

### bool_of_many
if x:  # here
    pass

### index_range
x[5]  # here

### index_dims
x[0, 0, 0]  # here

### index_mask
x[ingot.ones(3, 3, dtype=ingot.bool)]  # here

### setitem_sizes
x[0] = ingot.randn(7)  # here

### cat_sizes
ingot.cat([x, ingot.randn(3, 4)])  # here

### stack_sizes
ingot.stack([x, ingot.randn(4)])  # here

### cross_entropy_sizes
F.cross_entropy(x, ingot.tensor([0, 1, 2]))  # here

### cross_entropy_class
F.cross_entropy(x, ingot.tensor([0, 5]))  # here

### mse_loss_sizes
F.mse_loss(x, ingot.randn(4, 7))  # here

### conv_channels
F.conv2d(ingot.randn(1, 3, 8, 8), ingot.randn(4, 2, 3, 3))  # here

### embedding_range
nn.Embedding(4, 2)(ingot.tensor([7]))  # here

### missing_argument
F.linear(x)  # here

### linear_sizes
net = nn.Linear(4, 5)
net(x)  # here

### linear_integers
net = nn.Linear(3, 5)
net(ingot.tensor([1, 2, 3]))  # here

### sequential_sizes
net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(5, 6))
net(x)  # here

### nested_modules
class Block(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.lin = nn.Linear(n, 3)

    def forward(self, x):
        return self.lin(x)  # here

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Block(3), Block(4)])

    def forward(self, x):
        return self.layers[1](self.layers[0](x))

net = Net()
net(x)

### module_list_call
nn.ModuleList([nn.Linear(3, 3)])(x)  # here

### lstm_sizes
nn.LSTM(4, 5)(ingot.randn(2, 1, 3))  # here

### attention_sizes
nn.MultiheadAttention(4, 2)(x, x, x)  # here

### attention_heads
nn.MultiheadAttention(5, 2)  # here

### transformer_sizes
net = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2), 2)
net(ingot.randn(5, 1, 6))  # here

### conv_module
net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(5))
net(ingot.randn(1, 3, 8, 8))  # here

### constructor_type
nn.Linear('3', 4)  # here

### constructor_missing
nn.Conv2d(3, 4)  # here

### optimizer_empty
ingot.optim.SGD([], lr=0.1)  # here

### optimizer_lr
ingot.optim.SGD(nn.Linear(2, 2).parameters(), lr=-1)  # here

### scheduler_no_optimizer
ingot.optim.lr_scheduler.StepLR(nn.Linear(2, 2), 3)  # here

### scheduler_milestones
o = ingot.optim.SGD(nn.Linear(2, 2).parameters(), lr=1.)
ingot.optim.lr_scheduler.OneCycleLR(o, 0.1)  # here

### step_closure
o = ingot.optim.LBFGS(nn.Linear(2, 2).parameters())
o.step()  # here

### dataset_error
class Data(ingot.utils.data.Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, i):
        return [1, 2][i + 1]  # here
for batch in ingot.utils.data.DataLoader(Data()):
    pass

### collate_sizes
class Data(ingot.utils.data.Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, i):
        return ingot.ones(i + 1)
for batch in ingot.utils.data.DataLoader(Data(), batch_size=2):  # here
    pass

### dataset_worker
class Data(ingot.utils.data.Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, i):
        return [1, 2][i + 1]  # here
if __name__ == '__main__':
    for batch in ingot.utils.data.DataLoader(Data(), num_workers=1):
        pass

### traced_first
@ingot.jit.trace
def f(a, b):
    return a @ b + 1  # here
f(x, x)

### traced_replay
@ingot.jit.trace
def f(a, b):
    return a @ b + 1  # here
f(x, ingot.randn(3, 2))
f(x, ingot.randn(3, 2))
f(x, x)

### traced_module
net = ingot.jit.trace(nn.Sequential(nn.Linear(3, 4), nn.Linear(5, 6)))
net(x)  # here

### traced_linear
net = ingot.jit.trace(nn.Linear(4, 5))
net(x)  # here

### traced_branch
@ingot.jit.trace(fullgraph=True)
def f(a):
    a.grad_fn.next_functions  # here
    return open('/nowhere/x').read()
f(x)

### traced_user_error
@ingot.jit.trace
def f(a):
    raise ValueError('no')  # here
f(x)

### backward_no_grad
x.sum().backward()  # here

### backward_twice
w = ingot.ones(3, requires_grad=True)
y = (w * w).sum()
y.backward()
y.backward()  # here

### backward_shape
w = ingot.ones(3, requires_grad=True)
(w * w).backward()  # here

### grad_unused
w = ingot.ones(3, requires_grad=True)
v = ingot.ones(3, requires_grad=True)
ingot.autograd.grad(w.sum(), v)  # here

### inplace_saved
w = ingot.ones(3, requires_grad=True)
y = w * 2
z = (y * y).sum()
y += 1
z.backward()  # here

### function_backward
class Sq(ingot.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        return a * a
    @staticmethod
    def backward(ctx, g):
        return g @ g.expand(3, 3)[:2]  # here
Sq.apply(ingot.ones(3, requires_grad=True)).sum().backward()

### function_forward
class Sq(ingot.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        return a @ a  # here
Sq.apply(x)

### hook_error
w = ingot.ones(3, requires_grad=True)
w.register_hook(lambda g: g + ingot.ones(2))  # here
w.sum().backward()

### forward_hook
net = nn.Linear(3, 4)
net.register_forward_hook(lambda m, a, out: out @ out)  # here
net(x)

### load_state_dict
nn.Linear(3, 4).load_state_dict(nn.Linear(4, 4).state_dict())  # here

### load_state_keys
nn.Linear(3, 4).load_state_dict({'w': x})  # here

### load_missing
ingot.load('/nowhere/x.pt')  # here

### load_broken
import pathlib, tempfile
file = pathlib.Path(tempfile.mkdtemp(), 'x.pt')
file.write_bytes(b'abc')
ingot.load(file)  # here

### save_nowhere
ingot.save(x, '/nowhere/x.pt')  # here

### jit_load_missing
ingot.jit.load('/nowhere/x.ingot')  # here

### export_args
ingot.export.export(nn.Linear(3, 4), (ingot.randn(2, 5),))  # here

### vmap_sizes
ingot.func.vmap(lambda a, b: a @ b)(x, ingot.randn(3, 3))  # here

### func_grad
ingot.func.grad(lambda a: a * 2)(x)  # here

### distributed_init
import ingot.distributed as dist
dist.all_reduce(x)  # here

### distributed_backend
import ingot.distributed as dist
dist.init_process_group('nope', rank=0, world_size=1)  # here

### device_missing
x.to('cuda')  # here

### device_wrong
x.to('tpu')  # here

### dtype_wrong
x.to(ingot.int64) ** -1 + ingot.zeros(2, dtype='flaot')  # here

### tensor_ragged
ingot.tensor([[1, 2], [3]])  # here

### tensor_text
ingot.tensor('abc')  # here

### arange_step
ingot.arange(3, 0, 1)  # here

### randn_size
ingot.randn(-2)  # here

### linalg_singular
ingot.linalg.inv(ingot.zeros(3, 3))  # here

### distribution
ingot.distributions.Normal(0., -1.)  # here

### user_error_forward
class Net(nn.Module):
    def forward(self, a):
        raise KeyError('mine')  # here
Net()(x)

### no_forward
class Net(nn.Module):
    pass
Net()(x)  # here

### attribute
nn.Linear(3, 4).wieght  # here

### assign_parameter
nn.Linear(3, 4).weight = 5  # here

### before_super
class Net(nn.Module):
    def __init__(self):
        self.a = nn.Linear(2, 2)  # here
Net()

### numpy_of_grad
ingot.ones(3, requires_grad=True).numpy()  # here

### einsum
ingot.einsum('ij,jk->ik', x, x)  # here

### out_dtype
ingot.add(x, x, out=ingot.zeros(2, 3, dtype=ingot.int64))  # here

### split
a, b = x.split([1, 1], dim=1)  # here

### gather
x.gather(1, ingot.tensor([[9], [9]]))  # here
"""

_PARTS = [part.partition("\n") for part in _TEXT.split("### ")[1:]]
PROGRAMS = {name: HEAD + text.strip("\n") + "\n" for name, _, text in _PARTS}
