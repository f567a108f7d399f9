#!/usr/bin/env python3
# loses.py PORT: a network that breaks. Prints the port on which it listens, and
# passes everything on to the server at PORT and back; but the reply to a request
# that has the word "lost" is dropped, and the connection with it: the server has
# carried the request out, and the client can't know. A request with that word
# that comes again, in another connection, gets its reply.
import socket
import sys
import threading

server = ("127.0.0.1", int(sys.argv[1]))
lost = set()


def word_of(request):
    at = request.find(b"lost")
    return request[at:].split(b"\r")[0] if at >= 0 else None


def serve(client):
    try:
        with client, socket.create_connection(server) as there:
            while request := client.recv(65536):
                there.sendall(request)
                reply = there.recv(65536)
                word = word_of(request)
                if word is not None and word not in lost:
                    lost.add(word)
                    return
                client.sendall(reply)
    except OSError:
        pass  # either of them is gone


listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    connection, _ = listener.accept()
    threading.Thread(target=serve, args=(connection,), daemon=True).start()
