#!/usr/bin/env python3
"""A second reader of filter files, written from bloomdedup(5) alone.

    reader.py FILTER < lines            print the lines that are in the filter
    reader.py --vectors FILTER < lines  print what each line hashes to

The output of --vectors has the columns of unit/vectors.txt: the key in hex,
low, high, the page in layer 0, and line:lane:bit for each of its bits there.
What is a line, and what of it is its key, is what the filter's key recipe says.

Exit status: 0 a line was found (--vectors: always), 1 none was, 2 usage,
3 the filter can't be read: one line on standard error says why.

Names in capitals in the comments are sections of bloomdedup(5).
"""
import mmap
import re
import struct
import sys
import zlib

PAGE = 4096
M32, M64 = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF
CAPACITY_MAX, BYTES_MAX = 1 << 53, (1 << 61) - (1 << 16)

# FROM A KEY TO BITS, the digest: XXH3-128 with a secret of 192 bytes, after
# the xxHash specification 0.2.0. PRIME32_1 to 3, PRIME64_1 to 5, the two MX:
A1, A2, A3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
B1, B2, B3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
B4, B5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
MX1, MX2 = 0x165667919E3779F9, 0x9FB21C651E98DF25


def u32(data, at, count=1):
    return struct.unpack_from("<%dI" % count, data, at)


def u64(data, at, count=1):
    return struct.unpack_from("<%dQ" % count, data, at)


def swap(x, nbytes):
    return int.from_bytes(x.to_bytes(nbytes, "little"), "big")


def fold(a, b):
    """The two halves of the product of 128 bits, XORed."""
    return ((a * b) & M64) ^ ((a * b) >> 64)


def avalanche(x):
    x = ((x ^ (x >> 37)) * MX1) & M64
    return x ^ (x >> 32)


def avalanche_xxh64(x):
    x = ((x ^ (x >> 33)) * B2) & M64
    x = ((x ^ (x >> 29)) * B3) & M64
    return x ^ (x >> 32)


def xxh3_small(key, secret):
    """0 to 16 bytes."""
    n = len(key)
    if n == 0:
        s = u64(secret, 64, 4)
        return avalanche_xxh64(s[0] ^ s[1]), avalanche_xxh64(s[2] ^ s[3])
    if n <= 3:
        s = u32(secret, 0, 4)
        x = key[-1] | (n << 8) | (key[0] << 16) | (key[n >> 1] << 24)
        y = swap(x, 4)
        y = ((y << 13) | (y >> 19)) & M32
        return (avalanche_xxh64(s[0] ^ s[1] ^ x),
                avalanche_xxh64(s[2] ^ s[3] ^ y))
    if n <= 8:
        s = u64(secret, 16, 2)
        x = int.from_bytes(key[:4] + key[-4:], "little") ^ s[0] ^ s[1]
        product = x * (B1 + (n << 2))
        low, high = product & M64, product >> 64
        high = (high + (low << 1)) & M64
        low ^= high >> 3
        low = ((low ^ (low >> 35)) * MX2) & M64
        return low ^ (low >> 28), avalanche(high)
    s = u64(secret, 32, 4)
    first, last = u64(key, 0)[0], u64(key, n - 8)[0]
    product = (first ^ last ^ s[0] ^ s[1]) * B1
    x = last ^ s[2] ^ s[3]
    low = ((product & M64) + ((n - 1) << 54)) & M64
    high = ((product >> 64) + (x & ~M32) + (x & M32) * A2) & M64
    product = ((low ^ swap(high, 8)) | (high << 64)) * B2
    return avalanche(product & M64), avalanche((product >> 64) & M64)


def xxh3_medium(key, secret):
    """17 to 240 bytes."""
    n = len(key)
    low, high = (n * B1) & M64, 0

    def mix(at1, at2, secret_at):
        nonlocal low, high
        a, b, s = u64(key, at1, 2), u64(key, at2, 2), u64(secret, secret_at, 4)
        low = (low + fold(a[0] ^ s[0], a[1] ^ s[1])) & M64
        high = (high + fold(b[0] ^ s[2], b[1] ^ s[3])) & M64
        low ^= (b[0] + b[1]) & M64
        high ^= (a[0] + a[1]) & M64

    if n <= 128:
        for i in reversed(range((n + 31) // 32)):
            mix(16 * i, n - 16 * i - 16, 32 * i)
    else:
        for i in range(n // 32):
            mix(32 * i, 32 * i + 16, 32 * i if i < 4 else 32 * (i - 4) + 3)
            if i == 3:
                low, high = avalanche(low), avalanche(high)
        mix(n - 16, n - 32, 103)
    end = (low * B1 + high * B4 + n * B2) & M64
    return avalanche((low + high) & M64), -avalanche(end) & M64


def xxh3_large(key, secret):
    """More than 240 bytes."""
    n = len(key)
    acc = [A3, B1, B2, B3, B4, A2, B5, A1]

    def accumulate(at, secret_at):
        s = u64(secret, secret_at, 8)
        for i, x in enumerate(u64(key, at, 8)):
            y = x ^ s[i]
            acc[i ^ 1] = (acc[i ^ 1] + x) & M64
            acc[i] = (acc[i] + (y & M32) * (y >> 32)) & M64

    def merge(x, secret_at):
        s = u64(secret, secret_at, 8)
        for i in range(0, 8, 2):
            x += fold(acc[i] ^ s[i], acc[i + 1] ^ s[i + 1])
        return avalanche(x & M64)

    for stripe in range((n - 1) // 64):
        accumulate(64 * stripe, stripe % 16 * 8)
        if stripe % 16 == 15:  # the end of a block: scramble
            for i, s in enumerate(u64(secret, 128, 8)):
                acc[i] = ((acc[i] ^ (acc[i] >> 47) ^ s) * A1) & M64
    accumulate(n - 64, 121)
    return merge(n * B1, 11), merge(~(n * B2) & M64, 117)


def siphash(key, secret):
    """SipHash-1-3 with 16 bytes of output, after its reference code."""
    k0, k1 = u64(secret, 0, 2)
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D ^ 0xEE,
         k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]

    def half_round(a, b, c, d, left, right):
        v[a], v[c] = (v[a] + v[b]) & M64, (v[c] + v[d]) & M64
        v[b] = ((v[b] << left) | (v[b] >> (64 - left))) & M64 ^ v[a]
        v[d] = ((v[d] << right) | (v[d] >> (64 - right))) & M64 ^ v[c]
        v[a] = ((v[a] << 32) | (v[a] >> 32)) & M64

    def rounds(n):
        for _ in range(n):
            half_round(0, 1, 2, 3, 13, 16)
            half_round(2, 1, 0, 3, 17, 21)

    tail = len(key) % 8
    padded = key + bytes(7 - tail) + bytes([len(key) & 0xFF])
    for word in u64(padded, 0, len(padded) // 8):
        v[3] ^= word
        rounds(1)
        v[0] ^= word
    halves = []
    for i, flip in ((2, 0xEE), (1, 0xDD)):
        v[i] ^= flip
        rounds(3)
        halves.append(v[0] ^ v[1] ^ v[2] ^ v[3])
    return tuple(halves)


def digest_of(key, secret):
    """(low, high)"""
    if len(secret) == 16:
        return siphash(key, secret)
    if len(key) <= 16:
        return xxh3_small(key, secret)
    return (xxh3_medium if len(key) <= 240 else xxh3_large)(key, secret)


def place(digest, layer):
    """FROM A KEY TO BITS, the bits: a page, and (line, lane, bit) of each."""
    low, high = digest
    _, pages, k, t = layer
    bits = []
    for j in range(t):
        x = low ^ (((2 * j + 1) * 0x9E3779B97F4A7C15) & M64)
        y = high ^ (((2 * j + 2) * 0x9E3779B97F4A7C15) & M64)
        w = fold(x, y)
        first = 64 * j // t
        size = 64 * (j + 1) // t - first
        line = first + (((w >> 51) * size) >> 13)
        nbits = k // t + (1 if j < k % t else 0)
        r = (w >> 48) & 7
        for lane in range(8):
            if (lane - r) % 8 < nbits:
                bits.append((line, lane, (w >> (6 * lane)) & 63))
    return (high * pages) >> 64, bits


# HEADER, key recipe: each line of it at most once, in one order and spelling.
RECIPE = re.compile(
    rb"(?P<nul>zero-terminated\n)?(?P<strip_cr>strip-cr\n)?(?P<trim>trim\n)?"
    rb"(?:key=(?P<ranges>[0-9,-]+)\n)?(?:field-separator=(?P<c>[0-9a-f]{2})\n)?"
    rb"(?P<csv>csv\n)?(?:skip-chars=(?P<skip>[1-9]\d*)\n)?"
    rb"(?:check-chars=(?P<check>[1-9]\d*)\n)?(?P<ignore_case>ignore-case\n)?")
NUMBER = rb"[1-9]\d{0,9}"
RANGES = re.compile(rb"%b(-(%b)?)?(,%b(-(%b)?)?)*" % ((NUMBER,) * 4))


class Recipe:
    """FROM A LINE TO A KEY"""

    def __init__(self, text):
        match = RECIPE.fullmatch(text)
        need(match, "key recipe unknown here")
        vars(self).update(match.groupdict())
        self.end = b"\0" if self.nul else b"\n"
        self.c = self.c and bytes.fromhex(self.c.decode())
        self.skip, self.check = int(self.skip or 0), int(self.check or M64)
        need(self.skip < M64 and self.check <= M64, "number out of range")
        need(self.c or not self.csv, "csv without field-separator")
        need(self.c is None or self.csv or self.ranges, "no fields to separate")
        need(self.c != self.end and not (self.csv and self.c == b'"'),
             "field-separator unknown here")
        if self.ranges is not None:
            need(RANGES.fullmatch(self.ranges), "fields unknown here")
            self.ranges = [self.range(*part.partition(b"-"))
                           for part in self.ranges.split(b",")]
            ends = zip(self.ranges, self.ranges[1:])
            need(len(self.ranges) <= 32 and
                 all(a[1] + 1 < b[0] for a, b in ends), "fields unknown here")

    @staticmethod
    def range(first, dash, last):
        need(not last or int(first) < int(last), "fields out of order")
        first, last = int(first), int(last or (M64 if dash else first))
        need(first <= 10**9 and (last <= 10**9 or last == M64),
             "field out of range")
        return first, last

    def csv_field(self, stops):
        """Text in quotes, what is from its end to the separator; or neither."""
        rest = b"[^%b]*" % re.escape(stops)
        return b'(?:"((?:[^"]|"")*)("%b|\\Z)|%b)' % (rest, rest)

    def lines(self, data):
        # The last line needs no terminator; it ends quotes, too.
        if data and not data.endswith(self.end):
            data += self.end
        if not self.csv:
            return data.split(self.end)[:-1]
        field = self.csv_field(self.c + self.end)
        record = b"(%b(?:%b%b)*)(?:%b|\\Z)" % (
            field, re.escape(self.c), field, self.end)
        lines = [match[1] for match in re.finditer(record, data) if match[0]]
        if lines and lines[-1].endswith(self.end):  # never closed
            lines[-1] = lines[-1][:-1]
        return lines

    def fields(self, line):
        if not self.c:
            return [field for field in re.split(b"[ \\t\\n]+", line) if field]
        if not self.csv:
            return line.split(self.c)
        pattern = re.compile(self.csv_field(self.c))
        fields, at = [], 0
        while at <= len(line):
            match = pattern.match(line, at)
            quoted, rest = match.groups()
            fields.append(quoted.replace(b'""', b'"')
                          if rest in (b"", b'"') else match[0])
            at = match.end() + 1
        return fields

    def key(self, line):
        if (self.strip_cr or self.csv) and line.endswith(b"\r"):
            line = line[:-1]
        if self.trim:
            line = line.strip(b"\t\n\v\f\r ")
        if self.ranges:
            fields = [field for i, field in enumerate(self.fields(line), 1)
                      if any(a <= i <= b for a, b in self.ranges)]
            if len(self.ranges) == 1 and len(set(self.ranges[0])) == 1:
                line = fields[0] if fields else b""
            else:
                if self.csv:
                    fields = [field and b'"%b"' % field.replace(b'"', b'""')
                              for field in fields]
                c = self.c or b" "
                line = c.join(fields).rstrip(c)
        line = line[self.skip:][:self.check]
        return line.lower() if self.ignore_case else line


def need(condition, reason):
    if not condition:
        raise ValueError(reason)


def is_rate(data, at):
    return 0 < struct.unpack_from("<d", data, at)[0] <= 1


def read_header(data):
    """HEADER: the file id, the secret, and the key recipe."""
    need(data[:12] == b"\x89bloomdd\r\n\x1a\n", "not a filter file")
    need(len(data) >= 3 * PAGE, "shorter than a header and two slots")
    head = data[:PAGE]
    to_read, to_write = struct.unpack_from("<HH", head, 12)
    need(to_read <= 1, "needs version %d to read" % to_read)
    need(u32(head, 16)[0] == 0, "needs a feature that is unknown here")
    need(zlib.crc32(head[:4092]) == u32(head, 4092)[0], "header damaged")
    need(1 <= to_read <= to_write, "versions out of range")
    need(1 <= u64(head, 48)[0] <= CAPACITY_MAX, "capacity out of range")
    need(is_rate(head, 56), "error rate out of range")
    growth, kind, page, line, nsecret, nrecipe = u32(head, 64, 6)
    need(growth <= 2, "growth %d unknown here" % growth)
    need((kind, nsecret) in ((1, 192), (2, 16)), "hash %d unknown here" % kind)
    need((page, line) == (PAGE, 64), "geometry unknown here")
    need(nrecipe <= 1024, "key recipe too long")
    recipe = Recipe(head[320:320 + nrecipe])
    need(not any(head[88:128] + head[320 + nrecipe:4092]), "padding not zero")
    need(not any(head[128 + nsecret:320]), "padding not zero")
    return head[24:40], head[128:128 + nsecret], recipe


def read_slot(slot, file_id):
    """SLOTS: (generation, bytes, layers); None if the slot is not valid."""
    generation, nbytes, count = u64(slot, 8) + u64(slot, 32) + u32(slot, 40)
    if (slot[:8] != b"bdlayers" or slot[16:32] != file_id
            or not 1 <= generation < M64
            or zlib.crc32(slot[:4092]) != u32(slot, 4092)[0]
            or not 1 <= count <= 62 or u32(slot, 44)[0] > 2
            or any(slot[64 + 64 * count:4092])):
        return None
    sealing, crc_so_far, done = u32(slot, 48, 2) + u64(slot, 56)
    if sealing > count or not sealing and (crc_so_far or done):
        return None
    layers, end = [], 3 * PAGE
    for entry in range(64, 64 + 64 * count, 64):
        offset, pages, capacity = u64(slot, entry, 3)
        k, t, sealed, crc = u32(slot, entry + 48, 4)
        if (offset != end or pages < 1 or not 1 <= t <= 8
                or not t <= k <= 8 * t or sealed > 1 or crc and not sealed
                or not 1 <= capacity <= CAPACITY_MAX or not is_rate(slot, entry + 24)):
            return None
        if 64 * sealing == entry and (sealed or done >= pages):
            return None
        end += pages * PAGE
        layers.append((offset, pages, k, t, crc if sealed else None))
    return (generation, nbytes, layers) if nbytes == end <= BYTES_MAX else None


def read_layers(data, file_id):
    """RECOVERY: (offset, pages, k, t) of each layer of the slot that counts."""
    slots = [read_slot(data[i:i + PAGE], file_id) for i in (PAGE, 2 * PAGE)]
    valid = [slot for slot in slots if slot and slot[1] <= len(data)]
    need(valid, "both slots damaged, or shorter than they say")
    _, nbytes, layers = max(valid, key=lambda slot: slot[0])
    need(len(valid) == 2 or not any(data[nbytes:]),
         "one slot damaged, and longer than the other says")
    for offset, pages, _, _, sealed_crc in layers:
        if sealed_crc is not None:
            crc = 0
            for at in range(offset, offset + pages * PAGE, PAGE):
                crc = zlib.crc32(data[at:at + PAGE], crc)
            need(crc == sealed_crc, "layer at %d damaged" % offset)
    return [layer[:4] for layer in layers]


def holds(data, layer, digest):
    """LAYERS: are all bits of the key set?"""
    page, bits = place(digest, layer)
    for line, lane, bit in bits:
        word, = u64(data, layer[0] + page * PAGE + line * 64 + lane * 8)
        if not (word >> bit) & 1:
            return False
    return True


def main(arguments):
    vectors = arguments[:1] == ["--vectors"]
    if len(arguments) != 1 + vectors:
        print("usage: reader.py [--vectors] FILTER < lines", file=sys.stderr)
        return 2
    try:
        with open(arguments[-1], "rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        file_id, secret, recipe = read_header(data)
        layers = read_layers(data, file_id)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        print("reader.py: %s: %s" % (arguments[-1], reason), file=sys.stderr)
        return 3
    found = False
    for line in recipe.lines(sys.stdin.buffer.read()):
        key = recipe.key(line)
        digest = digest_of(key, secret)
        if vectors:
            page, bits = place(digest, layers[0])
            print("%s\t%016x\t%016x\t%d\t%s" % (key.hex(), *digest, page,
                  " ".join("%d:%d:%d" % bit for bit in bits)))
        elif any(holds(data, layer, digest) for layer in layers):
            sys.stdout.buffer.write(line + recipe.end)
            found = True
    return 0 if found or vectors else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
