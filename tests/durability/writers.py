#!/usr/bin/env python3
"""Several writers of one file, step by step, against a model of its bytes.

writers.py CASES [SEED]: in each case, runs of a few filters append to a few
files, in several ways. A run stops before one of its calls, and goes on after
others have had a turn, or is killed there; or it is killed in the middle of a
write; or the disk is full in the middle of one. Other programs append records,
whole or in halves, follow a file, cut it to nothing, move it away, remove it or
put another one in its place. Some runs empty or replace their output. In the
end all runs have ended, and the last run of each filter goes to its end.

The program is asked only which lines its filters know. Everything else is read
from the files, which are kept open when they lose their names:

- A record that a filter knows stands in a file as a record of its own, for a
  reader that knows nothing of the program, or stood there when the file was
  emptied, or when the run began that replaced it.
- What other programs have written is all there, in order, unless a run was asked
  to empty the file.
- A file that a run has replaced was then as it was when that run began.
- With --tee, it also stands in the list, which only runs of its filter write to.
- With --header, a file begins with the header, and has it once.
- A run that exits with 0 has remembered all of its records.
- Of a run with --atomic, all records are remembered, or none.
- Where nobody was killed, nothing failed and no other program wrote, there is
  no other byte, and each record stands there once.

In every eighth case, the power fails, too, between any two of a run's calls: all
runs are gone, and each file, name and mapped page is what power_disk.py says
that the disk may have, from the record of `recorder`. Then runs go on, and the
power may fail again, also while the next run finishes a journal. What the
manual promises, and what holds here beside the above:

- No filter is refused.
- What a filter knew when a run with --sync or --atomic ended well, it knows.
- Of a run with --atomic, whenever it was cut, all records are remembered, or
  none, by `check` and then by the next run.
- A record that a filter knows, and that only runs with --sync or --atomic had
  in their input, stands in a file that has a name (and in the list of --tee),
  or will once the journal is finished.
- Other runs may have lost what they had printed. After that, nothing is lost:
  whatever the files hold, each record that is remembered from then on stands
  there for every reader.
- If a header or a filter beside its list is lost, the file is removed, or the
  filter filled again as its message says, and runs go on.

With one seed, the cases are the same: no step depends on how long something
takes. A run that waits for another is told that time has passed (SLEEP of
preload.so), and stops as before a call. Leases are not taken away from a run
that is stopped, as they would be after 45 seconds.

Environment: BLOOMDEDUP, PRELOAD (preload.so), and RECORDER for power failures.
In an empty directory.
"""
import fcntl
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # into this directory
from power_disk import Folder, read_trace

PROGRAM = os.environ["BLOOMDEDUP"]
PRELOAD = os.environ["PRELOAD"]
RECORDER = os.environ.get("RECORDER")
# Seconds until a run that neither ends nor stops waits in a call, for a lease.
PATIENCE = 5
LONG = 60
SAFE = ("--sync", "--atomic")  # nothing is lost when the power fails

CSV_FIELD = rb'(?:"[^"]*(?:""[^"]*)*"(?!")|(?!"))[^,\n]*'
CSV_RECORD = re.compile(rb"(?:%b,)*%b\n" % (CSV_FIELD, CSV_FIELD))
KINDS = {"lines": [], "nul": ["-z"], "csv": ["--csv"]}


class Finding(Exception):
    pass


def split(kind, data):
    """The whole records of a file, as other programs would see them."""
    if kind != "csv":
        end = b"\n" if kind == "lines" else b"\0"
        return [r + end for r in data.split(end)[:-1]]
    # As Python's own reader has it: a quote opens a field only where the field
    # begins, and what follows the closing quote is text.
    records, at = [], 0
    while (record := CSV_RECORD.match(data, at)) is not None:
        records.append(record[0])
        at = record.end()
    return records


class File:
    """A file by its inode, also when it has lost its name."""

    def __init__(self, path, live, shared):
        self.handle = os.open(path, os.O_PATH)
        self.live = live      # the runs that there are
        self.shared = shared  # descriptions that several runs inherit
        self.stood = set()    # records that stood there when it was cut
        self.is_replaced = False  # by a run of ours
        self.pieces = []      # what others have appended since, in order
        self.half = None      # what is missing of another program's record

    def open(self):
        return os.open(f"/proc/self/fd/{self.handle}",
                       os.O_RDONLY | os.O_NONBLOCK)

    def read(self):
        try:
            with open(self.open(), "rb") as file:
                return file.read()
        except BlockingIOError:
            pass  # a run has stopped that keeps all others out
        for fd in self.descriptions():
            try:
                fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
            except OSError:
                continue  # it has no lease
            data = self.read()
            fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
            return data
        raise Finding("a lease that no run has")

    def descriptions(self):
        """Descriptors of all open files that a run may have a lease of."""
        for fd in self.shared.values():
            if os.path.samestat(os.stat(self.handle), os.fstat(fd)):
                yield fd
        import ctypes  # it takes long
        for run in self.live():
            directory = f"/proc/{run.process.pid}/fd"
            for number in map(int, os.listdir(directory)):
                if not os.path.samestat(os.stat(self.handle),
                                        os.stat(f"{directory}/{number}")):
                    continue
                process = os.pidfd_open(run.process.pid)
                fd = ctypes.CDLL(None).syscall(438, process, number, 0)
                os.close(process)
                if fd < 0:
                    continue
                try:
                    yield fd
                finally:
                    os.close(fd)

    def forget_others(self):
        """What others have written may be gone."""
        data, at, left = self.read(), 0, []
        for piece in self.pieces:
            found = data.find(piece, at)
            if found >= 0:
                left.append(piece)
                at = found + len(piece)
        self.pieces, self.half = left, None

    def close(self):
        os.close(self.handle)


class Run:
    def __init__(self, process, command, name, records, mode):
        self.process, self.command, self.name = process, command, name
        self.records, self.mode = records, mode
        self.state = "running"
        self.status = None
        self.old = None        # the file that it replaces, and its bytes

    def wait(self, patience=PATIENCE):
        """Until it has ended or stopped, or as long as patience lasts."""
        end = time.monotonic() + patience
        pause = 0.0002
        while self.state != "ended":
            pid, status = os.waitpid(self.process.pid,
                                     os.WNOHANG | os.WUNTRACED)
            if pid != 0 and os.WIFSTOPPED(status):
                self.state = "stopped"
                return
            if pid != 0:
                self.state = "ended"
                self.status = os.waitstatus_to_exitcode(status)
                self.process.returncode = self.status
                return
            if time.monotonic() > end:
                self.state = "waiting"
                return
            time.sleep(pause)
            pause = min(pause * 1.5, 0.01)


class Disk:
    """The directory that `recorder` watches, and its record."""

    def __init__(self, directory, trace):
        self.directory, self.trace = directory, trace

    def cut(self, rng):
        """The power fails, and comes back."""
        aside = self.directory + ".aside"
        os.mkdir(aside)  # a call before which the recorder looks
        for disk in read_trace(self.trace, (self.directory,)):
            pass  # to the end
        now = {name: n for (_, name), n in disk.names_now().items()}
        left = disk.names_after_cut(rng)
        data = disk.data_after_cut(rng, left)
        Folder(self.directory, aside, now).restore(
            {name: n for (_, name), n in left.items()}, data)
        shutil.rmtree(aside)
        # What is there now is on the disk.
        for name in os.listdir(self.directory) + ["."]:
            file = os.open(os.path.join(self.directory, name), os.O_RDONLY)
            os.fsync(file)
            os.close(file)
        return {name: len(data[n]) for (_, name), n in left.items()}


class Case:
    def __init__(self, seed, directory, disk=None):
        self.seed, self.rng = seed, random.Random(seed)
        self.directory = os.path.join(directory, "disk")
        self.aside = os.path.join(directory, "aside")
        self.disk = disk
        rng = self.rng
        self.kind = rng.choice(("lines", "lines", "nul", "csv", "csv"))
        self.end = {"nul": b"\0"}.get(self.kind, b"\n")
        self.filters = ["s0", "s1"][:rng.choice((1, 1, 2))]
        self.outputs = ["a", "b"][:rng.choice((1, 1, 1, 2))]
        self.atomic_too = rng.random() < 0.6
        self.others_too = rng.random() < 0.6
        # { a; b; } >file: runs that share a description, not at its end
        self.braces = not self.others_too and rng.random() < 0.3
        # each run in braces prints its header
        self.header = b"id,text\n" if self.kind == "csv" and \
            not self.braces and rng.random() < 0.5 else b""
        # all runs of a filter add to its list, which others leave alone
        self.tee = rng.random() < 0.25
        # where the power fails, all is read after each call
        many = rng.choice((300, 6000)) if disk is None else 300
        count = rng.choice((3, 30, 30, 100, 100, many))
        self.records = {f: [self.make(f, i) for i in range(count)]
                        for f in self.filters}
        self.offered = {f: 0 for f in self.filters}
        self.files = []        # every file that there ever was
        self.runs = []
        self.shared = {}       # descriptions that several runs inherit
        self.followers = []
        self.loose = []        # what others have written at any time
        self.number = 0
        self.seized = set()    # inodes whose name others have taken away
        # where the power fails, lines must be safe in half of the cases
        self.modes = [None, None, "--shared", "--sync"]
        if disk is not None and rng.random() < 0.5:
            self.modes = ["--sync"]
        if self.atomic_too or disk is not None:
            self.modes += ["--atomic"] * 3
        self.troubles = 0      # kills, failures and other programs' writes
        # Of each filter: what runs other than SAFE have read, what it must know
        # when the power fails, and what was lost then, of outputs and lists.
        self.frail, self.durable, self.excused, self.unlisted = (
            {f: set() for f in self.filters} for _ in range(4))
        self.stood = set()     # in files that went when the power failed
        self.log = []
        for path in (self.directory, self.aside):
            os.makedirs(path, exist_ok=True)
            for name in os.listdir(path):
                os.unlink(os.path.join(path, name))
        for name, records in self.records.items():
            with open(self.beside(f"all.{name}"), "wb") as file:
                file.write(self.header + b"".join(records))

    # --- bytes

    def make(self, who, number):
        rng = self.rng
        text = f"{who}-{number}-" + "x" * rng.choice((0, 0, 3, 40, 300))
        if self.kind == "nul":
            text = text[:6] + "\n" + text[6:]
        elif self.kind == "csv" and rng.random() < 0.7:
            text += f',"two\nlines, ""{number}"""'
        return text.encode() + self.end

    def path(self, name):
        return os.path.join(self.directory, name)

    def beside(self, name):
        """The path of a file that the power does not touch."""
        return os.path.join(self.aside, name)

    def look(self):
        """Remember the files that are there now."""
        known = {os.stat(f.handle).st_ino for f in self.files}
        for name in self.outputs + ["again"] + self.lists():
            path = self.path(name)
            if os.path.exists(path) and os.stat(path).st_ino not in known:
                self.files.append(File(path, self.live, self.shared))

    def lists(self):
        return [f"list.{f}" for f in self.filters] if self.tee else []

    def file(self, name):
        """The file that has this name now, or None."""
        self.look()
        try:
            number = os.stat(self.path(name)).st_ino
        except FileNotFoundError:
            return None
        return next(f for f in self.files
                    if os.stat(f.handle).st_ino == number)

    # --- runs

    def say(self, *words):
        self.log.append(" ".join(str(w) for w in words))

    def live(self):
        return [r for r in self.runs if r.state != "ended"]

    def may_use(self, name, shared):
        using = [r for r in self.live() if r.name == name]
        return not using or (shared and all(r.mode == "--shared"
                                            for r in using))

    def options(self, name, mode, output):
        command = [PROGRAM] + KINDS[self.kind] + ["--lock-timeout=1", "-j1"]
        if name is not None:
            command += ["-f", name, "-n", "4000", "-p", "1e-9"]
        if name is not None and self.tee:
            command.append(f"--tee=list.{name}")
        if mode is not None:
            command.append(mode)
        if self.header:
            command.append("--header")
        if output.startswith("-o"):
            command += ["-o", output[2:], "--append"]
        if output.startswith("-r"):
            command += ["-o", output[2:], "--overwrite"]
        return command

    def start(self, faults=True):
        rng = self.rng
        name = rng.choice(self.filters)
        if rng.random() < 0.08:
            name = None
        mode = None if name is None else rng.choice(self.modes)
        if name is not None and not self.may_use(name, mode == "--shared"):
            return
        if name is None:
            chosen = [self.make("none", 1000 * self.number + i)
                      for i in range(rng.choice((5, 2000)))]
        else:
            chosen = self.choose(name)
        size = sum(map(len, chosen))
        self.begin(name, mode, chosen, self.fault(size) if faults else {})

    def choose(self, name):
        """Some records, most of which were in no run before."""
        rng = self.rng
        records, first = self.records[name], self.offered[name]
        if rng.random() < 0.3:
            first = rng.randrange(first + 1)
        last = min(len(records), first + 1 +
                   rng.randrange(len(records) // 3 + 1))
        self.offered[name] = max(last, self.offered[name])
        return records[first:last] or records[-1:]

    def fault(self, size):
        rng = self.rng
        kinds = ["none", "stop", "stop", "stop", "torn", "torn", "full",
                 "short"]
        if self.others_too:
            kinds += ["between", "between"]
        kind = rng.choice(kinds)
        if kind == "stop":
            last = rng.choice((30, 60, 150))
            numbers = sorted(rng.sample(range(1, last), rng.choice((1, 2))))
            return {"STOP": ",".join(map(str, numbers))}
        if kind in ("torn", "full"):
            return {kind.upper(): str(rng.randrange(1, size + 2))}
        if kind == "between":
            text = self.make("between", self.number)
            if self.kind == "nul" or rng.random() < 0.6:
                text = text[:rng.randrange(1, len(text) - 1)]
            return {"FOREIGN": text.decode(), "FIRED": self.beside(f"fired.{self.number}"),
                    "FOREIGN_AT": str(rng.choice((1, 1, 2, 3))) +
                    rng.choice(("", "", "+"))}
        if kind == "short":
            return {"SHORT": str(rng.choice((2, 3)))}
        return {}

    def begin(self, name, mode, records, fault, replaces=True):
        rng = self.rng
        output = rng.choice(self.outputs)
        how = rng.choice((">>", ">>", "-o", "inherited", "-r"))
        if how == "-r" and not replaces:
            how = "-o"
        if self.braces:
            how = "inherited"
        # it adds to all outputs then
        if how == "-r" and mode == "--atomic" and self.tee:
            how = "-o"
        # a file is emptied at once, and replaced at the end
        if how == "-r" and mode != "--atomic" and \
                (self.live() or "STOP" in fault):
            how = "-o"
        # nothing comes before the header
        begins = [output] + ([f"list.{name}"] if self.tee and name else [])
        if "FOREIGN" in fault and self.header and (
                how == "-r" or not all(map(self.is_begun, begins))):
            fault = {}
        self.number += 1
        source = self.beside(f"in.{self.number}")
        stream = list(records)
        for _ in range(rng.randrange(3)):
            stream.insert(rng.randrange(len(stream) + 1), rng.choice(records))
        with open(source, "wb") as file:
            file.write(self.header + b"".join(stream))
        # a repeated record must not come before the first
        command = self.options(name, mode, how + output if how in ("-o", "-r")
                               else "")
        if how == "-o" and name is not None and rng.random() < 0.3 and \
                mode != "--shared":
            command.append("--duplicates=again")
        command.append(source)
        close = None
        target = subprocess.DEVNULL
        if how == ">>":
            close = target = self.open_to_append(output)
            if target is None:
                return None
        elif how == "inherited":
            if output not in self.shared:
                self.shared[output] = os.open(
                    self.path(output), os.O_WRONLY | os.O_CREAT |
                    (0 if self.braces else os.O_APPEND), 0o666)
                # it has contents if the power has failed
                os.lseek(self.shared[output], 0, os.SEEK_END)
            target = self.shared[output]
        old = self.file(output)
        before = old.read() if old is not None else b""
        if fault:
            self.troubles += 1
        if name is not None and mode not in SAFE:
            self.frail[name].update(records)
        process = self.execute(command, fault, target)
        run = Run(process, command, name, set(records), mode)
        run.number, run.output, run.fault = self.number, output, fault
        run.replaces = how == "-r"
        run.alone = not self.live()
        run.knew = self.known(name) if mode == "--atomic" else None
        self.runs.append(run)
        if how == "-r" and old is not None:
            run.old = old, before
        run.wait(LONG if how == "-r" and mode != "--atomic" else PATIENCE)
        if close is not None:
            os.close(close)
        self.look()
        self.say("run", self.number, how, output, " ".join(command[1:]),
                 fault, "->", run.state, run.status, self.errors(run))
        self.settle(run)
        return run

    def execute(self, command, fault, target):
        # the same secrets of filters each time, another in each run
        environment = dict(
            os.environ, LD_PRELOAD=PRELOAD, SLEEP="500",
            RANDOM_FROM=str(self.seed * 1000 + self.number), **fault)
        with open(self.beside(f"err.{self.number}"), "wb") as errors:
            return subprocess.Popen(
                command, cwd=self.directory, env=environment, stdout=target,
                stdin=subprocess.DEVNULL, stderr=errors)

    def open_to_append(self, name):
        """As other programs and the shell do; None while a lease keeps them
        waiting."""
        try:
            fd = os.open(self.path(name), os.O_WRONLY | os.O_CREAT |
                         os.O_APPEND | os.O_NONBLOCK, 0o666)
        except BlockingIOError:
            return None
        os.set_blocking(fd, True)
        return fd

    def errors(self, run):
        with open(self.beside(f"err.{run.number}"), "rb") as file:
            return file.read().decode("utf-8", "replace").strip()

    def go_on(self):
        stopped = [r for r in self.live() if r.state != "running"]
        if not stopped:
            return
        run = self.rng.choice(stopped)
        if self.rng.random() < 0.35:
            self.kill(run)
            return
        if run.state == "stopped":
            self.resume(run)
        run.wait()
        self.look()
        self.say("on", run.number, "->", run.state, run.status,
                 self.errors(run))
        self.settle(run)

    def resume(self, run):
        """It goes on. What it replaces is what was there when it looked."""
        if run.replaces and run.mode == "--atomic" and \
                not self.has_looked(run):
            file = self.file(run.output)
            run.old = None if file is None else (file, file.read())
        os.kill(run.process.pid, signal.SIGCONT)

    def has_looked(self, run):
        """Has it looked at the file that it is to replace? Then it has made
        another one without a name. Before that, it has made its filter so."""
        if not os.path.exists(self.path(run.name)):
            return False
        its_filter = os.stat(self.path(run.name))
        directory = f"/proc/{run.process.pid}/fd"
        for number in os.listdir(directory):
            file = f"{directory}/{number}"
            if os.path.basename(os.readlink(file)).startswith(
                    ("#", ".bloomdedup-")) and \
                    not os.path.samestat(os.stat(file), its_filter):
                return True
        return False

    def kill(self, run):
        self.shoot(run)
        self.look()
        self.say("kill", run.number)
        self.troubles += 1
        self.settle(run)

    def shoot(self, run):
        os.kill(run.process.pid, signal.SIGKILL)
        run.wait(LONG)
        self.end_leases()

    def end_leases(self):
        """The lease that a killed run had of a description that others have
        stays for 45 seconds."""
        for fd in self.shared.values():
            try:
                fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
            except OSError:
                pass  # there is none

    def settle(self, run):
        """What must hold when a run has ended."""
        if run.state == "ended" and run.status < 0:
            self.end_leases()
        self.look_at_old(run)
        if run.state != "ended":
            return
        if "FIRED" in run.fault and os.path.exists(run.fault["FIRED"]):
            self.loose.append(run.fault["FOREIGN"].encode())
            os.unlink(run.fault["FIRED"])
        if "FULL" in run.fault and run.status == 3 and run.alone and \
                run.old is None:
            self.check_end(run)
        if run.name is None and run.status == 0:
            missing = run.records - self.standing()
            if missing:
                raise Finding(f"run {run.number} exits with 0, and has not "
                              f"printed {sorted(missing)[:3]}")
        if run.name is None:
            return
        if run.status == 2:
            raise Finding(f"run {run.number} is refused: {self.errors(run)}")
        if run.status < 0 and run.status != -signal.SIGKILL:
            raise Finding(f"run {run.number} died of {-run.status}")
        if run.status != 0:
            self.troubles += 1
        if not self.may_use(run.name, False):
            return
        known = self.known(run.name)
        if run.status == 0 and not run.records <= known:
            raise Finding(f"run {run.number} exits with 0, and forgets "
                          f"{sorted(run.records - known)[:3]}")
        if run.mode == "--atomic":
            new = run.records - run.knew
            if new & known and not new <= known:
                raise Finding(f"run {run.number} remembers a part")
        if run.mode in SAFE and run.status == 0:
            self.durable[run.name] = known
        self.all_stand(run.name, known)

    def look_at_old(self, run):
        """Has the run emptied or replaced its file?"""
        if run.old is None:
            return
        file, before = run.old
        if run.mode != "--atomic":
            run.old = None
            if not file.read().startswith(before):
                self.empty(file, before)
            return
        status = os.stat(file.handle)
        if status.st_nlink > 0 or status.st_ino in self.seized:
            return
        run.old = None
        # before it opened the file, it may have cut off what was torn
        data = file.read()
        if data != before and not (
                before.startswith(data) and
                split(self.kind, data) == split(self.kind, before)):
            raise Finding(f"run {run.number} replaces {data[:80]}, "
                          f"which was {before[:80]} when it began")
        self.empty(file, before)
        file.is_replaced = True
        self.seized.add(status.st_ino)  # of other runs that would replace it

    def empty(self, file, data):
        file.stood.update(split(self.kind, data))
        file.pieces, file.half = [], None
        self.loose = [piece for piece in self.loose if piece not in data]

    def is_begun(self, name):
        """Does the file have its header, if it is to have one?"""
        file = self.file(name)
        return not self.header or (file is not None and
                                   file.read().startswith(self.header))

    def check_end(self, run):
        """A write has failed: the last record is whole, or it is said."""
        file = self.file(run.output)
        if run.name is not None and os.path.exists(self.path(
                run.name + ".journal")):
            return  # the next run goes on with it
        if file is None or file.half is not None or self.others_too:
            return
        if "again:" in self.errors(run) or "list." in self.errors(run):
            return  # what failed is another file
        data = file.read()
        rest = data[sum(map(len, split(self.kind, data))):]
        if rest and "torn" not in self.errors(run):
            raise Finding(f"run {run.number} leaves {rest[:40]} in silence")

    # --- other programs

    def append(self, file, name, piece):
        fd = self.open_to_append(name)
        if fd is None:
            return False
        os.write(fd, piece)
        os.close(fd)
        file.pieces.append(piece)
        self.troubles += 1
        self.say("other", name, piece)
        return True

    def follow(self, name):
        try:
            self.followers.append(open(os.open(
                self.path(name), os.O_RDONLY | os.O_NONBLOCK), "rb"))
        except BlockingIOError:
            pass  # until a lease ends

    def other(self):
        rng = self.rng
        name = rng.choice(self.outputs)
        file = self.file(name)
        if file is None:
            return
        self.number += 1
        what = rng.choice(("whole", "whole", "half", "half", "rest",
                           "follow", "leave", "cut", "move", "replace"))
        for run in self.live():
            # a run that is to replace a file has looked at it
            if run.old is not None and self.has_looked(run) and \
                    rng.random() < 0.5:
                what, name, file = "whole", run.output, self.file(run.output)
        if what in ("cut", "move", "replace") and (
                self.disk is not None or rng.random() < 0.6):
            what = "whole"
        if file is None or not self.is_begun(name):
            return
        record = self.make("foreign", self.number)
        if what == "rest" and file.half is not None:
            if self.append(file, name, file.half):
                file.half = None
        elif what == "whole" and file.half is None:
            self.append(file, name, record)
        elif what == "half" and file.half is None:
            middle = rng.randrange(1, len(record))
            if self.append(file, name, record[:middle]):
                file.half = record[middle:]
        elif what == "follow":
            self.follow(name)
        elif what == "leave" and self.followers:
            self.followers.pop().close()
        elif what == "cut" and not self.live() and not self.loose:
            self.empty(file, file.read())
            os.truncate(self.path(name), 0)
            self.troubles += 1
            self.say("cut", name)
        elif what == "move":
            self.seized.add(os.stat(file.handle).st_ino)
            os.rename(self.path(name), self.path(f"{name}.{self.number}"))
            self.troubles += 1
            self.say("move", name)
        elif what == "replace":
            self.seized.add(os.stat(file.handle).st_ino)
            with open(self.path("new"), "wb") as new:
                new.write(self.header + record)
            os.rename(self.path("new"), self.path(name))
            self.file(name).pieces.append(self.header + record)
            self.troubles += 1
            self.say("replace", name)

    # --- the oracle

    def known(self, name):
        """Which of its records the filter knows now."""
        if not os.path.exists(self.path(name)):
            return set()
        with open(self.beside("err.check"), "w+b") as errors:
            found = subprocess.run(
                [PROGRAM, "check", "-f", name, self.beside(f"all.{name}")],
                cwd=self.directory, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=errors, check=False)
            errors.seek(0)
            said = errors.read()
        if b"No such file" in said:
            return set()  # a run that failed has just removed it
        if found.returncode > 1:
            raise Finding(f"check: {said.decode()}")
        return set(split(self.kind, found.stdout)) - {self.header}

    def standing(self):
        self.look()
        there = set(self.stood)
        for file in self.files:
            there |= file.stood
            if file.is_replaced:
                continue  # nobody finds what was written to it since
            there.update(split(self.kind, file.read()))
        return there

    def all_stand(self, name, known):
        """A committed journal's records need not stand anywhere yet."""
        missing = known - self.standing() - self.excused[name]
        if missing and not os.path.exists(self.path(name + ".journal")):
            raise Finding(f"{len(missing)} of {len(known)} remembered by "
                          f"{name}, and nowhere: {sorted(missing)[:3]}")
        if self.tee and not os.path.exists(self.path(name + ".journal")):
            missing = known - self.listed(name) - self.unlisted[name]
            if missing:
                raise Finding(f"remembered by {name}, and not in its list: "
                              f"{sorted(missing)[:3]}")

    def listed(self, name):
        """The records in the list of --tee, which has nothing else."""
        file = self.file(f"list.{name}")
        if file is None:
            return set()
        records = set(split(self.kind, file.read())) - {self.header}
        if self.troubles == 0 and not records <= set(self.records[name]):
            raise Finding(f"the list of {name} has other records")
        return records

    def check_others(self):
        for file in self.files:
            data, at = file.read(), 0
            for piece in file.pieces:
                found = data.find(piece, at)
                if found < 0:
                    raise Finding(f"another program's {piece} is gone")
                at = found + len(piece)
        whole = b"".join(file.read() for file in self.files)
        for piece in self.loose:
            if piece not in whole and not any(
                    piece in r for f in self.files for r in f.stood):
                raise Finding(f"another program's {piece} is gone")

    def check_headers(self):
        for name in self.outputs if self.header else ():
            file = self.file(name)
            data = file.read() if file is not None else b""
            count = split(self.kind, data).count(self.header)
            if self.header.startswith(data):
                continue  # a torn one is completed by the next run
            if not data.startswith(self.header) or count != 1:
                raise Finding(f"{name}: {count} headers: {data[:80]}")

    def check_purity(self):
        if self.troubles > 0 or len(self.filters) > 1:
            return
        if any(r.name is None or r.mode == "--shared" for r in self.runs):
            return
        records = []
        for name in self.outputs:
            file = self.file(name)
            if file is None:
                continue
            data = file.read()
            records += [r for r in split(self.kind, data) if r != self.header]
            if data and not data.endswith(self.end):
                raise Finding(f"{name}: its end is torn")
        if len(records) != len(set(records)):
            raise Finding("a record stands there twice")
        if not set(records) <= set(self.records[self.filters[0]]):
            raise Finding("what stands there is not a record")

    # --- power failures

    def cut(self):
        """The power fails. What holds then, and what has been lost."""
        for run in self.live():
            self.look_at_old(run)
        for run in self.live():
            self.shoot(run)
            run.old = None
        self.close_all()
        for file in self.files:
            # a run has replaced it that began before it was there
            if os.stat(file.handle).st_nlink == 0 and not file.is_replaced:
                file.stood.update(split(self.kind, file.read()))
        left = self.disk.cut(self.rng)
        self.troubles += 1
        self.say("the power fails:", left)
        self.look()
        self.keep_files()
        for name in self.filters:
            self.judge(name)
        for run in self.runs:
            run.knew = None  # it has been judged
        for name in self.filters:
            if not self.recover(name):
                return  # the power failed again
        for name in self.filters:
            self.judge_outputs(name, self.known(name))
        self.mend_headers()
        for name in self.filters:
            self.fill_again(name)
            self.accept(name, self.known(name))

    def keep_files(self):
        """Which files there are now, and what others have in them."""
        for file in list(self.files):
            if os.stat(file.handle).st_nlink > 0:
                file.is_replaced = False
                file.forget_others()
                continue
            self.stood |= file.stood
            self.files.remove(file)
            file.close()
        whole = b"\0".join(file.read() for file in self.files)
        self.loose = [piece for piece in self.loose if piece in whole]

    def judge(self, name):
        known = self.known(name)
        missing = self.durable[name] - known
        if missing:
            raise Finding(f"{name} has forgotten {sorted(missing)[:3]}")
        for run in self.runs:
            if run.name == name and run.mode == "--atomic":
                self.judge_atomic(run, known)

    def accept(self, name, known):
        """What is lost now may be; nothing else is from now on."""
        self.durable[name] = known
        self.excused[name] = known - self.standing()
        self.unlisted[name] = known - self.listed(name) if self.tee else set()

    def judge_atomic(self, run, known):
        if run.knew is None:
            return
        new = run.records - run.knew
        for other in self.runs:
            if other.name == run.name and other.number > run.number:
                new -= other.records
        if new & known and not new <= known:
            raise Finding(f"run {run.number} remembers {len(new & known)} of "
                          f"{len(new)}")

    def recover(self, name):
        """The next run finishes the journal, if there is one. Returns False if
        the power has failed meanwhile."""
        if not os.path.exists(self.path(name + ".journal")):
            return True
        known = self.known(name)
        self.number += 1
        fault = {"STOP": str(self.rng.randrange(1, 80))} \
            if self.rng.random() < 0.4 else {}
        command = [PROGRAM, "add", "-f", name, "/dev/null"]
        run = Run(self.execute(command, fault, subprocess.DEVNULL), command,
                  None, set(), "add")
        run.number = self.number
        run.wait(LONG)
        self.say("add", run.number, fault, "->", run.state, run.status,
                 self.errors(run))
        if run.state != "ended":
            self.shoot(run)
            self.cut()
            return False
        if run.status == 3 and "they are discarded" in self.errors(run) and \
                any(r.replaces for r in self.runs):
            return True  # its output has been replaced
        if run.status != 0:
            raise Finding(f"the journal of {name} is not finished: "
                          f"{self.errors(run)}")
        if self.known(name) != known:
            raise Finding(f"check saw {len(known)} records of {name}, which "
                          f"knows {len(self.known(name))}")
        return True

    def judge_outputs(self, name, known):
        missing = known - self.frail[name] - self.excused[name] - \
            self.standing()
        if missing:
            raise Finding(f"{len(missing)} of {len(known)} remembered by "
                          f"{name}, and gone: {sorted(missing)[:3]}")
        if self.tee:
            missing = known - self.frail[name] - self.unlisted[name] - \
                self.listed(name)
            if missing:
                raise Finding(f"remembered by {name}, and gone from its list: "
                              f"{sorted(missing)[:3]}")

    def mend_headers(self):
        """Remove what has lost its header: runs would refuse it."""
        for output in self.outputs + ["again"] + self.lists():
            file = self.file(output)
            data = b"" if file is None else file.read()
            if self.header and not data.startswith(self.header) and \
                    not self.header.startswith(data):
                file.stood.update(split(self.kind, data))
                os.unlink(self.path(output))
                self.say("without header:", output)

    def fill_again(self, name):
        """A list stays, and its filter is lost."""
        file = self.file(f"list.{name}") if self.tee else None
        if file is None or file.read() == b"" or \
                os.path.exists(self.path(name)):
            return
        command = self.options(name, None, "")
        command.remove(f"--tee=list.{name}")
        command[1:1] = ["add"]
        done = subprocess.run(
            command + [f"list.{name}"], cwd=self.directory, check=False,
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.say(command, "->", done.returncode, done.stderr)
        if done.returncode != 0:
            raise Finding(f"{name} is not filled: {done.stderr}")

    def finish(self):
        while self.live():
            for run in sorted(self.live(), key=lambda r: r.state == "waiting"):
                if run.state == "waiting":
                    run.wait(LONG)
                    if run.state == "waiting" and not any(
                            r.state == "stopped" for r in self.live()):
                        raise Finding(f"run {run.number} hangs")
                    self.settle(run)
                elif self.rng.random() < 0.5:
                    self.kill(run)
                else:
                    self.resume(run)
                    run.wait()
                    self.say("end", run.number, "->", run.state, run.status,
                             self.errors(run))
                    self.settle(run)
        self.check_others()
        for name in self.filters:
            mode = self.rng.choice([m for m in self.modes
                                    if m != "--shared"])
            run = self.begin(name, mode, self.records[name], {}, False)
            run.wait(LONG)
            self.settle(run)
            if run.status == 3 and "they are discarded" in self.errors(run) \
                    and (self.others_too or any(r.replaces for r in self.runs)):
                run = self.begin(name, mode, self.records[name], {}, False)
                run.wait(LONG)
                self.settle(run)
            if run.status != 0:
                raise Finding(f"the last run of {name} exits with "
                              f"{run.status}: {self.errors(run)}")
            if os.path.exists(self.path(name + ".journal")):
                raise Finding(f"a journal of {name} stays")
            missing = set(self.records[name]) - self.standing() - \
                self.excused[name]
            if missing:
                raise Finding(f"lost: {sorted(missing)[:3]}")
        self.check_others()
        self.check_headers()
        self.check_purity()

    def play(self):
        for _ in range(self.rng.randrange(2, 12)):
            turn = self.rng.random()
            if turn < 0.45:
                self.start()
            elif turn < 0.75:
                self.go_on()
            elif self.disk is not None and turn < 0.85:
                self.cut()
            elif self.others_too:
                self.other()
        if self.disk is not None and self.rng.random() < 0.7:
            self.cut()
        self.finish()
        if self.disk is not None:
            self.cut()

    def close_all(self):
        """What other programs have open."""
        for file in self.followers:
            file.close()
        for fd in self.shared.values():
            os.close(fd)
        self.followers.clear()
        self.shared.clear()

    def close(self):
        for run in self.live():
            self.shoot(run)
        for file in self.files:
            file.close()
        self.close_all()


def play(seed, disk=None):
    """Prints what it finds. Returns how many troubles there were, and 1 if
    something was found, otherwise 0."""
    began = time.monotonic()
    case = Case(seed, os.getcwd(), disk)
    try:
        case.play()
        return case.troubles, 0
    except Finding as finding:
        print(f"seed {seed}, {case.kind}, after "
              f"{time.monotonic() - began:.1f} s: {finding}", flush=True)
        print("\n".join(case.log), flush=True)
        return case.troubles, 1
    finally:
        case.close()


def play_recorded(seed):
    """A case in which the power fails, in a process that is recorded."""
    os.makedirs("disk", exist_ok=True)
    for name in os.listdir("disk"):
        os.unlink(os.path.join("disk", name))
    done = subprocess.run(
        [RECORDER, "trace", "disk", "--", sys.executable, "-S", __file__,
         "--recorded", str(seed)], stdout=subprocess.PIPE, text=True,
        check=False)
    *lines, last = done.stdout.splitlines() or [""]
    if lines:
        print("\n".join(lines), flush=True)
    if done.returncode != 0:
        raise SystemExit(f"recorder: status {done.returncode}")
    return map(int, last.split())


def main():
    # The kernel's word to who has given a lease back to its open file.
    signal.signal(signal.SIGIO, signal.SIG_IGN)
    if sys.argv[1] == "--recorded":
        print(*play(int(sys.argv[2]), Disk(os.path.abspath("disk"),
                                           os.path.abspath("trace"))))
        return 0
    count = int(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1 << 32)
    keep_on = len(sys.argv) > 3  # count the findings instead of stopping
    troubles = findings = 0
    for i in range(seed, seed + count):
        more, found = play_recorded(i) if RECORDER and i % 8 == 0 else play(i)
        troubles += more
        findings += found
        if found and not keep_on:
            return 1
    print(f"{count} cases from seed {seed}: {troubles} kills, failures and "
          f"other programs' steps; {findings} findings")
    # chance must not decide
    return 1 if findings > 0 or troubles < count // 4 else 0


if __name__ == "__main__":
    sys.exit(main())
