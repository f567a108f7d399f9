#!/usr/bin/env python3
"""Break a copy of the program, as a file in this directory says.

    apply.py --check TREE MUTANT...   do they all apply, and are their tests
                                      there? A line for each that doesn't
    apply.py TREE MUTANT              change the source of TREE

A mutant is a text: what it breaks, then lines "Name: value" (see `run`), and
each replacement behind the name of its file:

    File: src/bits/layout.h
    -the lines as they are
    +the lines instead of them
     lines in both begin with a blank

There are no line numbers: the old lines must stand in the file exactly once.
"""
import os
import re
import sys


class OutOfDate(Exception):
    pass


def read(path):
    with open(path) as f:
        return f.read()


def parse(path):
    """The values by name, and the replacements: [(file, old, new)]."""
    values, replacements = {}, []
    for line in read(path).splitlines():
        if line.startswith('File: '):
            replacements.append((line[6:], [], []))
        elif replacements and line[:1] in ('-', '+', ' '):
            if line[0] != '+':
                replacements[-1][1].append(line[1:])
            if line[0] != '-':
                replacements[-1][2].append(line[1:])
        elif replacements:
            raise OutOfDate('not a line of a replacement: ' + line)
        elif re.match('[A-Z][a-z]+: ', line):
            name, value = line.split(': ', 1)
            values[name] = value
    if not replacements or 'Test' not in values:
        raise OutOfDate('has no "File:" or no "Test:"')
    return values, replacements


def positions(lines, old):
    return [i for i in range(len(lines) - len(old) + 1)
            if lines[i:i + len(old)] == old]


def elsewhere(tree, old):
    """Where in the source the lines stand now, for the message."""
    found = []
    for directory, _, names in os.walk(os.path.join(tree, 'src')):
        for name in names:
            path = os.path.join(directory, name)
            if name.endswith(('.c', '.h')) and \
                    positions(read(path).splitlines(), old):
                found.append(os.path.relpath(path, tree))
    return ', '.join(sorted(found))


def changed(tree, replacements):
    """The new texts by file name. Raises OutOfDate."""
    texts = {}
    for name, old, new in replacements:
        path = os.path.join(tree, name)
        if name not in texts:
            texts[name] = read(path).splitlines() \
                if os.path.exists(path) else []
        lines = texts[name]
        at = positions(lines, old) if old else []
        if len(at) == 0:
            now = elsewhere(tree, old)
            raise OutOfDate('%s: %s "%s"%s' % (
                name, 'no lines' if os.path.exists(path) else 'no file',
                old[0].strip() if old else '',
                ' (they are in %s)' % now if now else ''))
        if len(at) > 1:
            raise OutOfDate('%s: %d places "%s"' % (
                name, len(at), old[0].strip()))
        lines[at[0]:at[0] + len(old)] = new
    return texts


def check_test(tree, test):
    """"directory/name.bats: regular expression" or "name.test"."""
    name, _, pattern = test.partition(': ')
    if name.endswith('.test'):
        if not os.path.exists('%s/tests/unit/%s.c' % (tree, name[:-5])):
            raise OutOfDate('no unit test ' + name)
        return
    path = os.path.join(tree, 'tests', name)
    if not os.path.exists(path):
        raise OutOfDate('no file tests/' + name)
    titles = re.findall(r'^@test "(.*)" \{$', read(path), re.MULTILINE)
    if not any(re.search(pattern, title) for title in titles):
        raise OutOfDate('no test "%s" in tests/%s' % (pattern, name))


def check(tree, mutants):
    bad = 0
    for path in mutants:
        try:
            values, replacements = parse(path)
            changed(tree, replacements)
            check_test(tree, values['Test'])
        except OutOfDate as reason:
            print('%s: %s' % (os.path.basename(path), reason))
            bad += 1
    print('%d apply, %d not' % (len(mutants) - bad, bad))
    return bad == 0


def main(args):
    if args[0] == '--check':
        return 0 if check(args[1], args[2:]) else 1
    try:
        texts = changed(args[0], parse(args[1])[1])
    except OutOfDate as reason:
        print(reason)
        return 1
    for name, lines in texts.items():
        with open(os.path.join(args[0], name), 'w') as f:
            f.write('\n'.join(lines) + '\n')
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
