"""A TCP proxy that can go half-open: connections stay up, but nothing comes through any more."""

import os
import select
import socket
import threading


class Proxy:
    """Passes bytes to a server until told to swallow them, on old connections and on new ones alike."""

    def __init__(self, target):
        self.target = target
        self.swallows = False
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.pairs = []
        self.lock = threading.Lock()
        self.wake_reader, self.wake_writer = os.pipe()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        server = None
        try:
            if not self.swallows:
                server = socket.create_connection(("127.0.0.1", self.target), timeout=5)
                server.settimeout(None)
            with self.lock:
                self.pairs.append((client, server))
            while True:
                sources = [end for end in (client, server) if end]
                readable, _, _ = select.select(sources, [], [], 0.5)
                if self.swallows:
                    # Nothing is read and nothing is closed: the peer cannot tell this from a slow answer.
                    threading.Event().wait(0.2)
                    continue
                if server is None:
                    return
                for end in readable:
                    data = end.recv(65536)
                    if not data:
                        return
                    (server if end is client else client).sendall(data)
        except (OSError, ValueError):
            pass
        finally:
            for end in (client, server):
                if end:
                    end.close()
            with self.lock:
                self.pairs = [pair for pair in self.pairs if pair[0] is not client]

    def heal(self):
        """Passes bytes again; what was connected meanwhile is cut, as a firewall that forgot its connections would."""
        self.swallows = False
        with self.lock:
            pairs = list(self.pairs)
        for pair in pairs:
            for end in pair:
                if end:
                    try:
                        end.shutdown(socket.SHUT_RDWR)
                    except OSError:
                        pass
