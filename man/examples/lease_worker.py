#!/usr/bin/env python3
"""A crawler's worker that remembers a page only once it is fetched.

    bloomdedup serve -d DIRECTORY --lease=10m
    python3 lease_worker.py 127.0.0.1:12345 pages <urls

Reads URLs, one per line; any number of workers may read the same URLs. One of
them fetches each page, and keeps it in the directory `pages`. If a worker fails
or is killed, another one fetches its page. A page that cannot be fetched is
tried three times, and reported. The filter, also called `pages`, must exist.
Needs pymemcache.
"""
import collections
import hashlib
import os
import sys
import time
import urllib.request

from pymemcache.client.base import Client
from pymemcache.exceptions import MemcacheUnknownError

LEASE = 300  # seconds, longer than it takes to fetch and keep a page
TRIES = 3
# Seconds to wait if all pages that are left are leased to other workers.
AGAIN = float(os.environ.get("AGAIN", "10"))


def take(client, key):
    """Return "mine" (to fetch), "leased" (to another worker), or "done"."""
    try:
        return "mine" if client.add(key, "1", expire=LEASE) else "done"
    except MemcacheUnknownError as error:
        if error.args != (b"EXISTS",):
            raise
        return "leased"


def fetch(url, path):
    """Fetch and keep the page. This may happen twice, and does no harm."""
    with urllib.request.urlopen(url, timeout=60) as page:
        content = page.read()
    with open("%s.%d" % (path, os.getpid()), "wb") as file:
        file.write(content)
    os.replace(file.name, path)


def work(client, name, urls):
    waiting = collections.deque(urls)
    failed = collections.Counter()
    leased = 0  # pages in a row that were leased to others
    while waiting:
        url = waiting.popleft()
        digest = hashlib.sha256(url.encode()).hexdigest()
        key = name + "|" + digest
        state = take(client, key)
        if state == "leased":
            waiting.append(url)
            leased += 1
            if leased >= len(waiting):
                time.sleep(AGAIN)
                leased = 0
            continue
        leased = 0
        if state == "done":
            continue
        try:
            fetch(url, os.path.join(name, digest))
        except (OSError, ValueError) as error:
            client.delete(key)  # give it back
            failed[url] += 1
            if failed[url] < TRIES:
                waiting.append(url)
            else:
                print("%s: %s" % (url, error), file=sys.stderr)
            continue
        client.set(key, "1")  # done: remember it
        print(url, flush=True)


def main():
    address, name = sys.argv[1:]
    os.makedirs(name, exist_ok=True)
    # without default_noreply=False, every lease would seem to be granted
    work(Client(address, default_noreply=False), name,
         [line.strip() for line in sys.stdin])


main()
