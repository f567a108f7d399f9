#!/usr/bin/env python3
"""Replays power failures: what is on the disk after each, and what runs make of
it.

    power.py [-s SEED] [-n STATES] [-k DIRECTORY] CASE...
    power.py --list

A case is a command that `recorder` (tests/helpers/recorder.c) traces: each
change of a file, each sync, each new name. The power is cut after each of these
events, and the program runs in what is left of what was not synced by then.
power_disk.py says what that may be, power_cases.py what is cut.

What must hold, beside what a case says itself:

- no filter is refused, by info, check or a run;
- what an earlier run had on the disk is remembered;
- what a command had done when it exited with 0, and promised, is still done.

The program under test is $BLOOMDEDUP, the helpers are in $BUILD. STATES is how
many states of the disk are tried for each case (300); SEED decides which. A
failure is printed with both, and -k keeps its directory.

Exit status: 0 all of it holds, 1 something doesn't, 2 usage.
"""
import argparse
import hashlib
import os
import random
import re
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True  # into this directory
from power_cases import CASES, Failure, make_input, record, shell
from power_disk import Folder, read_trace


class Trial:
    """What was tried of a case."""

    def __init__(self, case, seed, wanted, work, keep):
        self.case, self.seed, self.wanted = case, seed, wanted
        self.directory, self.keep = os.path.join(work, "work"), keep
        self.rng = random.Random("%s %s" % (case.name, seed))
        self.tried = set()  # digests of states
        self.events = self.states = self.lost = self.losing = 0
        self.failures = []

    def make_directory(self):
        """One with the input, and nothing in disk/ and aside/."""
        if not os.path.exists(self.directory):
            os.mkdir(self.directory)
            make_input(self.directory)
        self.make_empty("disk")
        self.make_empty("aside")

    def path(self, name):
        return os.path.join(self.directory, name)

    def make_empty(self, name):
        shutil.rmtree(self.path(name), ignore_errors=True)
        os.mkdir(self.path(name))

    def record(self, script, name):
        """How many events there are in its trace, the trace, and the disk,
        whose files are those that are in disk/ now: a journal knows its output
        by its whole name and its inode."""
        self.make_empty("done")
        trace = record(self.directory, script, name)
        events = 0
        for disk in read_trace(trace, ("disk", "done")):
            events += 1
        names = {name: number for (directory, name), number
                 in disk.names_now().items() if directory == 0}
        return events, trace, Folder(self.path("disk"), self.path("aside"),
                                     names)

    def is_new(self, names, data, done):
        digest = hashlib.sha256(repr(sorted(done)).encode())
        for name in sorted(names):
            # A random name is no other state.
            shown = "." if name.startswith(".") else name
            content = data[names[name]]
            digest.update(b"%s %d " % (shown.encode(), len(content)))
            digest.update(content)
        found = digest.digest() in self.tried
        self.tried.add(digest.digest())
        return not found

    def try_state(self, done, where):
        """Judge what is in disk/ now."""
        kept = None
        if self.keep:
            kept = os.path.join(self.keep, "%s-%d" % (
                self.case.name, len(self.failures)))
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(self.path("disk"), kept)
        self.states += 1
        try:
            lost = self.case.judge(self.directory, done)
            if lost and not self.case.may_lose:
                raise Failure("%d lines are lost" % lost)
            self.lost += lost
            self.losing += lost > 0
        except Failure as failure:
            self.failures.append((where + (", " + kept if kept else ""),
                                  str(failure)))
            return
        if kept:
            shutil.rmtree(kept)

    def states_at(self, disk, folder, count, where, earlier=()):
        """Try `count` states that there may be at this event."""
        done = {name for (directory, name) in disk.names_now()
                if directory == 1}
        done |= set(earlier)
        for _ in range(count):
            left = disk.names_after_cut(self.rng)
            data = disk.data_after_cut(self.rng, left)
            names = {name: number for (directory, name), number
                     in left.items() if directory == 0}
            data = {number: data[number] for number in names.values()}
            if self.is_new(names, data, done):
                folder.restore(names, data)
                self.try_state(done, where)
                yield names, data, done

    def count_at(self, per_event):
        return int(per_event) + (self.rng.random() < per_event % 1)

    def run(self):
        self.make_directory()
        shell(self.directory, self.case.prepare)
        self.events, trace, folder = self.record(self.case.command, "trace")
        per_event = self.wanted / self.events
        for i, disk in enumerate(read_trace(trace, ("disk", "done"))):
            where = "event %d of %d" % (i, self.events)
            for names, data, done in self.states_at(
                    disk, folder, self.count_at(per_event), where):
                # And a second cut, while the next run recovers.
                if self.rng.random() < 0.05:
                    folder.restore(names, data)
                    self.run_recovery(done, where)

    def run_recovery(self, done, where):
        try:
            events, trace, folder = self.record(self.case.recovery,
                                                "trace-of-recovery")
        except Failure as failure:
            self.failures.append((where, str(failure)))
            return
        for i, disk in enumerate(read_trace(trace, ("disk", "done"))):
            for _ in self.states_at(disk, folder, self.count_at(8 / events),
                                    "%s, then event %d of %d of recovery" %
                                    (where, i, events), done):
                pass

    def kinds(self):
        """The failures that differ in more than numbers."""
        kinds = {}
        for failure in self.failures:
            kind = re.sub("[0-9]+", "0", failure[1])
            kinds.setdefault(kind, []).append(failure)
        return kinds.values()

    def report(self):
        """Print what was found; is it all right?"""
        case = self.case
        if case.must_lose and not self.losing and self.states >= 20:
            self.failures.append((case.name, "no state lost a line: this"
                                  " replay sees nothing"))
        print("%-16s %4d events, %5d states, %4d of them lost lines,"
              " %d failed" % (case.name, self.events, self.states,
                              self.losing, len(self.failures)))
        for failures in self.kinds():
            print("  %d times, first at %s: %s" % (len(failures),
                                                   *failures[0]))
        if self.failures:
            print("  again: -s %s -n %d %s" % (self.seed, self.wanted,
                                               case.name))
        sys.stdout.flush()
        return not self.failures


def work_directory():
    """In memory, where syncs take no time."""
    memory = "/dev/shm"
    return tempfile.mkdtemp(prefix="bloomdedup-power-", dir=memory
                            if os.access(memory, os.W_OK) else None)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("-s", "--seed", default="1")
    parser.add_argument("-n", "--states", type=int, default=300)
    parser.add_argument("-k", "--keep")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("cases", nargs="*")
    options = parser.parse_args()
    cases = {case.name: case for case in CASES}
    if options.list:
        print("\n".join(cases))
        return 0
    for name in options.cases:
        if name not in cases:
            parser.error("no such case: %s" % name)
    work = work_directory()
    good = True
    try:
        for name in options.cases or cases:
            trial = Trial(cases[name](), options.seed, options.states, work,
                          options.keep)
            trial.run()
            good = trial.report() and good
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
