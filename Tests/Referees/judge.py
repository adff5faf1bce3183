"""Asks the product about cases of others and judges its answers, for the suites beside this file.

Cases with a different outcome for a reason are in SUITE.exceptions, one rule a line:

    FAMILY CONDITIONS EXPECTED:ANSWERED REASON

CONDITIONS are facts of a case joined by `&`: `name=value`, `name!=value`, or `-` for none. EXPECTED is what the case asks for, or
`*` where no answer of the product could tell anything: none of these cases counts as passed. `FAMILY CONDITIONS not-assessed
REASON` names what the product has no code for. The first rule that fits counts, and one that fits no case is a failure.
"""

import base64
import collections
import json
import subprocess
import sys
import tempfile
from pathlib import Path


class Case:
    """One case: `expected` is accept, refuse or either; `made` what must come of it where it is accepted, or what must be found."""

    def __init__(self, family, name, question, expected, made=None, **facts):
        self.family, self.name, self.question = family, name, question
        self.expected, self.made, self.facts = expected, made, facts
        self.answered = None

    def take(self, answer):
        self.answered = answer["answer"]
        if isinstance(self.made, dict):
            found = answer.get("facts") or {}
            other = sorted(name for name, value in self.made.items() if found.get(name) != value)
            if other:
                self.answered += "-but-" + "+".join(f"{name}:{found.get(name)}" for name in other)
        elif self.answered == "accept" and self.made is not None:
            made = base64.b64decode(answer.get("bytes") or "") if isinstance(self.made, bytes) else answer.get("text")
            if made != self.made:
                self.answered = "something-else"

    @property
    def is_good(self):
        return self.answered == self.expected or self.expected == "either" and self.answered in ("accept", "refuse")


class Rule:
    def __init__(self, line):
        self.family, conditions, outcome, self.reason = line.split(None, 3)
        self.conditions = [] if conditions == "-" else conditions.split("&")
        self.is_open = outcome == "not-assessed"
        self.expected, _, self.answered = ("*", "", "") if self.is_open else outcome.partition(":")
        self.used = 0

    def holds(self, condition, facts):
        name, _, value = condition.partition("=")
        is_other = name.endswith("!")
        # A fact that is not there is a misspelt rule.
        return (str(facts[name.rstrip("!")]) == value) != is_other

    def fits(self, case):
        if self.family != case.family or self.is_open != (case.question is None):
            return False
        if not all(self.holds(condition, case.facts) for condition in self.conditions):
            return False
        if self.is_open:
            return True
        return case.answered == self.answered and (self.expected == "*" or self.expected == case.expected and not case.is_good)


def encoded(question):
    """Bytes as Base64, everything as text."""
    return json.dumps({
        name: base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)
        for name, value in question.items()})


def ask(program, cases):
    """All cases in one process."""
    lines = "".join(encoded(case.question) + "\n" for case in cases)
    run = subprocess.run([program], input=lines.encode(), stdout=subprocess.PIPE, check=False, timeout=600)
    answers = run.stdout.splitlines()
    if run.returncode or len(answers) != len(cases):
        case = f", at {cases[len(answers)].name}" if len(answers) < len(cases) else ""
        sys.exit(f"{program} ended with status {run.returncode} after {len(answers)} of {len(cases)} answers{case}")
    for case, answer in zip(cases, answers):
        case.take(json.loads(answer))


def judge(suite, program, cases, counts):
    """Prints what came out, and ends the process. `counts`: the cases that each family must have."""
    rules = [
        Rule(line) for line in (Path(__file__).parent / f"{suite}.exceptions").read_text().splitlines()
        if line and not line.startswith("#")]
    found = collections.Counter(case.family for case in cases)
    failures = [
        f"{family}: {found[family]} cases, not {counts.get(family, 0)}: another edition of the set, or some are left out"
        for family in sorted(found.keys() | counts.keys()) if found[family] != counts.get(family, 0) or not found[family]]
    if not cases:
        failures.append(f"{suite} has no case")
    names = collections.Counter(case.name for case in cases)
    failures += [f"{name}: {number} cases of this name" for name, number in names.items() if number > 1]
    ask(program, [case for case in cases if case.question is not None])

    table = {family: collections.Counter() for family in counts}
    for case in cases:
        rule = next((rule for rule in rules if rule.fits(case)), None)
        if rule:
            rule.used += 1
            column = "not assessed" if rule.is_open else "exceptions"
        elif case.question is None:
            column = "failed"
            failures.append(f"{case.name}: not assessed, and no rule says why")
        elif case.is_good:
            column = "passed"
        else:
            column = "failed"
            failures.append(f"{case.name}: {case.answered}, not {case.expected} {json.dumps(case.facts)}")
        table.setdefault(case.family, collections.Counter())[column] += 1
    failures += [f"{rule.family}: no case needs the exception: {rule.reason}" for rule in rules if not rule.used]

    for family, columns in table.items():
        print(f"{family}: {sum(columns.values())} cases: " + ", ".join(f"{columns[name]} {name}" for name in columns))
    for rule in rules:
        print(f"{'not assessed' if rule.is_open else 'exception'}: {rule.family}, {rule.used} cases: {rule.reason}")
    for failure in failures:
        print(failure, file=sys.stderr)
    total = sum(table.values(), collections.Counter())
    print(json.dumps({
        "suite": suite, "cases": len(cases), "passed": total["passed"], "failed": len(failures),
        "exceptions": total["exceptions"], "not_assessed": total["not assessed"]}))
    sys.exit(1 if failures else 0)


class KeyFiles:
    """Private keys in files, as an operator gives them to a worker: a key's id is its file's name."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="inspectd-keys")
        self.known = {}

    def path(self, text, key_id=None):
        if (text, key_id) not in self.known:
            # Each in a folder of its own, since several may have one id.
            folder = Path(self.folder.name) / str(len(self.known))
            folder.mkdir()
            path = folder / f"{key_id or 'key'}.pem"
            path.write_text(text)
            self.known[text, key_id] = str(path)
        return self.known[text, key_id]
