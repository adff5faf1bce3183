"""Trials that run in parallel, and again if the machine gave their cameras too little time. Imported by Tests/capture.py."""

import ctypes
import multiprocessing
import signal
import time

from playwright.sync_api import Error as BrowserError
from playwright.sync_api import sync_playwright

ROUNDS = 3


class Lanes:
    def __init__(self, capture):
        self.capture = capture
        self.round, self.trial, self.again = 1, None, []

    def run(self, lanes):
        """Each lane in a process of its own; their counts and faults are the capture's. Returns the screens that were judged."""
        forks, ends, judged = multiprocessing.get_context("fork"), [], set()
        for lane in lanes:
            mine, theirs = forks.Pipe(duplex=False)
            process = forks.Process(target=self.held, args=(lane, theirs))
            process.start()
            theirs.close()
            ends.append((process, mine))
        for process, mine in ends:
            try:
                counts, faults, seen = mine.recv()
            except EOFError:
                counts, faults, seen = {}, ["a lane of trials ended without a word"], set()
            process.join()
            self.capture.faults += faults
            judged |= seen
            for name, count in counts.items():
                self.capture.counts[name] = self.capture.counts.get(name, 0) + count
        return judged

    def held(self, trials, end):
        """Trials one after the other; what the worker found of them is looked at in the end."""
        # Ends with the process that started it.
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)
        capture = self.capture
        capture.lane, capture.faults, capture.counts = self, [], dict.fromkeys(("links", "passed", "attacks"), 0)
        with sync_playwright() as play:
            for self.round in range(1, ROUNDS + 1):
                for self.trial in trials:
                    capture.engine, work = self.trial
                    begun = time.monotonic()
                    self.guarded(lambda work=work: work(play))
                    name = f"{capture.engine} {work.__name__}" + (f" {self.round}" if self.round > 1 else "")
                    capture.counts[name] = round(time.monotonic() - begun, 1)
                for self.trial, judge in capture.later:
                    self.guarded(judge)
                trials, self.again, capture.later = self.again, [], []
            for browser in capture.browsers.values():
                browser.close()
        end.send((capture.counts, capture.faults, capture.judged))
        end.close()

    def guarded(self, work):
        try:
            work()
        except (BrowserError, RuntimeError, ValueError, LookupError, AttributeError, OSError) as error:
            # The trials after it are worth their time.
            self.capture.faults.append(f"{self.trial[0]} {self.trial[1].__name__}: {type(error).__name__}: {error}")

    def repeats(self):
        """Holds this trial again, unless it was held often enough."""
        if self.round < ROUNDS and self.trial not in self.again:
            self.again.append(self.trial)
        return self.round < ROUNDS
