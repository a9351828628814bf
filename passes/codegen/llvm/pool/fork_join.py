"""The native fork-join pool as LLVM IR text (Linux): what `runtime/cpu/calls/pool.py` compiles and drives.

A *job* is {fn, arg, n}: fn(arg, chunk, worker) for each chunk in 0 .. n-1. Worker w of P owns the chunks [w n/P, (w+1) n/P)
and takes them in order; a worker without chunks left steals from the others. Each worker has one 64-bit *ticket*:

    epoch << 32 | chunks remaining

claimed by compare-and-swap. A job's fields are read only after a claim: the job cannot end before a claimed chunk is done, so
they are stable then; a late worker finds zero remaining (or another epoch) and claims nothing. The submitting thread is
worker 0, takes chunks like the others and needs none of them: a job ends even when no worker ever runs.

Workers wait for `epoch` to change: a brief spin, then a futex. Linux tends to wake a sleeper on the waker's own processor,
where it waits behind it; so before a job the submitter, whenever it has moved, takes its own processor out of the workers'
affinity.

The upper half of n may say how many threads take part at most (`at_most`; 0: all): those whose scratch memory the job brings.
A worker beyond them claims nothing. It reads the limit after a ticket that has chunks left, and while there are any, the job's
fields stay as they are, or the claim fails.

A thread that finds the pool busy, or a task that submits a job, runs that job's chunks itself, in order.
"""

from .....ir.target import Target
from . import fork_join_jobs, fork_join_workers

MAX_THREADS = 512
_HALF = 32                          # bits of a job's number of chunks

# Byte offsets in the state; what different threads write lies on different cache lines.
EPOCH, BUSY, JOB, DONE, SLEEPERS, WAITING = 0, 64, 128, 192, 256, 320
STOP, STARTED, THREADS, SPIN, LAST_CPU, CURE = 384, 388, 392, 400, 408, 412
_MASK, _SIGNALS, _SLOTS, _SLOT = 448, 640, 1024, 128
STATE_BYTES = _SLOTS + _SLOT * MAX_THREADS

_SYSTEM_CALLS = {"x86_64": {"FUTEX": 202, "GETTID": 186, "PAUSE": "call void @llvm.x86.sse2.pause()",
                            "PAUSE_DECLARATION": "declare void @llvm.x86.sse2.pause()"},
                 "aarch64": {"FUTEX": 98, "GETTID": 178, "PAUSE": "call void @llvm.aarch64.hint(i32 1)",
                             "PAUSE_DECLARATION": "declare void @llvm.aarch64.hint(i32)"}}

SYMBOLS = ("ingot_pool_run", "ingot_pool_steps", "ingot_pool_stop", "ingot_pool_try_acquire", "ingot_pool_state")


def at_most(chunks: int, threads: int) -> int:
    """A number of chunks that no more than so many threads take."""
    return chunks | threads << _HALF


def pool_text(target: Target) -> str:
    """The pool's module for a target."""
    words = {**_SYSTEM_CALLS[target.arch], "EPOCH": EPOCH, "BUSY": BUSY, "JOB": JOB, "ARG": JOB + 8, "COUNT": JOB + 16,
             "PARTS": JOB + 24, "LIMIT": JOB + 32, "DONE": DONE, "SLEEPERS": SLEEPERS, "WAITING": WAITING, "STOP": STOP,
             "STARTED": STARTED, "THREADS": THREADS, "SPIN": SPIN, "LAST_CPU": LAST_CPU, "CURE": CURE, "MASK": _MASK,
             "SIGNALS": _SIGNALS, "SLOTS": _SLOTS, "SLOT": _SLOT, "SIZE": STATE_BYTES, "CPU": target.llvm_cpu}
    text = (_DECLARATIONS + fork_join_jobs.TAKE + fork_join_workers.WORKER + fork_join_workers.START + fork_join_workers.PLACE
            + fork_join_jobs.RUN + fork_join_jobs.STEPS + fork_join_workers.STOP)
    for word in sorted(words, key=len, reverse=True):
        text = text.replace(f"${word}", str(words[word]))
    return text


def serial_text(target: Target) -> str:
    """A module with the same symbols for systems without a futex: each job runs on the thread that submits it."""
    run = fork_join_jobs.RUN[:fork_join_jobs.RUN.index("define internal void @fork_join")] + """
define void @ingot_pool_run(ptr %fn, ptr %arg, i64 %chunks) #0 {
  %n = and i64 %chunks, 4294967295
  call void @run_here(ptr %fn, ptr %arg, i64 %n)
  ret void
}
define i32 @ingot_pool_try_acquire() #0 {
  ret i32 1
}
define void @ingot_pool_stop() #0 {
  ret void
}
"""
    head = f"""@ingot_pool_state = global [{STATE_BYTES} x i8] zeroinitializer, align 4096
attributes #0 = {{ nounwind "target-cpu"="{target.llvm_cpu}" }}
"""
    return head + run + fork_join_jobs.STEPS


_DECLARATIONS = """
@ingot_pool_state = global [$SIZE x i8] zeroinitializer, align 4096
$PAUSE_DECLARATION
declare i64 @syscall(i64, ...)
declare i32 @sched_getcpu()
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i32 @sched_setaffinity(i32, i64, ptr)
declare i32 @sigfillset(ptr)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
attributes #0 = { nounwind "target-cpu"="$CPU" }
"""
