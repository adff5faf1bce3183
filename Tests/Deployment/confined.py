"""Runs a command inside a folder as its root, under the restrictions of a systemd unit, without systemd: where none runs, this is
how to learn whether a service can live with what its unit takes away.

Usage: confined.py UNIT ROOT [--bind DIR]... -- COMMAND...     as root

Applied: SystemCallFilter (the sets are systemd's own, from `systemd-analyze syscall-filter`), RestrictAddressFamilies,
MemoryDenyWriteExecute, RestrictNamespaces, CapabilityBoundingSet, NoNewPrivileges, LimitCORE, UMask, an account without
rights, a root that is read-only, /proc that shows own processes alone, /dev without devices, and /tmp of its own.
"""

import ctypes
import os
import resource
import subprocess
import sys
from pathlib import Path

import seccomp

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNS, MS_RDONLY, MS_NOSUID, MS_NODEV, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = (
    0x20000, 1, 2, 4, 32, 4096, 16384, 1 << 18)
PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 24, 38
FAMILIES = {"AF_UNIX": 1, "AF_INET": 2, "AF_INET6": 10}
# What unshare and clone would make a namespace with (RestrictNamespaces).
NAMESPACES = [0x80, 0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000]
ACCOUNT = 65532


def check(result, what):
    if result != 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


def mount(source, target, kind=None, flags=0, data=None):
    encoded = [v.encode() if isinstance(v, str) else v for v in (str(source), str(target), kind, data)]
    check(LIBC.mount(encoded[0], encoded[1], encoded[2], ctypes.c_ulong(flags), encoded[3]), f"mount {target}")


def settings(unit):
    """The unit's settings; one that was given twice has both values."""
    found = {}
    for line in Path(unit).read_text().splitlines():
        key, separator, value = line.partition("=")
        if separator and not line.startswith(("#", "[")):
            found.setdefault(key, []).append(value)
    return found


def system_calls(word):
    """A system call, or all of a set and of the sets within it."""
    if not word.startswith("@"):
        return {word}
    text = subprocess.run(["systemd-analyze", "syscall-filter", word], check=True, text=True, stdout=subprocess.PIPE).stdout
    words = [line.strip() for line in text.splitlines()[1:] if line.startswith("    ") and not line.strip().startswith("#")]
    return set().union(*(system_calls(w) for w in words))


def allowed_calls(unit):
    allowed = set()
    for line in unit["SystemCallFilter"]:
        calls = set().union(*(system_calls(w) for w in line.lstrip("~").split()))
        allowed = allowed - calls if line.startswith("~") else allowed | calls
    # systemd lets these through in any case: without them nothing starts.
    return allowed | system_calls("@default")


def enter(root, binds):
    check(LIBC.unshare(CLONE_NEWNS), "unshare")
    mount("none", "/", None, MS_REC | MS_PRIVATE)
    mount(root, root, None, MS_BIND)
    # First, for what is lent may lie there.
    mount("tmpfs", f"{root}/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777,size=16m")
    for folder in binds:
        target = Path(root) / str(folder).lstrip("/")
        target.mkdir(parents=True, exist_ok=True)
        mount(folder, target, None, MS_BIND)
    mount("proc", f"{root}/proc", "proc", MS_NOSUID, "hidepid=invisible")
    mount("tmpfs", f"{root}/dev", "tmpfs", MS_NOSUID, "mode=0755,size=64k")
    for name in ("null", "zero", "full", "random", "urandom"):
        Path(f"{root}/dev/{name}").touch()
        mount(f"/dev/{name}", f"{root}/dev/{name}", None, MS_BIND)
    mount("none", root, None, MS_REMOUNT | MS_BIND | MS_RDONLY)
    os.chroot(root)
    os.chdir("/")


def main():
    cut = sys.argv.index("--")
    unit, root, *rest = sys.argv[1:cut]
    binds = [Path(word) for word in rest if word != "--bind"]
    unit = settings(unit)
    assert unit["CapabilityBoundingSet"] == [""] and unit["NoNewPrivileges"] == ["yes"], "another unit than this was made for"
    filter = seccomp.SyscallFilter(seccomp.ERRNO(1))
    skipped = []
    for name in sorted(allowed_calls(unit)):
        if name in ("socket", "mmap", "mprotect", "pkey_mprotect", "clone", "clone3", "unshare", "setns"):
            continue
        try:
            filter.add_rule(seccomp.ALLOW, name)
        except (RuntimeError, ValueError):
            skipped.append(name)
    for family in unit["RestrictAddressFamilies"][0].split():
        filter.add_rule(seccomp.ALLOW, "socket", seccomp.Arg(0, seccomp.EQ, FAMILIES[family]))
    # MemoryDenyWriteExecute: memory is never written and executed, nor made executable later.
    for protection in (0, 1, 2, 3, 4, 5):
        filter.add_rule(seccomp.ALLOW, "mmap", seccomp.Arg(2, seccomp.EQ, protection))
    filter.add_rule(seccomp.ALLOW, "mprotect", seccomp.Arg(2, seccomp.MASKED_EQ, 4, 0))
    # glibc falls back to clone, whose flags a filter can see.
    filter.add_rule(seccomp.ERRNO(38), "clone3")
    filter.add_rule(seccomp.ALLOW, "clone", seccomp.Arg(0, seccomp.MASKED_EQ, sum(NAMESPACES), 0))

    enter(root, binds)
    os.umask(int(unit["UMask"][0], 8))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for capability in range(64):
        LIBC.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
    os.setgroups([])
    os.setresgid(ACCOUNT, ACCOUNT, ACCOUNT)
    os.setresuid(ACCOUNT, ACCOUNT, ACCOUNT)
    check(LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    filter.load()
    os.execv(sys.argv[cut + 1], sys.argv[cut + 1:])


if __name__ == "__main__":
    main()
