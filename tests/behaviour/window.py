#!/usr/bin/env python3
"""What a filter with a window must print, by a model that forgets nothing.

    window.py lines N [OPTION]...   N lines, by new lines
    window.py time N [OPTION]...    N lines, by time: the clock is faketime's
    window.py pipe N                one run whose clock goes on while it waits,
                                    N times
    window.py pipes N [OPTION]...   the same, two that share the filter
    window.py skewed N [OPTION]...  two whose clocks differ a little
    window.py stalled               one cannot write while the other turns
    window.py ahead                 the clock is years ahead while one writes

It knows when each line was printed last, which gives an exact answer: a
generation is a quarter of the window, and a line goes with its generation. The
promise is checked beside it: known for the whole window, and printed again
after five quarters of it at the latest. Runs begin and end anywhere; OPTIONs
are those of the runs. BLOOMDEDUP is the program; -s SEED chooses other lines.
FILTER is where the filter is: the file `seen`, or a server.
"""
import os
import random
import subprocess
import sys
import time

PROGRAM = os.environ["BLOOMDEDUP"]
FILTER = os.environ.get("FILTER", "seen")
# A filter on a server is always shared.
SHARED = [] if "://" in FILTER else ["--shared"]
START = 1767225600  # 2026-01-01 00:00:00 UTC


def run(arguments, lines, clock=None, statuses=(0,)):
    with open("printed", "w+") as printed:
        done = subprocess.run(
            [PROGRAM, *arguments], env=environment(clock),
            input="".join(x + "\n" for x in lines), stdout=printed,
            stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode not in statuses:
            sys.exit("exit status %d of %s at %s: %s" % (
                done.returncode, arguments, clock, done.stderr))
        printed.seek(0)
        return printed.read().split("\n")[:-1]


def stamp(clock):
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(clock))


def environment(clock):
    if clock is None:
        return None
    return dict(os.environ, LD_PRELOAD=os.environ["FAKETIME_LIBRARY"], TZ="UTC",
                DONT_FAKE_MONOTONIC="1", FAKETIME=stamp(clock))


def pieces(total, most):
    """Lengths of runs: some are empty, some are long."""
    while total > 0:
        n = min(total, random.choice((0, 1, 2, most // 50, most // 5, most)))
        n = min(total, random.randint(0, n))
        yield n
        total -= n


def some_lines(count, recent, next_new):
    """Half of them new; the others are drawn from all ages."""
    lines = []
    for _ in range(count):
        if not recent or random.random() < 0.5:
            recent.append(str(next_new[0]))
            next_new[0] += 1
            lines.append(recent[-1])
        else:
            age = min(int(random.expovariate(1) * len(recent) / 3),
                      len(recent) - 1)
            lines.append(recent[-1 - age])
    return lines


def fail(text, line, *facts):
    sys.exit("%s: line %s (%s)" % (text, line, ", ".join(map(str, facts))))


def by_lines(total, options):
    window = 1000 if total < 100000 else 20000
    quarter = window // 4
    place, printed = {}, 0  # at which new line each was printed last
    recent, next_new = [], [0]
    again = on_border = 0
    shown = (["-f", FILTER, "-p", "1e-9", "--window=%d" % window] + options)
    for count in pieces(total, 8 * window):
        lines = some_lines(count, recent, next_new)
        del recent[:-3 * window]
        # Straight over the border: the oldest that must be known, and others.
        if printed > 6 * quarter:
            ages = {v: k for k, v in place.items()}
            lines[:0] = [ages[i] for i in (
                printed - window, printed - window + 1,
                printed - 5 * quarter - 1, printed - 5 * quarter)
                if i in ages]
        out = run(shown, lines)
        at = 0
        for line in lines:
            is_out = at < len(out) and out[at] == line
            before = place.get(line)
            if before is None:
                if not is_out:
                    fail("a new line is missing", line, printed)
            else:
                since = printed - before - 1
                if is_out and since < window:
                    fail("forgotten too early", line, since)
                if not is_out and since >= 5 * quarter:
                    fail("remembered too long", line, since)
                gone = printed // quarter - before // quarter > 4
                if printed % quarter != 0 and is_out != gone:
                    fail("the model says otherwise", line, since, printed)
                on_border += since in (window - 1, window, 5 * quarter - 1)
                again += is_out
            if is_out:
                at += 1
                place[line] = printed
                printed += 1
        if at < len(out):
            fail("never given, or out of order", out[at])
    print("%d lines, %d printed, %d of them again; %d at a border" % (
        total, printed, again, on_border))


def in_1970(shown, lines, place, newest, window):
    """A run whose clock is certainly wrong: it is that of the last run."""
    out, want = run(shown, lines, random.randint(60, 90000)), []
    quarter = (window + 3) // 4
    for line in lines:
        before = place.get(line)
        if before is None or newest >= (
                (before // quarter + 1) * quarter + window):
            want.append(line)
            place[line] = newest // quarter * quarter
    if out != want:
        fail("1970 is not like the last run", set(out) ^ set(want), newest)


def by_time(total, options):
    # not a multiple of four; in the long form, three years go by
    window = 1002 if total < 100000 else 7 * 86400 + 2
    quarter = (window + 3) // 4
    place, recent, next_new = {}, [], [0]
    now, again, on_border = START + 7, 0, 0
    shown = ["-f", FILTER, "-p", "1e-9", "-n", "1e4",
             "--window=%ds" % window] + options
    runs = min(60, total // 30) if total < 100000 else 2000
    newest = None  # when the last run with lines was
    for i in range(runs):
        lines = some_lines(total // runs, recent, next_new)
        del recent[:-total // 4 - 100]
        if newest is not None and i % 4 == 0:
            some = some_lines(10, recent, next_new)
            in_1970(shown, some + random.sample(sorted(place), 10), place,
                    newest, window)
        # Some time goes by; and often to the second where something is over.
        now += int(random.expovariate(1) * quarter / 3)
        borders = [(t // quarter + 1) * quarter + window + d
                   for t in set(place.values()) for d in (-1, 0)]
        borders = [t for t in borders if now <= t < now + quarter]
        if borders and i % 2 == 0:
            now = random.choice(borders)
            on_border += 1
            # Of every age there is.
            ages = {}
            for line, t in place.items():
                ages.setdefault(t, line)
            lines += ages.values()
        newest = now if lines else newest
        out = run(shown, lines, now)
        known = run(["check", "-f", FILTER], lines, now, (0 if lines else 1,))
        if known != lines:
            fail("not known after a run", set(lines) - set(known), now)
        at = 0
        for line in lines:
            is_out = at < len(out) and out[at] == line
            before = place.get(line)
            if before is None:
                if not is_out:
                    fail("a new line is missing", line, now)
            else:
                if is_out and now < before + window:
                    fail("forgotten too early", line, now - before)
                if not is_out and now >= before + 5 * quarter:
                    fail("remembered too long", line, now - before)
                over = (before // quarter + 1) * quarter + window
                if is_out != (now >= over):
                    fail("the model says otherwise", line, now - before)
                again += is_out
            if is_out:
                at += 1
                place[line] = now
        if at < len(out):
            fail("never given, or out of order", out[at])
    print("%d runs, %d lines, %d printed again; %d runs at a border" % (
        runs, total, again, on_border))


def until_idle(pid):
    for _ in range(60000):
        with open("/proc/%d/status" % pid) as f:
            if "State:\tS" in f.read():
                return
        time.sleep(0.001)
    sys.exit("never idle")


WINDOW = 1000       # of runs that wait
QUARTER = WINDOW // 4


def set_clock(now, clock="clock"):
    with open("clock.new", "w") as f:
        f.write(stamp(now))
    os.rename("clock.new", clock)


def start(*options, clock="clock"):
    """A run whose clock is what set_clock says."""
    env = dict(os.environ, LD_PRELOAD=os.environ["FAKETIME_LIBRARY"], TZ="UTC",
               FAKETIME_TIMESTAMP_FILE=os.path.abspath(clock),
               DONT_FAKE_MONOTONIC="1", FAKETIME_NO_CACHE="1")
    env.pop("FAKETIME", None)
    return subprocess.Popen(
        [PROGRAM, "-f", FILTER, "-p", "1e-9", "-n", "1000",
         "--window=%ds" % WINDOW, *options], env=env, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def give(child, lines, number):
    child.stdin.write("\n".join(
        lines + ["end %d %d" % (child.pid, number)]) + "\n")
    child.stdin.flush()


def take(child, number, now):
    """
    What it prints for the lines that it was given. It marks them afterwards,
    and sleeps meanwhile if it waits for a lock or a server: the last line is
    known when it has marked them, at `now`.
    """
    out, end = [], "end %d %d" % (child.pid, number)
    while True:
        line = child.stdout.readline().rstrip("\n")
        if line in ("", end):
            break
        out.append(line)
    while not run(["check", "-f", FILTER], [end], now, (0, 1)):
        time.sleep(0.001)
    until_idle(child.pid)
    return out


def in_pipes(rounds, *runs):
    """
    Runs that wait: minutes, more than a quarter, more than all. Of several,
    some lines come to all of them at once, and others to one.
    """
    set_clock(START)
    children = [start(*options) for options in runs]
    place, now = {}, START
    names = ["line %d" % i for i in range(60)]
    for number in range(rounds):
        now += random.choice((0, 1, QUARTER // 3, QUARTER, QUARTER - 1,
                              QUARTER + 1, 2 * QUARTER, WINDOW))
        set_clock(now)
        lines = random.sample(names, 20)
        readers = {line: random.choice(children + [None]) for line in lines}
        for child in children:
            give(child, [line for line in lines
                         if readers[line] in (None, child)], number)
        out = [line for child in children for line in take(child, number, now)]
        for line in lines:
            before = place.get(line, START - 10 * WINDOW)
            if line in out and now < before + WINDOW:
                fail("forgotten too early", line, now - before)
            if line not in out and now >= before + 5 * QUARTER:
                fail("remembered too long", line, now - before)
            if out.count(line) > (len(children) if readers[line] is None
                                  else 1):
                fail("printed too often", line, now - before)
            if line in out:
                place[line] = now
    for child in children:
        child.stdin.close()
        if child.wait() != 0:
            sys.exit("exit status %d" % child.returncode)


def with_skew(rounds, options):
    """
    Two runs, one with a clock that is ahead by less than a quarter: what one
    printed the other knows, for a window by both clocks.
    """
    ahead = QUARTER // 3
    set_clock(START)
    set_clock(START + ahead, "clock.ahead")
    children = [start(*options), start(*options, clock="clock.ahead")]
    place, now = {}, START
    names = ["line %d" % i for i in range(60)]
    for number in range(rounds):
        now += random.choice((0, 1, QUARTER // 3, QUARTER // 2, QUARTER))
        set_clock(now)
        set_clock(now + ahead, "clock.ahead")
        lines = random.sample(names, 20)
        child = random.choice(children)
        give(child, lines, number)
        out = take(child, number, now)
        for line in lines:
            before = place.get(line, START - 10 * WINDOW)
            if line in out and now < before + WINDOW - ahead:
                fail("forgotten too early", line, now - before)
            if line not in out and now >= before + 5 * QUARTER + ahead:
                fail("remembered too long", line, now - before)
            if line in out:
                place[line] = now
    for child in children:
        child.stdin.close()
        if child.wait() != 0:
            sys.exit("exit status %d" % child.returncode)


def while_one_writes():
    """One of two runs cannot go on writing while the other one turns."""
    lines = ["%200d" % i for i in range(600)]  # a batch, more than a pipe holds
    with open("in", "w") as f:
        f.write("".join(line + "\n" for line in lines))
    set_clock(START)
    slow, other = start(*SHARED, "in"), start(*SHARED)
    until_idle(slow.pid)
    for quarters in (1, 2):
        now = START + quarters * QUARTER
        set_clock(now)
        give(other, ["turn %d" % quarters], quarters)
        take(other, quarters, now)
    if slow.stdout.read().split("\n")[:-1] != lines or slow.wait() != 0:
        fail("lost, of", "all")
    now += WINDOW - 1
    set_clock(now)
    give(other, lines, 3)
    if take(other, 3, now):
        fail("forgotten too early, of", "all")
    other.stdin.close()
    sys.exit(other.wait())


def clock_jumps_while_one_writes():
    """
    A run marks what it wrote when the clock, for that moment, is ten years
    ahead. Later runs, with the right clock, forget that and what they mark.
    """
    lines = ["%200d" % i for i in range(500)]  # one batch, more than a pipe
    with open("in", "w") as f:
        f.write("".join(line + "\n" for line in lines))
    set_clock(START)
    slow = start("in")
    until_idle(slow.pid)
    set_clock(START + 10 * 365 * 86400)
    if slow.stdout.read().split("\n")[:-1] != lines or slow.wait() != 0:
        fail("lost, of", "all")
    if run(["-f", FILTER], ["later"] + lines, START + 10) != ["later"]:
        fail("forgotten too early, of", "all")
    if run(["-f", FILTER], lines, START + WINDOW - 1):
        fail("forgotten too early, of", "all")
    lines.append("later")
    if run(["-f", FILTER], lines, START + 2 * WINDOW) != lines:
        fail("remembered for too long, of", "all")


def main():
    arguments = sys.argv[1:]
    seed = 1
    if "-s" in arguments:
        at = arguments.index("-s")
        seed = int(arguments[at + 1])
        del arguments[at:at + 2]
    random.seed(seed)
    if arguments[0] == "stalled":
        while_one_writes()
        return
    if arguments[0] == "ahead":
        clock_jumps_while_one_writes()
        return
    what, count, options = arguments[0], int(arguments[1]), arguments[2:]
    if what == "lines":
        by_lines(count, options)
    elif what == "time":
        by_time(count, options)
    elif what == "pipe":
        in_pipes(count, options)
    elif what == "skewed":
        with_skew(count, options)
    else:
        in_pipes(count, [*SHARED, *options], [*SHARED, *options])


if __name__ == "__main__":
    main()
