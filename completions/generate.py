#!/usr/bin/env python3
"""The tables in the completions, from the rows of commands and options.

    build/options | completions/generate.py FILE...

replaces what is between "# generated" and "# end" in each file, which is
bloomdedup.bash, bloomdedup.fish or _bloomdedup (zsh); the rest of them is
written by hand. tests/helpers/options.c prints the rows.
"""
import re
import sys


class Option:
    def __init__(self, takers, name, letter, kind, argument, values, text):
        self.takers = takers
        self.long = '--' + name
        self.letter = '' if letter == '-' else '-' + letter
        self.spellings = [s for s in (self.letter, self.long) if s]
        self.kind = kind
        self.argument = argument.strip('[=]')
        self.values = '' if values == '-' else values
        self.text = short(text)
        if self.values:
            self.what = 'words'
        elif self.argument == 'CMD':
            self.what = 'command'
        elif self.argument in ('FILE', 'FILTER', 'DIR', 'OTHER'):
            self.what = 'file'
        else:
            self.what = 'value'


def short(text):
    """The beginning of a text: up to a list, a remark or a default."""
    return re.split(r': |; | \[|, such as', text)[0]


def read_rows(lines):
    commands, options = [], []
    for line in lines:
        kind, *columns = line.rstrip('\n').split('\t')
        if kind == 'command':
            commands.append(columns)
        else:
            options.append(Option(*columns))
    return commands, options


def first_of_name(options):
    """In front of the command's name, an option is the first of its name."""
    seen = set()
    return [o for o in options if o.long not in seen and not seen.add(o.long)]


def spellings(options, what=None):
    return ' '.join(s for o in first_of_name(options)
                    if o.kind == 'required' and what in (None, o.what)
                    for s in o.spellings)


def taken_by(command, options):
    return [o for o in options if command in o.takers.split()]


def bash(commands, options):
    operands = {c[0]: c[2] for c in commands}
    yield f"names='{' '.join(c[0] for c in commands[1:])}'"
    yield f"with_argument='{spellings(options)}'"
    yield f"with_file='{spellings(options, 'file')}'"
    yield f"with_command='{spellings(options, 'command')}'"
    yield f"with_value='{spellings(options, 'value')}'"
    without = [c for c in operands if operands[c] in ('none', 'values')]
    yield f"without_files='{' '.join(without)}'"
    yield 'case $previous$equals in'
    for o in first_of_name(options):
        if o.values:
            suffix = '=' if o.kind == 'optional' else ' | ' + o.long + '='
            yield f"{o.long}{suffix}) values='{o.values}' ;;"
    yield 'esac'
    yield 'case ${command:-filter} in'
    for name, *_ in commands:
        words = ' '.join(s + '=' * (o.kind == 'required' and s == o.long)
                         for o in taken_by(name, options)
                         for s in o.spellings)
        yield f"{name}) options='{words}' ;;"
    yield 'esac'


def zsh(commands, options):
    quote = lambda text: "'" + text.replace("'", "'\\''") + "'"
    actions = {'file': '_files', 'command': '_cmdstring', 'value': ''}
    yield 'commands=('
    for name, summary, _ in commands[1:]:
        yield '\t' + quote(name + ':' + short(summary))
    yield ')'
    yield f'with_argument=({spellings(options)})'
    yield 'operands=('
    for name, _, what in commands:
        yield f'\t{name} {what}'
    yield ')'
    # The commands that take it, then its specification for _arguments.
    yield 'table=('
    everywhere = ' '.join(c[0] for c in commands)
    for o in options:
        exclude = '(- *)' if o.takers == everywhere else \
            '(' + ' '.join(o.spellings) + ')' if o.letter else ''
        action = '(' + o.values + ')' if o.values else actions[o.what]
        for s in o.spellings:
            spec = exclude + s
            if o.kind != 'none':
                spec += {'optional': '=-', 'required': '=' if s == o.long
                         else '+'}[o.kind]
            spec += '[' + o.text + ']'
            if o.kind != 'none':
                spec += ':' * (o.kind == 'optional') + ':' + \
                    o.argument.lower() + ':' + action
            yield '\t' + quote(o.takers + '|' + spec)
    yield ')'


def fish(commands, options):
    quote = lambda text: "'" + text.replace("'", "\\'") + "'"
    complete = 'complete -c bloomdedup -n '
    names = ' '.join(c[0] for c in commands[1:])
    without = [c[0] for c in commands if c[2] != 'files']
    yield f'set -g __bloomdedup_names {names}'
    yield f'set -g __bloomdedup_with_argument {spellings(options)}'
    yield complete + f"'__bloomdedup_takes {' '.join(without)}' -f"
    for name, summary, _ in commands[1:]:
        yield complete + f"'test -z (__bloomdedup_command)' -a {name} " \
            f"-d {quote(short(summary))}"
        if name == 'help':
            yield complete + f"'__bloomdedup_takes help' -a '{names}'"
    for o in options:
        line = complete + f"'__bloomdedup_takes {o.takers}'"
        line += f' -s {o.letter[1]}' if o.letter else ''
        line += f' -l {o.long[2:]}'
        if o.kind == 'required':
            line += {'file': ' -r -F', 'words': f" -x -a '{o.values}'",
                     'command': " -x -a '(__fish_complete_command)'",
                     'value': ' -x'}[o.what]
        elif o.values:
            line += f" -f -a '{o.values}'"
        yield line + f' -d {quote(o.text)}'


def main():
    rows = read_rows(sys.stdin)
    for name in sys.argv[1:]:
        table_of = {'bash': bash, 'fish': fish}.get(
            name.rpartition('.')[2], zsh)
        with open(name, encoding='utf-8') as file:
            text = file.read()

        def table(match):
            indent = match.group(1)
            return match.group(0).split('\n')[0] + '\n' + ''.join(
                indent + line + '\n' for line in table_of(*rows)) + \
                indent + '# end'
        text = re.sub(r'^([ \t]*)# generated.*?\n[ \t]*# end', table,
                      text, flags=re.DOTALL | re.MULTILINE)
        with open(name, 'w', encoding='utf-8') as file:
            file.write(text)


main()
