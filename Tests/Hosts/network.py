"""Hosts on one switch, each a network namespace. The switch is a namespace, too: the machine's own network is not touched."""

import os
import signal
import subprocess
import time

NETWORK = "10.99.0"


def run(*words):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


class Network:
    def __init__(self, hosts):
        self.switch = f"insp{os.getpid()}sw"
        self.hosts = {name: (f"insp{os.getpid()}{name}", f"{NETWORK}.{number}") for name, number in hosts.items()}
        try:
            run("ip", "netns", "add", self.switch)
            run("ip", "-n", self.switch, "link", "add", "bridge", "type", "bridge")
            run("ip", "-n", self.switch, "link", "set", "bridge", "up")
            for name, (space, address) in self.hosts.items():
                run("ip", "netns", "add", space)
                run("ip", "-n", space, "link", "set", "lo", "up")
                run("ip", "-n", self.switch, "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", space)
                run("ip", "-n", self.switch, "link", "set", name, "master", "bridge", "up")
                run("ip", "-n", space, "address", "add", f"{address}/24", "dev", "eth0")
                run("ip", "-n", space, "link", "set", "eth0", "up")
        except BaseException:
            self.remove()
            raise

    def address(self, host):
        return self.hosts[host][1]

    def on(self, host):
        """The words that run a command on a host."""
        return ["ip", "netns", "exec", self.hosts[host][0]]

    def cut(self, host):
        """Nothing gets through any more, and nobody is told: packets vanish, as when a cable is pulled."""
        run("ip", "-n", self.switch, "link", "set", host, "down")

    def heal(self, host):
        run("ip", "-n", self.switch, "link", "set", host, "up")

    def processes(self, host):
        answer = subprocess.run(["ip", "netns", "pids", self.hosts[host][0]], stdout=subprocess.PIPE, text=True, check=True)
        return [int(word) for word in answer.stdout.split()]

    def kill(self, host):
        """Everything on a host ends at once, and its kernel says goodbye to nobody."""
        self.cut(host)
        for _ in range(100):
            pids = self.processes(host)
            if not pids:
                return
            for pid in pids:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            time.sleep(0.05)
        raise RuntimeError(f"{host} does not die")

    def remove(self):
        for space in [space for space, _ in self.hosts.values()] + [self.switch]:
            subprocess.run(["ip", "netns", "delete", space], check=False, stderr=subprocess.DEVNULL)
