"""Do two programs take the same lines for one page?

    split.py BLOOMDEDUP w3lib    --url=form splits spellings as w3lib does
    split.py BLOOMDEDUP surt     --url=form,scheme,www,slash joins no two that
                                 surt keeps apart

The spellings are generated: addresses as crawlers see them, each in several
spellings, 120,000 lines in all. Keys are not compared, but which lines have the
same ones.

What w3lib does otherwise isn't generated: it knows no default ports (they are
removed for it), reads a path with percent-encoded :/?@!$&'()*+,;=[]| in its own
way, and so it does ";" in a path, user names, international names and
backslashes. surt is given parameters in one form: it keeps + and %20 apart, a
and a=, and empty parameters.
"""
import random
import re
import subprocess
import sys

ADDRESSES, SPELLINGS = 15000, 8
random.seed(1)
pick = random.choice
WORDS = ("a b news item view page id q lang sort ref user utm_source "
         "12 2026 x-y A_B index.html caf%C3%A9 a%20b %7Eme").split()


def address():
    """Host, segments of the path, parameters."""
    host = pick(["", "", "www.", "www2.", "m."]) + pick(
        ["example.org", "a.example", "b.co.uk", "x.y.example.net"])
    segments = [pick(WORDS) for _ in range(pick([0, 1, 1, 2, 3]))]
    if segments and pick([0, 0, 1]):
        segments.append("")
    parameters = [(pick(WORDS[:12]), pick(
        ["", "", "1", "2", "a b", "c d e", "%C3%A9", "x%26y", "1%2B1", "a%3Db",
         "%2Fp%2Fq", "Z"])) for _ in range(pick([0, 1, 1, 2, 3, 4]))]
    return pick(["http", "https"]), host, segments, parameters


def recase(text):
    return "".join(pick([c.upper(), c.lower()]) for c in text)


def respelled(text):
    """Letters that need not be encoded, and the case of digits."""
    text = re.sub("%..", lambda m: pick([m[0].upper(), m[0].lower()]), text)
    return re.sub("(%..)|([a-z])", lambda m: m[1] or (
        "%%%02x" % ord(m[2]) if random.random() < 0.05 else m[2]), text)


def spelling(scheme, host, segments, parameters):
    port = pick(["", "", ":80" if scheme == "http" else ":443", ":"])
    path = "/".join([""] + [respelled(s) for s in segments])
    if segments and pick([0, 0, 0, 1]):
        path = pick(["/.", "/x/.."]) + path
    if not segments:
        path = pick(["", "/", "/."])
    parameters = parameters[:]
    random.shuffle(parameters)
    query = pick(["&", "&", "&", "&&"]).join(
        respelled(name) + (("=" + respelled(value).replace(
            " ", pick(["+", "%20"]))) if value else pick(["", "="]))
        for name, value in parameters)
    if parameters:
        query = "?" + pick(["", "", "&"]) + query + pick(["", "", "&"])
    else:
        query = pick(["", "", "?"])
    return (pick([scheme, recase(scheme)]) + "://" + recase(host) + port + path
            + query + pick(["", "", "#x", "#"]) + pick(["", "", "\r", " "]))


def lines():
    out = []
    for _ in range(ADDRESSES):
        base = address()
        out += [spelling(*base) for _ in range(SPELLINGS)]
    return out


def keys(program, switches, text):
    done = subprocess.run([program, "key", "--url=" + switches],
                          input=text.encode(), stdout=subprocess.PIPE,
                          check=True)
    return done.stdout.decode().split("\n")[:-1]


def without_ports(line):
    line = re.sub(r"(?i)^(\s*http://[^/?#]*?):(80)?(?=[/?#\s]|$)", r"\1", line)
    return re.sub(r"(?i)^(\s*https://[^/?#]*?):(443)?(?=[/?#\s]|$)", r"\1", line)


def one_form(line):
    """The parameters of a line as surt needs them."""
    start, mark, query = line.strip().partition("#")[0].partition("?")
    fields = [f if "=" in f else f + "=" for f in query.split("&") if f]
    return start + ("?" + "&".join(fields).replace("+", "%20") if fields else "")


def conflicts(ours, theirs, given):
    """Lines that `ours` joins and `theirs` keeps apart."""
    first = {}
    for a, b, line in zip(ours, theirs, given):
        other = first.setdefault(a, (b, line))
        if other[0] != b:
            yield other[1], line


def report(what, found):
    found = list(found)
    for pair in found[:5]:
        print("%s: %r and %r" % (what, *pair))
    return len(found)


def main(program, package):
    given = lines()
    if package == "w3lib":
        from w3lib.url import canonicalize_url
        ours = keys(program, "form", "\n".join(given) + "\n")
        theirs = [canonicalize_url(without_ports(line)) for line in given]
        bad = report("joined, but not by w3lib", conflicts(ours, theirs, given))
        bad += report("joined by w3lib", conflicts(theirs, ours, given))
    else:
        import surt
        ours = keys(program, "form,scheme,www,slash", "\n".join(given) + "\n")
        theirs = [surt.surt(one_form(line)) for line in given]
        bad = report("joined, but not by surt", conflicts(ours, theirs, given))
    print("%s: %d spellings, %d keys of ours, %d of theirs, %d differences" % (
        package, len(given), len(set(ours)), len(set(theirs)), bad))
    return bad > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
