"""Results of a traced function after the call: written, read in several places, differentiated one after the other."""

import pytest

import ingot
from ingot import jit
from side_by_side import plain

CALLS = 4


def both(life):
    assert life(jit.trace) == life(lambda f: f)


def by_branch(x):
    e = x.exp()
    return (e, e * e) if x.sum() > 0 else (e, e * 3)


def test_what_backward_needs_is_no_result_that_may_be_written():
    fn = jit.trace(by_branch)
    for _ in range(CALLS):
        x = ingot.ones(3, requires_grad=True)
        e, y = fn(x)
        y.sum().backward(retain_graph=True)
        before = x.grad.clone()
        with ingot.no_grad():
            e.mul_(2)
        x.grad = None
        try:
            y.sum().backward()
        except RuntimeError as error:
            assert "overwritten" in str(error)
        else:
            assert plain(x.grad) == plain(before)


def apart(x, w):
    return (x * w).exp(), (x * w).sin(), x * 2


def together(x, w):
    e = (x * w).exp()
    return e, e.sin(), x + w


@pytest.mark.parametrize("fn", [apart, together])
@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 1), (2, 0, 0), (1, 2, 0)])
def test_backward_goes_through_each_result_once(fn, order):
    def life(wrap):
        step, seen = wrap(fn), []
        for _ in range(3):
            x, w = ingot.ones(3, requires_grad=True), ingot.ones(3) * 2
            results = step(x, w)
            for i in order:
                try:
                    results[i].sum().backward()
                except RuntimeError as error:
                    seen.append("a second time" in str(error))
                seen.append(plain(x.grad))
        return seen

    both(life)


def test_what_was_saved_is_freed_once_no_result_is_left_that_needs_it():
    step = jit.trace(together)
    for _ in range(2):
        _, y, s = step(ingot.ones(3, requires_grad=True), ingot.ones(3))
    y.sum().backward()
    assert y.grad_fn.residuals is not None      # of the sum
    s.sum().backward()
    assert y.grad_fn.residuals is None


SPREAD = {
    "expand": lambda x: (x * 2)[:1].expand(3, 4),
    "expand of one": lambda x: (x * 2).sum().expand(2, 3),
    "windows": lambda x: (x * 2).flatten().unfold(0, 3, 1),
    "strided": lambda x: (x * 2).as_strided((3, 2), (1, 1)),
}


@pytest.mark.parametrize("name", SPREAD)
def test_a_result_that_has_an_element_in_several_places_has_it_at_later_calls(name):
    def life(wrap):
        fn, seen = wrap(SPREAD[name]), []
        for n in (2, 2, 3, 4, 3):
            x = ingot.arange(4.0 * n).reshape(n, 4).requires_grad_()
            y = fn(x)
            y.sum().backward()
            seen.append((plain(x.grad), y.stride(), plain(y)))
            with ingot.no_grad():
                y[0, 0].fill_(7)
            seen.append(plain(y))
        return seen

    both(life)


@pytest.mark.parametrize("part", [lambda z: z.real, lambda z: z.imag, ingot.view_as_real])
def test_parts_of_complex_numbers_stay_locked(part):
    def life(wrap):
        fn, seen = wrap(lambda x: part(ingot.complex(x, x * 2))), []
        for _ in range(CALLS):
            y = fn(ingot.ones(3))
            seen.append(plain(y))
            with pytest.raises(RuntimeError, match="read-only"):
                y.fill_(1)
        return seen

    both(life)
