"""What a disk may hold after a power failure, from a trace of `recorder`.

What was synced is there. Of what was not, each file keeps all, nothing or a
part: whole pages of 4 KiB or sectors of 512 bytes, as they were at any moment
since. Its length is one that it had since. Of the changes to the names of a
directory, some are there, or the first ones; a rename is there or it isn't.
"""
import os

SECTOR, PAGE = 512, 4096


class File:
    """A file's data: what is on the disk, and what came since."""

    def __init__(self):
        self.length = 0
        self.data = bytearray()
        self.lengths = []  # (moment, length), in order
        self.sectors = {}  # number: [(moment, bytes, or None: cut off)]

    def set_length(self, moment, length):
        before = self.lengths[-1][1] if self.lengths else self.length
        self.lengths.append((moment, length))
        for number in range(-(-length // SECTOR), -(-before // SECTOR)):
            self.sectors.setdefault(number, []).append((moment, None))

    def set_data(self, moment, offset, data):
        for at in range(0, len(data), SECTOR):
            self.sectors.setdefault((offset + at) // SECTOR, []).append(
                (moment, data[at:at + SECTOR]))

    def sync(self, moment):
        """All up to that moment is on the disk."""
        for number, versions in list(self.sectors.items()):
            old = [v for v in versions if v[0] <= moment]
            if old:
                self.put(self.data, number, old[-1][1])
            self.sectors[number] = versions[len(old):]
            if not self.sectors[number]:
                del self.sectors[number]
        old = [v for v in self.lengths if v[0] <= moment]
        if old:
            self.length = old[-1][1]
            del self.lengths[:len(old)]

    @staticmethod
    def put(image, number, data):
        end = (number + 1) * SECTOR
        if len(image) < end:
            image.extend(bytes(end - len(image)))
        image[end - SECTOR:end] = data or bytes(SECTOR)

    def after_cut(self, rng):
        """What it may hold: bytes."""
        how = rng.choice(["old", "new", "pages", "sectors", "pages",
                          "sectors"])
        # mostly all but one, or none but one
        share = rng.choice([0.03, 0.3, 0.5, 0.7, 0.97])
        lengths = [(-1, self.length)] + self.lengths
        which = len(lengths) - 1
        if how == "old":
            which = 0
        elif how != "new" and rng.random() < 0.5:
            which = rng.randrange(len(lengths))
        moment, length = lengths[which]
        image = bytearray(self.data)
        newest = {}  # of each page, up to when it was written
        for number, versions in self.sectors.items():
            # What was cut off doesn't come back, with a length since then,
            # and what came after a cut isn't there before it.
            cuts = [v[0] for v in versions if v[1] is None]
            after = max([c for c in cuts if c <= moment], default=-1)
            until = min([c for c in cuts if c > moment], default=1 << 60)
            able = [v for v in versions if after <= v[0] < until]
            unit = number // (PAGE // SECTOR if how == "pages" else 1)
            if how in ("old", "new"):
                limit = -1 if how == "old" else 1 << 60
            elif unit in newest:
                limit = newest[unit]
            elif rng.random() < share:
                limit = newest[unit] = rng.choice(versions)[0] \
                    if rng.random() < 0.3 else 1 << 60
            else:
                limit = newest[unit] = -1
            able = [v for v in able if v[0] <= max(limit, after)]
            if able:
                self.put(image, number, able[-1][1])
        image = image[:length]
        return bytes(image) + bytes(length - len(image))


class Disk:
    def __init__(self, directories):
        self.directories = directories
        self.files = {}
        self.names = {}    # (directory, name): number, as on the disk
        self.renamed = []  # [moment, {(directory, name): number or -1}]

    def file(self, number):
        """It may have no name yet."""
        return self.files.setdefault(int(number), File())

    def set_name(self, moment, key, number):
        if not self.renamed or self.renamed[-1][0] != moment:
            self.renamed.append((moment, {}))
        self.renamed[-1][1][key] = number

    @staticmethod
    def rename(names, changes):
        for key, number in changes.items():
            if number < 0:
                names.pop(key, None)
            else:
                names[key] = number

    def sync_directory(self, moment, directory):
        left = []
        for when, changes in self.renamed:
            mine = {k: n for k, n in changes.items()
                    if when <= moment and k[0] == directory}
            self.rename(self.names, mine)
            others = {k: n for k, n in changes.items() if k not in mine}
            if others:
                left.append((when, others))
        self.renamed = left

    def sync_all(self, moment):
        for file in self.files.values():
            file.sync(moment)
        for directory in range(len(self.directories)):
            self.sync_directory(moment, directory)

    def names_now(self):
        names = dict(self.names)
        for _, changes in self.renamed:
            self.rename(names, changes)
        return names

    def names_after_cut(self, rng):
        """{(directory, name): number}; the last directory is as it was."""
        names = dict(self.names)
        how = rng.choice(["old", "new", "first", "some"])
        count = rng.randint(0, len(self.renamed))
        for i, (_, changes) in enumerate(self.renamed):
            if (how == "new" or (how == "first" and i < count) or
                    (how == "some" and rng.random() < 0.5)):
                self.rename(names, changes)
        return names

    def data_after_cut(self, rng, names):
        """{number: bytes} of the files with these names."""
        numbers = sorted(set(names.values()))
        return {n: self.files[n].after_cut(rng) for n in numbers}


class Folder:
    """A directory that gets the files that a disk has, more than once. Each
    stays the same inode, by which journals and notes know it, if it still had
    a name at the end of the trace; others are made again."""

    def __init__(self, path, aside, names):
        """`aside` is for files without a name, `names` what is there now."""
        self.path, self.aside = path, aside
        self.inodes = {}  # of each file by its number
        for name, number in names.items():
            self.inodes[number] = os.stat(os.path.join(path, name)).st_ino

    def restore(self, names, data):
        """{name: number} and {number: bytes}"""
        for name in os.listdir(self.path):
            place = os.path.join(self.path, name)
            inode = os.lstat(place).st_ino
            if os.path.lexists(self.place_aside(inode)):
                os.unlink(place)  # another name of the same file
            else:
                os.rename(place, self.place_aside(inode))
        for number in sorted(data):
            self.write(number, data[number])
        placed = {}
        for name, number in sorted(names.items()):
            place = os.path.join(self.path, name)
            if number in placed:
                os.link(placed[number], place)
                continue
            os.rename(self.place_aside(self.inodes[number]), place)
            placed[number] = place

    def place_aside(self, inode):
        return os.path.join(self.aside, str(inode))

    def write(self, number, data):
        place = self.place_aside(self.inodes.get(number, "new"))
        with open(os.open(place, os.O_WRONLY | os.O_CREAT, 0o600),
                  "wb") as file:
            file.write(data)
            file.truncate()
            self.inodes[number] = os.fstat(file.fileno()).st_ino
        os.rename(place, self.place_aside(self.inodes[number]))


def read_trace(path, directories):
    """The disk after each event."""
    disk = Disk(directories)
    moment, started = None, False
    with open(path, "rb") as trace:
        for line in trace:
            kind, when, *rest = line.decode().split()
            when = int(when)
            if not started and when > 1:
                disk.sync_all(1)  # what was there before
                started = True
            # What changed between two stops is one event.
            changes = kind in ("name", "length", "data")
            if moment is not None and (not changes or when != moment):
                yield disk
            moment = when if changes else None
            if kind == "name":
                directory, name, number = int(rest[0]), rest[1], int(rest[2])
                disk.set_name(when, (directory, name), number)
                if number >= 0:
                    disk.file(number)
            elif kind == "length":
                disk.file(rest[0]).set_length(when, int(rest[1]))
            elif kind == "data":
                data = trace.read(int(rest[2]))
                trace.read(1)
                disk.file(rest[0]).set_data(when, int(rest[1]), data)
            elif kind == "sync":
                disk.file(rest[0]).sync(when)
            elif kind == "directory":
                disk.sync_directory(when, int(rest[0]))
            elif kind == "all":
                disk.sync_all(when)
            if not changes:
                yield disk
    if not started:
        disk.sync_all(1)
    yield disk
