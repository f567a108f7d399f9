"""Which spellings of a page are one, by the switches of --url and for w3lib and
surt; and how many lines of lists are repetitions:

    table.py BLOOMDEDUP [LIST]...

The pairs are those that programs of crawlers take for one page (canonicalizers:
w3lib, surt, urlcanon, normalize-url; tools that thin out lists: urldedupe, uro,
qsreplace), a line for each rule. Prints a row for each pair and their sum, then
a row for each list of LIST, which is text with a URL in each line, and for the
spellings of split.py.
"""
import subprocess
import sys

import surt
from w3lib.url import canonicalize_url

import split

PAIRS = """
HTTP://Example.org/a           http://example.org/a          scheme and host in capitals
http://example.org:80/a        http://example.org/a          default port
https://example.org:443/a      https://example.org/a         default port of https
http://example.org:/a          http://example.org/a          empty port
http://example.org             http://example.org/           empty path
http://example.org/%7ea        http://example.org/~a         escape that is not needed
http://example.org/a%c3%a9     http://example.org/a%C3%A9    digits of an escape
http://example.org/\u00e9      http://example.org/%C3%A9     letter that is not ASCII
http://example.org/a/./b       http://example.org/a/b        dot segment
http://example.org/a/../b      http://example.org/b          two dots
http://example.org/a#top       http://example.org/a          fragment
http://example.org/a\\x0d      http://example.org/a          CR at the end
\\x20http://example.org/a      http://example.org/a          blank in front
http://example.org/?b=2&a=1    http://example.org/?a=1&b=2   order of parameters
http://example.org/?a=2&a=1    http://example.org/?a=1&a=2   order of values
http://example.org/?a=b+c      http://example.org/?a=b%20c   space
http://example.org/?a          http://example.org/?a=        missing value
http://example.org/?a&b        http://example.org/?a=&b      missing values
http://example.org/?           http://example.org/           empty query
http://example.org/?a=1&       http://example.org/?a=1       empty parameter at the end
http://example.org/?a=1&&b=2   http://example.org/?a=1&b=2   empty parameter
http://example.org/?&a=1       http://example.org/?a=1       empty parameter in front
http://example.org/?a=1,2      http://example.org/?a=1%2C2   comma
http://example.org/?a=b=c      http://example.org/?a=b%3Dc   equals sign in a value
http://example.org/?a=/x       http://example.org/?a=%2Fx    slash in a value
http://example.org/?a=%c3%a9   http://example.org/?a=%C3%A9  digits of an escape in a value
http://example.org/?a=x:y@z    http://example.org/?a=x%3Ay%40z  colon and at
http://example.org/?a=%61      http://example.org/?a=a       escape that is not needed in a value
https://example.org/a          http://example.org/a          scheme
https://example.org:443/       http://example.org            scheme and port
http://www.example.org/a       http://example.org/a          www
http://www2.example.org/a      http://example.org/a          www2
http://www.example.org/a       https://example.org/a         www and scheme
http://example.org/a/          http://example.org/a          slash at the end
http://example.org/a/?b=1      http://example.org/a?b=1      slash before a query
https://www.example.org/a/     http://example.org/a          all three
http://example.org/?id=1       http://example.org/?id=2      value
http://example.org/?b=1&a=2    http://example.org/?a=3&b=4   values and order
http://example.org/?a=1&a=2    http://example.org/?a=3       how often
http://example.org/item/12     http://example.org/item/7     number in the path
http://example.org/12/a?b=1    http://example.org/3/a?b=2    number and value
http://example.org/A           http://example.org/a          case of the path
http://example.org//a          http://example.org/a          double slash
http://u:p@example.org/a       http://example.org/a          user
http://example.org/?sid=0123456789abcdef0123456789abcdef  http://example.org/  session
"""

SETS = ["", "form", "scheme", "www", "slash", "values", "numbers",
        "form,scheme,www,slash", "form,scheme,www,slash,values,numbers"]


def by_package(canonicalize, lines):
    """Their keys; a line that a package can't read is itself."""
    for line in lines:
        try:
            yield canonicalize(line)
        except Exception:
            yield line


def columns(program, lines):
    """The keys of the lines, by each set of switches and each package."""
    for switches in SETS:
        option = "--url" + ("=" + switches if switches else "")
        done = subprocess.run([program, "key", option], stderr=subprocess.PIPE,
                              input=("\n".join(lines) + "\n").encode(),
                              stdout=subprocess.PIPE, check=True)
        yield done.stdout.split(b"\n")[:-1]
    yield list(by_package(canonicalize_url, lines))
    yield list(by_package(surt.surt, lines))


def row(name, cells):
    print("| %s | %s |" % (name, " | ".join(str(c) for c in cells)))


def head(name):
    row(name, [s or "--url" for s in SETS] + ["w3lib", "surt"])
    print("|" + "---|" * (len(SETS) + 3))


def pairs(program):
    table = [line.replace("\\x0d", "\r").replace("\\x20", " ").split("  ")
             for line in PAIRS.strip("\n").split("\n")]
    table = [[part.strip(" ") if i > 0 else part.rstrip(" ") for i, part in
              enumerate(p for p in parts if p.strip(" "))] for parts in table]
    lines = [address for first, second, _ in table for address in (first, second)]
    joined = [[keys[i] == keys[i + 1] for i in range(0, len(lines), 2)]
              for keys in columns(program, lines)]
    head("pair")
    for i, (_, _, name) in enumerate(table):
        row(name, ["x" if column[i] else "" for column in joined])
    row("all %d" % len(table), [sum(column) for column in joined])


def lists(program, names):
    print()
    head("lines dropped of")
    for name in names:
        with open(name, encoding="utf-8", errors="replace", newline="\n") as file:
            lines = list(dict.fromkeys(file.read().split("\n")[:-1]))
        show(program, "%s, %d lines" % (name.rpartition("/")[2], len(lines)), lines)
    lines = list(dict.fromkeys(split.lines()))
    show(program, "split.py, %d spellings" % len(lines), lines)


def show(program, name, lines):
    row(name, [len(lines) - len(set(keys)) for keys in columns(program, lines)])


if __name__ == "__main__":
    pairs(sys.argv[1])
    lists(sys.argv[1], sys.argv[2:])
