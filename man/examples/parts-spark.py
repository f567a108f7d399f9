"""The new lines of a day, in 8 parts, with Spark:

    spark-submit parts-spark.py FILTERS DAY FILE...

DAY/new-1 to DAY/new-8 become the lines of the files that no earlier day had.
FILTERS has a filter for each part, as in parts-parallel.sh. All are absolute
names in a folder that every node has mounted. Repeat the job until it succeeds:
a part that is in DAY is not looked up again, and to add lines twice changes
nothing. Finish a day before you begin the next. With KEYS="--url" in the
environment of driver and executors, lines are not compared whole.
"""
import contextlib
import os
import subprocess
import sys
import tempfile

from pyspark import SparkContext, TaskContext

FILTERS, DAY, FILES = sys.argv[1], sys.argv[2], sys.argv[3:]
KEYS = os.environ.get("KEYS", "").split()


def sort_out(file):
    """Blocks of whole lines of a file, with the number of their part."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["bloomdedup", "partition", "--parts=8", *KEYS,
                        "-o", folder + "/%d", file], check=True)
        for part in range(1, 9):
            with open("%s/%d" % (folder, part), "rb") as lines:
                while block := b"".join(lines.readlines(1 << 20)):
                    yield part, block


def look_up(index, blocks):
    """Write the new lines of a part. This only reads the filter."""
    new = "%s/new-%d" % (DAY, index + 1)
    if os.path.exists(new):
        return
    attempt = "%s/attempt-%d" % (DAY, TaskContext.get().taskAttemptId())
    with open(attempt, "wb") as output, tempfile.TemporaryFile() as messages:
        child = subprocess.Popen(
            ["bloomdedup", "--dry-run", "--strict-part",
             "-f", "%s/part-%d.bloom" % (FILTERS, index + 1)],
            stdin=subprocess.PIPE, stdout=output, stderr=messages)
        done = False
        try:
            # What fails in here is raised: then the end of the child's input
            # and its status 0 mean nothing.
            for part, block in blocks:
                child.stdin.write(block)
            child.stdin.close()
            done = True
        except BrokenPipeError:
            pass
        finally:
            with contextlib.suppress(BrokenPipeError):
                child.stdin.close()
            child.wait()
        if not done or child.returncode != 0:
            messages.seek(0)
            raise RuntimeError("part %d, status %d: %s" % (
                index + 1, child.returncode, messages.read().decode()))
        os.fsync(output.fileno())
    os.rename(attempt, new)


def remember(index):
    subprocess.run(["bloomdedup", "add",
                    "-f", "%s/part-%d.bloom" % (FILTERS, index + 1),
                    "%s/new-%d" % (DAY, index + 1)], check=True)


with SparkContext() as sc:
    os.makedirs(DAY, exist_ok=True)
    sc.parallelize(FILES, len(FILES)).flatMap(sort_out) \
        .partitionBy(8, lambda part: part - 1) \
        .mapPartitionsWithIndex(lambda i, blocks: look_up(i, blocks) or []) \
        .count()
    sc.parallelize(range(8), 8).foreach(remember)
