"""Bytes that must not appear where they do not belong, and the search for them."""

import base64
import os
import re


class Mark:
    """Any bytes, in each of their spellings."""

    def __init__(self, name, value):
        self.name = name
        spellings = {value, value.hex().encode(), value.hex().upper().encode()}
        # Base64 of a longer text has one of three spellings of its middle.
        for shift in range(3):
            text = base64.b64encode(b"\0" * shift + value)[(4 if shift else 0):]
            spellings.add(text.rstrip(b"=")[:-2])
        self.spellings = [s for s in spellings if len(s) >= 8]

    def find(self, data):
        return {self.name} if any(spelling in data for spelling in self.spellings) else set()


class Family:
    """What jobs say of persons: values that begin alike, so that thousands of them cost one search."""

    PREFIX = b"zqmark"
    VALUE = re.compile(rb"zqmark(\d{5}[a-z]{4}\d{9})")

    @classmethod
    def value(cls, number, use):
        return f"zqmark{number:05d}{use[:4].lower()}{(number * 7919) % 10**9:09d}"

    def __init__(self, names):
        """names: of each value."""
        self.names = names
        digits = self.PREFIX.hex().encode()
        # A digit follows the prefix, whose upper bits are always the same: they belong to what is fixed in each of three spellings.
        self.base64 = []
        for shift in range(3):
            first, last = (base64.b64encode(b"\0" * shift + self.PREFIX + digit * 6) for digit in (b"0", b"9"))
            fixed = os.path.commonprefix([first[(0, 2, 3)[shift]:], last[(0, 2, 3)[shift]:]])
            self.base64.append(((0, 2, 3)[shift], fixed[:8]))
        self.hexadecimal = re.compile(b"(?i)" + digits + rb"[0-9a-f]{36}")

    def find(self, data):
        found = set(self.VALUE.findall(data))
        for match in self.hexadecimal.findall(data):
            found.update(self.VALUE.findall(bytes.fromhex(match.decode())))
        for skipped, fixed in self.base64:
            at = data.find(fixed)
            while at >= 0:
                window = data[max(at - skipped, 0):at - skipped + 48]
                window = window[:len(window) // 4 * 4]
                try:
                    found.update(self.VALUE.findall(base64.b64decode(window.replace(b"-", b"+").replace(b"_", b"/"), validate=False)))
                except ValueError:
                    pass
                at = data.find(fixed, at + 1)
        return {self.names[value.decode()] for value in found if value.decode() in self.names}


def files(*folders):
    for folder in folders:
        if os.path.isfile(folder):
            yield folder
        for path, _, names in os.walk(folder):
            for name in names:
                yield os.path.join(path, name)


def search(marks, *folders):
    """The names of the marks that were found, with the first file of each."""
    found = {}
    for path in files(*folders):
        try:
            with open(path, "rb") as file:
                data = file.read()
        except OSError:
            continue
        for mark in marks:
            for name in mark.find(data):
                found.setdefault(name, path)
    return found


def manual(page):
    """What deploy/DEPLOYING.md says that plain SQL leaves: for each name of a value, whether in the tables and whether in the log."""
    with open(page, encoding="utf-8") as file:
        section = file.read().split("### What plain SQL leaves\n")[1].split("\n## ")[0]
    left = {}
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `") and len(cells) == 3:
            for name in re.findall(r"`(\w+)`", cells[0]):
                left[name] = tuple(cell == "yes" for cell in cells[1:])
    return left
