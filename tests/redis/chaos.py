#!/usr/bin/env python3
"""Clients that claim the same lines, while everything goes wrong.

chaos.py BLOOMDEDUP PORT NAME SEED EVENTS LINES CUTS [WINDOW]

Four clients read the lines 1 to LINES, each in an order of its own, in pieces
and with rests, and claim them in the filter NAME of the server at PORT, which
may have a window of so many seconds. Each has a proxy before the server, which
delays what passes and, with the probability CUTS, cuts a connection in the
middle of a request or before an answer. Meanwhile, EVENTS times, the server has
no memory, takes rights away, or, unless CUTS is 0, all connections are closed. A
client that ends is started again, with all lines. When it is over, each client
reads all lines once more.

The model: each line is printed once, but for as many as were reported as
uncertain, by one of the two runs that print it, before it printed it; with a
window, a line may be printed again once it was forgotten. A line that is
missing, or printed twice too often or without a word, is an error.
"""
import os
import random
import re
import selectors
import socket
import struct
import subprocess
import sys
import threading
import time

program, port, name, seed, events, lines, cuts = sys.argv[1:8]
port, events, lines, cuts = int(port), int(events), int(lines), float(cuts)
window = int(sys.argv[8]) if len(sys.argv) > 8 else 10 ** 9
dice = random.Random(int(seed))
calm = threading.Event()
lock = threading.Lock()
counts = {"cuts": 0, "delays": 0, "closed": 0, "ended": 0}
printed = {}  # line: [(when, run, how many lines the run had printed before)]
uncertain = 0


def count(what):
    with lock:
        counts[what] += 1


def throw(share):
    """True so often, while not all is calm."""
    with lock:
        return dice.random() < share and not calm.is_set()


def pause(longest):
    with lock:
        seconds = dice.random() * longest
    time.sleep(seconds)


class Proxy:
    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.pairs = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client = self.listener.accept()[0]
            server = socket.create_connection(("127.0.0.1", port))
            for one in client, server:
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            pair = (client, server)
            self.pairs.append(pair)
            threading.Thread(target=self.pump, args=(pair, 0),
                             daemon=True).start()
            threading.Thread(target=self.pump, args=(pair, 1),
                             daemon=True).start()

    @staticmethod
    def cut(pair):
        for one in pair:
            try:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                               struct.pack("ii", 1, 0))
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close_all(self):
        pairs, self.pairs = self.pairs, []
        for pair in pairs:
            self.cut(pair)

    def pump(self, pair, way):
        """Pass on what comes from one side, or not."""
        try:
            while data := pair[way].recv(65536):
                if throw(0.05):
                    count("delays")
                    pause(1.5)
                elif throw(0.5):
                    pause(0.01)
                if throw(cuts / 2):
                    count("cuts")
                    pair[1 - way].sendall(data[:len(data) // 2])
                    break
                if throw(cuts / 2):
                    # the other side has it, this one hears no more
                    count("cuts")
                    pair[1 - way].sendall(data)
                    pause(0.02)
                    break
                pair[1 - way].sendall(data)
        except OSError:
            pass
        self.cut(pair)


class Run:
    """One process of a client."""
    def __init__(self, process):
        self.process = process
        self.given = {}      # line: when it was given it
        self.count = 0       # lines that it has printed
        self.reported = None  # how many they were when it first reported any


class Client:
    def __init__(self, number):
        self.number = number
        self.proxy = Proxy()
        self.order = list(range(1, lines + 1))
        dice.shuffle(self.order)
        self.failure = None
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def feed(self, run):
        at, process = 0, run.process
        try:
            while at < lines:
                with lock:
                    n = dice.choice((1, 10, 100, 1000))
                part = self.order[at:at + n]
                now = time.monotonic()
                with lock:
                    for line in part:
                        run.given[line] = now
                process.stdin.write(b"".join(b"%d\n" % i for i in part))
                process.stdin.flush()
                at += n
                if throw(0.1):
                    pause(1.5)
                elif not calm.is_set():
                    pause(0.05)
            process.stdin.close()
        except OSError:
            pass

    @staticmethod
    def report(run, data):
        """Count the lines that it reports as uncertain."""
        global uncertain
        for many in re.findall(rb"also print ([0-9,]+) of the next lines", data):
            with lock:
                uncertain += int(many.replace(b",", b""))
            if run.reported is None:
                run.reported = run.count

    def read(self, run):
        """Take what it prints and reports."""
        said, process = b"", run.process
        selector = selectors.DefaultSelector()
        selector.register(process.stdout, selectors.EVENT_READ)
        selector.register(process.stderr, selectors.EVENT_READ)
        rest = b""
        while selector.get_map():
            # what was reported before lines were printed is read before them
            ready = sorted((key.fileobj is process.stdout, key.fileobj.fileno(),
                            key.fileobj) for key, _ in selector.select())
            for is_output, number, file in ready:
                data = os.read(number, 65536)
                if not data:
                    selector.unregister(file)
                elif not is_output:
                    said += data
                    self.report(run, data)
                else:
                    *whole, rest = (rest + data).split(b"\n")
                    now = time.monotonic()
                    with lock:
                        for line in whole:
                            printed.setdefault(int(line), []).append(
                                (now, run, run.count))
                            run.count += 1
        return said

    def run(self):
        while True:
            was_calm = calm.is_set()
            process = subprocess.Popen(
                [program, "--claim", "-f",
                 f"redis://127.0.0.1:{self.proxy.port}/{name}"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, bufsize=0)
            run = Run(process)
            feeder = threading.Thread(target=self.feed, args=(run,))
            feeder.start()
            said = self.read(run)
            status = process.wait()
            feeder.join()
            if status not in (0, 3, 4) or (was_calm and status != 0):
                self.failure = f"status {status}: {said.decode()}"
                return
            if was_calm:
                return
            count("ended")


def ask(*words):
    """A command for the server, which may have closed the connection."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(" ".join(words).encode() + b"\r\n")
        return connection.recv(1000)


def go_wrong(clients):
    kinds = ["memory", "rights"]
    if cuts:
        kinds += ["kill", "close", "close"]
    what = dice.choice(kinds)
    if what == "memory":
        ask("CONFIG SET maxmemory 1")
        pause(0.3)
        ask("CONFIG SET maxmemory 0")
    elif what == "rights":
        # one by one: the module's command is unknown to a server without it
        ask("ACL SETUSER default -bitfield")
        ask("ACL SETUSER default -bf.insert")
        pause(0.3)
        ask("ACL SETUSER default +@all")
    elif what == "kill":
        ask("CLIENT KILL TYPE normal SKIPME yes")
    else:
        count("closed")
        dice.choice(clients).proxy.close_all()


def judge(clients):
    """What is wrong, as text."""
    for client in clients:
        if client.failure:
            yield f"client {client.number}: {client.failure}"
    missing = [i for i in range(1, lines + 1) if i not in printed]
    if missing:
        yield f"{len(missing)} lines are missing: {missing[:5]}"
    twice, silent = 0, []
    for line, times in printed.items():
        times.sort(key=lambda one: one[0])
        for first, second in zip(times, times[1:]):
            # it was claimed after the run was given it
            if second[0] - first[1].given[line] >= window:
                continue
            twice += 1
            if not any(run.reported is not None and run.reported <= count
                       for _, run, count in (first, second)):
                silent.append(line)
    print(f"{len(printed)} lines, {twice} printed twice, {uncertain} reported"
          f" as uncertain; {counts}")
    if silent:
        yield f"{len(silent)} lines were printed twice without a word:" \
            f" {silent[:5]}"
    if twice > uncertain:
        yield f"{twice} lines were printed twice, {uncertain} reported"


def has_gone_wrong():
    """Were there delays, and cuts where there should be?"""
    with lock:
        return counts["delays"] and (counts["cuts"] or not cuts)


def main():
    clients = [Client(i) for i in range(4)]
    for _ in range(events):
        pause(1)
        go_wrong(clients)
    # on a busy machine, little has passed the proxies until now
    while not has_gone_wrong():
        pause(1)
    calm.set()
    for client in clients:
        client.thread.join()
    wrong = list(judge(clients))
    print("\n".join(wrong))
    sys.stdout.flush()
    os._exit(bool(wrong))


main()
