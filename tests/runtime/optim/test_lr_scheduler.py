"""Learning rate schedules: tensor rates, schedules of users, combined schedules, error messages."""

import math

import pytest

import ingot
from ingot import optim
from ingot.optim import lr_scheduler as sched
from ingot.optim.swa_utils import SWALR
from tests.runtime.optim.test_optimizers import SCHEDULES

START = (0.4, 0.1)
ALL = SCHEDULES | {
    "sequential, from its second on": lambda m, o: m.SequentialLR(o, [m.ConstantLR(o, 0.1), m.ExponentialLR(o, 0.9)], [0]),
    "swa": lambda m, o: SWALR(o, 0.05, anneal_epochs=3)}


def optimizer_and_schedule(name, as_rate):
    groups = [{"params": [ingot.ones(2).requires_grad_()], "lr": as_rate(lr)} for lr in START]
    opt = optim.SGD(groups, lr=0.1, momentum=0.5)
    return opt, ALL[name](sched, opt)


@pytest.mark.parametrize("name", sorted(ALL))
def test_rates_that_are_tensors_go_as_numbers_do(name):
    opt, s = optimizer_and_schedule(name, float)
    other, t = optimizer_and_schedule(name, lambda lr: ingot.tensor(lr, dtype=ingot.float64))
    tensors = [g["lr"] for g in other.param_groups]
    told, expected = [], []
    for _ in range(12):
        for o, schedule in ((opt, s), (other, t)):
            o.step()
            schedule.step()
        expected.append([g["lr"] for g in opt.param_groups])
        told.append(t.get_last_lr())
        assert [g["lr"] for g in other.param_groups] == pytest.approx(expected[-1])
        assert all(g["lr"] is own for g, own in zip(other.param_groups, tensors))
    for seen, numbers in zip(told, expected):           # returned rates do not change later
        assert [lr.item() for lr in seen] == pytest.approx(numbers)
    assert [float(g["initial_lr"]) for g in other.param_groups] == pytest.approx([g["initial_lr"] for g in opt.param_groups])


class Halving(sched.LRScheduler):
    """A schedule as users write them, which checks how get_lr is called."""

    def __init__(self, optimizer):
        self.epochs = []
        super().__init__(optimizer)

    def get_lr(self):
        self.epochs.append((self._is_initial, self._get_lr_called_within_step))
        return [lr / 2 ** self.last_epoch for lr in self.base_lrs]

    def _get_closed_form_lr(self):
        self.epochs.append("closed form")
        return (lr / 2 ** self.last_epoch for lr in self.base_lrs)


def test_schedules_of_users_see_how_they_are_asked():
    opt = optim.SGD([ingot.ones(2).requires_grad_()], lr=0.8)
    s = Halving(opt)
    opt.step()
    s.step()
    s.step(4)
    s.get_lr()
    assert s.epochs == [(True, True), (False, True), "closed form", (False, False)] and s.get_last_lr() == [0.05]


def first_step_of(milestones):
    opt = optim.SGD([ingot.ones(2).requires_grad_()], lr=0.4)
    s = sched.SequentialLR(opt, [sched.ConstantLR(opt, 0.5, 9), sched.LambdaLR(opt, lambda e: 1 / (e + 1)),
                                 sched.ExponentialLR(opt, 0.5)], milestones)
    seen = [opt.param_groups[0]["lr"]]
    for _ in range(3):
        opt.step()
        s.step()
        seen.append(opt.param_groups[0]["lr"])
    return seen


@pytest.mark.parametrize("milestones, expected", [
    ([1, 2], [0.2, 0.4, 0.4, 0.2]), ([0, 2], [0.4, 0.2, 0.4, 0.2]), ([0, 0], [0.4, 0.2, 0.1, 0.05]), ([5, 9], [0.2] * 4)])
def test_sequential_schedules_start_with_the_active_one(milestones, expected):
    assert first_step_of(milestones) == pytest.approx(expected)


def test_warm_restarts_that_go_on_within_a_cycle():
    opt = optim.SGD([{"params": [ingot.ones(2).requires_grad_()], "lr": 0.1, "initial_lr": 0.1}])
    s = sched.CosineAnnealingWarmRestarts(opt, 3, 2, last_epoch=6)
    assert s.get_last_lr() == pytest.approx([0.05 * (1 + math.cos(math.pi / 6))])


def plain(**group):
    return optim.SGD([{"params": [ingot.ones(2).requires_grad_()], "lr": 0.1, **group}])


def two_rates(opt):
    class Two(sched.LRScheduler):
        def get_lr(self):
            return [0.1, 0.2]
    return Two(opt)


REFUSED = {
    "a sequence with a plateau": (ValueError, "ReduceLROnPlateau", lambda o: sched.SequentialLR(
        o, [sched.ConstantLR(o), sched.ReduceLROnPlateau(o)], [2])),
    "a chain with a plateau": (ValueError, "ReduceLROnPlateau", lambda o: sched.ChainedScheduler(
        [sched.ReduceLROnPlateau(o)])),
    "schedules of two optimizers": (ValueError, "one optimizer", lambda o: sched.ChainedScheduler(
        [sched.ConstantLR(o), sched.ConstantLR(plain())])),
    "what is no schedule": (TypeError, "made of schedulers", lambda o: sched.SequentialLR(o, [3], [])),
    "no first rate": (KeyError, "needs 'initial_lr'", lambda o: sched.StepLR(o, 2, last_epoch=3)),
    "more rates than groups": (ValueError, "gives 2 rates for 1", two_rates),
    "more last rates than groups": (ValueError, "swa_lr must", lambda o: SWALR(o, [0.1, 0.2])),
}


@pytest.mark.parametrize("what", REFUSED)
def test_schedules_refuse(what):
    error, text, make = REFUSED[what]
    with pytest.raises(error, match=text):
        make(plain())
