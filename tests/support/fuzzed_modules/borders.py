"""Modules about the border of a call, drawn from a seed: which tensors go in, what is written and returned, what follows.

Arguments share memory and have histories. The function makes views, writes in place, and returns a structure of tensors. Then
`follow` goes backward, writes, or asks questions. Statements run as they are drawn, and most of those that raise are dropped.
"""

import contextlib
import io
import random
import warnings

import ingot
from fuzzed_modules.generate import PRELUDE, indented

TOP = """
@dataclass
class Record:
    a: object
    b: object
@dataclass(frozen=True)
class Frozen:
    a: object
    b: object
Pair = namedtuple('Pair', 'first second')
class Scaled(ingot.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x)
        ctx.factor, ctx.names, ctx.x = factor, ['a'], x
        return x * factor
    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * ctx.factor + x * len(ctx.names) + ctx.x.sin(), None
f64 = ingot.float64
w = ingot.tensor([[0.5, -1.25, 2.0], [1.5, 0.75, -0.5]], dtype=f64, requires_grad=True)
u = ingot.tensor([0.3, -0.7, 1.1], dtype=f64, requires_grad=True)
kept = ingot.tensor([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]], dtype=f64)
scaled_w = w * 1.5
def tensors(found):
    if isinstance(found, ingot.Tensor): return [found]
    if isinstance(found, (Record, Frozen)): return tensors(list(vars(found).values()))
    if isinstance(found, dict): found = list(found.values())
    return [t for x in found for t in tensors(x)] if isinstance(found, (list, tuple)) else []
def taped(found):
    return [t for t in tensors(found) if t.requires_grad]
def weighed(found):
    weights = [ingot.arange(1.0, 1 + t.numel(), dtype=f64).reshape(t.shape) * (k + 1) for k, t in enumerate(taped(found))]
    return sum([(t * g).sum() for t, g in zip(taped(found), weights)])
def there(found):
    return [g for g in found if g is not None]
def tried(run):
    try:
        return run()
    except Exception as error:
        return type(error).__name__
def relations(found):
    places = [t.untyped_storage().data_ptr() for t in found]
    return [(t.requires_grad, t.is_leaf, t.grad_fn is None, t._version, [k for k, x in enumerate(found) if t._base is x],
             [k for k, x in enumerate(found) if t is x], [k for k, p in enumerate(places) if p == q])
            for t, q in zip(found, places)]
"""
# Tensors outside, made for each call. Later ones refer to earlier ones.
OUTSIDE = ("{t} = w * 2", "{t} = (w * u).exp()", "{t} = w.clone()", "{t} = ingot.full((2, 3), 0.5 + i, dtype=f64)",
           "{t} = ingot.arange(6.0, dtype=f64).reshape(3, 2).t() + i", "{t} = ingot.linspace(-1, 1 + i, 3, dtype=f64)",
           "{t} = w", "{t} = ({p} + 1).detach().requires_grad_()", "{t} = {p}[0]", "{t} = {p}[..., 1]", "{t} = {p}.t()",
           "{t} = {p}[1:]", "{t}, {t}b = {p}.unbind(0)", "{t}, {t}b = {p}.split(1)", "{t} = {p}.detach()", "{t} = {p}.data",
           "{t} = {p}.view(-1)[1:4]", "{t} = {p}[..., :2]", "{t} = {p}.expand_as({p})", "{t} = {p}[..., 1:]",
           "{t} = {p}.reshape(-1)", "{t} = {p}.diagonal()", "{t} = {p}.unsqueeze(0)", "with ingot.no_grad(): {t} = {p}[0]")
VIEWS = ("{p}[0]", "{p}[1:]", "{p}[..., 0]", "{p}.t()", "{p}.reshape(-1)", "{p}.view(-1)", "{p}.unbind(0)[1]",
         "{p}.split(1)[0]", "{p}.detach()", "{p}.data", "{p}[..., :2]", "{p}.unsqueeze(0)", "{p}.squeeze()",
         "{p}.narrow(0, 0, 1)", "{p}.diagonal()", "{p}.expand(2, *{p}.shape)", "{p}.chunk(2)[1]", "{p}.transpose(0, -1)",
         "{p}.movedim(0, -1)", "{p}.flatten()", "{p}[None]", "{p}.view_as({p})", "{p}.contiguous()", "{p}.T")
VALUES = ("{p} * {q}", "{p} + {q}", "{p}.sin()", "{p}.exp()", "{p} * {p}", "{p}.clone()", "{p}.sum(0)", "({p} - {q}).tanh()",
          "{p} * 3", "{p} / (1 + {q} ** 2)", "ingot.where({p} > 0, {p}, {q})", "{p}.mean()", "{p}.sigmoid() * {q}",
          "{p}.cumsum(0)", "Scaled.apply({p}, 2.0)", "ingot.stack([{p}, {q}])", "ingot.cat([{p}, {q}])", "{p}.sort(0)[0]",
          "{p}.requires_grad_()", "{p}.detach().requires_grad_()", "ingot.zeros_like({p})", "{p}.max(0)[0]")
WRITES = ("{p}.mul_({q})", "{p}.add_(1)", "{p}.copy_({q})", "{p}[0] = {q}", "{p}[..., 0] = 2.0", "{p}.zero_()",
          "{p}.mul_(1.5)", "{p}.exp_()", "{p}.add_({q})", "{p} += {q}", "{p}.data.mul_(2)", "{p}.detach().add_(1)", "{p}.t_()",
          "{p}.clamp_(-1, 1)", "{p}.fill_(0.25)", "{p}.sigmoid_()", "{p}[1:].mul_({q})", "{p}.sub_({q})",
          "{p}.masked_fill_({q} > 0, 0.5)", "{p}.detach_()", "{p}.unsqueeze_(0)", "ingot.add({p}, {q}, out={p})",
          "{p}.set_({q})", "{p}.data = {q}.data", "{p}[0].data.mul_(2)", "{p}.data[..., 0] = 2.0", "{p}.t().data.add_(1)",
          "{p}[1:].detach().zero_()")
ASKS = ("log.append({p}.requires_grad)", "log.append({p}.is_leaf)", "log.append({p}._base is {q})",
        "log.append({p}._is_view())", "log.append({p} is {q})", "log.append({p}.grad_fn is None)", "{p}.retain_grad()",
        "log.append({p}.is_contiguous())", "{p}.register_hook(lambda g: g * 2)", "{p}.register_hook(lambda g: g * {p})",
        "log.append({p}._version)", "log.append({p}.storage_offset())", "log.append({p}.grad is None)",
        "log.append({p}.untyped_storage().data_ptr() == {q}.untyped_storage().data_ptr())",
        "log.extend([tuple(g.shape) for g in ingot.autograd.grad({p}.sum(), [{q}], retain_graph=True)])")
WRAPS = ("{s}",) * 9 + ("with ingot.no_grad(): {s}", "with ingot.no_grad(): {s}", "with ingot.enable_grad(): {s}")
RETURNS = ("return {p}", "return {p}, {q}", "return [{p}, {q}]", "return {{'a': {p}, 'b': {q}}}", "return {p}, {p}",
           "return Pair({p}, {q})", "return Record({p}, [{q}])", "return {p}, {q}, {r}", "return {p}, {q}, {r}, {s}",
           "return Frozen({p}, ({q},))", "return ({p}, [{q}, {r}], log)")
# Statements after the call. `given` are keywords of the functions of autograd.
GRADIENTS = ("weighed(result).backward({given})", "ingot.autograd.grad(weighed(result), {pool}, allow_unused=True, {given})",
             "tensors(result)[0].sum().backward({given})", "tensors(result)[-1].sum().backward({given})",
             "({p} * {p}).sum().backward({given})", "weighed(result).backward(inputs=[w], {given})",
             "ingot.autograd.grad(taped(result), [u, w], [ingot.ones(2, *t.shape, dtype=f64) for t in taped(result)], "
             "is_grads_batched=True, allow_unused=True, {given})",
             "weighed(ingot.autograd.grad(weighed(result), {pool}, create_graph=True, materialize_grads=True))"
             ".backward({given})",
             "ingot.autograd.grad(weighed(there(ingot.autograd.grad(weighed(result), [u, w], create_graph=True, "
             "allow_unused=True))), {pool}, allow_unused=True, {given})")
LATER = ("tensors(result)[0].add_(1)", "tensors(result)[-1].mul_(w)", "{p}.mul_(2)", "{p}.data.add_(1)",
         "tensors(result)[0].retain_grad()", "{p}.retain_grad()", "tensors(result)[0].register_hook(lambda g: g * 3) and None",
         "{p}.register_hook(lambda g: g * 3) and None", "({p} * {p}).sum()", "{p}.detach().clone()",
         "tensors(result)[-1].register_hook(lambda g: g * {p}.sum()) and None", "tensors(result)[-1].data.mul_(2)",
         "tensors(result)[0][..., 0].data.add_(1)", "tensors(result)[0].requires_grad_()",
         "setattr(tensors(result)[0], 'grad', ingot.ones_like(tensors(result)[0]))", "tensors(result)[-1].set_({p})",
         "tensors(result)[0].register_post_accumulate_grad_hook(lambda t: t.grad.mul_(2)) and None",
         "tensors(result)[-1].t_()", "setattr(tensors(result)[0], 'data', {p}.data)", "[t._version for t in tensors(result)]")
AFTER = (*[f"out.append(tried(lambda: {text}))" for text in (*GRADIENTS, *LATER)],
         "with ingot.no_grad(): out.append(tried(lambda: tensors(result)[0].add_(1)))", "with ingot.no_grad(): {p}.add_(0.5)",
         "out.append(relations([*tensors(result), {all}]))", "w.grad = u.grad = None")


class _Writer:
    """Writer of one module. `space` holds what the names of its text hold."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.space: dict = {"i": 0, "log": [], "out": []}
        exec(PRELUDE + TOP, self.space)

    def drawn(self, tables, names, count, inside=False, prefix="t") -> list:
        """Return that many statements over some names. Tensors that they make are added to the names."""
        rng, found = self.rng, []
        for _ in range(count):
            for _ in range(8):
                template, target = rng.choice(rng.choice(tables)), f"{prefix}{len(self.space)}"
                p, q = (rng.choice(names) if rng.random() < 0.5 else names[-1] for _ in range(2))
                text = template.format(p=p, q=q, t=target, all=", ".join(names), given=rng.choice(("", "retain_graph=True")),
                                       pool=f"[{', '.join(rng.sample(names, min(2, len(names))))}]")
                text = f"{target} = {text}" if template in VIEWS or template in VALUES else text
                text = rng.choice(WRAPS).format(s=text) if inside else text
                if self._runs(text) or (inside and rng.random() < 0.04):
                    found.append(text)
                    break
            names += [k for k, x in self.space.items() if isinstance(x, ingot.Tensor) and k.startswith(target)]
        return found

    def _runs(self, text) -> bool:
        try:
            exec(text, self.space)
        except Exception:
            return False
        return True

    def text(self) -> str:
        rng, names = self.rng, ["w"]
        outside = self.drawn((OUTSIDE,), names, rng.randint(2, 7), prefix="o")
        own = names[1:]
        args = rng.sample(own, min(len(own), rng.randint(1, 4)))
        inside = [*rng.sample(["w", "u", "kept", "scaled_w"], 2), *args]
        tables = (VIEWS, VALUES, VALUES, WRITES, WRITES, ASKS) if rng.random() < 0.5 else (VIEWS, VALUES, WRITES, WRITES)
        body = self.drawn(tables, inside, rng.randint(1, 6), inside=True)
        ending = rng.choice(RETURNS).format(p=inside[-1], **{k: rng.choice(inside) for k in "qrs"})
        self._runs(f"result = {ending.removeprefix('return ')}")
        after = self.drawn((AFTER,), [*own, "w"], rng.randint(1, 5), prefix="a")
        everything = ", ".join(own)
        parts = {f"def fn({', '.join(args)}):": ["log = []", *body, ending],
                 "def args(i):": [*outside, f"outside.append(({everything},))", f"return {', '.join(args)},"],
                 "def follow(i, given, result):": [f"{everything}, = outside[-1]", "out = []", *after, "return out"],
                 "def turn(i):": ["if i == 3: w.grad = None", "else: w.grad = u.grad = None"]}
        return "\n".join([TOP, "outside = []", *[f"{head}\n{indented(chr(10).join(lines))}" for head, lines in parts.items()]])


def source(seed: int) -> str:
    """Return the text of a module."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        return _Writer(seed).text()
