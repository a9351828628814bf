"""Native fork-join pool as LLVM IR text (Linux), which `runtime/cpu/calls/pool.py` compiles and drives.

A *job* is {fn, arg, n}: fn(arg, chunk, worker) for each chunk in 0 .. n-1. Worker w of P owns the chunks [w n/P, (w+1) n/P) and
takes them in order; a worker without chunks left steals from the others. Each worker has one 64-bit *ticket*:

    epoch << 32 | chunks remaining

claimed by compare-and-swap. A job's fields are read only after a claim. They are stable then, because the job cannot end before
a claimed chunk is done; a late worker finds zero remaining, or another epoch, and claims nothing. The submitting thread is
worker 0 and takes chunks too, so a job ends even if no worker ever runs.

Workers wait for `epoch` to change: a brief spin, then a futex. Linux tends to wake a sleeper on the waker's processor, where it
waits behind the waker. So a submitter that has moved takes its own processor out of the workers' affinity before the job.

The upper half of n limits the number of threads (`at_most`; 0 means all) to those whose scratch memory the job brings. A worker
beyond the limit claims nothing. It reads the limit after a ticket with chunks left; while there are any, the job's fields do
not change, or the claim fails.

A thread that finds the pool busy, or a task that submits a job, runs that job's chunks itself, in order.
"""

from .....ir.target import Target

MAX_THREADS = 512
_HALF = 32                          # bits of a job's number of chunks

# Byte offsets in the state. Fields that different threads write are on different cache lines.
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
    """Return a number of chunks with a limit on the threads that take them."""
    return chunks | threads << _HALF


def pool_text(target: Target) -> str:
    """Return the pool's module for a target."""
    words = {**_SYSTEM_CALLS[target.arch], "EPOCH": EPOCH, "BUSY": BUSY, "JOB": JOB, "ARG": JOB + 8, "COUNT": JOB + 16,
             "PARTS": JOB + 24, "LIMIT": JOB + 32, "DONE": DONE, "SLEEPERS": SLEEPERS, "WAITING": WAITING, "STOP": STOP,
             "STARTED": STARTED, "THREADS": THREADS, "SPIN": SPIN, "LAST_CPU": LAST_CPU, "CURE": CURE, "MASK": _MASK,
             "SIGNALS": _SIGNALS, "SLOTS": _SLOTS, "SLOT": _SLOT, "SIZE": STATE_BYTES, "CPU": target.llvm_cpu}
    text = _DECLARATIONS + _TAKE + _WORKER + _START + _PLACE + _RUN + _STEPS + _STOP
    for word in sorted(words, key=len, reverse=True):
        text = text.replace(f"${word}", str(words[word]))
    return text


def serial_text(target: Target) -> str:
    """Return a module with the same symbols for systems without a futex: the submitting thread runs each job."""
    run = _RUN[:_RUN.index("define internal void @fork_join")] + """
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
    return head + run + _STEPS


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


def _field(name: str, offset: str) -> str:
    """Return an instruction that points %name at a field of the state; the offset may be a $WORD."""
    return f"  %{name} = getelementptr i8, ptr @ingot_pool_state, i64 {offset}\n"


# Claim and run chunks, the worker's own range first, then the others'; report how many were done.
_TAKE = """
define internal void @take(i64 %worker) noinline #0 {
entry:
""" + _field("job", "$JOB") + _field("argp", "$ARG") + _field("countp", "$COUNT") + _field("partsp", "$PARTS") + \
    _field("donep", "$DONE") + _field("waitp", "$WAITING") + _field("limitp", "$LIMIT") + """
  %seen = load atomic i64, ptr %partsp monotonic, align 8
  %any = icmp sgt i64 %seen, 0
  br i1 %any, label %owner, label %out
owner:
  %step = phi i64 [ 0, %entry ], [ %step1, %nextowner ]
  %ran0 = phi i64 [ 0, %entry ], [ %ran, %nextowner ]
  %all0 = phi i64 [ 0, %entry ], [ %all, %nextowner ]
  %turn = add i64 %worker, %step
  %who = urem i64 %turn, %seen
  %slotoff0 = mul i64 %who, $SLOT
  %slotoff = add i64 %slotoff0, $SLOTS
  %ticket = getelementptr i8, ptr @ingot_pool_state, i64 %slotoff
  br label %look
look:
  %ran = phi i64 [ %ran0, %owner ], [ %ran1, %work ]
  %all = phi i64 [ %all0, %owner ], [ %n, %work ]
  %first = load atomic i64, ptr %ticket acquire, align 8
  br label %try
try:
  %now = phi i64 [ %first, %look ], [ %found, %claim ]
  %left = and i64 %now, 4294967295
  %none = icmp eq i64 %left, 0
  br i1 %none, label %nextowner, label %allowed
allowed:
  %limit = load atomic i64, ptr %limitp monotonic, align 8
  %beyond = icmp sge i64 %worker, %limit
  br i1 %beyond, label %nextowner, label %claim
claim:
  %less = sub i64 %now, 1
  %pair = cmpxchg ptr %ticket, i64 %now, i64 %less acq_rel acquire
  %found = extractvalue { i64, i1 } %pair, 0
  %won = extractvalue { i64, i1 } %pair, 1
  br i1 %won, label %work, label %try
work:
  %n = load i64, ptr %countp, align 8
  %parts = load i64, ptr %partsp, align 8
  %fn = load ptr, ptr %job, align 8
  %arg = load ptr, ptr %argp, align 8
  %who1 = add i64 %who, 1
  %end0 = mul i64 %who1, %n
  %end = udiv i64 %end0, %parts
  %chunk = sub i64 %end, %left
  call void %fn(ptr %arg, i64 %chunk, i64 %worker)
  %ran1 = add i64 %ran, 1
  br label %look
nextowner:
  %step1 = add i64 %step, 1
  %more = icmp ult i64 %step1, %seen
  br i1 %more, label %owner, label %report
report:
  %idle = icmp eq i64 %ran, 0
  br i1 %idle, label %out, label %add
add:
  %ran32 = trunc i64 %ran to i32
  %before = atomicrmw add ptr %donep, i32 %ran32 seq_cst
  %after = add i32 %before, %ran32
  %all32 = trunc i64 %all to i32
  %last = icmp eq i32 %after, %all32
  br i1 %last, label %finished, label %out
finished:
  %w = load atomic i32, ptr %waitp seq_cst, align 4
  %asleep = icmp ne i32 %w, 0
  br i1 %asleep, label %wake, label %out
wake:
  %r = call i64 (i64, ...) @syscall(i64 $FUTEX, ptr %donep, i64 129, i64 1, ptr null, ptr null, i64 0)
  br label %out
out:
  ret void
}
"""

_RUN = """
define internal void @run_here(ptr %fn, ptr %arg, i64 %n) noinline #0 {
entry:
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %next, label %out
next:
  %i = phi i64 [ 0, %entry ], [ %i1, %next ]
  call void %fn(ptr %arg, i64 %i, i64 0)
  %i1 = add i64 %i, 1
  %more = icmp slt i64 %i1, %n
  br i1 %more, label %next, label %out
out:
  ret void
}
define internal void @fork_join(ptr %fn, ptr %arg, i64 %n, i64 %most) noinline #0 {
entry:
""" + _field("epochp", "$EPOCH") + _field("job", "$JOB") + _field("argp", "$ARG") + _field("countp", "$COUNT") + \
    _field("partsp", "$PARTS") + _field("donep", "$DONE") + _field("sleepp", "$SLEEPERS") + _field("waitp", "$WAITING") + \
    _field("startedp", "$STARTED") + _field("threadsp", "$THREADS") + _field("spinp", "$SPIN") + \
    _field("limitp", "$LIMIT") + """
  %started = load i32, ptr %startedp, align 4
  %cold = icmp eq i32 %started, 0
  br i1 %cold, label %start, label %fill
start:
  call void @start_workers()
  br label %fill
fill:
  call void @place_workers()
  %running = load i64, ptr %threadsp, align 8
  %any_number = icmp eq i64 %most, 0
  %below = icmp slt i64 %running, %most
  %all_run = or i1 %any_number, %below
  %threads = select i1 %all_run, i64 %running, i64 %most
  store atomic i64 %threads, ptr %limitp monotonic, align 8
  %fewer = icmp slt i64 %n, %threads
  %parts = select i1 %fewer, i64 %n, i64 %threads
  store ptr %fn, ptr %job, align 8
  store ptr %arg, ptr %argp, align 8
  store i64 %n, ptr %countp, align 8
  store atomic i64 %parts, ptr %partsp monotonic, align 8
  store i32 0, ptr %donep, align 4
  %e0 = load i32, ptr %epochp, align 4
  %e1 = add i32 %e0, 1
  %e64 = zext i32 %e1 to i64
  %tag = shl i64 %e64, 32
  br label %ticket
ticket:
  %w = phi i64 [ 0, %fill ], [ %w1, %ticket ]
  %low = phi i64 [ 0, %fill ], [ %high, %ticket ]
  %w1 = add i64 %w, 1
  %high0 = mul i64 %w1, %n
  %high = udiv i64 %high0, %parts
  %size = sub i64 %high, %low
  %value = or i64 %tag, %size
  %off0 = mul i64 %w, $SLOT
  %off = add i64 %off0, $SLOTS
  %slot = getelementptr i8, ptr @ingot_pool_state, i64 %off
  store atomic i64 %value, ptr %slot release, align 8
  %more = icmp slt i64 %w1, %parts
  br i1 %more, label %ticket, label %publish
publish:
  store atomic i32 %e1, ptr %epochp seq_cst, align 4
  %sleepers = load atomic i32, ptr %sleepp seq_cst, align 4
  %any = icmp ne i32 %sleepers, 0
  br i1 %any, label %wake, label %mine
wake:
  %helpers = sub i64 %parts, 1
  %z = call i64 (i64, ...) @syscall(i64 $FUTEX, ptr %epochp, i64 129, i64 %helpers, ptr null, ptr null, i64 0)
  br label %mine
mine:
  call void @take(i64 0)
  %n32 = trunc i64 %n to i32
  %spin0 = load i64, ptr %spinp, align 8
  %limit = mul i64 %spin0, 4
  br label %wait
wait:
  %turns = phi i64 [ 0, %mine ], [ %turns1, %pause ]
  %done = load atomic i32, ptr %donep acquire, align 4
  %all = icmp eq i32 %done, %n32
  br i1 %all, label %out, label %patience
patience:
  %turns1 = add i64 %turns, 1
  %go = icmp ult i64 %turns, %limit
  br i1 %go, label %pause, label %doze
pause:
  $PAUSE
  br label %wait
doze:
  store atomic i32 1, ptr %waitp seq_cst, align 4
  br label %check
check:
  %have = load atomic i32, ptr %donep seq_cst, align 4
  %enough = icmp eq i32 %have, %n32
  br i1 %enough, label %rested, label %sleep
sleep:
  %have64 = zext i32 %have to i64
  %r = call i64 (i64, ...) @syscall(i64 $FUTEX, ptr %donep, i64 128, i64 %have64, ptr null, ptr null, i64 0)
  br label %check
rested:
  store atomic i32 0, ptr %waitp seq_cst, align 4
  br label %out
out:
  ret void
}
define i32 @ingot_pool_try_acquire() #0 {
entry:
""" + _field("busyp", "$BUSY") + """
  %pair = cmpxchg ptr %busyp, i32 0, i32 1 acquire monotonic
  %won = extractvalue { i32, i1 } %pair, 1
  %r = zext i1 %won to i32
  ret i32 %r
}
define void @ingot_pool_run(ptr %fn, ptr %arg, i64 %chunks) #0 {
entry:
""" + _field("busyp", "$BUSY") + _field("threadsp", "$THREADS") + """
  %n = and i64 %chunks, 4294967295
  %most = lshr i64 %chunks, 32
  %threads = load i64, ptr %threadsp, align 8
  %one = icmp sle i64 %threads, 1
  %few = icmp sle i64 %n, 1
  %many = icmp sgt i64 %n, 2147483647
  %alone0 = or i1 %one, %few
  %alone = or i1 %alone0, %many
  br i1 %alone, label %here, label %try
try:
  %got = call i32 @ingot_pool_try_acquire()
  %won = icmp ne i32 %got, 0
  br i1 %won, label %fork, label %here
fork:
  call void @fork_join(ptr %fn, ptr %arg, i64 %n, i64 %most)
  store atomic i32 0, ptr %busyp release, align 4
  ret void
here:
  call void @run_here(ptr %fn, ptr %arg, i64 %n)
  ret void
}
"""

# Run an array of {fn, arg, n}; stop when *%status (may be null) is not zero after a step. Returns the steps run.
_STEPS = """
define i64 @ingot_pool_steps(ptr %steps, i64 %count, ptr %status) #0 {
entry:
  %any = icmp sgt i64 %count, 0
  br i1 %any, label %next, label %out
next:
  %i = phi i64 [ 0, %entry ], [ %i1, %go ]
  %off = mul i64 %i, 24
  %step = getelementptr i8, ptr %steps, i64 %off
  %fn = load ptr, ptr %step, align 8
  %argp = getelementptr i8, ptr %step, i64 8
  %arg = load ptr, ptr %argp, align 8
  %np = getelementptr i8, ptr %step, i64 16
  %n = load i64, ptr %np, align 8
  call void @ingot_pool_run(ptr %fn, ptr %arg, i64 %n)
  %i1 = add i64 %i, 1
  %blind = icmp eq ptr %status, null
  br i1 %blind, label %go, label %look
look:
  %s = load atomic i64, ptr %status acquire, align 8
  %fine = icmp eq i64 %s, 0
  br i1 %fine, label %go, label %early
early:
  ret i64 %i1
go:
  %more = icmp slt i64 %i1, %count
  br i1 %more, label %next, label %out
out:
  ret i64 %count
}
"""


_WORKER = """
define internal ptr @worker(ptr %slot) #0 {
entry:
""" + _field("epochp", "$EPOCH") + _field("sleepp", "$SLEEPERS") + _field("stopp", "$STOP") + _field("spinp", "$SPIN") + """
  %tid = call i64 (i64, ...) @syscall(i64 $GETTID)
  %tid32 = trunc i64 %tid to i32
  %tidp = getelementptr i8, ptr %slot, i64 16
  store atomic i32 %tid32, ptr %tidp release, align 4
  %widp = getelementptr i8, ptr %slot, i64 8
  %wid = load i64, ptr %widp, align 8
  %startp = getelementptr i8, ptr %slot, i64 20
  %start = load i32, ptr %startp, align 4
  br label %idle
idle:
  %seen = phi i32 [ %start, %entry ], [ %now, %job ]
  %limit = load i64, ptr %spinp, align 8
  br label %spin
spin:
  %turns = phi i64 [ 0, %idle ], [ %turns1, %pause ], [ %limit, %sleep ]
  %now = load atomic i32, ptr %epochp acquire, align 4
  %new = icmp ne i32 %now, %seen
  br i1 %new, label %awake, label %patience
patience:
  %turns1 = add i64 %turns, 1
  %go = icmp ult i64 %turns, %limit
  br i1 %go, label %pause, label %sleep
pause:
  $PAUSE
  br label %spin
sleep:
  %s0 = atomicrmw add ptr %sleepp, i32 1 seq_cst
  %seen64 = zext i32 %seen to i64
  %r = call i64 (i64, ...) @syscall(i64 $FUTEX, ptr %epochp, i64 128, i64 %seen64, ptr null, ptr null, i64 0)
  %s1 = atomicrmw sub ptr %sleepp, i32 1 seq_cst
  br label %spin
awake:
  %s = load atomic i32, ptr %stopp acquire, align 4
  %leave = icmp ne i32 %s, 0
  br i1 %leave, label %out, label %job
job:
  call void @take(i64 %wid)
  br label %idle
out:
  ret ptr null
}
"""

# Create the workers with all signals blocked. If the system refuses some, continue with the others.
_START = """
define internal void @start_workers() noinline #0 {
entry:
""" + _field("startedp", "$STARTED") + _field("threadsp", "$THREADS") + _field("epochp", "$EPOCH") + \
    _field("set", "$SIGNALS") + _field("lastp", "$LAST_CPU") + """
  %old = getelementptr i8, ptr %set, i64 128
  store i32 1, ptr %startedp, align 4
  store i32 -1, ptr %lastp, align 4
  %threads = load i64, ptr %threadsp, align 8
  %epoch = load i32, ptr %epochp, align 4
  %f = call i32 @sigfillset(ptr %set)
  %b = call i32 @pthread_sigmask(i32 2, ptr %set, ptr %old)
  br label %next
next:
  %w = phi i64 [ 1, %entry ], [ %w1, %made ]
  %more = icmp slt i64 %w, %threads
  br i1 %more, label %make, label %out
make:
  %off0 = mul i64 %w, $SLOT
  %off = add i64 %off0, $SLOTS
  %slot = getelementptr i8, ptr @ingot_pool_state, i64 %off
  store i64 0, ptr %slot, align 8
  %widp = getelementptr i8, ptr %slot, i64 8
  store i64 %w, ptr %widp, align 8
  %tidp = getelementptr i8, ptr %slot, i64 16
  store i32 0, ptr %tidp, align 4
  %startp = getelementptr i8, ptr %slot, i64 20
  store i32 %epoch, ptr %startp, align 4
  %threadp = getelementptr i8, ptr %slot, i64 24
  %error = call i32 @pthread_create(ptr %threadp, ptr null, ptr @worker, ptr %slot)
  %ok = icmp eq i32 %error, 0
  br i1 %ok, label %made, label %refused
made:
  %w1 = add i64 %w, 1
  br label %next
refused:
  store i64 %w, ptr %threadsp, align 8
  br label %out
out:
  %u = call i32 @pthread_sigmask(i32 2, ptr %old, ptr null)
  ret void
}
"""

# Move the workers off the submitter's processor if it changed since the last job. Spinning workers move too: one on the
# submitter's processor would run only after the submitter's time slice.
_PLACE = """
define internal void @place_workers() noinline #0 {
entry:
""" + _field("curep", "$CURE") + _field("lastp", "$LAST_CPU") + _field("mask", "$MASK") + \
    _field("threadsp", "$THREADS") + """
  %cure = load i32, ptr %curep, align 4
  %wanted = icmp ne i32 %cure, 0
  br i1 %wanted, label %where, label %out
where:
  %cpu = call i32 @sched_getcpu()
  %last = load i32, ptr %lastp, align 4
  %same = icmp eq i32 %cpu, %last
  %far = icmp ugt i32 %cpu, 1023
  %skip = or i1 %same, %far
  br i1 %skip, label %out, label %read
read:
  call void @llvm.memset.p0.i64(ptr %mask, i8 0, i64 128, i1 false)
  %got = call i32 @sched_getaffinity(i32 0, i64 128, ptr %mask)
  %bad = icmp slt i32 %got, 0
  br i1 %bad, label %out, label %clear
clear:
  %byte32 = lshr i32 %cpu, 3
  %byte = zext i32 %byte32 to i64
  %bytep = getelementptr i8, ptr %mask, i64 %byte
  %bit32 = and i32 %cpu, 7
  %bit = trunc i32 %bit32 to i8
  %one = shl i8 1, %bit
  %keep = xor i8 %one, -1
  %had = load i8, ptr %bytep, align 1
  %has = and i8 %had, %keep
  store i8 %has, ptr %bytep, align 1
  %wide = load i1024, ptr %mask, align 64
  %empty = icmp eq i1024 %wide, 0
  br i1 %empty, label %out, label %workers
workers:
  %threads = load i64, ptr %threadsp, align 8
  br label %next
next:
  %w = phi i64 [ 1, %workers ], [ %w1, %done ]
  %known = phi i32 [ %cpu, %workers ], [ %known1, %done ]
  %more = icmp slt i64 %w, %threads
  br i1 %more, label %one_worker, label %note
one_worker:
  %off0 = mul i64 %w, $SLOT
  %off = add i64 %off0, $SLOTS
  %slot = getelementptr i8, ptr @ingot_pool_state, i64 %off
  %tidp = getelementptr i8, ptr %slot, i64 16
  %tid = load atomic i32, ptr %tidp acquire, align 4
  %unborn = icmp eq i32 %tid, 0
  br i1 %unborn, label %done, label %set
set:
  %r = call i32 @sched_setaffinity(i32 %tid, i64 128, ptr %mask)
  br label %done
done:
  %known1 = phi i32 [ -1, %one_worker ], [ %known, %set ]
  %w1 = add i64 %w, 1
  br label %next
note:
  store i32 %known, ptr %lastp, align 4
  br label %out
out:
  ret void
}
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""

# End all workers; the caller holds the pool.
_STOP = """
define void @ingot_pool_stop() #0 {
entry:
""" + _field("epochp", "$EPOCH") + _field("stopp", "$STOP") + _field("startedp", "$STARTED") + \
    _field("threadsp", "$THREADS") + """
  %started = load i32, ptr %startedp, align 4
  %running = icmp ne i32 %started, 0
  br i1 %running, label %signal, label %out
signal:
  store atomic i32 1, ptr %stopp seq_cst, align 4
  %e = atomicrmw add ptr %epochp, i32 1 seq_cst
  %z = call i64 (i64, ...) @syscall(i64 $FUTEX, ptr %epochp, i64 129, i64 2147483647, ptr null, ptr null, i64 0)
  %threads = load i64, ptr %threadsp, align 8
  br label %next
next:
  %w = phi i64 [ 1, %signal ], [ %w1, %join ]
  %more = icmp slt i64 %w, %threads
  br i1 %more, label %join, label %end
join:
  %off0 = mul i64 %w, $SLOT
  %off = add i64 %off0, $SLOTS
  %off1 = add i64 %off, 24
  %threadp = getelementptr i8, ptr @ingot_pool_state, i64 %off1
  %thread = load i64, ptr %threadp, align 8
  %r = call i32 @pthread_join(i64 %thread, ptr null)
  %w1 = add i64 %w, 1
  br label %next
end:
  store i32 0, ptr %startedp, align 4
  store atomic i32 0, ptr %stopp seq_cst, align 4
  br label %out
out:
  ret void
}
"""
