"""A process that has imported modules and forks for each program that a test starts.

Exports check each file in a new process, which takes longer to import ingot than to check a small file. `run` takes the
place of `subprocess.run` for these programs. A forked child has no memory of the tests, as a new process has none. A program
whose environment differs from that of this process starts as it always does.
"""

import contextlib
import importlib
import json
import os
import subprocess
import sys
import threading
import traceback
import types

CHANGES = {"PYTEST_CURRENT_TEST"}        # variables that no program reads


class Prepared:
    """The process, started at the first program."""

    def __init__(self, *modules):
        self.modules, self.process, self.environment = modules, None, {}
        self.start, self.lock = subprocess.run, threading.Lock()

    def run(self, words, env, **options):
        """Do what `subprocess.run` does with a Python program, `python -m module argument ...`."""
        with self.lock:
            if words[:2] == [sys.executable, "-m"] and words[2] in self.modules and self.serves(env):
                return self.program(*words[2:])
        return self.start(words, env=env, **options)

    def program(self, module, *arguments):
        """Let the process fork and run a program; return its exit code and errors."""
        self.process.stdin.write(json.dumps([module, arguments, os.getcwd()]) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the prepared process ended with code {self.process.wait()}")
        code, errors = json.loads(answer)
        return types.SimpleNamespace(returncode=code, stderr=errors)

    def serves(self, environment) -> bool:
        """Return whether a program may run in this environment; the first one decides."""
        environment = {name: value for name, value in environment.items() if name not in CHANGES}
        if self.process is None:
            self.environment = environment
            self.process = subprocess.Popen([sys.executable, __file__, *self.modules], env=environment, text=True,
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        return environment == self.environment

    def end(self):
        if self.process is not None:
            self.process.communicate()


def serve(modules):
    """Import the modules, then fork for each line of the input, one after the other. What one program imports late is imported
    here before the next."""
    loaded = {name: importlib.import_module(name) for name in modules}
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        name, arguments, folder = json.loads(line)
        with forked(loaded[name].main, arguments, folder) as (child, errors, late):
            answer = errors.read()
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            answers.write(json.dumps([code, answer]) + "\n")
            answers.flush()
            for module in late.read().split():
                with contextlib.suppress(ImportError):      # a name that a package made up
                    importlib.import_module(module)


@contextlib.contextmanager
def forked(main, arguments, folder):
    """Give a child that runs a program, its errors, and the names of the modules that it imports, both as files."""
    pipes = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        before = set(sys.modules)
        os.dup2(pipes[0][1], 2)
        code = code_of(main, arguments, folder)
        late = [name for name in sys.modules if name not in before and name.startswith(("ingot.", "llvmlite."))]
        os.write(pipes[1][1], " ".join(late).encode())
        os._exit(code)
    for _, writer in pipes:
        os.close(writer)
    with open(pipes[0][0], encoding="utf-8", errors="replace") as errors, open(pipes[1][0], encoding="utf-8") as late:
        yield child, errors, late


def code_of(main, arguments, folder) -> int:
    """Run a program and return its exit code; its errors are written as Python writes them."""
    code = 1
    try:
        os.chdir(folder)
        code = main(*arguments)
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    return code


if __name__ == "__main__":
    serve(sys.argv[1:])
