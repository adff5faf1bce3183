"""Runs the statements of a frozen release: a body that PREPARE accepts may still fail, or give a different result, when it runs."""

import json
import os
import re

import psycopg2

import release

ARGUMENTS = "arguments.json"
NAMES = """
    SELECT DISTINCT ON (p.proname) p.proname, p.proargnames[1:p.pronargs] FROM pg_proc p
    WHERE p.pronamespace = 'insp'::regnamespace ORDER BY p.proname, p.pronargs DESC"""


def parts(text):
    """The arguments of a call, from behind its opening parenthesis."""
    depth, found, current = 0, [], ""
    for letter in text:
        if letter in "([":
            depth += 1
        elif letter in ")]":
            depth -= 1
        if depth < 0:
            break
        if letter == "," and depth == 0:
            found.append(current)
            current = ""
        else:
            current += letter
    return [*found, current]


def parameters(text, names):
    """For each parameter of a statement, the function that takes it and that function's name for it."""
    found = {}
    for match in re.finditer(r"insp\.(\w+)\(", text):
        function = match[1]
        for place, part in enumerate(parts(text[match.end():])):
            named = re.match(r"\s*(\w+) =>", part)
            for number in re.findall(r"\$(\d+)", part):
                known = names.get(function) or []
                name = named[1] if named else known[place] if place < len(known) else ""
                found.setdefault(int(number), (function, name))
    return found


class Calls:
    """The statements of a release for one of its databases, with arguments that suit what fill.sql has made."""

    def __init__(self, frozen, where):
        self.statements = [one for one in release.read_statements(frozen) if one["where"] == f"the {where}"]
        with open(os.path.join(frozen, ARGUMENTS), encoding="utf-8") as file:
            told = json.load(file)
        self.values, self.refused = told[where], told["refused"]

    def value(self, function, name, kind):
        """What is given for a parameter, as SQL."""
        for key in (f"{function}.{name}", f"{name} {kind}", name):
            if key in self.values:
                return self.values[key]
        return "NULL"

    def run(self, url, only=None):
        """What each statement, or only some, gives, by its text: a list of rows, or the code that it is refused with. Nothing of it stays."""
        connection = release.connect(url)
        names = dict(release.rows(connection, NAMES))
        found, known = {}, {}
        for statement in self.statements:
            text, takes = statement["text"], statement["takes"]
            if only is not None and text not in only:
                continue
            taken = parameters(text, names)
            try:
                given = []
                for number, kind in enumerate(takes, 1):
                    function, name = taken.get(number, ("?", "?"))
                    expression = f"SELECT ({self.value(function, name, kind)})::{kind}::text"
                    if expression not in known:
                        known[expression] = release.rows(connection, expression)[0][0]
                    given.append(known[expression])
            except psycopg2.Error as error:
                found[text] = f"an argument that cannot be given, {error.pgcode}: {expression}"
                continue
            found[text] = self.once(connection, text, given, len(statement["gives"]))
        connection.close()
        return found

    @staticmethod
    def once(connection, text, given, width):
        try:
            release.rows(connection, "BEGIN")
            if " AS duty\n" in text:
                release.rows(connection, "SELECT insp.duty_take(%s, '0')", given[:1])
            release.rows(connection, "PREPARE asked AS " + text)
            call = "EXECUTE asked" + (f" ({', '.join(['%s'] * len(given))})" if given else "")
            rows = [row[:width] for row in release.rows(connection, call, given)]
            release.rows(connection, "SET CONSTRAINTS ALL IMMEDIATE")
            return rows
        except psycopg2.Error as error:
            return " ".join([error.pgcode or "?", *str(error).split("\n")[0].split(":")[:2]])
        finally:
            release.rows(connection, "ROLLBACK")
            release.rows(connection, "DEALLOCATE ALL")

    def untried(self, outcomes):
        """Statements that do not do what they are for, although arguments.json does not say so."""
        found = []
        for statement in self.statements:
            text, outcome = " ".join(statement["text"].split()), outcomes[statement["text"]]
            function = re.search(r"insp\.(\w+)", text)[1]
            expected = self.refused.get(function)
            if isinstance(outcome, str) and (expected is None or expected not in outcome):
                found.append(f"a statement of the release itself is refused, with {outcome}; see {ARGUMENTS}: {text}")
        return found


def contains(new, old):
    """Whether who reads the old finds it in the new. An object may get further members."""
    if isinstance(old, dict) and isinstance(new, dict):
        return all(key in new and contains(new[key], value) for key, value in old.items())
    if isinstance(old, (list, tuple)) and isinstance(new, (list, tuple)):
        return len(old) == len(new) and all(contains(one, other) for one, other in zip(new, old))
    if isinstance(old, memoryview) and isinstance(new, memoryview):
        return bytes(old) == bytes(new)
    return type(old) is type(new) and old == new


def differs(old, again, new):
    """Why a program that had `old`, and elsewhere `again` under the same circumstances, cannot go on with `new`; empty: it can."""
    if isinstance(new, str) or isinstance(old, str):
        if isinstance(old, str) and isinstance(new, str):
            return "" if old.split()[0] == new.split()[0] else f"is refused with {new}, and was with {old}"
        return f"fails when it runs: {new}" if isinstance(new, str) else f"is no longer refused with {old}"
    if bool(old) != bool(new):
        return f"gives {len(new)} rows, and gave {len(old)}"
    if not contains(again, old):
        return ""
    lost = [row for row in old if not any(contains(other, row) for other in new)]
    return f"no longer gives {str(lost[0])[:200]}" if lost else ""
