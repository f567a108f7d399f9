# asks.py CLIENT PORT: a client of memcached in Python, with its defaults. Reads
# "add KEY", "get KEY", "both KEY KEY", and "lease KEY", an add with an expiration
# time, and prints what it sees: new, seen, found, missing, how many of both are
# found, or error and its kind; for a lease that another client has, leased.
import sys

name, address = sys.argv[1], "127.0.0.1:" + sys.argv[2]
if name.startswith("pymemcache"):
    from pymemcache.client.base import Client
    host = ("127.0.0.1", int(sys.argv[2]))
    m = Client(host) if name == "pymemcache-defaults" else Client(
        host, default_noreply=False)
elif name.startswith("pylibmc"):
    import pylibmc
    m = pylibmc.Client([address])
else:
    import memcache
    m = memcache.Client([address])

for line in sys.stdin:
    verb, key, *rest = line.split()
    try:
        if verb == "add":
            print("new" if m.add(key, "1") else "seen", flush=True)
        elif verb == "lease":
            print("new" if m.add(key, "1", 300) else "seen", flush=True)
        elif verb == "both":
            print(len(m.get_multi([key, *rest])), flush=True)
        else:
            print("missing" if m.get(key) is None else "found", flush=True)
    except Exception as error:
        leased = str(error) == "b'EXISTS'"
        print("leased" if leased else "error", type(error).__name__, flush=True)
