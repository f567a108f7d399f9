#!/usr/bin/env python3
"""Usage: seeds.py DIRECTORY

Write the inputs that fuzzing begins with: DIRECTORY/TARGET/NAME. The comment at
the top of each target says what its inputs consist of. An input that once made
a target fail is kept in found/TARGET/NAME, and copied.
"""
import bz2
import gzip
import lzma
import os
import shutil
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


DIRECTORY = sys.argv[1]


def write(target, name, data):
    directory = os.path.join(DIRECTORY, target)
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, name), "wb") as file:
        file.write(data)


def u16(n):
    return struct.pack("<H", n)


def value(n):
    """take_evil's: a byte that chooses none, then eight."""
    return b"\xff" + struct.pack("<Q", n)


# format: flags, length, layers of both slots, changes
HEADER_CRC, SLOT_CRC, CHAIN, COPY_ID = 1, 2, 4, 8
WRITABLE, SHARED, DIRTY, PRIVATE = 16, 32, 64, 128
RIGHT = HEADER_CRC | SLOT_CRC | CHAIN


def change_format(name, changes=b"", flags=RIGHT | WRITABLE, length=0,
                  layers=(0, 1)):
    write("format", name, bytes([flags, length, *layers]) + changes)


change_format("as-it-is")
change_format("read", flags=RIGHT)
change_format("shared", flags=RIGHT | WRITABLE | SHARED)
change_format("private", flags=RIGHT | WRITABLE | PRIVATE, layers=(1, 2))
change_format("62-layers", layers=(61, 61))
change_format("grown", layers=(7, 8), length=3)
change_format("short", length=1)
change_format("long", length=2)
change_format("header-only", length=4)
change_format("any-length", b"\x34\x12\0", length=5)
change_format("capacity", b"\0\6" + value(2**53))
change_format("capacity-too-large", b"\0\6" + value(2**53 + 1))
change_format("layer-capacity", b"\2\1\1\2" + value(2**53))
change_format("layer-capacity-too-large", b"\2\1\1\2" + value(2**53 + 1))
change_format("rate-nan", b"\0\7" + value(0x7ff8 << 48))
change_format("rate-small", b"\0\7" + value(1))
change_format("growth-warn", b"\0\x08" + value(1))
change_format("siphash", b"\0\x09" + value(2) + b"\0\x0c" + value(16))
change_format("newer", b"\0\1" + value(2) + b"\0\3" + value(1))
change_format("recipe", b"\0\x0d" + value(5) + b"\3" + u16(320) +
              b"\x0dtrim\n\0\0\0\0\0\0\0\0")
change_format("text-mode", b"\3" + u16(8) + b"\1\n")
change_format("damaged-slot", b"\1\1\0" + value(0), RIGHT | WRITABLE)
change_format("damaged-slots", b"\1\0\0" + value(0) + b"\1\1\0" + value(0))
change_format("damaged-slot-longer", b"\1\1\0" + value(0),
              RIGHT | WRITABLE, length=3)
change_format("damaged-slot-dirty", b"\1\1\0" + value(0),
              RIGHT | WRITABLE | DIRTY, length=3)
change_format("long-dirty", b"", RIGHT | WRITABLE | DIRTY, length=2)
change_format("last-generation", b"\1\1\1" + value(2**64 - 2))
change_format("same-generation", b"\1\1\1" + value(7))
change_format("marking", b"\1\0\5" + value(1) + b"\1\1\5" + value(1))
change_format("marking-shared", b"\1\0\5" + value(1) + b"\1\1\5" + value(1),
              RIGHT | WRITABLE | SHARED)
change_format("sharing", b"\1\0\5" + value(2) + b"\1\1\5" + value(2))
change_format("sharing-shared", b"\1\0\5" + value(2) + b"\1\1\5" + value(2),
              RIGHT | WRITABLE | SHARED)
change_format("no-such-flag", b"\1\0\5" + value(3) + b"\1\1\5" + value(3))
change_format("other-id", b"\0\4" + value(9))
change_format("other-ids", b"\0\4" + value(9), RIGHT | WRITABLE | COPY_ID)
change_format("many-pages", b"\2\1\1\1" + value(2**29))
change_format("most-pages", b"\2\1\1\1" + value(2**49 - 20))
change_format("one-page-too-many", b"\2\1\1\1" + value(2**49 - 19))
change_format("layers-too-long", b"".join(
    b"\2\1" + bytes([i]) + b"\1" + value(2**49 - 20) for i in range(9)),
    layers=(0, 8))
change_format("overflow", b"\2\1\1\1" + value(2**52 - 3))
change_format("all-full", b"\2\1\0\4" + value(100) + b"\2\1\1\4" + value(100))
change_format("sealed", b"\2\1\0\x08" + value(1) + b"\2\1\0\x09" + value(77))
change_format("k-and-t", b"\2\1\0\6" + value(64) + b"\2\1\0\7" + value(8))
change_format("no-crc", b"\3" + u16(50) + b"\1\x09", WRITABLE)

# journal: a number, pieces
BEGIN, ALL = b"\0", b"\2\1\0\0"


def make_journal(name, pieces, at_once=99):
    write("journal", name, u16(at_once) + pieces)


make_journal("empty", b"")
make_journal("begun", BEGIN)
make_journal("uncommitted", BEGIN + b"\1\x20")
make_journal("whole", BEGIN + b"\1\x20" + ALL)
make_journal("nothing", BEGIN + b"\2\0")
make_journal("frames", BEGIN + b"\1\x20\1\1\1\x50" + ALL, 7)
make_journal("full-frame", BEGIN + b"\1\xff\1\1" + ALL, 4095)
make_journal("found-empty-frames", BEGIN + b"\1\0\1\3\1\0" + ALL)
make_journal("two-layers", BEGIN + b"\1\x20\2\2\0\1\x10\0\1\0")
make_journal("no-such-layer", BEGIN + b"\1\x20\2\1\2\0")
make_journal("62-entries", BEGIN + b"\1\x3e\2\x3e" + b"\0\1\1\0" * 62)
make_journal("63-entries", BEGIN + b"\1\x3f\2\x3f" + b"\0\1\1\0" * 63)
make_journal("sum-overflows", BEGIN + b"\1\x20\7" + value(2**63))
make_journal("behind-commit", BEGIN + b"\1\x20" + ALL + b"\3\4abcd")
make_journal("cut", BEGIN + b"\1\x20" + ALL + b"\5" + u16(1))
make_journal("damaged", BEGIN + b"\1\x20" + ALL + b"\6" + u16(60) + b"\1")
make_journal("kind-10", BEGIN + b"\4\x0a\0")
make_journal("part-of-a-digest", BEGIN + b"\4\2\5abcde")
make_journal("no-beginning", b"\1\x20" + ALL)
make_journal("two-beginnings", BEGIN + BEGIN + ALL)
make_journal("version-2", b"\4\1\x14\2\0\0\0" + b"x" * 16)
make_journal("no-journal", b"\3\x28" + b"something else, longer than 36 bytes")
make_journal("short", b"\3\5\x89bdj\1")
# what a power cut leaves; a kind that was used once; text, and the outputs that it is for
make_journal("zeros", b"\3\x24" + bytes(36) + b"\1\x20" + ALL)
make_journal("zeros-but-one", b"\3\x24" + bytes(35) + b"\1")
make_journal("notes", BEGIN + b"\4\4\x50" + bytes(80))
make_journal("notes-later", BEGIN + b"\1\1\4\4\0" + ALL)
make_journal("others-notes", b"\4\1\x14\1\0\0\0" + b"x" * 16 + b"\4\4\0")
TEXT = b"\x08\0\4one\n\1\x20\x08\0\4two\n\x08\1\6again\n"


def output(number, what=0, has=0, zeros=0):
    return bytes([9, number, what]) + u16(has) + bytes([zeros])


make_journal("text", BEGIN + TEXT + ALL)
make_journal("text-for-outputs", BEGIN + TEXT + ALL + output(0) + output(1))
make_journal("text-half-there", BEGIN + TEXT + ALL + output(0, has=5))
make_journal("text-and-zeros", BEGIN + TEXT + ALL + output(0, 0, 3, 2) +
             output(1, 0, 1, 9))
make_journal("text-there", BEGIN + TEXT + ALL + output(1, 0, 99, 99))
make_journal("output-gone", BEGIN + TEXT + ALL + output(0, 2, 5) +
             output(1, 0, 2))
make_journal("output-shorter", BEGIN + TEXT + ALL + output(0, 0, 5) +
             output(1, 1, 2))
DONE = b"\4\x09\0"
make_journal("text-done", BEGIN + TEXT + ALL + output(0, has=1) + DONE)
make_journal("gone-but-done", BEGIN + TEXT + ALL + output(0, 2, 5) + DONE)
make_journal("version-1-with-text", b"\4\1\x14\1\0\0\0" + b"x" * 16 + TEXT)
make_journal("output-of-no-commit", BEGIN + TEXT + output(0, 0, 5))
make_journal("text-of-no-layer", BEGIN + TEXT + b"\2\1\2\0" + output(0, 0, 5))

# options: what, text
TEXTS = {
    0: ["0", "1", "100M", "1e8", "1.5e3", "18446744073709551615",
        "18446744073709551616", "18446744073709551615.0", "1.5", "-1", "0x10",
        "nan", " 1", "1e", "1e400", "00012000e-3", ".5k", "1.", "1T"],
    1: ["512K", "1.5G", "2GiB", "500kB", "16E", "15.9E", "7B", "0.1", "0.5K",
        "8E", "8E1", "1e3K", "18446744073709551615B"],
    2: ["1e-6", "0.1%", "1/1000", "1", "0", "1.0000000000000000001", "2/1",
        "1e-400/1e-400", "5e-324", "50%/2", "1/0", "0.333333333333333333"],
    3: ["60", "0.0001", "1e9", "1000000000.0001", "1.5"],
    4: ["2", "1,3", "2-4", "2-", "-3", "3,1-2,5-", "1000000000", "1000000001",
        "1--2", ",".join(str(3 * i + 1) for i in range(33)),
        "1," * 40 + "2"],
    5: ["", "trim\n", "key=1-3,5-\nfield-separator=2c\ncsv\n",
        "zero-terminated\nstrip-cr\ntrim\nkey=1\nfield-separator=09\n"
        "skip-chars=18446744073709551615\ncheck-chars=9\nignore-case\n",
        "trim\ntrim\n", "key=1,2\n", "field-separator=2C\n"],
    6: ["", "-f\nfilter\n-n1e8\n-p\n1e-6\nfile", "create\n-m\n1G\nfilter",
        "size\n--table=k", "try\n1e6\n0.01\n--measure\n--json",
        "check\n-v\n-f\nfilter\n--\n-file", "-zid", "-x", "--unheard-of",
        "-k", "--on-full=warn\n--max-size=32M\n--lock-timeout=0.5",
        "--csv\n-k3\n-t;\n-s\n1\n-w2\n-i\n--trim\n--strip-cr",
        "merge\n-o\nto\na\nb\n--force", "--stats=json\n--progress\n-q",
        "--shared\n--sync\n-ff", "--to-command\ncat\n-o\nx", "-hV",
        "--capac=7", "--s", "info\n--json\nfilter", "add\n-d",
        "--json=/a\n--json=/b~1\n--trim-fields\n--keep-empty",
        "--csv\n--header\n-kid,name\n--part=2/3",
        "--url=form,www\n--url-ignore=utm_*,a\n--url-sort",
        "serve\n-d.\n--lease=10m\n--max-leases=9\n-l[::1]:1\n-lunix:a",
        "serve\n--admin\n--read-only\n--socket-mode=660",
        "-ff\n--shared\n--to-command\ncat", "--mark\n--csv",
        "-ff\n--window=30d\n--claim\n--no-create"],
    8: ["form", "www,scheme", "slash,values,numbers,form,www,scheme",
        "form,form", "", "form,", ",form", "forms", "form ,www"],
}
for what, texts in TEXTS.items():
    kind = ("count size rate seconds fields recipe command - "
            "switches").split()[what]
    for i, text in enumerate(texts):
        write("options", "%s-%02d" % (kind, i), bytes([what]) + text.encode())
write("options", "formats", b"\7" + value(999949999))

# lines: settings, reads, files
CSV, ZERO, NO_DECOMPRESS, FAIL, EXPAND, ZSTD = 1, 2, 4, 8, 112, 128
STRIP_CR, TRIM, IGNORE_CASE, SEPARATOR = 1, 2, 4, 8
PACKED, STORED, MEMBERS, CUT, FOLLOWED, GARBAGE = 4, 8, 16, 32, 64, 128


def make_lines(name, *files, flags=0, separator=b",", key=0, skip=0, check=0,
               ranges=(), limit=200, shift=0, reads=b"", kind=0):
    data = bytes([flags]) + separator + bytes([key, skip, check, len(ranges)])
    for pair in ranges:
        data += bytes(pair)
    data += bytes([limit, shift, len(reads)]) + reads + bytes([len(files) - 1])
    for i, text in enumerate(files):
        data += bytes([kind])
        if i + 1 < len(files):
            data += u16(len(text))
        data += text
    write("lines", name, data)


WORDS = b"apple\npear\n\nplum and\tcherry\n  quince \r\n" + b"x" * 70 + b"\nend"
TABLE = b'a,b,"c,d"\r\n"say ""hi""",,\n"two\nlines",x\n"odd"y,"open\n1,2\n'

make_lines("plain", WORDS)
make_lines("one-byte-reads", WORDS, reads=b"\1")
make_lines("some-bytes", WORDS, reads=b"\3\0\7\xfc\1")
make_lines("three-files", b"a\nb", b"", b"\n\nc", reads=b"\2")
ESCAPED = (b'"a\\"b","c\\\\",d\\"e\r\n"two\\\nlines\\n","""x\\",y"\n'
           b'"' + b"\\" * 61 + b'\\",a"\n"b",' + b"x\\" * 40 + b'\n"open\\\n')
for key in SEPARATOR, SEPARATOR | 32, SEPARATOR | 16 | 32:
    make_lines("backslashes-%d" % key, ESCAPED, flags=CSV, key=key,
               ranges=[(1, 1), (2, 3)], reads=b"\7\x3f")
    make_lines("backslash-%d" % key, ESCAPED, flags=CSV, key=key,
               ranges=[(2, 2)])
make_lines("errors", WORDS, WORDS, flags=FAIL, reads=b"\x05\x09\xfd")
make_lines("zero-terminated", WORDS.replace(b"\n", b"\0"), flags=ZERO, limit=0)
make_lines("newlines", b"\n" * 300, limit=63)
make_lines("in-batches", b"a\nbc\n" * 100, limit=6, shift=13)
make_lines("words", WORDS, ranges=[(2, 0)], key=TRIM | STRIP_CR)
make_lines("two-words", WORDS * 2, ranges=[(1, 1), (3, 4)], key=IGNORE_CASE)
make_lines("fields", b"a,b,c\n,,\n,,c\na\n", ranges=[(1, 1), (3, 3)],
           key=SEPARATOR)
make_lines("found-skipped-and-folded",
           b"ABCDEFGHIJ,0,KLMNOPQRST\nABXDEFGHIJ,0,KLMNOPQRST\n",
           ranges=[(1, 1), (3, 3)], key=SEPARATOR | IGNORE_CASE, skip=1)
make_lines("part-of-the-line", WORDS, skip=2, check=3, key=IGNORE_CASE)
make_lines("csv", TABLE, flags=CSV, reads=b"\4\1")
make_lines("csv-keys", TABLE, flags=CSV, ranges=[(1, 2), (4, 0)],
           key=IGNORE_CASE)
make_lines("csv-one-field", TABLE, flags=CSV, ranges=[(3, 3)], limit=0)
make_lines("csv-zero", TABLE.replace(b"\r\n", b"\0"), flags=CSV | ZERO,
           separator=b";", key=SEPARATOR, ranges=[(2, 2)])
# quotes at the edges of words of 64 bytes
make_lines("csv-wide", b'"' + b"x" * 70 + b',"",' + b"y" * 70 + b'","z",w\n' +
           b"x" * 64 + b'"a,b",c\n' + b"x" * 63 + b',"a,b",c\n' +
           b'"' + b"x" * 62 + b'"",a",' + b"y" * 60 + b'"\n', flags=CSV,
           ranges=[(2, 2)])
make_lines("packed", WORDS, kind=PACKED, reads=b"\x0b")
make_lines("packed-members", WORDS, TABLE, kind=PACKED | MEMBERS | FOLLOWED,
           reads=b"\1\2\3")
make_lines("packed-cut", WORDS * 3, kind=PACKED | STORED | CUT)
make_lines("packed-garbage", WORDS, kind=PACKED | GARBAGE | 2)
make_lines("packed-errors", WORDS * 3, kind=PACKED, flags=FAIL,
           reads=b"\x14\xfd")
make_lines("zstd", WORDS, flags=ZSTD, kind=PACKED, reads=b"\1")
make_lines("zstd-frames", WORDS, TABLE, flags=ZSTD,
           kind=PACKED | MEMBERS | FOLLOWED, reads=b"\1\2\3")
make_lines("zstd-cut", WORDS * 3, flags=ZSTD, kind=PACKED | STORED | CUT)
make_lines("zstd-cut-more", WORDS * 3, flags=ZSTD, kind=PACKED | CUT | 2)
make_lines("zstd-garbage", WORDS, flags=ZSTD, kind=PACKED | GARBAGE | 2)
make_lines("zstd-errors", WORDS * 3, flags=ZSTD | FAIL, kind=PACKED,
           reads=b"\x14\xfd")
make_lines("zstd-large", b"a\x10\n\1b\xff" * 6 + b"\n\1c\xff",
           flags=ZSTD | EXPAND, kind=PACKED | MEMBERS, reads=b"\x41")
# a frame to skip, one of blocks as they are, one with a block of no type
BLOCKS = (b"\x28\xb5\x2f\xfd\0\x58" + b"\x20\0\0one\n" +
          b"\x21\0\0two\n")
make_lines("zstd-skipped", b"\x50*M\x18\3\0\0\0abc" + BLOCKS + BLOCKS,
           reads=b"\3\1\2")
make_lines("zstd-damaged", BLOCKS[:13] + b"\x26\0\0bad\n" + WORDS)
make_lines("gzip", gzip.compress(WORDS, mtime=0), reads=b"\1")
make_lines("gzip-damaged", gzip.compress(WORDS * 9, mtime=0)[:-9] + b"x" * 9)
make_lines("not-inflated", gzip.compress(WORDS, mtime=0), flags=NO_DECOMPRESS)
make_lines("like-gzip", b"\x1f\x8b\x08", reads=b"\1")
make_lines("bzip2", bz2.compress(WORDS), WORDS, reads=b"\1")
make_lines("bzip2-of-nothing", bz2.compress(b""))
make_lines("like-bzip2", b"BZh91AY&S", WORDS, reads=b"\1")
make_lines("xz", lzma.compress(WORDS), reads=b"\2")
make_lines("lz4", b"\x04\"M\x18" + WORDS)
make_lines("xz-as-it-is", lzma.compress(WORDS), flags=NO_DECOMPRESS)
make_lines("long-line", b"a\x10\n\1b\xff" * 6 + b"\n\1c\xff", flags=EXPAND,
           reads=b"\x41")
make_lines("long-fields", b",\x30x\xf0,\1y\x80\n\1", flags=EXPAND,
           key=SEPARATOR | IGNORE_CASE, ranges=[(200, 0)])


# protocol: longest key and value, pieces, requests
def make_requests(name, stream, key=63, longest=63, pieces=b""):
    write("protocol", name,
          bytes([key, longest, len(pieces)]) + pieces + stream)


TRANSCRIPT = (b"add test 0 0 13\r\n1000000|0.001\r\nstats blooms\r\n"
              b"stats bloom test\r\nset test 0 0 11\r\ntest_subkey\r\n"
              b"get test|test_subkey\r\nquit\r\n")

make_requests("transcript", TRANSCRIPT)
make_requests("byte-by-byte", TRANSCRIPT, pieces=b"\0")
make_requests("pieces", TRANSCRIPT, pieces=b"\x07\1\x1f\0")
make_requests("newlines", TRANSCRIPT.replace(b"\r\n", b"\n"), pieces=b"\3")
make_requests("bad-chunk", TRANSCRIPT.replace(b"0 11", b"0 3"), pieces=b"\1")
make_requests("chunk-too-short", TRANSCRIPT.replace(b"0 11", b"0 13"))
make_requests("many-keys", b"get a|1 a|2  b|3 \r\ngets a|1\nget\r\nget \r\n",
              pieces=b"\2\0")
make_requests("long-keys", b"get abc abcd abcde\r\nget abcd\r\n"
              b"set abcde 0 0 1\r\nx\r\ndelete abcde\r\nget abcd\n",
              key=3, pieces=b"\4\1")
make_requests("long-value", b"set a 0 0 5\r\n12345\r\nset a 0 0 6 noreply\r\n"
              b"123456\r\nversion\r\n", longest=5, pieces=b"\1")
make_requests("any-value", b"set a 0 0 6\r\n\r\n\0 \xff\n\r\nversion\n",
              pieces=b"\0")
make_requests("touch", b"touch a|b 0\r\ntouch a|b -5 noreply\r\ntouch a|b\r\n"
              b"touch a|b 1x\r\ntouch a|b noreply\r\ntouch a|b 1 2\r\n"
              b"add a|b 0 300 1\r\nx\r\n", longest=127, pieces=b"\5")
make_requests("no-touch", b"touch a|b 0\r\ntouch a|b -5 noreply\r\n")
make_requests("noreply", b"add a| 0 -1 1 noreply\r\nx\r\ndelete a noreply\r\n"
              b"delete a 0 noreply\r\nverbosity 1 noreply\r\ndelete a 5\r\n")
make_requests("refused", b"append a 0 0 1\r\nx\r\ncas a 0 0 1 7 noreply\r\n"
              b"x\r\nincr a 1\r\ntouch a 0 noreply\r\nflush_all\r\nfoo\r\n")
make_requests("malformed", b"set\r\nset a\r\nset a 0 0 -1\r\nset a x 0 1\r\n"
              b"set a 0 0 1 2 3\r\nset a 0 0 1x\r\ndelete\r\nstats a b c d\r\n")
make_requests("huge-length", b"set a 0 0 999999999999999999\r\nx\r\n")
make_requests("too-huge", b"set a 0 0 9999999999999999999\r\nx\r\n")
make_requests("long-line", b"x" * 400 + b"\r\nversion\r\n", pieces=b"\x1f")
make_requests("line-without-end", b"x" * 400, pieces=b"\x3f")
make_requests("browser", b"POST / HTTP/1.1\r\nHost: a\r\n\r\nversion\r\n")
make_requests("host", b"Host: a\r\nversion\r\n", pieces=b"\0")
make_requests("binary", b"\x80\x0b" + bytes(22) + b"version\r\n")
make_requests("words", b"stats\r\nstats bloom a\r\ntry 1e6|1e-3\r\nsetmem 64\n"
              b"version\r\nverbosity\r\nverbosity 1\r\n\r\n  \r\n")
make_requests("words-too-many", b"version a\r\nquit a b\r\nverbosity a b c\n"
              b"verbosity noreply\r\nverbosity 0 noreply\r\nquit\nversion\n")
make_requests("carriage-returns", b"get a\rb \r\nget \r\r\nversion\r\r\n",
              pieces=b"\0")
make_requests("checks", b"PING\r\nping\nPING a\r\nQUIT a\r\nQUIT\r\nping\n")
make_requests("help", b"help\r\nhelp noreply\r\nhelp touch noreply\r\n",
              longest=127)
make_requests("stats", b"stats a b\r\nstats cachedump 1 2\r\n"
              b"stats cachedump 1 2 3\r\nstats x 1 2\r\n", pieces=b"\2")
make_requests("empty", b"")


# resp: longest word, pieces, requests
def make_words(name, stream, longest=63, pieces=b""):
    write("resp", name, bytes([longest, len(pieces)]) + pieces + stream)


def resp(*words):
    return b"*%d\r\n" % len(words) + b"".join(
        b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


HELLO = (resp(b"HELLO", b"3") + resp(b"BF.RESERVE", b"f", b"0.01", b"1000") +
         resp(b"BF.MADD", b"f", b"a", b"", b"c\r\n$1\r\n", b"\0\xff") +
         resp(b"QUIT"))

make_words("hello", HELLO)
make_words("byte-by-byte", HELLO, pieces=b"\0")
make_words("pieces", HELLO, pieces=b"\x07\1\x1f\0")
make_words("long-words", HELLO, longest=3, pieces=b"\4\1")
make_words("longest", resp(b"abc", b"abcd", b"abc"), longest=3, pieces=b"\1")
make_words("nothing-is-short", HELLO, longest=0, pieces=b"\2\0")
make_words("no-words", b"*0\r\n*-1\r\n*-7\r\n" + HELLO, pieces=b"\1")
make_words("empty-lines", b"\r\n\r\n" + HELLO + b"\r\n\r", pieces=b"\0")
make_words("carriage-return", HELLO + b"\r*1\r\n")
make_words("leading-zeros", b"*01\r\n$004\r\nPING\r\n")
for number, stream in enumerate([
        b"PING\r\n", b"*\r\n", b"*\n", b"*x\r\n", b"*-\r\n", b"*1\n$4\n",
        b"*1048576\r\n$1\r\nx\r\n", b"*1048577\r\n", b"*+1\r\n", b"*-2\r\n*x",
        b"*1\r\n*1\r\n", b"*1\r\n:1\r\n", b"*1\r\n$-1\r\n",
        b"*1\r\n$536870912\r\nx", b"*1\r\n$536870913\r\n",
        b"*1\r\n$999999999999999999\r\n", b"*1\r\n$4\r\nPINGxx",
        b"*1\r\n$4\r\nPING\r", b"*1\r\n$4\r\nPING\n\n", b"*" + b"1" * 40,
        b"*1\r\n$" + b"1" * 40, b"*9999999999999999999\r\n",
        b"*1 \r\n$4\r\nPING\r\n", b"*1\r\n$0\r\n\r\n" * 9, b"*2\r\n$1\r\na",
        b"\x16\x03\x01", b""]):
    make_words("%02d" % number, stream, pieces=bytes([number % 3]))
# url: a byte of rules, one of switches, and an address; those of the table that
# tests read, and queries with parameters of all lengths, more than a table has
with open(os.path.join(HERE, "..", "keys", "url.txt"), "rb") as table:
    spellings = [line.rstrip(b"\n").split(b"\t")[1] for line in table
                 if line[:1] in b"=!-"]
for number, spelling in enumerate(spellings):
    write("url", "%03d" % number,
          bytes([number % 10, number * 11 % 256]) + spelling)
QUERIES = [
    b"b=2&a=1&a=0&&c&=d&a=1", b"b=%2B+%20%26%3d&b=++&a=b=c&%61=%7e",
    b"&".join(b"%d=%d" % (i * 37 % 100, i) for i in range(200)),
    b"&".join(b"a" * (i * 29 % 70) + b"=" + b"b" * (i * 13 % 70)
              for i in range(70)),
    b"&".join(b"x%d" % (i % 5) for i in range(130)), b"a=%zz&b", b"b&a=\1",
    b"b=c.d./.&a=:@&b%25=%80", b"", b"&", b"utm_a=1&utm_b&a=1",
    b"gclid=1&b&_ga&%%34=%&%2", b"oly_enc_id=1&a=1&mc_eix#%7e##%4%31"]
for number, query in enumerate(QUERIES):
    for switches in 0, 1, 0x10, 0x11, 0x2f, 0x40, 0x81, 0xc1:
        for rules in range(10):
            write("url", "query-%d-%d-%d" % (number, switches, rules),
                  bytes([rules, switches]) + b"http://www.a/1/?" + query)
for number, (start, end) in enumerate([
        ("http://www.a", "/b/"), ("https://u@www2.a:80", "/7/8a/9//"),
        ("https://www.", "/"), ("ftp://www7.a", "/1/"), ("http:www.a", "/"),
        ("tel:", "123"), ("\ufeff \t\0http://WWW.a", "/./ \r\n"),
        ("http://a.www.b", "/00/.."), (" \ufeffhttp:", "//a/"), ("http://www.www.a", "?/"),
        ("http://[::1]", "/www.a/12/"), ("http://www.a", "/x/?b/c/#?d"),
        ("http://www.a.", "/b/#"), ("http://A.:80", "/#/%zz"),
        ("http://[0:0::1:0:0:0]", "/1%/"), ("http://[1:2:3:4:5:6:7::]", "")]):
    for switches in 2, 4, 8, 14, 32, 46, 64, 68, 72:
        write("url", "switches-%d-%d" % (number, switches),
              bytes([0, switches]) + (start + end).encode())

# json: a pointer, a line feed and a document
for number, (pointer, document) in enumerate([
        ("", "1"), ("/a", '{"a":1}'), ("/a/b", '{"a":{"b":[1, 2]}}'),
        ("/a", '{"a":1,"a":"x"}'), ("/0", "[ 1 , 2 ]"), ("/10", "[1]"),
        ("/a~1b~0", '{"a/b~":true}'), ("/a", r'{"\u0061":"\ud83d\ude00"}'),
        ("/a", r'{"a":"\"\\\/\b\f\n\r\t"}'), ("/x", '{"a":{"b":"}"}}'),
        ("/x", r'{"a":["\"]","\\"],"x":null}'), ("/a", '{"a":-0.5e+10}'),
        ("/a", '{"a":01}'), ("/a", '{"a":[1,]}'), ("/a", '{"a":[}]}'),
        ("/b", '{"a":[01,tru],"b":{}}'), ("/", '{"":[]}'),
        ("/a", "[" * 70 + "]" * 70), ("/a", '{"a":' + "[" * 1024 + "}"),
        ("/a", '{"a":"' + "x" * 130 + '"}'), ("/a", '\ufeff {"a":1}'),
        ("/a", '{"b":"' + "\\\\" * 40 + '","a":false}'), ("/a", '"a'),
        ("/a", '{"a":"\x01"}'), ("/a", "{}x"), ("/a", "")]):
    write("json", "%02d" % number, (pointer + "\n" + document).encode())

# redis-header: what, then flags, lines and changes; or a text
RIGHT_HEADER = 6
for number, changes in enumerate([
        b"", b"\1" + value(1), b"\1" + value(1) + b"\2" + value(1),
        b"\3" + value(0), b"\4" + value(2), b"\5" + value(3),
        b"\6" + value(3), b"\6" + value(2048), b"\7" + value(100),
        b"\x08" + value(0), b"\x09" + value(0), b"\x0a" + value(0),
        b"\x0a" + value(2**53), b"\x0a" + value(2**53 + 1),
        b"\x0b" + value(0), b"\x0b" + value(2**63),
        b"\x0c" + value(0x7ff8 << 48), b"\x0c" + value(0x7ff0 << 48),
        b"\0" + value(0), b"\x0d" + value(7)]):
    for bits in 0, 1:
        for flags in RIGHT_HEADER, 2:
            write("redis-header", "%02d-%d-%d" % (number, bits, flags),
                  bytes([0, bits | flags]) + value(10**9) + changes)
for number, text in enumerate([
        b"MOVED 3999 127.0.0.1:6381", b"ASK 3999 ::1:6381", b"MOVED 1 :7000",
        b"MOVED", b"MOVED 1 h:x", b"MOVED 1 h:99999999999", b"ASK ",
        b"LOADING Redis is loading", b"TRYAGAIN", b"NOAUTH x", b""]):
    write("redis-header", "error-%02d" % number, b"\1" + text)
for number, text in enumerate([
        b"redis://h/n", b"redis://u:p@h:1,[::1]:2,c/n%41",
        b"rediss://h/n?certificate=f", b"redis+unix:///s?name=n",
        b"valkeys://:p@@h/n", b"REDIS://h", b"redis:h/n", b"redis://@/n",
        b"redis://h:0/n", b"redis://h:65536/n", b"redis://h/0",
        b"redis://h/a%2", b"redis://[h/n", b"redis+unix://u@/s?name=%7d",
        b"redis://" + b"h," * 70 + b"/n", b"redis://h/" + b"n" * 201]):
    write("redis-header", "address-%02d" % number, b"\2" + text)

shutil.copytree(os.path.join(HERE, "found"), DIRECTORY, dirs_exist_ok=True)
