#!/usr/bin/env python3
# trouble.py NAME COMMAND...: what an application sees, whose client is the
# program COMMAND (asks.py says what that does; the port is added), in each kind
# of trouble. Prints a line for each: NAME, the trouble, what add sees, what get
# sees, how many of two keys a get of both finds, one of which is in another
# filter and remembered ("-": not tried), what an add to another filter sees
# after it ("again" is an error that is gone when it is tried again), and whether
# the client has kept its connection. The last line is about leases: what an add
# with an expiration time sees that takes one, then while the subkey is leased,
# and when it is remembered. Runs $BLOOMDEDUP in the current directory.
import itertools
import os
import select
import socket
import subprocess
import sys
import time

NAME, COMMAND = sys.argv[1], sys.argv[2:]
BLOOMDEDUP = os.environ.get("BLOOMDEDUP", "bloomdedup")
PATIENCE = 30  # seconds: a client that says nothing hangs
new_keys = itertools.count()


def run(*arguments, **how):
    subprocess.run([BLOOMDEDUP, *arguments], check=True, **how)


def make_filters():
    os.makedirs("filters", exist_ok=True)
    run("create", "-n", "1000000", "filters/good.bloom")
    run("create", "-n", "10", "--on-full=fail", "filters/full.bloom")
    run("add", "-f", "filters/full.bloom", input=b"".join(
        b"%d\n" % i for i in range(10)))
    with open("filters/broken.bloom", "wb") as broken:
        broken.write(b"x" * 20000)
    run("create", "-n", "10", "filters/locked.bloom")


def hold_locked():
    holder = subprocess.Popen([BLOOMDEDUP, "-f", "filters/locked.bloom"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    holder.stdin.write(b"held\n")
    holder.stdin.flush()
    holder.stdout.readline()
    return holder


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start_server(port, *options):
    server = subprocess.Popen(
        [BLOOMDEDUP, "serve", "-d", "filters", "-l", "127.0.0.1:%d" % port,
         *options], stderr=subprocess.PIPE)
    while b"serving" not in server.stderr.readline():
        pass
    return server


def stop(process):
    process.terminate()
    process.communicate()


class Client:
    def __init__(self, port):
        self.process = subprocess.Popen(
            [*COMMAND, str(port)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.hangs = False

    def ask(self, verb, key):
        if self.hangs:
            return "hangs"
        try:
            self.process.stdin.write(b"%s %s\n" % (
                verb.encode(), key.encode()))
            self.process.stdin.flush()
        except BrokenPipeError:
            return "dies"
        if not select.select([self.process.stdout], [], [], PATIENCE)[0]:
            self.hangs = True
            return "hangs"
        words = self.process.stdout.readline().split()
        return words[0].decode() if words else "dies"

    def several(self, trouble):
        known = "good|%d" % next(new_keys)
        self.ask("add", known)
        return self.ask("both", known + " " + trouble + "|x")

    def next(self):
        """An add to the good filter: new, or after how much trouble."""
        first = self.ask("add", "good|%d" % next(new_keys))
        for _ in range(100):
            if first != "error":
                return first
            time.sleep(0.1)
            if self.ask("add", "good|%d" % next(new_keys)) == "new":
                return "again"
        return first

    def end(self):
        self.process.kill()
        self.process.communicate()


def connections(port):
    """How many connections the server has had, before this one."""
    with socket.create_connection(("127.0.0.1", port)) as s:
        s.sendall(b"stats\r\n")
        got = b""
        while not got.endswith(b"END\r\n"):
            got += s.recv(65536)
    for line in got.splitlines():
        if line.startswith(b"STAT total_connections "):
            return int(line.split()[2]) - 1


def tell(trouble, add, get, several, then, kept):
    print(NAME, trouble, add, get, several, then, kept, flush=True)


def one_filter(port):
    for trouble in "none", "full", "locked", "broken":
        client = Client(port)
        client.next()
        before = connections(port)
        add = client.ask("add", trouble + "|x")
        then = client.next()
        get = client.ask("get", trouble + "|x")
        if then == "new":
            then = client.next()
        several = client.several(trouble)
        if then == "new":
            then = client.next()
        kept = connections(port) == before + 1
        tell(trouble, add, get, several, then, "kept" if kept else "dropped")
        client.end()


def connection(trouble, port, happen):
    """The connection is gone: what the next add sees, then the next get."""
    seen = []
    run("create", "-n", "10", "filters/%s.bloom" % trouble)
    for verb in "add", "get":
        client = Client(port)
        client.next()
        happen()
        seen.append(client.ask(verb, trouble + "|x"))
        then = client.next()
        client.end()
    tell(trouble, *seen, "-", then, "-")


def leases(port):
    server = start_server(port, "--lease=1h")
    client = Client(port)
    seen = [client.ask("lease", "good|leased") for _ in range(2)]
    with socket.create_connection(("127.0.0.1", port)) as s:
        s.sendall(b"set good|leased 0 0 1\r\nx\r\n")
        assert s.recv(100) == b"STORED\r\n"
    tell("leases", *seen, client.ask("lease", "good|leased"), "-", "-")
    client.end()
    stop(server)


def main():
    make_filters()
    holder = hold_locked()
    port = free_port()
    servers = [start_server(port)]

    def restart():
        stop(servers.pop())
        servers.append(start_server(port))

    one_filter(port)
    connection("restarted", port, restart)
    # no timeout by default: nothing happens
    connection("idle", port, lambda: time.sleep(2.5))
    stop(servers.pop())
    servers.append(start_server(port, "--idle-timeout=1"))
    connection("closed", port, lambda: time.sleep(3.5))
    stop(servers.pop())
    leases(port)
    stop(holder)


main()
