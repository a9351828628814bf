"""Uses of values, by kind: templates of statements.

$e reads the value, $f reads it in another way or another value of its kind, $g any value. $p is the plain path to it, for
statements that change it, and $t a fresh name. `x` is a tensor of three numbers and `out` the list of results.
"""


def _table(text):
    found: dict = {}
    for part in text.split("### ")[1:]:
        kind, _, body = part.partition("\n")
        found[kind] = tuple(line.replace("\\n", "\n") for line in body.split("\n") if line)
    return found


READS = _table(r"""
### number
x = x * $e
x = x + $e
x = x * $e - $f
out.append($e)
out.append(($e, type($e).__name__))
out.append([$e, $f])
if $e > 1: x = x + 1\nelse: x = x - 2
x = x * 3 if $e else x - 1
out.append(f'{$e}')
out.append({1: 'one', 2: 'two', 0.5: 'half'}.get($e, 'none'))
for $t in range(int($e) % 3): x = x + $t
out.append(x[int($e) % 2:])
out.append(isinstance($e, bool))
out.append($e is True)
out.append(min($e, 1))
out.append(round($e, 1))
out.append(divmod($e, 2))
out.append(-$e)
match $e:\n    case 1: x = x + 1\n    case float(): x = x * 2\n    case _: x = x - 1
match $e:\n    case bool(): x = x + 1\n    case int() | float(): out.append('number')\n    case _: out.append('other')
if ($t := $e) > 1: out.append($t)
out.append([$e] * 2)
out.append(math.floor($e))
out.append(hash($e))
out.append(x.shape[0] * $e)
x = ingot.full((3,), float($e)) + x
out.append(sorted([$e, 1, 0.75]))
out.append(str($e))
out.append(repr($e))
out.append(np.float32($e) * 2)
assert $e < 3
try: out.append(math.sqrt($e))\nexcept ValueError: x = x - 5
out.append(1 / $e)
out.append($e == $f)
out.append($e in (1, 2))
out.append($e < $f <= 2)
out.append($e if x.sum() > $f else 'less')
out.append(Record($e))
out.append(Pair($e, x))
out.append({'k': $e, 'x': x})
out.append(dict.fromkeys([$e], 1))
out.append(json.dumps(float($e)))
out.append(int($e) << 1)
out.append(x.sum().item() * $e)
out.append([i * $e for i in range(2)])
out.append({i: $e for i in range(2)})
out.append(functools.reduce(operator.mul, [$e, $f], 1))
out.append('%s %r' % ($e, $f))
out.append('{:.2f}'.format($e))
out.append(bool($e) and 'yes')
out.append(copy.deepcopy([$e]))
out.append(x if $e != 1 else x * 1)
out.append(math.copysign(1, $e))
x = x.clamp(max=float($e))
x = ingot.where(x > $e, x, x * 2)
print('value', $e)
out.append((lambda *a, **k: (a, k))($e, k=$f))
x = scaled(x, $e)
x = scaled(x, k=$e)
### text
x = getattr(ingot, $e)(x)
x = getattr(x, $e)()
out.append($e.upper())
out.append(len($e))
if $e == 'sin': x = x + 1
out.append($e in ('sin', 'abs'))
match $e:\n    case 'sin': x = x + 1\n    case 'abs' | 'neg': x = x * 2\n    case _: x = x - 1
out.append(f'{$e!r:>8}')
out.append({'sin': 1, 'tanh': 2}.get($e))
out.append($e.startswith('s'))
out.append(sorted($e))
out.append($e + '!')
out.append($e)
out.append(getattr(math, $e, None) is None)
out.append([c for c in $e][:2])
out.append($e < $f)
out.append('-'.join([$e, $f]))
out.append(hasattr(x, $e))
out.append($e.encode())
out.append(Thing(1).__getattribute__('a') if $e else 0)
out.append(x.get($e) if isinstance(x, dict) else str.title($e))
### sequence
for $t in $e: x = x + $t
out.append(len($e))
out.append(list($e))
out.append(tuple($e))
$t, *$t2 = $e\nout.append(($t, $t2))
x = x * $e[0]
out.append($e[-1])
x = x + sum($e)
out.append(2 in $e)
for $t, $t2 in enumerate($e): out.append(($t, $t2))
for $t, $t2 in zip($e, $f): out.append($t == $t2)
out.append(list(reversed($e)))
out.append(max($e))
out.append(sorted($e))
out.append((lambda *a: len(a))(*$e))
out.append([t * 2 for t in $e if t > 1])
out.append(any(t > 1 for t in $e))
out.append(list(map(str, $e)))
if not $e: x = x - 1
out.append($e)
out.append([$e, $f])
out.append($e is $f)
out.append($e == [1, 2])
out.append($e.count(1))
match list($e):\n    case [$t, $t2]: out.append($t2)\n    case []: x = x + 5\n    case _: x = x * 2
out.append(list(itertools.accumulate($e)))
out.append(functools.reduce(lambda a, b: a * b, $e, 1))
out.append(next(iter($e), None))
out.append(copy.copy($e))
out.append([type(t).__name__ for t in $e])
out.append({t: i for i, t in enumerate($e)})
out.append(dict(zip('ab', $e)))
out.append(list(filter(None, $e)))
out.append(type($e).__name__)
out.append([*$e, *$f])
out.append($e[:1])
out.append(x[list($e)] if x.sum() > 0 else 0)
out.append(ingot.tensor(list($e)))
out.append(math.prod($e))
out.append(list(itertools.chain($e, $f)))
out.append(list(itertools.product($e, [0]))[:2])
out.append(isinstance($e, (list, tuple)))
while_ = list($e)\nwhile while_: x = x + while_.pop()
out.append(np.array(list($e)))
### mapping
x = x * $e['a']
out.append(list($e))
for $t, $t2 in $e.items(): out.append(($t, $t2))
out.append(len($e))
out.append('a' in $e)
out.append($e.get('b', 3))
out.append(sorted($e.keys() & {'a', 'c'}))
out.append(sorted($e))
out.append(max($e.values(), default=0))
out.append(dict($e))
out.append((lambda **kw: list(kw.items()))(**$e))
match $e:\n    case {'a': $t, 'b': $t2}: out.append($t)\n    case {'a': $t}: x = x + $t\n    case _: x = x - 1
out.append(next(iter($e), None))
out.append(list(reversed($e)))
out.append($e == {'a': 1})
out.append($e)
out.append($e is $f)
out.append(json.dumps(dict($e)))
out.append({k: v for k, v in $e.items() if v > 1})
out.append([type(v).__name__ for v in $e.values()])
out.append(list(zip($e, $f)))
out.append({**$e, **$f})
out.append(sum($e.values()))
if $e: x = x + 1
out.append(type($e).__name__)
out.append(copy.copy($e))
out.append(list($e.items())[-1:])
out.append(NS(**$e).a)
try: x = x + $e['b']\nexcept KeyError as error: out.append(str(error))
out.append(operator.itemgetter('a', 'b')($e))
out.append(sorted($e.items(), key=lambda p: p[1]))
out.append($e | {'q': 1})
out.append('{a}'.format(**$e))
out.append('%(a)s' % $e)
### set
out.append(2 in $e)
out.append(len($e))
out.append(sorted($e))
for $t in $e: x = x + $t
out.append(sorted($e | {5}))
out.append($e <= {1, 2, 3})
out.append([type(t).__name__ for t in $e])
out.append(sum($e))
out.append($e == {1, 2})
out.append(list($e))
if $e: x = x + 1
out.append(sorted($e & $f))
out.append(max($e, default=0))
out.append(frozenset($e))
out.append($e.isdisjoint({2}))
### tensor
x = x * $e
x = x + $e.sum()
out.append($e)
out.append($e * 1)
out.append($e.shape)
out.append($e is $f)
out.append($e[:1])
out.append($e.requires_grad)
out.append($e.sum().item())
out.append(str($e.dtype))
if $e.sum() > 2: x = x + 1
out.append($e.detach())
out.append($e.tolist())
out.append($e.ndim)
out.append(x * $e + $f)
out.append(ingot.equal($e, $f))
out.append($e.is_leaf)
out.append($e.numpy().sum() if not $e.requires_grad else 0)
out.append([t for t in $e])
out.append(len($e))
out.append(float($e.max()) > 1)
x = x + $e.float().mean()
out.append(($e, $f, x))
out.append($e.grad)
out.append($e.view(-1)[0])
out.append(ingot.stack([x.float(), $e.float()]))
### array
x = x + ingot.tensor($e)
out.append(float($e.sum()))
out.append($e[0])
out.append(len($e))
out.append($e.shape)
out.append($e.dtype.name)
for $t in $e: out.append($t)
out.append($e.copy())
out.append($e.tolist())
out.append($e * 2)
out.append($e.max() > 1)
x = x * float($e.flat[0])
out.append($e.mean())
out.append($e.item(0))
x = x + ingot.from_numpy($e)
out.append(np.dot($e, $e))
out.append($e.astype('i').tolist())
out.append(np.array_equal($e, $f))
### function
x = $e(x)
out.append($e(x))
out.append($e is $f)
out.append(callable($e))
out.append(list(map($e, [x]))[0])
out.append(getattr($e, '__name__', 'none'))
x = $e($f(x))
out.append(functools.partial($e, x)())
out.append(isinstance($e, functools.partial))
x = functools.reduce(lambda t, f: f(t), [$e, $f], x)
out.append({'f': $e}['f'](x))
out.append(getattr($e, 'keywords', None))
### object
out.append($e[0] if isinstance($e, tuple) else $e.a)
out.append(type($e).__name__)
out.append(isinstance($e, Thing))
out.append(hasattr($e, 'b'))
out.append(getattr($e, 'b', 0))
out.append($e == $f)
out.append($e is $f)
x = x * $e.a
out.append($e)
x = $e.scale(x)
out.append(sorted(vars($e)))
out.append($e == Record(1))
match $e:\n    case Thing(a=1): x = x + 1\n    case Record(a=$t): out.append($t)\n    case (1, $t): x = x * $t
out.append($e.__class__.__mro__[0].__name__)
out.append(bool($e))
out.append(copy.copy($e))
out.append(issubclass(type($e), Thing))
out.append(repr($e) if isinstance($e, tuple) else 0)
out.append({'k': $e}['k'] is $e)
### nothing
x = x if $e is None else x + 1
out.append($e)
out.append($e or 2)
out.append($e == ())
out.append(type($e).__name__)
if not $e: x = x * 2
""")

WRITES = _table(r"""
### number
$w:$e + 1
$w:$e * 2
$w:1 - $e
$w:x.shape[0]
$w:-$e
### text
$w:$e + 's'
$w:'abs'
$w:'sin' if $e != 'sin' else 'tanh'
### sequence
$p.append(1)
$p.append($g)
$p[0] = 2
$p.pop()
$p.pop(0)
$p.insert(0, 3)
$p.reverse()
$p.sort()
$p.extend([1, 2])
del $p[0]
$p.clear()
$p.remove(1)
$p[:] = [2, 1]
$p[-1] = x.sum()
$p.append(len($p))
$p += [4]
$w:list($e) + [1]
$w:$e[1:]
$w:[t + 1 for t in $e]
### mapping
$p['c'] = x.shape[0]
$p['a'] = $p['a'] + 1
$p.pop('a', None)
$p.setdefault('c', 3)
$p.update(b=1)
$p.popitem()
del $p['a']
$p.clear()
$p['a'] = $p.pop('a')
$p['d'] = $g
$p['x'] = x
$p['a'] += 1
$p |= {'e': 1}
$w:dict($e, c=1)
$w:{k: v for k, v in $e.items() if k != 'a'}
### set
$p.add(3)
$p.discard(2)
$p.pop()
$p.update({7, 8})
$p.clear()
$p.remove(1)
$p |= {4}
$w:$e | {9}
### tensor
$p.add_(1)
$p.mul_(0.5)
$p[0] = 3.0
$p.zero_()
$p.copy_(x)
$p.detach().add_(1)
$p.grad = None
$p.requires_grad_()
($p * x).sum().backward()
$p.data = $p.data * 2
$p.fill_(2)
$p += 1
$w:x
$w:$e * 2
$w:x.detach()
$w:$e.clone()
### array
$p += 1
$p[0] = 2
$p.fill(3)
$p *= 2
$p.sort()
$w:$e * 2
$w:x.detach().numpy()
### function
$w:double
$w:ingot.tanh
### object
$p.a = 3
$p.b = $g
$p.a += 1
$p.__class__ = Other
$p.last = x
del $p.b
setattr($p, 'c', 2)
$w:Thing(3)
$w:$f
### nothing
$w:1
$w:None
$w:x
""")
