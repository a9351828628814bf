"""The submitting side of the fork-join pool, as IR text: claiming chunks, running a job, running a list of steps.

The protocol and the meaning of each $WORD are in `fork_join.py`.
"""


def field(name: str, offset: str) -> str:
    """An instruction that makes %name point at a field of the state; the offset may be a $WORD."""
    return f"  %{name} = getelementptr i8, ptr @ingot_pool_state, i64 {offset}\n"


# Claim and run chunks, the own range first, then the others'; report how many were done.
TAKE = """
define internal void @take(i64 %worker) noinline #0 {
entry:
""" + field("job", "$JOB") + field("argp", "$ARG") + field("countp", "$COUNT") + field("partsp", "$PARTS") + \
    field("donep", "$DONE") + field("waitp", "$WAITING") + field("limitp", "$LIMIT") + """
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

RUN = """
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
""" + field("epochp", "$EPOCH") + field("job", "$JOB") + field("argp", "$ARG") + field("countp", "$COUNT") + \
    field("partsp", "$PARTS") + field("donep", "$DONE") + field("sleepp", "$SLEEPERS") + field("waitp", "$WAITING") + \
    field("startedp", "$STARTED") + field("threadsp", "$THREADS") + field("spinp", "$SPIN") + field("limitp", "$LIMIT") + """
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
""" + field("busyp", "$BUSY") + """
  %pair = cmpxchg ptr %busyp, i32 0, i32 1 acquire monotonic
  %won = extractvalue { i32, i1 } %pair, 1
  %r = zext i1 %won to i32
  ret i32 %r
}
define void @ingot_pool_run(ptr %fn, ptr %arg, i64 %chunks) #0 {
entry:
""" + field("busyp", "$BUSY") + field("threadsp", "$THREADS") + """
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

# Run an array of {fn, arg, n}; stop early when *%status (may be null) is not zero after a step. Gives the steps run.
STEPS = """
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
