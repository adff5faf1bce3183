"""An HTTP proxy that makes tunnels and nothing else (CONNECT, RFC 9110 section 9.3.6), on a free port of the loopback interface.

Usage: Tests/tunnel-proxy.py --port-file FILE --log FILE [--answer STATUS]

The log has a line for each connection: the client's address, the method and what it asks for. --answer refuses each request.
"""

import argparse
import os
import select
import socket
import threading


def copy(one, other):
    """Passes bytes on both ways until a side ends."""
    while True:
        ready, _, _ = select.select([one, other], [], [], 60)
        if not ready:
            return
        for source in ready:
            data = source.recv(65536)
            if not data:
                return
            (other if source is one else one).sendall(data)


def serve(client, address, log, answer):
    with client:
        head = b""
        while b"\r\n\r\n" not in head and len(head) < 65536:
            data = client.recv(1)
            if not data:
                return
            head += data
        method, target, _ = head.split(b"\r\n", 1)[0].decode("ascii").split(" ")
        with open(log, "a", encoding="ascii") as file:
            file.write(f"{address} {method} {target}\n")
        if answer or method != "CONNECT":
            client.sendall(f"HTTP/1.1 {answer or 405} Refused\r\nContent-Length: 0\r\n\r\n".encode())
            return
        host, port = target.rsplit(":", 1)
        try:
            # An address alone: a name would be looked up here, where nobody vets what it leads to.
            server = socket.create_connection((str(host.strip("[]")), int(port)), 10)
        except OSError:
            client.sendall(b"HTTP/1.1 502 No connection\r\nContent-Length: 0\r\n\r\n")
            return
        with server:
            client.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
            copy(client, server)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port-file", required=True)
    parser.add_argument("--log", required=True)
    parser.add_argument("--answer", type=int)
    given = parser.parse_args()
    with socket.create_server(("127.0.0.1", 0)) as server:
        with open(given.port_file + ".new", "w", encoding="ascii") as file:
            file.write(str(server.getsockname()[1]))
        os.rename(given.port_file + ".new", given.port_file)
        while True:
            client, address = server.accept()
            threading.Thread(target=serve, args=(client, address[0], given.log, given.answer), daemon=True).start()


if __name__ == "__main__":
    main()
