"""The new lines of a day, with Spark:

    spark-submit parts-spark.py FILTERS DAY FILE...

The directory FILTERS has one filter per part; create them once, as
parts-parallel.sh says. The job creates the directory DAY. When it succeeds,
DAY/new-1, DAY/new-2 and so on, one file per part, have the lines of the FILEs
that no earlier day had, and the filters remember these lines. With a header
(KEYS="--csv --header -k mail"), DAY/new-1 begins with it.

You may stop the job at any moment. Repeat it, with the same FILEs, until it
succeeds; until then, no other day can begin. Files that come late need a day of
their own.

All names are in a directory that the driver and the nodes have mounted. A task
copies the filter of its part to its own disk, and looks up and remembers its
lines there. The new lines and the new filter get their names together, as one
directory, from the first attempt that is complete, whatever fails or runs
twice. At the end, the driver renames the new filters to the old ones. So each
filter is copied twice a day, and a node needs memory for the filters of its
tasks.

Each FILE is one task: split large files first, at line ends (`split -C 10G`). A
compressed file cannot be split: write several smaller ones. KEYS in the
driver's environment are the key options that the filters were made with.
"""
import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile

from pyspark import SparkContext


def refuse(text):
    print("parts-spark.py:", text, file=sys.stderr)
    sys.exit(2)


def bloomdedup(*arguments, task, **more):
    """Run bloomdedup. If it fails, its message goes into the driver's log."""
    done = subprocess.run(["bloomdedup", *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, **more)
    if done.returncode != 0:
        raise RuntimeError("%s: bloomdedup ended with status %d: %s" % (
            task, done.returncode, done.stderr.decode(errors="replace")))
    return done.stdout


# --- functions that run in tasks

def split_file(numbered):
    """Write one file per part, all of them or none."""
    number, file = numbered
    done = "%s/work/split-%d" % (DAY, number)
    if not os.path.exists(done):
        bloomdedup("partition", "--parts=%d" % PARTS, *KEYS, "--atomic",
                   "-o", "in-%d-%%d" % number, file,
                   task=file, cwd=DAY + "/work")
        open(done, "w").close()


def skip_header(lines):
    """Skip the header, which may have several lines while a quote is open."""
    quotes = 0
    while line := lines.readline():
        quotes += line.count(b'"')
        if quotes % 2 == 0:
            break


def copy(source, target, header=True):
    with open(source, "rb") as old, open(target, "wb") as new:
        if not header:
            skip_header(old)
        shutil.copyfileobj(old, new, 1 << 20)
        new.flush()
        os.fsync(new.fileno())
    shutil.copymode(source, target)


def new_lines(part):
    """Make the directory work/part-N: new lines and new filter of a part."""
    done = "%s/work/part-%d" % (DAY, part)
    if os.path.exists(done) or os.path.exists("%s/new-%d" % (DAY, part)):
        return
    files = b"".join(b"%s/work/in-%d-%d\0" % (os.fsencode(DAY), number, part)
                     for number in range(len(FILES)))
    # Spark removes its own directories even after tasks that were killed.
    scratch = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]
    with tempfile.TemporaryDirectory(dir=scratch or None) as local:
        shutil.copy("%s/part-%d.bloom" % (FILTERS, part), local + "/filter")
        bloomdedup("-f", local + "/filter", "--part=%d/%d" % (part, PARTS),
                   "--strict-part", "--files0-from=-", "-o", local + "/lines",
                   "--overwrite", task="part %d" % part, input=files)
        attempt = tempfile.mkdtemp(prefix="attempt-", dir=DAY + "/work")
        copy(local + "/filter", attempt + "/filter")
        copy(local + "/lines", attempt + "/lines",
             header=not HEADER or part == 1)
    try:
        os.rename(attempt, done)
    except OSError:
        # another attempt was first
        if not os.path.exists(done):
            raise


# --- functions that run in the driver

def begin():
    """Lock the day, and note its files. Return False if it is finished."""
    os.makedirs(DAY, exist_ok=True)
    lock = os.open(DAY + "/lock", os.O_CREAT | os.O_RDWR, 0o666)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("parts-spark.py: %s: waiting for another run that is still "
              "working there" % DAY, file=sys.stderr)
        fcntl.flock(lock, fcntl.LOCK_EX)
    inputs = "".join("%d %d %s\n" % (state.st_size, state.st_mtime, file)
                     for file in FILES for state in [os.stat(file)])
    if not os.path.exists(DAY + "/inputs"):
        os.makedirs(DAY + "/work", exist_ok=True)
        write_new(DAY + "/inputs", inputs)
    with open(DAY + "/inputs", errors="surrogateescape") as file:
        if file.read() != inputs:
            refuse("%s: was begun with other files, or they have changed since "
                   "(%s/inputs has their sizes, times and names): finish it "
                   "with those, and give late files a new day" % (DAY, DAY))
    if not os.path.exists(DAY + "/work"):
        return False
    try:
        write_new(FILTERS + "/unfinished", DAY)
    except FileExistsError:
        with open(FILTERS + "/unfinished", errors="surrogateescape") as file:
            if (other := file.read()) != DAY:
                refuse("%s is not finished: repeat its command first" % other)
    return True


def write_new(name, text):
    """Create a complete file, if there is none with this name."""
    new = "%s.%d" % (name, os.getpid())
    with open(new, "w", errors="surrogateescape") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(new, name)
    finally:
        os.remove(new)


def finish():
    """Rename filters and lines. A part whose lines are in place is finished."""
    for part in range(1, PARTS + 1):
        made = "%s/work/part-%d" % (DAY, part)
        if os.path.exists("%s/new-%d" % (DAY, part)):
            continue
        if os.path.exists(made + "/filter"):
            os.replace(made + "/filter", "%s/part-%d.bloom" % (FILTERS, part))
        os.rename(made + "/lines", "%s/new-%d" % (DAY, part))
    os.remove(FILTERS + "/unfinished")
    shutil.rmtree(DAY + "/work")


# Check the arguments first: until all are right, nothing is created or changed.
if len(sys.argv) < 4:
    refuse("usage: spark-submit parts-spark.py FILTERS DAY FILE...")
FILTERS, DAY, *FILES = map(os.path.abspath, sys.argv[1:])
FILES = sorted(set(FILES))
KEYS = os.environ.get("KEYS", "").split()
for name in FILES:
    if not os.path.isfile(name) or not os.access(name, os.R_OK):
        refuse("%s: there is no such file, or it cannot be read" % name)
if os.path.exists(DAY) and not os.path.exists(DAY + "/inputs"):
    # a job that was stopped at its beginning leaves only these files
    if not os.path.isdir(DAY) or any(
            not name.startswith(("lock", "work", "inputs."))
            for name in os.listdir(DAY)):
        refuse("%s: has something else in it: name a new directory" % DAY)

PARTS = HEADER = None
number = 1
while PARTS is None or number <= PARTS:
    name = "%s/part-%d.bloom" % (FILTERS, number)
    try:
        key = json.loads(bloomdedup("info", "--json", name, task=name))["key"]
    except (RuntimeError, OSError) as error:
        refuse(error)
    if PARTS is None:
        PARTS = max([int(option[len("part=1/"):]) for option in key
                     if option.startswith("part=1/")], default=0)
        HEADER = "header" in key
    if "part=%d/%d" % (number, PARTS) not in key:
        refuse("%s: not made with --part=%d/%s" % (name, number, PARTS or "N"))
    number += 1

# Were the filters made with the options in KEYS?
with tempfile.TemporaryDirectory() as scratch:
    name = scratch + "/filter"
    try:
        bloomdedup("create", "-n", "1000", *KEYS, "--part=%d/%d" % (PARTS, PARTS),
                   name, task="KEYS")
        made = json.loads(bloomdedup("info", "--json", name, task=name))["key"]
    except RuntimeError as error:
        refuse(error)
    # the key options of the last part
    if made != key:
        refuse("KEYS='%s': the filters were not made with these options"
               % " ".join(KEYS))

if begin():
    with SparkContext() as sc:
        sc.parallelize(list(enumerate(FILES)), len(FILES)).foreach(split_file)
        sc.parallelize(range(1, PARTS + 1), PARTS).foreach(new_lines)
    finish()
