"""The cases of power.py: what is cut, and what must hold in what is left."""
import os
import subprocess

PROGRAM = os.path.abspath(os.environ["BLOOMDEDUP"])
BUILD = os.path.abspath(os.environ["BUILD"])
LINES, PARTS = 600, 12


# --- running things in a directory

class Failure(Exception):
    pass


def run(directory, *command, ok=(0,)):
    """Run the program there; its output. A status not in `ok` is a failure."""
    done = subprocess.run([PROGRAM, *command], cwd=directory,
                          stdin=subprocess.DEVNULL, capture_output=True)
    if done.returncode not in ok:
        raise Failure("status %d of: bloomdedup %s\n    %s" % (
            done.returncode, " ".join(command),
            done.stderr.decode(errors="replace").strip()))
    return done.stdout


def shell(directory, script, recorder=()):
    environment = dict(os.environ, bloomdedup=PROGRAM,
                       helper=os.path.join(BUILD, "helper"))
    done = subprocess.run([*recorder, "sh", "-c", script], cwd=directory,
                          env=environment, stdin=subprocess.DEVNULL,
                          capture_output=True)
    if done.returncode != 0:
        raise Failure("status %d of: %s\n    %s" % (
            done.returncode, script.strip(),
            done.stderr.decode(errors="replace").strip()))


def record(directory, script, name="trace"):
    """The trace of it; the changes in disk/ and done/ are in there."""
    trace = os.path.join(directory, name)
    recorder = [os.path.join(BUILD, "recorder"), trace, "disk", "done", "--"]
    shell(directory, script, recorder)
    return trace


def exists(directory, name):
    return os.path.exists(os.path.join(directory, "disk", name))


def lines_of(directory, name):
    try:
        with open(os.path.join(directory, "disk", name), "rb") as file:
            return set(file.read().split(b"\n"))
    except FileNotFoundError:
        return set()


def all_lines():
    return [b"https://example.org/a/page/%08d.html" % i for i in range(LINES)]


def parts_of(first, last):
    """The operands that are those parts of the input."""
    return ["in.%02d" % i for i in range(first, last)]


def lines_in(parts):
    each = LINES // PARTS
    lines = all_lines()
    return {line for part in parts
            for line in lines[int(part[3:]) * each:][:each]}


def make_input(directory):
    each = LINES // PARTS
    lines = all_lines()
    for i, part in enumerate(parts_of(0, PARTS)):
        with open(os.path.join(directory, part), "wb") as file:
            file.write(b"\n".join(lines[i * each:(i + 1) * each]) + b"\n")


# --- the cases

class Case:
    """
    `prepare` makes what is on the disk before, `command` is cut. It makes a
    file in done/ when it has promised something. `judge` looks at what is
    left in a directory, and raises Failure, or returns how many lines are lost:
    those which were remembered, and are not in the output.
    """
    name = prepare = command = recovery = ""
    may_lose = False    # nothing was promised
    must_lose = False   # the control: what is cut there loses lines
    filters = ("seen",)

    def whole(self, directory):
        """No filter is refused. The lines that each remembers, by name."""
        known = {}
        for name in self.filters:
            if exists(directory, name):
                run(directory, "info", "disk/" + name)
                known[name] = set(run(
                    directory, "check", "-f", "disk/" + name,
                    *parts_of(0, PARTS), ok=(0, 1)).split(b"\n")) - {b""}
        return known

    def must_know(self, known, parts, what):
        missing = lines_in(parts) - known
        if missing:
            raise Failure("%s: %d lines are forgotten" % (what, len(missing)))

    def judge(self, directory, done):
        raise NotImplementedError


class Stream(Case):
    """Runs that print lines; each of `runs` is (options, parts, output)."""
    runs = ()
    before = 0          # so many parts are remembered and printed before
    capacity = 30
    environment = ""
    atomic = False
    created = True      # there is a filter before

    def __init__(self):
        script = []
        if self.created:
            script.append("$bloomdedup create -n %d disk/seen" %
                          self.capacity)
        if self.before:
            script.append("$bloomdedup --sync -f disk/seen %s >>disk/out" %
                          " ".join(parts_of(0, self.before)))
        self.prepare = " && ".join(script) or ":"
        self.command = "\n".join(self.script(*r, number=i)
                                 for i, r in enumerate(self.runs))
        options, _, _ = self.runs[-1]
        self.recovery = self.script(options, (0, PARTS), ">>disk/again")

    def script(self, options, parts, output, number=None):
        return "%s $bloomdedup -f disk/seen -n %d %s %s %s%s" % (
            self.environment, self.capacity, options,
            " ".join(parts_of(*parts)), output,
            "" if number is None else " && >done/%d" % number)

    def outputs(self, directory):
        names = os.listdir(os.path.join(directory, "disk"))
        return [n for n in names if n.startswith(("out", "again"))]

    def printed(self, directory):
        return set().union(*(lines_of(directory, n)
                             for n in self.outputs(directory)))

    def judge(self, directory, done):
        known = self.whole(directory).get("seen", set())
        before = parts_of(0, self.before)
        self.must_know(known, before, "an earlier run")
        for i, (_, parts, _) in enumerate(self.runs):
            if str(i) in done and not self.may_lose:
                self.must_know(known, parts_of(*parts), "run %d" % i)
                missing = lines_in(parts_of(*parts)) - self.printed(directory)
                if missing:
                    raise Failure("run %d ended well and %d lines are not in"
                                  " its output" % (i, len(missing)))
        shell(directory, self.recovery)
        everything = parts_of(0, PARTS)
        known = self.whole(directory)["seen"]
        self.must_know(known, everything, "the run after")
        if self.before and not lines_in(before) <= lines_of(directory, "out"):
            raise Failure("lines of an earlier run left its output")
        return len(lines_in(everything) - self.printed(directory))


class Plain(Stream):
    """Growth in default mode: nothing is promised, no filter is refused."""
    name = "growth"
    runs = [("", (2, PARTS), ">>disk/out")]
    before = 2
    may_lose = must_lose = True


class PlainNew(Stream):
    name = "growth-new"
    runs = [("", (0, PARTS), ">>disk/out")]
    created = False
    may_lose = True


class PlainPrivate(Plain):
    name = "growth-private"
    environment = "BLOOMDEDUP_PRIVATE=0,100000"


class PlainTwice(Stream):
    """No sync is between the two."""
    name = "two-runs"
    runs = [("", (1, 4), ">>disk/out"), ("", (4, 8), ">>disk/out"),
            ("", (8, 12), ">>disk/out")]
    before = 1
    may_lose = True


class PlainThenSync(Stream):
    name = "plain-then-sync"
    runs = [("", (1, 5), ">>disk/out"), ("--sync", (1, 9), ">>disk/out")]
    before = 1
    may_lose = True


class PlainRoom(Stream):
    """It does not grow: runs only count their lines in the table."""
    name = "two-runs-room"
    runs = [("", (i, i + 1), ">>disk/out") for i in range(2, 12)]
    before = 2
    capacity = 10000
    may_lose = True


class Sync(Stream):
    name = "sync"
    runs = [("--sync", (2, PARTS), ">>disk/out")]
    before = 2


class SyncNew(Stream):
    name = "sync-new"
    runs = [("--sync", (0, PARTS), "-o disk/out")]
    created = False


class SyncTwice(Stream):
    name = "sync-twice"
    runs = [("--sync", (1, 6), ">>disk/out"), ("--sync", (6, 12),
                                               ">>disk/out")]
    before = 1


class SyncRoom(Sync):
    """Many pages, which can be torn from each other, and no growth."""
    name = "sync-room"
    capacity = 20000


class SyncPrivate(Sync):
    name = "sync-private"
    environment = "BLOOMDEDUP_PRIVATE=0,100000"


class Atomic(Stream):
    """All of it is remembered, or nothing."""
    name = "atomic"
    runs = [("--atomic", (2, PARTS), ">>disk/out")]
    before = 2

    def judge(self, directory, done):
        # Looking shows what the next run will remember.
        seen = self.whole(directory)["seen"]
        run(directory, "add", "-f", "disk/seen", "/dev/null")
        if exists(directory, "seen.journal"):
            raise Failure("the journal is still there")
        known = self.whole(directory)["seen"]
        if seen != known:
            raise Failure("check saw %d lines and %d are remembered" %
                          (len(seen), len(known)))
        parts = lines_in(parts_of(2, PARTS))
        if known & parts not in (set(), parts):
            raise Failure("%d of %d lines are remembered" % (
                len(known & parts), len(parts)))
        self.judge_output(directory)
        return super().judge(directory, done)

    def judge_output(self, directory):
        pass


class AtomicRoom(Atomic):
    name = "atomic-room"
    capacity = 20000


class AtomicPrivate(Atomic):
    name = "atomic-private"
    environment = "BLOOMDEDUP_PRIVATE=0,100000"


class AtomicReplace(Atomic):
    """The output is the old one or the new one."""
    name = "atomic-output"
    runs = [("--atomic", (2, PARTS), "--overwrite -o disk/out.new")]

    def __init__(self):
        super().__init__()
        self.prepare += " && echo old >disk/out.new"

    def judge_output(self, directory):
        lines = lines_of(directory, "out.new") - {b""}
        if lines not in ({b"old"}, lines_in(parts_of(2, PARTS))):
            raise Failure("the output is neither the old nor the new one")


class AtomicAppend(Atomic):
    """The output gets the journal's text, in the end by the next run."""
    name = "atomic-append"
    runs = [("--atomic -o disk/out --append", (2, PARTS), "")]

    def judge(self, directory, done):
        lost = super().judge(directory, done)
        with open(os.path.join(directory, "disk", "out"), "rb") as file:
            lines = file.read().split(b"\n")
        if lines.pop() != b"" or sorted(lines) != sorted(all_lines()):
            raise Failure("the output is not each line, once")
        return lost


class AtomicTwice(Stream):
    name = "atomic-twice"
    runs = [("--atomic", (1, 6), ">>disk/out"), ("--atomic", (6, 12),
                                                 ">>disk/out")]
    before = 1


class Command(Atomic):
    """Its command syncs what it writes."""
    name = "to-command"
    runs = [("--to-command='dd of=disk/out oflag=append conv=notrunc,fsync"
             " status=none'", (2, PARTS), "")]

    def __init__(self):
        super().__init__()
        self.recovery = self.script("--atomic", (0, PARTS), ">>disk/again")


class Recovery(Case):
    """A journal is applied."""
    name = "recovery"
    parts = (2, PARTS)
    command = "$bloomdedup add -f disk/seen /dev/null && >done/0"
    recovery = "$bloomdedup add -f disk/seen /dev/null"

    def __init__(self):
        self.prepare = (
            "$bloomdedup create -n 20000 disk/seen &&"
            " $bloomdedup add -f disk/seen in.00 in.01 &&"
            " cat %s | $helper journal disk/seen" %
            " ".join(parts_of(*self.parts)))

    def judge(self, directory, done):
        everything = parts_of(0, PARTS)
        self.must_know(self.whole(directory)["seen"], everything,
                       "check beside a journal")
        shell(directory, self.recovery)
        if exists(directory, "seen.journal"):
            raise Failure("the journal is still there")
        self.must_know(self.whole(directory)["seen"], everything, "recovery")
        return 0


class RecoveryPrivate(Recovery):
    name = "recovery-private"
    command = "BLOOMDEDUP_PRIVATE=0,100000 " + Recovery.command


class Create(Case):
    name = "create"
    prepare = ":"
    command = "$bloomdedup create -n 1000 disk/seen && >done/0"
    recovery = "$bloomdedup --sync -f disk/seen in.* >>disk/out"

    def judge(self, directory, done):
        self.whole(directory)
        if "0" in done and not exists(directory, "seen"):
            raise Failure("the filter is gone")
        shell(directory, self.recovery)
        everything = parts_of(0, PARTS)
        self.must_know(self.whole(directory)["seen"], everything,
                       "the run after")
        return len(lines_in(everything) - lines_of(directory, "out"))


class CreateForce(Create):
    """The old one or the new one."""
    name = "create-force"
    prepare = "$bloomdedup create -n 100 disk/seen &&" \
        " $bloomdedup add -f disk/seen in.00"
    command = "$bloomdedup create --force -n 1000 disk/seen && >done/0"

    def judge(self, directory, done):
        if not exists(directory, "seen"):
            raise Failure("the filter is gone")
        known = self.whole(directory)["seen"]
        if b'"capacity": 1000,' in run(directory, "info", "--json",
                                       "disk/seen"):
            return super().judge(directory, done)
        self.must_know(known, parts_of(0, 1), "the old one")
        if "0" in done:
            raise Failure("the old one came back")
        return 0


class Merge(Case):
    """The old one, if there is one, or the union."""
    name = "merge"
    filters = ("a", "b", "all")
    prepare = "$bloomdedup create -n 100 disk/a &&" \
        " $bloomdedup create --like=disk/a disk/b &&" \
        " $bloomdedup --sync -f disk/a in.0[0-4] >disk/out.a &&" \
        " $bloomdedup --sync -f disk/b in.0[5-9] >disk/out.b"
    command = "$bloomdedup merge -o disk/all disk/a disk/b && >done/0"
    recovery = "$bloomdedup merge --force -o disk/all disk/a disk/b"
    result, old = "all", None

    def judge(self, directory, done):
        known = self.whole(directory)
        union = parts_of(0, 10)
        self.must_know(known["a"], union[:5], "a")
        self.must_know(known["b"], union[5:], "b")
        result = known.get(self.result)
        old = self.old and lines_in(parts_of(*self.old))
        if result is None and ("0" in done or self.old):
            raise Failure("the union is gone")
        if result not in (old, lines_in(union)):
            raise Failure("%d of %d lines are in the union" % (
                len(result), len(lines_in(union))))
        if "0" in done and result == old:
            raise Failure("the old one came back")
        shell(directory, self.recovery)
        self.must_know(self.whole(directory)[self.result], union,
                       "merged again")
        return 0


class MergeInPlace(Merge):
    name = "merge-in-place"
    filters = ("a", "b")
    command = "$bloomdedup merge -o disk/a disk/a disk/b && >done/0"
    recovery = "$bloomdedup merge -o disk/a disk/a disk/b"
    result, old = "a", (0, 5)


class MergeForce(Merge):
    name = "merge-force"
    prepare = Merge.prepare + " && $bloomdedup create -n 50 disk/all" \
        " && $bloomdedup add -f disk/all in.11"
    command = Merge.recovery + " && >done/0"
    old = (11, 12)


class Shared(Stream):
    """Two runs at the same time on one filter; it grows."""
    name = "shared"
    runs = [("--shared", (2, 8), ">>disk/out.0"),
            ("--shared", (5, PARTS), ">>disk/out.1")]
    before = 2
    may_lose = True

    def __init__(self):
        super().__init__()
        self.command = "{ %s; } & %s; wait" % tuple(
            self.command.split("\n"))


class Window(Stream):
    """A window of 100 lines, which moves on many times."""
    name = "window"
    runs = [("", (2, 7), ">>disk/out"), ("", (7, PARTS), ">>disk/out")]
    before = 2
    capacity = 100
    may_lose = True
    last = 1            # whose newest lines are remembered
    most = 200          # lines: a quarter more, and what a crash left uncounted

    def __init__(self):
        super().__init__()
        self.prepare = self.prepare.replace("-n 100", "--window=100")

    def judge(self, directory, done):
        known = self.whole(directory)["seen"]
        if len(known) > self.most:
            raise Failure("%d lines are remembered" % len(known))
        newest = parts_of(PARTS - 2, PARTS)
        if str(self.last) in done and not self.may_lose:
            self.must_know(known, newest, "the last run")
        shell(directory, self.recovery)
        known = self.whole(directory)["seen"]
        self.must_know(known, newest, "the run after")
        if len(known) > self.most:
            raise Failure("%d lines are remembered at last" % len(known))
        return len(lines_in(parts_of(0, PARTS)) - self.printed(directory))


class WindowPrivate(Window):
    name = "window-private"
    environment = "BLOOMDEDUP_PRIVATE=0,100000"


class WindowSync(Window):
    name = "window-sync"
    runs = [("--sync", (2, PARTS), ">>disk/out")]
    may_lose = False
    last = 0


class WindowAtomic(Window):
    name = "window-atomic"
    runs = [("--atomic", (2, 7), ">>disk/out"),
            ("--atomic", (7, PARTS), ">>disk/out")]
    may_lose = False
    most = LINES        # it moves on when all of a run is remembered


class WindowShared(Window):
    """Two runs at the same time; each moves it on."""
    name = "window-shared"
    runs = [("--shared", (2, 7), ">>disk/out.0"),
            ("--shared", (7, PARTS), ">>disk/out.1")]
    most = 250          # and what another run had not yet marked

    def __init__(self):
        super().__init__()
        self.command = "{ %s; } & %s; wait" % tuple(
            self.command.split("\n"))


def by_time(case):
    """The same with a window of a day: it grows, and nothing is over yet."""
    class ByTime(case):
        name = case.name + "-day"

        def __init__(self):
            super().__init__()
            self.prepare = self.prepare.replace(
                "create -n", "create --window=1d -n")
            assert "--window" in self.prepare
    return ByTime


class Serve(Case):
    """
    A server, and two clients that add parts of the input at the same time. It
    grows beside their requests. A part that was answered is a file in done/.
    """
    name = "serve"
    filters = ("seen.bloom",)
    options = ""
    may_lose = True
    prepare = "$bloomdedup create -n 30 -p 1e-12 disk/seen.bloom"
    start = """
requests() {
    sed 's/.*/add seen|& 0 0 1\\r\\nx\\r/' "$@"
}
rm -f err
$bloomdedup serve -d disk OPTIONS -l unix:socket >err 2>&1 &
server=$!
trap 'kill $server; wait $server' EXIT
until grep -q ' on unix:' err; do kill -0 $server || exit; sleep 0.05; done
"""
    add = """
add() {
    for part; do
        requests in.$part | $helper ask ./socket >replies.$part
        [ $(grep -c STORED replies.$part) = 50 ] || return
        >done/$part
    done
}
{ trap - EXIT; add 00 02 04 06 08 10; } &
one=$!
add 01 03 05 07 09 11 && wait $one"""
    again = """
requests in.* | $helper ask ./socket >replies
[ $(grep -c STORED replies) = 600 ]"""

    def __init__(self):
        start = self.start.replace("OPTIONS", self.options)
        self.command = start + self.add
        self.recovery = start + self.again

    def judge(self, directory, done):
        if not self.may_lose:
            self.must_know(self.whole(directory)["seen.bloom"],
                           ["in." + part for part in done], "the server")
        shell(directory, self.recovery)
        self.must_know(self.whole(directory)["seen.bloom"], parts_of(0, PARTS),
                       "the server after")
        return 0


class ServeSync(Serve):
    name = "serve-sync"
    options = "--sync"
    may_lose = False


class ServeWindow(Serve):
    """A window of 200 lines, which moves on beside its clients."""
    name = "serve-window"
    prepare = "$bloomdedup create --window=200 -p 1e-12 disk/seen.bloom"

    def judge(self, directory, done):
        self.whole(directory)
        shell(directory, self.recovery)
        known = self.whole(directory)["seen.bloom"]
        self.must_know(known, parts_of(PARTS - 2, PARTS), "the server after")
        if len(known) > 300:
            raise Failure("%d lines are remembered" % len(known))
        return 0


CASES = [Plain, PlainNew, PlainPrivate, PlainTwice, PlainThenSync, PlainRoom,
         Sync, SyncNew, SyncTwice, SyncRoom, SyncPrivate,
         Atomic, AtomicRoom, AtomicPrivate, AtomicReplace, AtomicTwice,
         AtomicAppend, Command,
         Recovery, RecoveryPrivate, Create, CreateForce,
         Merge, MergeInPlace, MergeForce, Shared,
         Window, WindowPrivate, WindowSync, WindowAtomic, WindowShared,
         Serve, ServeSync, ServeWindow]
CASES += [by_time(case) for case in (
    Plain, PlainPrivate, PlainTwice, Sync, SyncPrivate, Atomic, AtomicPrivate,
    AtomicReplace, AtomicAppend, Command, Recovery, Merge, MergeInPlace, Shared, Serve,
    ServeSync)]
