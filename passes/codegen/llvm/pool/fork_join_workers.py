"""The workers of the fork-join pool, as IR text: their loop, how they start, where they run, how they end.

The protocol and the meaning of each $WORD are in `fork_join.py`.
"""

from .fork_join_jobs import field

WORKER = """
define internal ptr @worker(ptr %slot) #0 {
entry:
""" + field("epochp", "$EPOCH") + field("sleepp", "$SLEEPERS") + field("stopp", "$STOP") + field("spinp", "$SPIN") + """
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

# Create the workers with all signals blocked; should the system refuse some, go on with those there are.
START = """
define internal void @start_workers() noinline #0 {
entry:
""" + field("startedp", "$STARTED") + field("threadsp", "$THREADS") + field("epochp", "$EPOCH") + \
    field("set", "$SIGNALS") + field("lastp", "$LAST_CPU") + """
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

# Keep the workers off the submitter's processor, when it has moved since the last job. This holds for workers that spin too:
# one that shares the submitter's processor would only run when the submitter's time is up.
PLACE = """
define internal void @place_workers() noinline #0 {
entry:
""" + field("curep", "$CURE") + field("lastp", "$LAST_CPU") + field("mask", "$MASK") + \
    field("threadsp", "$THREADS") + """
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
STOP = """
define void @ingot_pool_stop() #0 {
entry:
""" + field("epochp", "$EPOCH") + field("stopp", "$STOP") + field("startedp", "$STARTED") + \
    field("threadsp", "$THREADS") + """
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
