#!/usr/bin/python3
"""Freezes a release, and compares today with those that are frozen; started by Tests/freeze.sh, which says what it does."""

import argparse
import difflib
import glob
import os
import re
import shutil
import subprocess
import sys
import time

import release
import upgrade

BEGAN = time.monotonic()
# By hand, for each release.
FILLS = ("fill.sql", "fill-keys.sql", "bodies.jsonl", "arguments.json")


def say(text):
    print(f"{time.monotonic() - BEGAN:5.1f} s  {text}", file=sys.stderr, flush=True)


def versions(program):
    """This version and the one before; the program must be of them."""
    current, previous = release.versions()
    told = subprocess.run([program, "--version"], text=True, capture_output=True, check=True).stdout.split()[-1]
    if told != current:
        raise SystemExit(f"{program} is version {told}, and the sources are {current}: build it")
    return current, previous


def order(version):
    return [int(number) for number in re.findall(r"\d+", version)]


def tree(folder):
    """The files below a folder that a release consists of, by name."""
    found = {}
    for path in sorted(glob.glob(os.path.join(folder, "**", "*.sql"), recursive=True)):
        with open(path, encoding="utf-8") as file:
            found[os.path.relpath(path, folder)] = file.read()
    return found


def made(server):
    """What is frozen of today, but for the copy of Migrations: names and texts."""
    found = {"statements.sql": release.told(server.of("queue"), server.of("keys"))}
    for where, database in (("queue", "queue"), ("key store", "keys")):
        connection = release.connect(server.of(database))
        found[release.PROMISES[where]] = release.lines(release.promises(connection, lists=where == "queue"))
        connection.close()
    return found


def renew(folder, today, migrations):
    os.makedirs(folder, exist_ok=True)
    shutil.rmtree(os.path.join(folder, "Migrations"), ignore_errors=True)
    for name, text in tree(migrations).items():
        path = os.path.join(folder, "Migrations", name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    for name, text in today.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    for name in FILLS:
        fill = os.path.join(folder, name)
        others = sorted(glob.glob(os.path.join(release.FROZEN, "*", name)), key=lambda path: order(path.split("/")[-2]))
        if not os.path.exists(fill):
            shutil.copy(others[-1], fill)
            say(f"{fill} is that of the release before: add what is new since")


def git(repository, *arguments):
    # A checkout of another account is read as well, and what this repository's hooks export is not.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment["GIT_CEILING_DIRECTORIES"] = os.path.dirname(repository)
    return subprocess.run(["git", "-c", f"safe.directory={repository}", "-C", repository, *arguments], env=environment, text=True,
                          capture_output=True, check=False)


def tagged(version, repository):
    """Why a version must not be frozen anew; empty: it may."""
    answer = git(repository, "tag", "--list", f"v{version}")
    if answer.returncode:
        return f"git does not say whether {version} is tagged: {answer.stderr.strip()}"
    if not answer.stdout.strip():
        return ""
    return (f"{version} is tagged (v{version}), so it stays as it is: Version.current becomes the next version with -dev, and"
            f" Version.previous {version}")


def altered(version, repository):
    """What of a frozen release is not as it was tagged."""
    tag = f"refs/tags/v{version}"
    if git(repository, "rev-parse", "--verify", "--quiet", tag).returncode:
        return []
    folder = f"Tests/Frozen/{version}"
    names = ["Migrations", "statements.sql", *release.PROMISES.values()]
    told = git(repository, "diff", "--name-only", tag, "--", *[f"{folder}/{name}" for name in names]).stdout.split()
    return [f"{name} is not as it was tagged (v{version})" for name in told]


def proven(scratch):
    """Whether a tag keeps its version from being frozen anew, in a repository that was made up."""
    repository = os.path.join(scratch, "tagged")
    path = os.path.join(repository, "Tests", "Frozen", "9.9.9", "statements.sql")
    os.makedirs(os.path.dirname(path))
    with open(path, "w", encoding="utf-8") as file:
        file.write("SELECT 1;\n")
    for arguments in (["init", "--quiet"], ["add", "."],
                      ["-c", "user.name=freeze", "-c", "user.email=freeze@localhost", "commit", "--quiet", "-m", "9.9.9"], ["tag", "v9.9.9"]):
        answer = git(repository, *arguments)
        if answer.returncode:
            return [f"git {arguments[0]}: {answer.stderr.strip()}"]
    found = []
    if "stays as it is" not in tagged("9.9.9", repository) or tagged("9.9.8", repository) or not tagged("9.9.9", scratch):
        found.append("a tag does not keep its version from being frozen anew")
    before = altered("9.9.9", repository)
    with open(path, "a", encoding="utf-8") as file:
        file.write("SELECT 2;\n")
    if before or len(altered("9.9.9", repository)) != 1 or altered("9.9.8", repository):
        found.append("it is not seen that a frozen release is other than it was tagged")
    return found


def compare(folder, today, migrations):
    """How today differs from its own frozen release."""
    found = []
    for name, text in {**{f"Migrations/{name}": text for name, text in tree(migrations).items()}, **today}.items():
        path = os.path.join(folder, name)
        old = ""
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                old = file.read()
        if old != text:
            lines = list(difflib.unified_diff(old.splitlines(), text.splitlines(), "frozen", "today", n=0, lineterm=""))
            found.append(f"{name} differs from the frozen one:\n" + "\n".join(line[:300] for line in lines[:12]))
    gone = set(tree(os.path.join(folder, "Migrations"))) - set(tree(migrations))
    return found + [f"Migrations/{name} is gone" for name in sorted(gone)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--renew", action="store_true")
    parser.add_argument("--program", required=True)
    parser.add_argument("--url", required=True)
    parser.add_argument("--scratch", required=True)
    arguments = parser.parse_args()
    current, previous = versions(arguments.program)
    migrations = os.path.join(release.ROOT, "Migrations")
    own = os.path.join(release.FROZEN, current)
    folders = glob.glob(os.path.join(release.FROZEN, "[0-9]*/"))
    frozen = sorted((os.path.basename(os.path.dirname(path)) for path in folders), key=order)
    server = upgrade.Server(arguments.url, arguments.program)
    server.migrated("queue", migrations)
    server.migrated("keys", os.path.join(migrations, "keys"))
    today = made(server)
    if arguments.renew:
        if not re.fullmatch(r"[\d.]+", current):
            raise SystemExit(f"{current} is no release: first set Version.current")
        refused = tagged(current, release.ROOT)
        if refused:
            raise SystemExit(f"freeze: {refused}")
        renew(own, today, migrations)
        say(f"Tests/Frozen/{current} holds today's schema, statements and promises")
        frozen = sorted({*frozen, current}, key=order)
    found = proven(arguments.scratch)
    for version in frozen:
        found += altered(version, release.ROOT)
    if current in frozen:
        found += compare(own, today, migrations)
        if found:
            found.append(f"{current} is frozen: for a change, give Version.current the next version, and Version.previous {current};"
                         " until it is tagged, Tests/freeze.sh --renew freezes it anew")
    before = [version for version in frozen if version != current]
    if not frozen:
        found.append("no release is frozen")
    if previous != (before[-1] if before else None):
        found.append(f"Version.previous is {previous}, and the release before this one is {before[-1] if before else 'none'}")
    if not found:
        for number, version in enumerate(version for version in frozen if version in (current, previous)):
            say(f"from {version}")
            scratch = os.path.join(arguments.scratch, f"upgrade{number}")
            os.mkdir(scratch)
            # Databases of their own: to drop one takes a checkpoint.
            own_names = upgrade.Server(arguments.url, arguments.program, f"r{number}_")
            found += [f"from {version}: {text}" for text in
                      upgrade.findings(own_names, os.path.join(release.FROZEN, version), migrations, scratch, say)]
    for text in found:
        print(f"freeze: {text}", file=sys.stderr)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
