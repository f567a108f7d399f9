"""redis-py, with its defaults, sync and asyncio: redis_py.py PORT SERVER LOSES

SERVER is the script that restarts it (run), LOSES the port of loses.py."""
import asyncio
import subprocess
import sys
import time

import redis
import redis.asyncio
from redis.backoff import NoBackoff
from redis.retry import Retry

PORT, SERVER, LOSES = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])


def server(*what):
    subprocess.check_call([SERVER, *what])


def fails(what, text):
    try:
        got = what()
    except redis.ResponseError as error:
        assert text in str(error), error
        return
    # an array that ends with an error comes as a list
    assert isinstance(got, list) and text in str(got[-1]), got


def sync(name):
    r = redis.Redis(port=PORT)
    bf = r.bf()
    assert r.ping()
    assert bf.create(name, 0.001, 1000)
    fails(lambda: bf.create(name, 0.001, 1000), "item exists")
    assert bf.add(name, "a") == 1 and bf.add(name, "a") == 0
    assert bf.madd(name, "a", "b") == [0, 1]
    assert bf.exists(name, "b") == 1 and bf.exists(name, "c") == 0
    assert bf.mexists(name, "a", "c") == [1, 0]
    assert bf.insert(name, ["c", "c"]) == [1, 0]
    assert bf.card(name) == 3
    info = bf.info(name)
    assert info["capacity"] == 1000 and info["insertedNum"] == 3
    assert bf.insert(name + ":made", ["a"], capacity=50, error=0.01) == [1]
    for transaction in True, False:
        with r.pipeline(transaction=transaction) as pipe:
            for i in range(2000):
                pipe.execute_command("BF.ADD", name, "%s%d" % (transaction, i))
            assert sum(pipe.execute()) > 1950
    assert name.encode() in list(r.scan_iter(match=name[:2] + "*"))
    assert r.exists(name) == 1 and r.type(name) == b"MBbloom--"
    # trouble of one filter; the next request, to another one, is answered
    for trouble, text in [
            (lambda: bf.info("nowhere"), "not found"),
            (lambda: bf.add("full", "new"), "non scaling filter is full"),
            (lambda: bf.madd("full", "new"), "non scaling filter is full"),
            (lambda: bf.add("broken", "a"), "not a bloomdedup filter"),
            (lambda: bf.exists("broken", "a"), "not a bloomdedup filter"),
            (lambda: bf.add("locked", "a"), "in use"),
            (lambda: r.delete(name), "delete needs a unix socket"),
            (lambda: r.set("a", "b"), "unknown command"),
            (lambda: bf.scandump(name, 0), "not supported")]:
        fails(trouble, text)
        assert bf.exists(name, "b") == 1
    assert bf.exists("nowhere", "a") == 0
    # a reply that is lost: it asks again, and then the subkey is "seen"
    assert redis.Redis(port=LOSES).bf().add(name, "lost:py") == 0
    once = redis.Redis(port=LOSES, retry=Retry(NoBackoff(), 0))
    try:
        sys.exit(once.bf().add(name, "lost:py:once"))
    except redis.ConnectionError:
        assert once.bf().add(name, "lost:py:once") == 0
    # redis-py tries again by itself
    server("restart")
    assert bf.add(name, "a") == 0
    # idle, which a server allows by default, and for too long
    time.sleep(2.5)
    assert bf.add(name, "a") == 0
    server("restart", "--idle-timeout=1")
    assert bf.add(name, "a") == 0
    server("closes")
    assert bf.add(name, "after") == 1 and bf.add(name, "after") == 0
    server("restart")


def leases(name):
    server("restart", "--lease=1h")
    r = redis.Redis(port=PORT)
    key = name + "|leased"
    assert r.set(key, 1, nx=True, ex=300) is True
    assert 100 < r.ttl(key) <= 300 and r.expire(key, 200) is True
    try:
        r.set(key, 1, nx=True, ex=300)
        sys.exit("no error")
    except redis.ResponseError as error:
        assert str(error).startswith("LEASED ")
    assert r.delete(key) == 1
    assert r.set(key, 1, nx=True, px=300000) is True
    assert r.set(key, 1) is True and r.ttl(key) == -1
    assert r.set(key, 1, nx=True, ex=300) is None


async def other(name):
    r = redis.asyncio.Redis(port=PORT)
    bf = r.bf()
    assert await bf.create(name, 0.001, 1000, noScale=True)
    assert await asyncio.gather(*(bf.add(name, i) for i in range(100))) \
        == [1] * 100
    assert await bf.mexists(name, 1, "x") == [1, 0]
    async with r.pipeline() as pipe:
        for i in range(100):
            pipe.execute_command("BF.EXISTS", name, i)
        assert await pipe.execute() == [1] * 100
    try:
        await bf.add("broken", "a")
        sys.exit("no error")
    except redis.ResponseError:
        assert await bf.exists(name, 1) == 1
    server("restart")
    assert await bf.exists(name, 1) == 1
    await asyncio.sleep(2.5)
    assert await bf.exists(name, 1) == 1
    server("restart", "--idle-timeout=1")
    assert await bf.exists(name, 1) == 1
    server("closes")
    assert await bf.add(name, "after") == 1
    assert await bf.add(name, "after") == 0
    await r.aclose()


sync("py:sync")
asyncio.run(other("py:async"))
leases("py:sync")
server("restart")
