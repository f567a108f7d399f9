#!/usr/bin/env python3
"""A second reader of filter files, written from bloomdedup(5) alone.

    reader.py FILTER < lines            print the lines that are in the filter
    reader.py --each FILTER... < lines  write them to FILTER.theirs of each
    reader.py --verdicts FILTER...      print whether each can be read: "taken:
                                        FILTER" or "refused: FILTER"
    reader.py --vectors FILTER... < lines  print what each line hashes to
    reader.py --parts N < lines         print the part of N of each line

The output of --vectors has the columns of unit/vectors.txt: the key in hex,
low, high, the page in layer 0, and line:lane:bit for each of its bits there.
What is a line, and what of it is its key, is what the filter's key recipe says.

Exit status: 0 a line was found (with an option: always), 1 none was, 2 usage,
3 the filter can't be read: one line on standard error says why.

Names in capitals in the comments are sections of bloomdedup(5).
"""
import ipaddress
import mmap
import re
import struct
import sys
import time
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


# PARTS: XXH3-64, with the secret that the specification has for all.
PUBLIC = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
    "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
    "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e"
    "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e")


def xxh3_64(key):
    n, secret = len(key), PUBLIC

    def mix(at, secret_at):
        a, s = u64(key, at, 2), u64(secret, secret_at, 2)
        return fold(a[0] ^ s[0], a[1] ^ s[1])

    if n == 0:
        s = u64(secret, 56, 2)
        return avalanche_xxh64(s[0] ^ s[1])
    if n <= 3:
        s = u32(secret, 0, 2)
        return avalanche_xxh64((key[-1] | (n << 8) | (key[0] << 16) |
                                (key[n >> 1] << 24)) ^ s[0] ^ s[1])
    if n <= 8:
        s = u64(secret, 8, 2)
        x = int.from_bytes(key[-4:] + key[:4], "little") ^ s[0] ^ s[1]
        x ^= ((x << 49) | (x >> 15)) & M64 ^ ((x << 24) | (x >> 40)) & M64
        x = (x * MX2) & M64
        x = ((x ^ ((x >> 35) + n)) * MX2) & M64
        return x ^ (x >> 28)
    if n <= 16:
        s = u64(secret, 24, 4)
        a = u64(key, 0)[0] ^ s[0] ^ s[1]
        b = u64(key, n - 8)[0] ^ s[2] ^ s[3]
        return avalanche((n + swap(a, 8) + b + fold(a, b)) & M64)
    x = n * B1
    if n <= 128:
        for i in range((n + 31) // 32):
            x += mix(16 * i, 32 * i) + mix(n - 16 * i - 16, 32 * i + 16)
        return avalanche(x & M64)
    if n <= 240:
        for i in range(n // 16):
            x += mix(16 * i, 16 * i if i < 8 else 16 * (i - 8) + 3)
            if i == 7:
                x = avalanche(x & M64)
        return avalanche((x + mix(n - 16, 119)) & M64)
    return xxh3_large(key, secret)[0]


def part_of(key, parts):
    return 1 + (xxh3_64(key) * parts >> 64)


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
    return (high * pages) >> 64, bits_of(low, high, k, t)


def bits_of(low, high, k, t):
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
                yield line, lane, (w >> (6 * lane)) & 63


# FROM A LINE TO A KEY, key recipe: each line of it at most once, in one order and spelling.
RECIPE = re.compile(
    rb"(?P<nul>zero-terminated\n)?(?P<strip_cr>strip-cr\n)?(?P<trim>trim\n)?"
    rb"(?:key=(?P<ranges>[0-9,-]+)\n|key=(?P<columns>[^\n]+)\n)?(?:field-separator=(?P<c>[0-9a-f]{2})\n)?"
    rb"(?P<csv>csv(?P<backslash>=backslash)?\n)?(?P<header>header\n)?(?P<json>(?:json=[^\n]*\n)*)"
    rb"(?P<trim_fields>trim-fields\n)?(?P<url>url(?:=(?P<switches>[a-z,]+))?\n)?"
    rb"(?:url-ignore=(?P<ignore>[^\n]+)\n)?(?P<sort>url-sort\n)?"
    rb"(?:skip-(?P<skip_what>chars|data)=(?P<skip>[1-9]\d*)\n)?"
    rb"(?:check-(?P<check_what>chars|data)=(?P<check>[1-9]\d*)\n)?"
    rb"(?P<ignore_case>ignore-case\n)?(?P<keep_empty>keep-empty\n)?"
    rb"(?:part=(?P<part>[1-9]\d*)/(?P<parts>[1-9]\d*)\n)?")
NUMBER = rb"[1-9]\d{0,9}"
RANGES = re.compile(rb"%b(-(%b)?)?(,%b(-(%b)?)?)*" % ((NUMBER,) * 4))


BLANKS = b"\t\n\v\f\r "
MARK = b"\xef\xbb\xbf"
POINTER = re.compile(rb"(/([^~]|~[01])*)?", re.S)

# FROM A LINE TO A KEY, json: what a value is, to its last byte.
BLANK = rb"[ \t\n\r]*"
STRING = rb'"(?:[^"\\\0-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"'
SCALAR = re.compile(rb"(?:%b|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|"
                    rb"true|false|null)" % STRING)
ESCAPE = re.compile(rb'\\u([dD][89abAB]..)\\u([dD][c-fC-F]..)|\\u(....)|\\(.)',
                    re.S)
LETTERS = dict(zip(b'"\\/bfnrt', b'"\\/\b\f\n\r\t'))


def characters(text):
    """What the string between its quotes says; ValueError: nothing."""
    def one(match):
        high, low, other, letter = match.groups()
        if letter:
            return bytes([LETTERS[letter[0]]])
        c = (int(other, 16) if other else 0x10000 +
             ((int(high, 16) - 0xD800) << 10) + int(low, 16) - 0xDC00)
        return chr(c).encode("utf-8", "surrogatepass")
    need(re.fullmatch(STRING, b'"%b"' % text), "not a string")
    return ESCAPE.sub(one, text)


class Document:
    """A JSON document, skipped through as the manual says."""

    def __init__(self, text):
        self.text = text[3:] if text.startswith(MARK) else text

    def values(self, pointers):
        self.found = {}
        at = self.blanks(0)
        scalar = self.text[at:at + 1] not in (b"{", b"[", b'"')
        end = self.walk(at, [(p, p.split(b"/")[1:]) for p in pointers], 0)
        need(not scalar or SCALAR.fullmatch(self.text[at:end]), "not JSON")
        need(self.blanks(end) == len(self.text), "more follows")
        need(len(self.found) == len(pointers), "no such value")
        need(b"null" not in self.found.values(), "null is no value")
        return [self.take(self.found[p]) for p in pointers]

    def blanks(self, at):
        return re.compile(BLANK).match(self.text, at).end()

    def close(self, at):
        """From behind a quote to the one that closes the string."""
        match = re.compile(rb'(?:[^"\\]|\\.)*"', re.S).match(self.text, at)
        need(match, "string without an end")
        return match.end()

    def skip(self, at, depth):
        c = self.text[at:at + 1]
        if c == b'"':
            return self.close(at + 1)
        if c not in (b"{", b"["):
            end = re.compile(rb'[^ \t\n\r,:"\[\]{}]*').match(self.text, at).end()
            need(end > at, "no value")
            return end
        opened = []
        pattern = re.compile(rb'\\["\\]|"(?:[^"\\]|\\.)*("?)|([\[{])|([\]}])', re.S)
        for match in pattern.finditer(self.text, at):
            string = match[0].startswith(b'"')
            need(not string or match[1], "string without an end")
            if match[2]:
                need(depth + len(opened) < 1024, "too deep")
                opened.append(match[2])
            elif match[3]:
                need(opened.pop() + match[3] in (b"{}", b"[]"), "brackets")
                if not opened:
                    return match.end()
        raise ValueError("no end")

    def walk(self, at, wanted, depth):
        """The value at `at`; wanted: (pointer, tokens that are left)."""
        c = self.text[at:at + 1]
        deeper = [w for w in wanted if w[1]]
        if not deeper or c not in (b"{", b"["):
            end = self.skip(at, depth)
        else:
            need(depth < 1024, "too deep")
            end = self.members(at, deeper, depth + 1, c == b"{")
        for pointer, tokens in wanted:
            if not tokens:
                self.found[pointer] = self.text[at:end]
        return end

    def members(self, at, wanted, depth, named):
        closing, index = b"}" if named else b"]", 0
        at = self.blanks(at + 1)
        if self.text[at:at + 1] == closing:
            return at + 1
        while True:
            name = b"%d" % index
            if named:
                need(self.text[at:at + 1] == b'"', "no name")
                end = self.close(at + 1)
                try:
                    # what is no escape in a name is no name to look for
                    text = re.sub(rb"[\0-\x1f]", b"", self.text[at + 1:end - 1])
                    characters(text)
                    name = ESCAPE.sub(lambda m: characters(m[0]),
                                      self.text[at + 1:end - 1])
                except ValueError:
                    name = None
                at = self.blanks(end)
                need(self.text[at:at + 1] == b":", "no colon")
                at = self.blanks(at + 1)
            inside = []
            for pointer, tokens in wanted:
                token = tokens[0].replace(b"~1", b"/").replace(b"~0", b"~")
                if token == name:
                    inside.append((pointer, tokens[1:]))
                    self.found.pop(pointer, None)
            at = self.blanks(self.walk(at, inside, depth))
            c = self.text[at:at + 1]
            need(c in (b",", closing) and c, "no comma")
            at = self.blanks(at + 1)
            if c == closing:
                return at
            index += 1

    def take(self, value):
        if value.startswith(b'"'):
            return characters(value[1:-1])
        key, at, want, opened = b"", 0, "value", []
        token = re.compile(rb'%b(?:([\[{])|([\]}])|([,:])|(%b))%b' % (
            BLANK, SCALAR.pattern, BLANK))
        while at < len(value):
            match = token.match(value, at)
            need(match, "not JSON")
            opening, closing, mark, scalar = match.groups()
            at = match.end()
            key += opening or closing or mark or scalar
            if opening:
                need(want in ("value", "value or end"), "not JSON")
                opened.append(opening)
                want = "name or end" if opening == b"{" else "value or end"
            elif closing:
                need(opened and opened.pop() + closing in (b"{}", b"[]") and
                     want in ("comma or end", "name or end", "value or end"),
                     "not JSON")
                want = "comma or end" if opened else "nothing"
            elif mark:
                need((mark, want) in ((b",", "comma or end"), (b":", "colon")),
                     "not JSON")
                want = "value" if mark == b":" or opened[-1] == b"[" else "name"
            elif want in ("name", "name or end"):
                need(scalar.startswith(b'"'), "not JSON")
                want = "colon"
            else:
                need(want in ("value", "value or end"), "not JSON")
                want = "comma or end" if opened else "nothing"
        need(want == "nothing", "not JSON")
        return key


# FROM A LINE TO A KEY, url.
UNRESERVED = rb"A-Za-z0-9._~\-"
SUB = rb"!$&'()*+,;="
ENCODED = rb' \t"<>\[\]\\^`{|}\x80-\xff'
PORTS = {b"http": b"80", b"https": b"443", b"ws": b"80", b"wss": b"443",
         b"ftp": b"21"}


def url_text(text, more):
    """With its percent-encoding normal; ValueError: it has other bytes."""
    lone = b"%" if ENCODED in more else b""
    pattern = re.compile(rb"%%([0-9A-Fa-f]{2})|([%b%b%b%b])" % (
        UNRESERVED, SUB, more, lone))
    need(not pattern.sub(b"", text), "byte that is not allowed")
    out = b""
    for match in pattern.finditer(text):
        c = match[2] or bytes([int(match[1], 16)])
        if match[2] and not re.match(b"[" + ENCODED + b"]", c):
            out += c
        elif re.match(b"[" + UNRESERVED + b"]", c) and not (
                # it would complete what is no escape
                re.search(rb"%[0-9A-Fa-f]?\Z", out) and
                re.match(rb"[0-9A-Fa-f]", c)):
            out += c
        else:
            out += b"%%%02X" % c[0]
    return out


def url_names(ignore):
    try:
        return all(name and url_text(name, b":@/?" + ENCODED) == name and
                   not re.search(b"[&=]", name) for name in ignore.split(b","))
    except ValueError:
        return False


def url_host(host):
    if not host.startswith(b"["):
        return re.sub(rb"%..|[A-Z]", lambda m: m[0] if len(m[0]) > 1 else
                      m[0].lower(), url_text(host, b""))
    need(host.endswith(b"]"), "no host")
    if not re.fullmatch(rb"[vV][0-9A-Fa-f]+\.[%b%b:]+" % (UNRESERVED, SUB),
                        host[1:-1]):
        need(b"%" not in host, "zone")
        number = int(ipaddress.IPv6Address(host[1:-1].decode("ascii")))
        # groups of hexadecimal digits, the longest run of zeros left out
        groups = ["%x" % (number >> 16 * i & 0xffff) for i in range(7, -1, -1)]
        for n in range(8, 1, -1):
            at = [i for i in range(9 - n) if groups[i:i + n] == ["0"] * n]
            if at:
                groups[at[0]:at[0] + n] = [""]
                break
        text = ":".join(groups)
        text = ":" + text if text.startswith(":") else text
        text = text + ":" if text.endswith(":") else text
        host = b"[" + (text or "::").encode() + b"]"
    return host.lower()


def url_path(path, authority):
    if not path.startswith(b"/"):
        return path or (b"/" if authority else b"")
    out = []
    for i, segment in enumerate(parts := path.split(b"/")[1:]):
        if segment == b"..":
            del out[-1:]
        elif segment != b".":
            out.append(segment)
            continue
        if i == len(parts) - 1:
            out.append(b"")
    path = b"/" + b"/".join(out)
    return b"/." + path if not authority and path.startswith(b"//") else path


SWITCHES = (b"form scheme www slash values numbers fragment tracking").split()
TRACKING = (
    b"utm_*,gclid,gclsrc,dclid,gbraid,wbraid,fbclid,msclkid,twclid,ttclid,yclid,"
    b"igshid,mc_cid,mc_eid,_hsenc,_hsmi,mkt_tok,oly_anon_id,oly_enc_id,vero_id,"
    b"wickedid,_ga,_gl")


def url_form(parameter):
    """As application/x-www-form-urlencoded has it."""
    def encode(text):
        text = re.sub(rb"%([0-9A-F]{2})", lambda m: bytes([int(m[1], 16)]),
                      text.replace(b"+", b" "))
        return re.sub(rb"[^%b ]" % UNRESERVED, lambda m: b"%%%02X" % ord(m[0]),
                      text, flags=re.S).replace(b" ", b"+")
    name, _, value = parameter.partition(b"=")
    return encode(name) + b"=" + encode(value)


def url_normal(line, ignore, sort, switches):
    """None: not a URL."""
    if line.startswith(MARK):
        line = line[len(MARK):]
    line = line.strip(bytes(range(0x21)))
    match = re.fullmatch(
        rb"([A-Za-z][A-Za-z0-9+.-]*):(?://([^/?]*))?([^?]*)(?:\?(.*))?",
        line.partition(b"#")[0], re.S)
    if not match:
        return None
    scheme, authority, path, query = match.groups()
    scheme = scheme.lower()
    try:
        url = scheme + b":"
        if authority is not None:
            if b"scheme" in switches and scheme in (b"http", b"https"):
                url = b""
            user, at, host = authority.rpartition(b"@")
            host, port = re.fullmatch(rb"(\[.*\]|[^:]*)(?::([0-9]*))?", host,
                                      re.S).groups()
            port = (port or b"").lstrip(b"0") or (b"0" if port else b"")
            host = url_host(host)
            if b"www" in switches:
                host = re.sub(rb"(?<=.)\.\Z", b"", host)
                host = re.sub(rb"^www[0-9]*\.(?=.)", b"", host)
            url += b"//" + url_text(user, b":") + at + host
            url += b":" + port if port not in (b"", PORTS.get(scheme)) else b""
        path = url_path(url_text(path, b":@/" + ENCODED), authority is not None)
        if authority is not None and b"slash" in switches and len(path) > 1:
            path = path[:-1] if path.endswith(b"/") else path
        if authority is not None and b"numbers" in switches:
            path = re.sub(rb"(?<=/)[0-9]+(?=/|\Z)", b"0", path)
        url += path
        if query is not None:
            query = url_text(query, b":@/?" + ENCODED)
            kept = query.split(b"&")
            if b"tracking" in switches:
                ignore = ignore + b"," + TRACKING if ignore else TRACKING
            if ignore:
                names = re.compile(b"|".join(
                    b"(?:%[0-9A-F]{2}|[^%]|%(?![0-9A-F]{2}))*".join(map(re.escape, name.split(b"*")))
                    for name in ignore.split(b",")), re.S)
                kept = [p for p in kept
                        if not names.fullmatch(p.partition(b"=")[0])]
            if b"form" in switches:
                kept = sorted(url_form(p) for p in kept if p)
            elif sort:
                kept.sort(key=lambda p: p.partition(b"=")[0])
            if b"values" in switches:
                kept = sorted({p.partition(b"=")[0] for p in kept} - {b""})
            url += b"?" + b"&".join(kept) if kept else b""
        if b"fragment" in switches:
            fragment = line.partition(b"#")[2]
            url += b"#" + b"#".join(
                url_text(part, b":@/?" + ENCODED)
                for part in fragment.split(b"#")) if fragment else b""
        return url
    except (ValueError, AttributeError):
        return None


class Recipe:
    """FROM A LINE TO A KEY"""

    def __init__(self, text):
        match = RECIPE.fullmatch(text)
        need(match, "key recipe unknown here")
        vars(self).update(match.groupdict())
        self.end = b"\0" if self.nul else b"\n"
        self.c = self.c and bytes.fromhex(self.c.decode())
        self.part, self.parts = int(self.part or 0), int(self.parts or 0)
        need(self.part <= self.parts <= 4096, "part unknown here")
        self.skip, self.check = int(self.skip or 0), int(self.check or M64)
        need(self.skip < M64 and self.check <= M64, "number out of range")
        need(self.c or not self.csv, "csv without field-separator")
        need(self.c is None or self.csv or self.ranges, "no fields to separate")
        need(self.c != self.end and not (self.csv and self.c == b'"'),
             "field-separator unknown here")
        need(not (self.backslash and self.c == b"\\"),
             "field-separator unknown here")
        if self.ranges is not None:
            need(RANGES.fullmatch(self.ranges), "fields unknown here")
            self.ranges = [self.range(*part.partition(b"-"))
                           for part in self.ranges.split(b",")]
            ends = zip(self.ranges, self.ranges[1:])
            need(len(self.ranges) <= 32 and
                 all(a[1] + 1 < b[0] for a, b in ends), "fields unknown here")
        need(self.csv or not self.header, "header without csv")
        need(self.header or not self.columns, "names without header")
        if self.columns:
            self.columns = self.names(self.unescape(self.columns))
        self.single = self.columns and len(self.columns) == 1 or (
            self.ranges and len(self.ranges) == 1 and
                       self.ranges[0][0] == self.ranges[0][1])
        self.pointers = [self.unescape(line[5:])
                         for line in self.json.split(b"\n")[:-1]]
        need(len(self.pointers) <= 32 and
             len(set(self.pointers)) == len(self.pointers) and
             all(POINTER.fullmatch(p) for p in self.pointers),
             "json unknown here")
        need(not (self.pointers and (self.csv or self.ranges or self.columns)),
             "json and fields")
        need(self.ranges or self.columns or self.pointers or
             not self.trim_fields, "nothing to trim")
        need(self.url or not (self.ignore or self.sort), "no url")
        self.switches = self.switches.split(b",") if self.switches else []
        need(self.switches == [s for s in SWITCHES if s in self.switches],
             "switches unknown here")
        need(not self.ignore or url_names(self.ignore), "url-ignore unknown here")
        need(not self.url or self.csv or not self.ranges or self.single,
             "url and several fields")
        self.joins = bool(self.csv and (self.ranges or self.columns) and
                          not self.single or
                          len(self.pointers) > 1)
        what = (None, b"data" if self.joins else b"chars")
        need(self.skip_what in what and self.check_what in what,
             "skip or check unknown here")
        # A byte order mark at the beginning of a record isn't in its fields.
        self.mark = (MARK if self.csv and self.c not in MARK else b"")

    @staticmethod
    def names(text):
        """Numbers from 1 on, and names, in the one spelling of the list."""
        items = re.findall(rb'(?:^|,)("(?:[^"]|"")*"|[^",][^,]*|(?=,|$))', text)
        need(b",".join(items) == text and 1 <= len(items) <= 32,
             "columns unknown here")
        for i, item in enumerate(items):
            if re.fullmatch(rb"[0-9-]*", item):
                need(re.fullmatch(rb"[1-9][0-9]*", item) and int(item) <= 10**9,
                     "columns unknown here")
                items[i] = int(item)
            elif item.startswith(b'"'):
                items[i] = item[1:-1].replace(b'""', b'"')
                need(re.search(rb'^"|,|^[0-9-]*$', items[i]),
                     "columns unknown here")
        return items

    @staticmethod
    def unescape(text):
        escape = re.compile(rb"%(?:([01][0-9A-F])|(25|7F))")
        need(not re.search(rb"[\0-\x1f\x7f]", text) and
             b"%" not in escape.sub(b"", text) and b"%00" not in text,
             "escape unknown here")
        return re.sub(rb"%(..)", lambda m: bytes([int(m[1], 16)]), text)

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
        data = rb'[^"\\]|""|\\.|\\\Z' if self.backslash else b'[^"]|""'
        return b'(?:"((?:%b)*)("%b|\\Z)|%b)' % (data, rest, rest)

    def contents(self, quoted):
        pair = rb'"(")|\\(["\\])' if self.backslash else rb'"(")'
        return re.sub(pair, lambda m: m[m.lastindex], quoted)

    def lines(self, data):
        # The last line needs no terminator; it ends quotes, too.
        if data and not data.endswith(self.end):
            data += self.end
        if not self.csv:
            return data.split(self.end)[:-1]
        field = self.csv_field(self.c + self.end)
        record = b"((?:%b)?%b(?:%b%b)*)(?:%b|\\Z)" % (
            self.mark, field, re.escape(self.c), field, self.end)
        lines = [match[1] for match in re.finditer(record, data, re.S)
                 if match[0]]
        if lines and lines[-1].endswith(self.end):  # never closed
            lines[-1] = lines[-1][:-1]
        return lines

    def fields(self, line):
        if not self.c:
            return [field for field in re.split(b"[ \\t\\n]+", line) if field]
        if not self.csv:
            return line.split(self.c)
        pattern = re.compile(self.csv_field(self.c), re.S)
        at = len(self.mark) if line.startswith(self.mark) else 0
        fields = []
        while at <= len(line):
            match = pattern.match(line, at)
            quoted, rest = match.groups()
            fields.append(self.contents(quoted)
                          if rest in (b"", b'"') else match[0])
            at = match.end() + 1
        return fields

    def key(self, line):
        if (self.strip_cr or self.csv) and line.endswith(b"\r"):
            line = line[:-1]
        if self.trim:
            line = line.strip(BLANKS)
        if self.ranges or self.columns:
            fields = self.fields(line)
            if self.columns:
                fields = [(fields[i - 1:i] or [b""])[0] for i in self.places]
            else:
                fields = [field for i, field in enumerate(fields, 1)
                          if any(a <= i <= b for a, b in self.ranges)]
            fields = [self.trimmed(field) for field in fields]
            if self.single:
                line = fields[0] if fields else b""
            elif self.joins:
                return self.fold(self.join([self.normal(f) for f in fields]))
            else:
                c = self.c or b" "
                line = c.join(fields).rstrip(c)
        if self.pointers:
            try:
                values = Document(line).values(self.pointers)
            except ValueError:
                return b"\xff" + self.fold(line)
            values = [self.trimmed(value) for value in values]
            if self.joins:
                return self.fold(self.join([self.normal(v) for v in values]))
            line = values[0]
        key = self.fold(self.normal(line)[self.skip:][:self.check])
        return b"\xfe" + key if self.pointers and key[:1] >= b"\xfe" else key

    def trimmed(self, value):
        return value.strip(BLANKS) if self.trim_fields else value

    def normal(self, value):
        normal = self.url and url_normal(value, self.ignore, self.sort,
                                         self.switches)
        return normal or value

    def join(self, values):
        """Values in quotes; what is cut of them is counted without."""
        at, key = 0, b""
        while values and not values[-1]:
            values = values[:-1]
        for i, value in enumerate(values):
            if i:
                key += (self.c or b",") if self.skip <= at < self.skip + self.check else b""
                at += 1
            left = value[max(self.skip - at, 0):max(self.skip + self.check - at, 0)]
            key += left and b'"%b"' % left.replace(b'"', b'""')
            at += len(value)
        return key

    def fold(self, key):
        return key.lower() if self.ignore_case else key


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
    need(u32(head, 16)[0] <= 1, "needs a feature that is unknown here")
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
    kind, length = u32(head, 88) + u64(head, 96)
    if u32(head, 16)[0] == 0:
        need((kind, length) == (0, 0), "a window without its feature")
    else:
        need(kind in (1, 2) and 1 <= length <= 1 << 53, "window out of range")
        need(kind == 1 or length % 4 == 0, "window out of range")
        need(kind == 1 or length == u64(head, 48)[0], "two lengths of a window")
    need(not any(head[92:96] + head[104:128] + head[320 + nrecipe:4092]), "padding not zero")
    need(not any(head[128 + nsecret:320]), "padding not zero")
    return head[24:40], head[128:128 + nsecret], recipe


def read_window(data):
    """WINDOWS: (kind, length) of a header that is right; (0, 0) is none."""
    return u32(data, 88) + u64(data, 96)


def read_generations(slot):
    """WINDOWS: (number, begin, end) of each; None if they are not valid."""
    count, = u32(slot, 3840)
    if not 1 <= count <= 8 or any(slot[3648 + 24 * count:3840] + slot[3844:4092]):
        return None
    all_of_them = [struct.unpack_from("<3q", slot, 3648 + 24 * i)
                   for i in range(count)]
    limit = ((1 << 63) - 1) // 4
    for i, (number, begin, end) in enumerate(all_of_them):
        if not -limit <= begin <= end <= limit:
            return None
        if i > 0 and (number <= all_of_them[i - 1][0] or end < all_of_them[i - 1][2]):
            return None
    return all_of_them


def read_windowed_slot(slot, file_id):
    """WINDOWS: (generation, bytes, layers, generations), or None."""
    generation, nbytes, count = u64(slot, 8) + u64(slot, 32) + u32(slot, 40)
    generations = read_generations(slot)
    if (slot[:8] != b"bdwindow" or slot[16:32] != file_id
            or not 1 <= generation < M64
            or zlib.crc32(slot[:4092]) != u32(slot, 4092)[0]
            or not 1 <= count <= 56 or u32(slot, 44)[0] > 2
            or generations is None or nbytes % PAGE or nbytes > BYTES_MAX):
        return None
    sealing, crc_so_far, done = u32(slot, 48, 2) + u64(slot, 56)
    if sealing > count or not sealing and (crc_so_far or done):
        return None
    layers, youngest = [], 1
    for entry in range(64, 64 + 64 * count, 64):
        offset, pages, capacity = u64(slot, entry, 3)
        k, t, flags, crc = u32(slot, entry + 48, 4)
        sealed = flags & 255
        place_of_it, end = flags >> 8, offset + pages * PAGE
        if (offset % PAGE or offset < 3 * PAGE or pages < 1 or end > nbytes
                or not 1 <= t <= 8 or not t <= k <= 8 * t or sealed > 1
                or crc and not sealed
                or not youngest <= place_of_it <= len(generations)
                or not 1 <= capacity <= CAPACITY_MAX or not is_rate(slot, entry + 24)
                or any(offset < at + n * PAGE and at < end
                       for at, n, *_ in layers)):
            return None
        youngest = place_of_it
        if 64 * sealing == entry and (sealed or done >= pages):
            return None
        layers.append((offset, pages, k, t, crc if sealed else None,
                       place_of_it - 1))
    if youngest != len(generations):
        return None
    return generation, nbytes, layers, generations


def alive(layers, generations, window):
    """WINDOWS: without the layers of generations that are over."""
    kind, length = window
    over = [g[2] + length <= time.time() if kind == 1 else
            len(generations) - i > 5 for i, g in enumerate(generations)]
    return [layer for layer in layers if not over[layer[5]]]


def read_slot(slot, file_id, window=(0, 0)):
    """SLOTS: (serial number, bytes, layers, generations); None if not valid."""
    if window[0]:
        found = read_windowed_slot(slot, file_id)
        return found and found[:2] + (alive(*found[2:], window), found[3])
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
    if nbytes != end or end > BYTES_MAX:
        return None
    return generation, nbytes, layers, []


def numbers_in_range(generations, window):
    """WINDOWS: of those of a window of time, their beginnings."""
    kind, length = window
    unit = (length + 3) // 4 if kind == 1 else 1
    limit = ((1 << 63) - 1) // 4
    return all(abs(number) <= limit // unit for number, _, _ in generations)


def read_layers(data, file_id):
    """RECOVERY: (offset, pages, k, t) of each layer of the slot that is used."""
    window = read_window(data)
    slots = [read_slot(data[i:i + PAGE], file_id, window)
             for i in (PAGE, 2 * PAGE)]
    valid = [slot for slot in slots if slot and slot[1] <= len(data)]
    need(valid, "both slots damaged, or shorter than they say")
    _, nbytes, layers, generations = max(valid, key=lambda slot: slot[0])
    need(numbers_in_range(generations, window), "number of a generation")
    need(len(valid) == 2 or not any(data[nbytes:]),
         "one slot damaged, and longer than the other says")
    for offset, pages, _, _, sealed_crc, *_ in layers:
        if sealed_crc is not None:
            crc = 0
            for at in range(offset, offset + pages * PAGE, PAGE):
                crc = zlib.crc32(data[at:at + PAGE], crc)
            need(crc == sealed_crc, "layer at %d damaged" % offset)
    return [layer[:4] for layer in layers]


def holds(data, layer, digest):
    """LAYERS: are all bits of the key set?"""
    page, bits = place(digest, layer)
    at = layer[0] + page * PAGE
    for line, lane, bit in bits:
        # a lane is a little-endian word: its bits 0 to 7 are its first byte
        if not (data[at + line * 64 + lane * 8 + bit // 8] >> bit % 8) & 1:
            return False
    return True


def read_filter(path):
    with open(path, "rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    file_id, secret, recipe = read_header(data)
    return data, secret, recipe, read_layers(data, file_id)


def read_lines(recipe, data):
    lines = recipe.lines(data)
    if recipe.header and lines:
        # The first record of a file is no line, but says where columns are.
        def fields(line):
            return recipe.fields(line[:-1] if line.endswith(b"\r") else line)
        names = fields(lines.pop(0))
        if len(names) > 1:
            lines = [line for line in lines if fields(line) != names]
        recipe.places = [
            column if isinstance(column, int) else
            names.index(column) + 1 if names.count(column) == 1 else None
            for column in recipe.columns or []]
        need(None not in recipe.places, "no such column")
    return lines


def keys(recipe, lines):
    """(line, key) of those that are in the filter's part."""
    for line in lines:
        key = recipe.key(line)
        if not recipe.parts or part_of(key, recipe.parts) == recipe.part:
            yield line, key


def members(data, secret, recipe, layers, asked):
    """What of the text `asked` is in the filter."""
    found = []
    for line, key in keys(recipe, read_lines(recipe, asked)):
        digest = digest_of(key, secret)
        if not (recipe.keep_empty and not key) and any(
                holds(data, layer, digest) for layer in layers):
            found.append(line + recipe.end)
    return b"".join(found)


def print_vectors(data, secret, recipe, layers, asked):
    for _, key in keys(recipe, read_lines(recipe, asked)):
        digest = digest_of(key, secret)
        page, bits = place(digest, layers[0])
        print("%s\t%016x\t%016x\t%d\t%s" % (key.hex(), *digest, page,
              " ".join("%d:%d:%d" % bit for bit in bits)))


def main(arguments):
    option = ""
    if arguments and arguments[0].startswith("--"):
        option, *arguments = arguments
    several = option in ("--each", "--verdicts", "--vectors")
    if (option not in ("", "--vectors", "--parts", "--each", "--verdicts",
                        "--keys")
            or not arguments or len(arguments) > 1 and not several):
        print("usage: reader.py [OPTION] FILTER < lines", file=sys.stderr)
        return 2
    asked = b"" if option == "--verdicts" else sys.stdin.buffer.read()
    if option == "--parts":
        for line in asked.split(b"\n")[:-1]:
            print(part_of(line, int(arguments[0])))
        return 0
    for path in arguments:
        try:
            parts = read_filter(path)
            if option == "--verdicts":
                print("taken: " + path)
            elif option == "--vectors":
                print_vectors(*parts, asked)
            elif option == "--keys":
                recipe = parts[2]
                sys.stdout.buffer.write(b"".join(
                    recipe.key(line) + recipe.end
                    for line in read_lines(recipe, asked)))
            elif option == "--each":
                with open(path + ".theirs", "wb") as file:
                    file.write(members(*parts, asked))
            else:
                found = members(*parts, asked)
                sys.stdout.buffer.write(found)
                return 0 if found else 1
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            print("reader.py: %s: %s" % (path, reason), file=sys.stderr)
            if option != "--verdicts":
                return 3
            print("refused: " + path)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
