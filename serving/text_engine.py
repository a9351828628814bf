"""The thread that runs all texts of a server."""

import queue
import threading
import traceback
from collections import deque

from ..generation.language_model import LanguageModel
from ..generation.sampling import Sampling
from ..generation.scheduler import Request, Scheduler

WARM_UP = 2         # tokens: the first is recorded, the second compiled


class Busy(Exception):
    """As many requests wait as may."""


class Job:
    """A request, and its tokens as they come: (token, why the text is ended or None), or None after a failure."""

    def __init__(self, request: Request):
        self.request = request
        self.tokens: queue.SimpleQueue[tuple[int, str | None] | None] = queue.SimpleQueue()


class Engine:
    """A scheduler in a thread of its own. Other threads submit and cancel jobs."""

    def __init__(self, model: LanguageModel, most_waiting: int):
        self.model, self.most_waiting = model, most_waiting
        self._changed = threading.Condition()
        self._arrived: deque[Job] = deque()
        self._cancelled: list[Job] = []
        self._jobs: dict[Request, Job] = {}         # written by the thread alone
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="ingot serve", daemon=True)

    def start(self, sampling: Sampling):
        """Compile the steps for a sampling, so that the first client does not wait for it, and start the thread."""
        prompt = [0] * min(3, self.model.context - 1)
        self.model.generate_all([prompt] * min(2, self.model.batch.rows), WARM_UP, sampling)
        self._thread.start()

    def stop(self):
        """End all jobs and the thread."""
        with self._changed:
            self._stopped = True
            self._changed.notify()
        self._thread.join()

    def submit(self, request: Request) -> Job:
        """Let a request wait for a row; raise `Busy` if too many do."""
        job = Job(request)
        with self._changed:
            if self._stopped or len(self._jobs) + len(self._arrived) >= self.most_waiting + self.model.batch.rows:
                raise Busy
            self._arrived.append(job)
            self._changed.notify()
        return job

    def cancel(self, job: Job):
        """Free the row of a job, if it has not ended."""
        with self._changed:
            self._cancelled.append(job)
            self._changed.notify()

    def _run(self):
        scheduler = Scheduler(self.model.batch)
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._stopped or self._arrived or self._cancelled or self._jobs)
                if self._stopped:
                    for job in [*self._jobs.values(), *self._arrived]:
                        job.tokens.put(None)
                    return
                for job in self._arrived:
                    self._jobs[job.request] = job
                    scheduler.add(job.request)
                for job in self._cancelled:
                    scheduler.cancel(job.request)
                    self._jobs.pop(job.request, None)
                self._arrived.clear()
                self._cancelled.clear()
            try:
                self._advance(scheduler)
            except Exception:       # of memory, or a defect: the texts that run are lost, the server is not
                traceback.print_exc()
                for request, job in list(self._jobs.items()):
                    scheduler.cancel(request)
                    job.tokens.put(None)
                self._jobs.clear()

    def _advance(self, scheduler):
        for request, token in scheduler.advance():
            job = self._jobs.pop(request) if request.ended else self._jobs[request]
            job.tokens.put((token, request.ended))
