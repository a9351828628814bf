"""Generator functions that are decorated by context managers."""

from functools import wraps


def around_steps(fn, context):
    """`fn` with each of its steps inside of `context()`, while its user's code between the steps is not."""
    @wraps(fn)
    def steps(*args, **kwargs):
        generator = fn(*args, **kwargs)
        step, given = generator.send, None
        while True:
            try:
                with context():
                    value = step(given)
            except StopIteration as end:
                return end.value
            try:
                step, given = generator.send, (yield value)
            except GeneratorExit:
                with context():
                    generator.close()
                raise
            except BaseException as error:   # thrown in by the user: the generator decides
                step, given = generator.throw, error

    return steps
