#!/usr/bin/env python3
"""A proxy that breaks connections where a test wants it.

proxy.py [--cut-sent N] [--cut-received N] [--delay MS] [--rate BYTES]
    [--trips TRIPS] [--times T] [--cut-before WORD --meanwhile COMMAND]
    [--lose WORD] [--later FILE] PORT FILE

Listens at a free port, which is written to FILE, and connects to PORT. After N
bytes from clients (--cut-sent) or from the server (--cut-received), counted
over all connections, the connection that is at it is reset, T times (1 by
default; each time after N more bytes). What is beyond the N-th byte is not
passed on. --delay holds back each piece of data in both directions, and --rate
passes on so many bytes a second in each. The file TRIPS gets a byte whenever a
client sends something after it was answered: so many round trips are needed.

--cut-before: what a client sends with WORD in it is not passed on, but the shell
runs COMMAND, and then the connection is reset.

--lose: what the server sends after a client has sent WORD is lost, and the proxy
ends.

--later: the server's answer to TIME is so many seconds later as FILE says.
"""
import argparse
import asyncio
import os
import re
import socket
import struct

parser = argparse.ArgumentParser()
parser.add_argument("--cut-sent", type=int)
parser.add_argument("--cut-received", type=int)
parser.add_argument("--delay", type=float, default=0)
parser.add_argument("--rate", type=float, default=float("inf"))
parser.add_argument("--trips")
parser.add_argument("--times", type=int, default=1)
parser.add_argument("--cut-before", type=os.fsencode)
parser.add_argument("--meanwhile")
parser.add_argument("--lose", type=os.fsencode)
parser.add_argument("--later")
parser.add_argument("port", type=int)
parser.add_argument("file")
args = parser.parse_args()

left = {"sent": args.cut_sent, "received": args.cut_received}
times = args.times
free = {"sent": 0, "received": 0}  # when the link is, in each direction
answered = True
losing = False


def later(match):
    with open(args.later, encoding="ascii") as file:
        shift = int(file.read())
    return b"*2\r\n$10\r\n%d\r\n" % (int(match[1]) + shift)


async def read_some(direction, source):
    """What has come, with a later time in place of the server's."""
    global losing
    data = await source.read(65536)
    if direction == "received" and losing:
        os._exit(0)
    losing = losing or (args.lose is not None and args.lose in data)
    if direction == "received" and args.later is not None:
        data = re.sub(rb"^\*2\r\n\$10\r\n(\d{10})\r\n", later, data)
    return data


async def is_cut_before(direction, data):
    """Is the word in it? Then the command has run."""
    global times
    if (direction == "received" or args.cut_before is None or times == 0 or
            args.cut_before not in data):
        return False
    times -= 1
    process = await asyncio.create_subprocess_shell(args.meanwhile)
    await process.wait()
    return True


def reset(writer):
    """Close at once, so that the other side sees ECONNRESET."""
    sock = writer.get_extra_info("socket")
    if sock is not None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                        struct.pack("ii", 1, 0))
    writer.transport.abort()


def count_trip():
    global answered
    if args.trips is not None and answered:
        with open(args.trips, "ab") as file:
            file.write(b".")
    answered = False


def arrival(direction, nbytes):
    """When so many bytes that are sent now come out at the other end."""
    free[direction] = max(free[direction], asyncio.get_running_loop().time())
    free[direction] += nbytes / args.rate
    return free[direction] + args.delay / 1000


async def deliver(queue, to, direction):
    global answered
    loop = asyncio.get_running_loop()
    while True:
        due, data = await queue.get()
        pause = due - loop.time()
        if pause > 0:
            await asyncio.sleep(pause)
        if data is None:
            to.close()
            return
        to.write(data)
        answered = answered or direction == "received"


async def pump(direction, source, to, back):
    global times
    queue = asyncio.Queue()
    task = (asyncio.create_task(deliver(queue, to, direction))
            if args.delay else None)
    try:
        while True:
            data = await read_some(direction, source)
            if await is_cut_before(direction, data):
                reset(to)
                reset(back)
                return
            if direction == "sent" and data:
                count_trip()
            cut = False
            if left[direction] is not None and times > 0:
                if len(data) >= left[direction]:
                    data = data[:left[direction]]
                    cut = True
                else:
                    left[direction] -= len(data)
            if task is not None:
                queue.put_nowait((arrival(direction, len(data)),
                                  data or None))
            elif data:
                to.write(data)
                await to.drain()
            if cut:
                times -= 1
                left[direction] = {"sent": args.cut_sent,
                                   "received": args.cut_received}[direction]
                await asyncio.sleep(0.001)
                reset(to)
                reset(back)
                return
            if not data:
                if task is None:
                    to.close()
                return
    except (ConnectionError, OSError):
        reset(to)
        reset(back)


async def serve(reader, writer):
    try:
        server = await asyncio.open_connection("127.0.0.1", args.port)
    except OSError:
        reset(writer)
        return
    await asyncio.gather(pump("sent", reader, server[1], writer),
                         pump("received", server[0], writer, server[1]))


async def main():
    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    with open(args.file + ".new", "w", encoding="ascii") as file:
        file.write(str(port))
    os.rename(args.file + ".new", args.file)
    async with listener:
        await listener.serve_forever()

asyncio.run(main())
