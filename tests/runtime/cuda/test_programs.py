"""Programs as people write them for a GPU, on the mock driver: each gives on the device what it gives on the CPU."""

import copy
import io
import queue
import threading
import warnings

import numpy as np
import pytest

import ingot
import mock_cuda
from ingot import jit, nn
from ingot.runtime.cuda.memory.allocator import Allocator

F = nn.functional


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.drop = heads, nn.Dropout(0.1)
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = [a.view(b, t, self.heads, c // self.heads).transpose(1, 2) for a in self.qkv(self.ln1(x)).split(c, 2)]
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).contiguous().view(b, t, c)
        x = x + self.drop(self.proj(y))
        return x + self.drop(self.down(F.gelu(self.up(self.ln2(x)))))


class GPT(nn.Module):
    def __init__(self, vocabulary=20, width=16, length=8):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList([Block(width, 2)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)
        self.tokens.weight = self.head.weight

    def forward(self, x, y=None):
        h = self.tokens(x) + self.positions(ingot.arange(x.size(1), dtype=ingot.long, device=x.device))
        for block in self.blocks:
            h = block(h)
        logits = self.head(self.norm(h))
        return logits, None if y is None else F.cross_entropy(logits.view(-1, logits.size(-1)), y.view(-1))


def nanogpt(device):
    """Mixed precision with a scaler, gradients of two micro-batches, then sampling."""
    numbers = np.random.RandomState(0).randint(0, 20, 300)
    net = GPT().to(device)
    decayed, others = [p for p in net.parameters() if p.dim() > 1], [p for p in net.parameters() if p.dim() < 2]
    opt = ingot.optim.AdamW([{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}], lr=1e-3)
    scaler, found = ingot.amp.GradScaler(device), []
    for step in range(3):
        for micro in range(2):
            at = [37 * step + 11 * micro + i for i in range(3)]
            x, y = [ingot.stack([ingot.from_numpy(numbers[i + more:i + more + 8]) for i in at]) for more in (0, 1)]
            x, y = [a.pin_memory().to(device, non_blocking=True) for a in (x, y)]
            with ingot.autocast(device_type=device, dtype=ingot.bfloat16):
                loss = net(x, y)[1] / 2
            scaler.scale(loss).backward()
        scaler.unscale_(opt)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(opt)
        scaler.update()
        opt.zero_grad(set_to_none=True)
        found.append(loss.item())
    net.eval()
    x = ingot.zeros((1, 1), dtype=ingot.long, device=device)
    with ingot.no_grad():
        for _ in range(3):
            logits = net(x)[0][:, -1, :] / 0.8
            best, _ = ingot.topk(logits, 5)
            logits[logits < best[:, [-1]]] = -float("inf")
            x = ingot.cat((x, ingot.multinomial(F.softmax(logits, dim=-1), num_samples=1)), dim=1)
    return found


def gan(device):
    """Old tensor types, two optimizers, a gradient penalty."""
    kind = ingot.cuda.FloatTensor if device == "cuda" else ingot.FloatTensor
    maker = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8, 0.8), nn.LeakyReLU(0.2, inplace=True), nn.Linear(8, 12), nn.Tanh())
    judge = nn.Sequential(nn.Linear(12, 8), nn.LeakyReLU(0.2, inplace=True), nn.Linear(8, 1), nn.Sigmoid())
    loss_of, found, rs = nn.BCELoss(), [], np.random.RandomState(0)
    if device == "cuda":
        maker.cuda(), judge.cuda(), loss_of.cuda()
    opts = [ingot.optim.Adam(m.parameters(), lr=1e-3, betas=(0.5, 0.999)) for m in (maker, judge)]
    for _ in range(3):
        true, false = kind(6, 1).fill_(1.0), kind(6, 1).fill_(0.0)
        real, noise = ingot.from_numpy(rs.randn(6, 12)).type(kind), kind(rs.normal(0, 1, (6, 4)))
        opts[0].zero_grad()
        made = maker(noise)
        first = loss_of(judge(made), true)
        first.backward()
        opts[0].step()
        opts[1].zero_grad()
        share = kind(rs.random_sample((6, 1)))
        between = (share * real + (1 - share) * made.detach()).requires_grad_(True)
        slope, = ingot.autograd.grad(judge(between), between, grad_outputs=kind(6, 1).fill_(1.0), create_graph=True)
        second = loss_of(judge(real), true) + loss_of(judge(made.detach()), false) + ((slope.norm(2, dim=1) - 1) ** 2).mean()
        second.backward()
        opts[1].step()
        found += [first.item(), second.item()]
    return found


def dqn(device):
    """Tensors of one number, masks of Python bools, gathered actions, soft updates of a state dict."""
    net, memory, found = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2)).to(device), [], []
    rs = np.random.RandomState(0)
    target = copy.deepcopy(net).eval()
    opt = ingot.optim.RMSprop(net.parameters(), lr=1e-2)
    state = rs.randn(3).astype(np.float32)
    for step in range(14):
        with ingot.no_grad():
            action = net(ingot.from_numpy(state)[None].to(device)).max(1).indices.view(1, 1)
        if rs.rand() < 0.5:
            action = ingot.tensor([[rs.randint(2)]], device=device, dtype=ingot.long)
        following = (state * 0.9 + action.item() - 0.5).astype(np.float32)
        memory.append((ingot.tensor(state, device=device)[None], action,
                       None if step % 5 == 4 else ingot.tensor(following, device=device)[None],
                       ingot.tensor([-abs(following).sum().item()], device=device)))
        state = following
        if len(memory) >= 8:
            states, actions, nexts, rewards = zip(*memory[-8:])
            there = ingot.tensor([n is not None for n in nexts], device=device, dtype=ingot.bool)
            values = ingot.zeros(8, device=device)
            with ingot.no_grad():
                values[there] = target(ingot.cat([n for n in nexts if n is not None])).max(1).values
            wanted = (values * 0.9 + ingot.cat(rewards)).unsqueeze(1)
            loss = nn.SmoothL1Loss()(net(ingot.cat(states)).gather(1, ingot.cat(actions)), wanted)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_value_(net.parameters(), 100)
            opt.step()
            mine, theirs = net.state_dict(), target.state_dict()
            target.load_state_dict({k: mine[k] * 0.05 + theirs[k] * 0.95 for k in mine})
            found.append(loss.item())
    return found


def averaged_and_resumed(device):
    """An average of weights; a checkpoint that goes through a file, loaded onto the device."""
    net = nn.Sequential(nn.Linear(6, 6, bias=False), nn.BatchNorm1d(6), nn.Linear(6, 1)).to(device)
    swa = ingot.optim.swa_utils
    mean = swa.AveragedModel(net, multi_avg_fn=swa.get_ema_multi_avg_fn(0.9))
    opt = ingot.optim.AdamW(net.parameters(), lr=1e-2)
    schedule = ingot.optim.lr_scheduler.CosineAnnealingLR(opt, 10)
    x, parts = ingot.linspace(-1, 1, 48).reshape(8, 6).to(device), {"net": net, "mean": mean, "opt": opt, "schedule": schedule}

    def train():
        found = []
        for _ in range(3):
            opt.zero_grad()
            loss = (F.dropout(net(x), 0.2) ** 2).mean()
            loss.backward()
            opt.step()
            schedule.step()
            mean.update_parameters(net)
            found.append(loss.item())
        return found

    first, file = train(), io.BytesIO()
    ingot.save({**{k: part.state_dict() for k, part in parts.items()}, "rng": ingot.cuda.random.get_rng_state()}, file)
    second = train()
    file.seek(0)
    saved = ingot.load(file, map_location=device)
    for k, part in parts.items():
        part.load_state_dict(saved[k])
    ingot.cuda.set_rng_state(saved["rng"].cpu())
    np.testing.assert_allclose(train(), second, rtol=1e-6)
    assert all(s["step"].is_cpu for s in opt.state.values()), "the host steers by them"
    return first + second + mean.eval()(x).flatten().tolist()


def served(device):
    """Two threads, each with a stream of its own, answer by one model."""
    net, answers, found = nn.Sequential(nn.Linear(4, 16), nn.GELU(), nn.Linear(16, 4)).to(device).eval(), {}, []

    def work(queues):
        stream = ingot.cuda.Stream() if device == "cuda" else None
        with ingot.inference_mode():
            while (item := queues.get()) is not None:
                number, x = item
                with ingot.cuda.stream(stream):
                    y = net(x.pin_memory().to(device, non_blocking=True)).softmax(-1).to("cpu", non_blocking=True)
                if stream is not None:
                    stream.synchronize()
                answers[number] = y.numpy().copy()

    if device == "cuda":
        ingot.cuda.synchronize()            # the weights are there before other streams read them
    queues = [queue.Queue() for _ in range(2)]
    threads = [threading.Thread(target=work, args=(q,)) for q in queues]
    for t in threads:
        t.start()
    for number in range(10):
        queues[number % 2].put((number, ingot.full((3, 4), number / 10)))
    for q, t in zip(queues, threads):
        q.put(None)
        t.join()
    for number in range(10):
        found += answers[number].sum(0).tolist()
    return found


def prefetched(device):
    """The next batch travels in a stream of its own while this one is worked on."""
    data = [ingot.full((4, 3), float(i)).pin_memory() for i in range(5)]
    w, stream = ingot.ones(3, 2, device=device), ingot.cuda.Stream() if device == "cuda" else None
    coming, found = None, []
    for x in [*data, None]:
        if stream is not None:
            ingot.cuda.current_stream().wait_stream(stream)
        now = coming
        with ingot.cuda.stream(stream):
            coming = None if x is None else x.to(device, non_blocking=True) * 2
        if now is not None:
            if stream is not None:
                now.record_stream(ingot.cuda.current_stream())
            found.append((now @ w).sum())
    return [t.item() for t in found]


def in_two_parts(device):
    """A model over two devices, clipped by the norm of all of it, trained plainly and then traced."""
    first, second = ("cuda:0", "cuda:1") if device == "cuda" else ("cpu", "cpu")
    one, two = nn.Linear(6, 10).to(first), nn.Linear(10, 2).to(second)
    opt = ingot.optim.Adam([*one.parameters(), *two.parameters()], lr=0.05)
    x, y, found = ingot.randn(7, 6), ingot.randn(7, 2).to(second), []

    def net(x):
        return two(ingot.relu(one(x.to(first))).to(second))

    for _ in range(4):
        opt.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        found += [loss.item(), float(nn.utils.clip_grad_norm_([*one.parameters(), *two.parameters()], 0.5)),
                  float(nn.utils.get_total_norm([p.grad for p in two.parameters()], float("inf")))]
        opt.step()
    traced = jit.trace(lambda x: net(x).sum())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found += [traced(x.to(first) + n).item() for n in range(5)]
    assert [str(w.message).partition(":")[0] for w in caught] == ["<lambda> runs as it is"] * (device == "cuda")
    return found


class Twice(ingot.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2, x.exp()

    @staticmethod
    def backward(ctx, doubled, raised):
        x, = ctx.saved_tensors
        return doubled * 2 + raised * x.exp()


def own_function(device):
    """Of whose two results one is not used: its gradient is zeros, where the other is."""
    x = ingot.linspace(-1, 1, 6).to(device).requires_grad_()
    Twice.apply(x)[1].sum().backward()
    return x.grad.tolist()


def scaled_in_two_parts(device):
    """A scaler over two devices: an overflow on one of them makes the step be left out, and the scale go down."""
    first, second = ("cuda:0", "cuda:1") if device == "cuda" else ("cpu", "cpu")
    one, two, found = nn.Linear(4, 3).to(first), nn.Linear(3, 2).to(second), []
    opts = [ingot.optim.SGD(m.parameters(), 0.1) for m in (one, two)]
    scaler = ingot.amp.GradScaler(device, init_scale=1024.0, growth_interval=2)
    for step in range(5):
        loss = two(one(ingot.ones(2, 4, device=first)).to(second)).square().sum()
        scaler.scale(loss).backward()
        if step == 2:
            two.weight.grad[0, 0] = float("inf")
        for opt in opts:
            scaler.step(opt)
        scaler.update()
        for opt in opts:
            opt.zero_grad()
        found += [loss.item(), scaler.get_scale()]
    opt = ingot.optim.SGD([*one.parameters(), *two.parameters()], 0.1)
    scaler.scale(two(one(ingot.ones(2, 4, device=first)).to(second)).sum()).backward()
    scaler.step(opt)
    return [*found, one.weight.sum().item()]


PROGRAMS = [nanogpt, gan, dqn, averaged_and_resumed, served, prefetched, in_two_parts, scaled_in_two_parts,
            own_function]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_a_program_on_the_device_equals_the_cpu(program):
    ingot.manual_seed(1337)
    want = program("cpu")
    with mock_cuda.installed(devices=2):
        ingot.manual_seed(1337)
        got = program("cuda")
    tolerance = 2e-2 if program is nanogpt else 1e-4
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


def test_a_batch_that_does_not_fit_is_halved_until_it_does():
    with mock_cuda.installed(memory=40 << 20):
        size, failures = 256, 0

        def run(size):
            x = ingot.zeros(size, 1 << 16, device="cuda") + 1
            return (x @ ingot.ones(1 << 16, 1, device="cuda")).sum().item() / (1 << 16)

        while True:
            try:
                found = run(size)
                break
            except ingot.cuda.OutOfMemoryError:
                size, failures = size // 2, failures + 1
                ingot.cuda.empty_cache()
        assert found == size == 256 >> failures and 2 <= failures <= 3


@pytest.mark.parametrize("call", [2, 5])        # launch by launch, and as a CUDA graph
def test_a_traced_step_out_of_memory_raises_and_is_not_repeated(call, monkeypatch):
    """A program that skips the batch continues as if it had not come."""

    def trained(device):
        ingot.manual_seed(0)
        net = nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 3)).to(device)
        opt = ingot.optim.AdamW(net.parameters(), lr=0.05)

        @jit.trace
        def step(x):
            opt.zero_grad()
            loss = F.dropout(net(x), 0.2).square().mean()
            loss.backward()
            opt.step()
            return loss

        for i in range(8):
            x = ingot.linspace(-1, 1, 30).reshape(5, 6).mul(i + 1).to(device)
            ingot.manual_seed(i)
            if i == call and device == "cuda":
                with monkeypatch.context() as patch, pytest.raises(ingot.cuda.OutOfMemoryError):
                    patch.setattr(Allocator, "allocate", none_left)
                    step(x)
            elif i != call:
                step(x)
        counts = [opt.state[p]["step"].item() for p in net.parameters()]
        return counts, [p.detach().cpu().numpy() for p in net.parameters()]

    def none_left(*args):
        raise ingot.cuda.OutOfMemoryError("no memory is left")

    with mock_cuda.installed():
        (counts, got), (want_counts, want) = trained("cuda"), trained("cpu")
    assert counts == want_counts == [7] * 4
    for g, w in zip(got, want):
        np.testing.assert_allclose(g, w, rtol=1e-4, atol=1e-6)


# Graphs by hand.


def captured(step, before):
    """A step as a CUDA graph, after it ran `before` times beside the default stream."""
    side = ingot.cuda.Stream()
    side.wait_stream(ingot.cuda.current_stream())
    with ingot.cuda.stream(side):
        for _ in range(before):
            step()
    ingot.cuda.current_stream().wait_stream(side)
    graph = ingot.cuda.CUDAGraph()
    with ingot.cuda.graph(graph):
        result = step()
    return graph, result


def test_a_whole_step_with_dropout_as_a_graph():
    batches = [(ingot.randn(5, 8), ingot.randn(5, 4)) for _ in range(4)]

    def start(device):
        ingot.manual_seed(0)
        net = nn.Sequential(nn.Linear(8, 16), nn.Dropout(0.2), nn.ReLU(), nn.Linear(16, 4)).to(device)
        return net, ingot.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

    def step(net, opt, x, y):
        opt.zero_grad(set_to_none=True)
        loss = F.mse_loss(net(x), y)
        loss.backward()
        opt.step()
        return loss

    net, opt = start("cpu")
    ingot.manual_seed(9)
    want = [step(net, opt, x, y).item() for x, y in batches]
    with mock_cuda.installed():
        net, opt = start("cuda")
        x, y = ingot.zeros(5, 8, device="cuda"), ingot.zeros(5, 4, device="cuda")
        weights, buffers = copy.deepcopy(net.state_dict()), copy.deepcopy(opt.state_dict())
        graph, loss = captured(lambda: step(net, opt, x, y), 2)
        net.load_state_dict(weights)
        for s in opt.state.values():
            s["momentum_buffer"].zero_()
        assert not buffers["state"]
        ingot.manual_seed(9)
        got = []
        for new_x, new_y in batches:
            x.copy_(new_x.pin_memory(), non_blocking=True)
            y.copy_(new_y)
            graph.replay()
            got.append(loss.item())
    np.testing.assert_allclose(got, want, rtol=1e-4)


OPTIMIZERS = ["Adam", "AdamW", "NAdam", "RAdam", "Adamax", "RMSprop", "Adadelta", "Rprop", "ASGD"]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_that_are_capturable_count_in_graphs(name):
    def start(device):
        ingot.manual_seed(0)
        net, x = nn.Linear(4, 4).to(device), ingot.ones(2, 4, device=device)
        opt = getattr(ingot.optim, name)(net.parameters(), lr=1e-3, capturable=device == "cuda")

        def step():
            opt.zero_grad(set_to_none=False)
            loss = (net(x) ** 2).sum()
            loss.backward()
            opt.step()
            return loss

        return opt, step

    _, step = start("cpu")
    want = [step().item() for _ in range(9)]
    with mock_cuda.installed():
        opt, step = start("cuda")
        graph, loss = captured(step, 2)
        got = []
        for _ in range(7):
            graph.replay()
            got.append(loss.item())
        steps = [s["step"] for s in opt.state.values()]
        assert all(s.is_cuda and s.item() == 9 for s in steps)
        opt.load_state_dict(ingot.load(_saved(opt.state_dict()), map_location="cpu"))
        assert all(s["step"].is_cuda for s in opt.state.values())
    np.testing.assert_allclose(got, want[2:], rtol=1e-4)


def _saved(state):
    file = io.BytesIO()
    ingot.save(state, file)
    file.seek(0)
    return file


def test_an_optimizer_that_counts_on_the_host_refuses_to_be_captured():
    with mock_cuda.installed():
        net = nn.Linear(4, 4).cuda()
        opt = ingot.optim.Adam(net.parameters())
        net(ingot.ones(2, 4, device="cuda")).sum().backward()
        with pytest.raises(RuntimeError, match="capturable=True"), ingot.cuda.graph(ingot.cuda.CUDAGraph()):
            opt.step()
        opt.step()
        assert next(iter(opt.state.values()))["step"].item() == 1
