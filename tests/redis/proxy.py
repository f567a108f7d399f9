#!/usr/bin/env python3
"""A proxy that breaks connections where a test wants it.

proxy.py [--cut-sent N] [--cut-received N] [--times T]
    [--cut-before WORD --meanwhile COMMAND]
    [--rounds ROUNDS --processes CLIENT SERVER]
    [--lose WORD] [--cut-after WORD] [--forget FILE] [--error WORD]
    [--later FILE] PORT

Listens at a free port, which it prints, and connects to PORT. After N
bytes from clients (--cut-sent) or from the server (--cut-received), counted
over all connections, the connection that is at it is reset, T times (1 by
default; each time after N more bytes). What is beyond the N-th byte is not
passed on.

--rounds: nothing is passed on before whoever could send more sleeps: what the
client sends, when the client waits; what the server answers, when both do. The
files CLIENT and SERVER have their process ids. The file ROUNDS gets a byte
whenever the client is answered: so many round trips are needed on any link.

--cut-before: what a client sends with WORD in it is not passed on, but the shell
runs COMMAND, and then the connection is reset.

--lose: what the server sends after a client has sent WORD is lost, and the proxy
ends.

--cut-after: the server carries out what has WORD in it, and the connection is
reset when it answers.

--forget: once FILE exists, a connection that has passed on something before is
reset when the client sends more (T times), and the file `forgotten` is made.

--error: the server carries out what has WORD in it, and its answer is replaced by
an error, as a proxy's that has waited for too long.

--later: the server's answer to TIME is so many seconds later as FILE says.
"""
import os
import selectors
import socket
import struct
import sys
import time

# To load argparse and asyncio would take longer than most tests' connections.
options = {"--cut-sent": "inf", "--cut-received": "inf",
           "--times": "1", "--cut-before": "", "--rounds": "",
           "--processes": "",
           "--meanwhile": "", "--lose": "", "--later": "", "--cut-after": "",
           "--forget": "", "--error": ""}
*given, port = sys.argv[1:]
for option, value in zip(given[::2], given[1::2], strict=True):
    if option not in options:
        sys.exit(f"no such option: {option}")
    options[option] = value

cut_every = {"sent": float(options["--cut-sent"]),
             "received": float(options["--cut-received"])}
left = dict(cut_every)
times = int(options["--times"])
cut_before = os.fsencode(options["--cut-before"])
lose = os.fsencode(options["--lose"])
cut_after = os.fsencode(options["--cut-after"])
fail_at = os.fsencode(options["--error"])
failing = set()  # servers' sockets whose next answer is replaced
used = set()  # clients' sockets that have sent something
cutting = set()  # servers' sockets whose next answer is not passed on
losing = False
ends = {}  # of each socket: the other end, and where what it sends goes
selector = selectors.DefaultSelector()


def close(sock):
    """At once, so that the other side sees ECONNRESET."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                    struct.pack("ii", 1, 0))
    sock.close()


def close_both(sock, how=close):
    for one in sock, ends[sock][0]:
        selector.unregister(one)
        del ends[one]
        used.discard(one)
        cutting.discard(one)
        how(one)


def accept(listener):
    client = listener.accept()[0]
    try:
        server = socket.create_connection(("127.0.0.1", int(port)))
    except OSError:
        close(client)
        return
    ends[client] = server, "sent"
    ends[server] = client, "received"
    for one in client, server:
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        selector.register(one, selectors.EVENT_READ)


def later(data):
    """With another time, if it is the answer to TIME."""
    start = b"*2\r\n$10\r\n"
    if not data.startswith(start):
        return data
    with open(options["--later"], encoding="ascii") as file:
        shift = int(file.read())
    return start + b"%d" % (int(data[9:19]) + shift) + data[19:]


def deliver(sock, data):
    """Pass on what this socket sent; nothing: it was closed."""
    if sock not in ends:
        return
    other, way = ends[sock]
    if not data:
        close_both(sock, socket.socket.close)
        return
    try:
        other.sendall(data)
    except OSError:
        close_both(sock)


def read(sock):
    """Read some, and do with it what the options say."""
    global losing, times
    way = ends[sock][1]
    try:
        data = sock.recv(65536)
    except OSError:
        close_both(sock)
        return
    if way == "received" and losing:
        sys.exit()
    losing = losing or lose != b"" and lose in data
    if sock in cutting:
        close_both(sock)
        return
    if way == "sent" and cut_after and times > 0 and cut_after in data:
        times -= 1
        cutting.add(ends[sock][0])
    if sock in failing:
        failing.discard(sock)
        data = b"-ERR upstream timed out\r\n"
    if way == "sent" and fail_at and fail_at in data:
        failing.add(ends[sock][0])
    if way == "sent" and data and options["--forget"]:
        if times > 0 and sock in used and os.path.exists(
                options["--forget"]):
            times -= 1
            with open("forgotten", "wb"):
                close_both(sock)
            return
        used.add(sock)
    if way == "received" and options["--later"]:
        data = later(data)
    if way == "sent" and data:
        if cut_before and times > 0 and cut_before in data:
            times -= 1
            os.system(options["--meanwhile"])
            close_both(sock)
            return
    cut = times > 0 and len(data) >= left[way]
    if cut:
        data = data[:int(left[way])]
        times -= 1
        left[way] = cut_every[way]
    elif times > 0:
        left[way] -= len(data)
    if options["--rounds"] and data:
        waiting[way].append((sock, data))
        return
    deliver(sock, data)
    if cut and sock in ends:
        time.sleep(0.001)
        close_both(sock)


waiting = {"sent": [], "received": []}  # with --rounds: sockets and data


def sleep_of(name):
    """How often the process has slept, if it sleeps; -1 if it has ended."""
    try:
        with open(name, encoding="ascii") as file:
            process = int(file.read())
        with open(f"/proc/{process}/status", encoding="ascii") as file:
            status = dict(line.split(":", 1) for line in file)
    except (OSError, ValueError):
        return -1
    if status["State"].split()[0] == "Z":
        return -1
    if status["State"].split()[0] != "S":
        return None
    return int(status["voluntary_ctxt_switches"])


def is_quiet(name):
    """It sleeps, and has sent nothing that was not read here."""
    before = sleep_of(name)
    return before is not None and not selector.select(0) and \
        sleep_of(name) == before


def pass_on(way):
    held_back, waiting[way] = waiting[way], []
    for sock, data in held_back:
        deliver(sock, data)


def go_a_round():
    """Pass on what may be passed on now."""
    client, server = options["--processes"].split()
    if waiting["sent"] and is_quiet(client):
        pass_on("sent")
    elif (waiting["received"] and not waiting["sent"] and is_quiet(client)
            and is_quiet(server)):
        pass_on("received")
        with open(options["--rounds"], "ab") as file:
            file.write(b".")


def main():
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    selector.register(listener, selectors.EVENT_READ)
    while True:
        pause = None
        if options["--rounds"]:
            pause = 0.001
            go_a_round()
        for key, _ in selector.select(pause):
            if key.fileobj is listener:
                accept(listener)
            elif key.fileobj in ends:
                read(key.fileobj)


main()
