#!/usr/bin/env python3
"""A small web for the recipes. It prints its port, and one that refuses.

    web.py LOG

LOG gets a line for each request: its method, its path, and of a POST the body.
A GET is answered by its path:

    /page/X     200, with the text "page X"
    /moved/P    301 to /P
    /found/P    302 to /moved/P
    /loop       302 to itself
    /status/N   the status N; 429 and 503 have Retry-After: 1
    /torn/X     200, but the connection is closed in the middle of the text
    /flaky/X    503 to the first request, then as /page/X
    /slow/X     as /page/X, once the file `go` exists
    /file/X     the file X of the working directory
    /store/X    what was last put there, with an ETag, or 404
A POST is answered with 200, or with 500 as long as the file `down` exists. A PUT
to /store/X obeys If-Match and If-None-Match, and fails with 500 in the same way.
"""
import hashlib
import http.server
import os
import socket
import sys
import threading
import time

lock = threading.Lock()
seen = set()
stored = {}


def etag(text):
    return '"%s"' % hashlib.sha256(text or b"").hexdigest()


class Web(http.server.BaseHTTPRequestHandler):
    def answer(self, status, text=b"", headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def note(self, text):
        with lock, open(sys.argv[1], "ab", buffering=0) as log:
            log.write(text + b"\n")

    def do_GET(self):
        self.note(b"GET " + self.path.encode("latin-1"))
        kind, _, rest = self.path[1:].partition("/")
        page = b"page %s\n" % rest.encode("latin-1")
        with lock:
            is_first = self.path not in seen
            seen.add(self.path)
        if kind == "moved":
            self.answer(301, b"moved\n", [("Location", "/" + rest)])
        elif kind == "found":
            self.answer(302, b"found\n", [("Location", "/moved/" + rest)])
        elif kind == "loop":
            self.answer(302, b"loop\n", [("Location", "/loop")])
        elif kind == "status":
            again = [("Retry-After", "1")] if rest in ("429", "503") else []
            self.answer(int(rest), b"status\n", again)
        elif kind == "torn":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(page)
            self.close_connection = True
        elif kind == "flaky" and is_first:
            self.answer(503, b"later\n")
        elif kind == "store":
            self.answer_from_store()
        elif kind == "file":
            with open(rest, "rb") as file:
                self.answer(200, file.read())
        else:
            while kind == "slow" and not os.path.exists("go"):
                time.sleep(0.01)
            self.answer(200, page)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        is_down = os.path.exists("down")
        self.note(b"POST " + (b"refused " if is_down else b"") + body)
        self.answer(500 if is_down else 200, b"answer\n")

    def answer_from_store(self):
        with lock:
            text = stored.get(self.path)
        if text is None:
            self.answer(404)
        else:
            self.answer(200, text, [("ETag", etag(text))])

    def do_PUT(self):
        if self.headers.get("Expect") == "100-continue":
            self.send_response_only(100)
            self.end_headers()
        length = int(self.headers["Content-Length"])
        text = self.rfile.read(length)
        if len(text) < length:
            return  # from a client that was killed
        with lock:
            old = stored.get(self.path)
            if os.path.exists("down"):
                status = 500
            elif (self.headers.get("If-None-Match") == "*" and old is not None
                  or self.headers.get("If-Match", etag(old)) != etag(old)):
                status = 412
            else:
                status = 200
                stored[self.path] = text
        self.answer(status)

    def log_message(self, *arguments):
        pass

    def handle(self):
        try:
            super().handle()
        except ConnectionError:
            pass  # a client that was killed


# bound, but without a queue for connections: they are refused
closed = socket.socket()
closed.bind(("127.0.0.1", 0))
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Web)
print(server.server_address[1], closed.getsockname()[1], flush=True)
server.serve_forever()
