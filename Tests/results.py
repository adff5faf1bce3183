"""Compares the tables of deploy/RESULTS.md with those of a new database: workflows, parts, labels, reasons, events, errors.

Usage: Tests/results.py INSPECTD [--renew]     the built program; INSPECTD_TEST_DATABASE_URL names a server, else one is started
    --renew    rewrites the tables; the meaning of a label stays as it is written there
"""

import difflib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MANUAL = ROOT / "deploy/RESULTS.md"
MEANINGS = "Labels"
# The table under each heading: its columns, and the rows as the database has them. Words in code's type face stand in backquotes.
CODES = "coalesce((SELECT string_agg('`' || x || '`', ', ') FROM unnest({}) x), '')"
TABLES = {
    "Workflows": ("workflow | key | decides | needs | a link takes", f"""
        SELECT '`' || name || '`', '`' || definition_key || '`', {CODES.format('capabilities')},
            concat_ws('; ', nullif({CODES.format('needs_all')}, ''), 'one of ' || nullif({CODES.format('needs_one')}, '')),
            {CODES.format('captures')}
        FROM insp.workflow ORDER BY definition_key"""),
    "Parts": ("part | what it is", "SELECT '`' || kind || '`', meaning FROM insp.part_kind ORDER BY place"),
    "Labels": ("label | given by | risk", f"""
        SELECT '`' || label || '`', CASE WHEN NOT is_given THEN 'not assessed' WHEN capabilities = '{{}}' THEN 'the whole job'
            WHEN capabilities @> (SELECT array_agg(c) FROM insp.workflow, unnest(capabilities) c) THEN 'every capability' ELSE {CODES.format('capabilities')} END,
            CASE risk WHEN 0 THEN '' ELSE risk::text END
        FROM insp.label ORDER BY capabilities <> '{{}}', NOT is_given, is_objection, label COLLATE "C" """),
    "Reject reasons": ("number | reason | labels | parts | mobile", f"""
        SELECT coalesce(contract_code::text, ''), '`' || code || '`', {CODES.format('labels')}, {CODES.format('parts')}, coalesce(mobile_code, '')
        FROM insp.reasons() ORDER BY contract_code, code COLLATE "C" """),
    "Advice": ("reason | advice | Hinweis", """
        SELECT '`' || r.code || '`', r.advice, d.advice FROM insp.reasons('en') r JOIN insp.reasons('de') d USING (code)
        ORDER BY r.contract_code, r.code COLLATE "C" """),
    "Events of the face SDK": ("outcome | status | code | error", """
        SELECT outcome, status, coalesce(code::text, ''), coalesce('`' || error || '`', '') FROM insp.face_outcome
        ORDER BY status DESC, code NULLS LAST, outcome COLLATE "C" """),
    "Errors": ("code | meaning | HTTP | SQLSTATE | retry | mobile | face | payment", """
        SELECT '`' || code || '`', message, coalesce(http_status::text, ''), sqlstate, CASE WHEN retryable THEN 'yes' ELSE '' END, mobile_code,
            coalesce('`' || face_code || '`', ''), coalesce(payment_code::text, '') FROM insp.v_error ORDER BY sqlstate"""),
}


def rows_of(url, query):
    output = subprocess.run(["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-F", "\x1f", "-R", "\x1e", "-c", query, url], check=True,
                            stdout=subprocess.PIPE, text=True).stdout
    return [row.strip("\n").split("\x1f") for row in output.split("\x1e")]


def table(heading, url, lines):
    """A table as it should be; `lines` are those of the manual."""
    columns, query = TABLES[heading]
    header, rows = columns.split(" | "), rows_of(url, query)
    if heading == MEANINGS:
        written = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
        meanings = {cells[0]: cells[-1] for cells in written if len(cells) == len(header) + 1}
        header, rows = [*header, "meaning"], [[*row, meanings.get(row[0], "")] for row in rows]
        missing = [row[0] for row in rows if not row[-1]]
        assert not missing, f"no meaning in {MANUAL.name}: {', '.join(missing)}"
    made = [f"| {' | '.join(row)} |".replace("|  |", "| |") for row in (header, *rows)]
    return [made[0], "|---" * len(header) + "|", *made[1:]]


def renewed(text, url):
    """The manual with every table as the database has it."""
    lines, heading, found = [], None, set()
    remaining = text.splitlines()
    while remaining:
        if remaining[0].startswith("#"):
            heading = remaining[0].lstrip("# ")
        if remaining[0].startswith("|") and heading in TABLES and heading not in found:
            found.add(heading)
            end = next((n for n, line in enumerate(remaining) if not line.startswith("|")), len(remaining))
            lines += table(heading, url, remaining[:end])
            remaining = remaining[end:]
        else:
            lines.append(remaining.pop(0))
    assert found == set(TABLES), f"no table under {set(TABLES) - found}"
    return "\n".join(lines) + "\n"


def main():
    program, server, own = str(Path(sys.argv[1]).resolve()), os.environ.get("INSPECTD_TEST_DATABASE_URL"), None
    with tempfile.TemporaryDirectory() as folder:
        if not server:
            own = Path(folder) / "postgres"
            server = subprocess.run([ROOT / "deploy/scratch-postgres.sh", "start", own], check=True, stdout=subprocess.PIPE,
                                    text=True).stdout.strip()
        name = f"results_{os.getpid()}"
        url = re.sub(r"^(postgres(?:ql)?://[^/]*/)[^?]*", rf"\g<1>{name}", server)
        environment = {**os.environ, "INSPECTD_DATABASE_URL": url}
        subprocess.run(["psql", "-Xqc", f"CREATE DATABASE {name}", server], check=True)
        try:
            for command in (["migrate", "--roles"], ["migrate"]):
                subprocess.run([program, *command], env=environment, check=True, stdout=subprocess.DEVNULL)
            text = MANUAL.read_text()
            expected = renewed(text, url)
        finally:
            subprocess.run(["psql", "-Xqc", f"DROP DATABASE {name} WITH (FORCE)", server], check=True)
            if own:
                subprocess.run([ROOT / "deploy/scratch-postgres.sh", "stop", own], check=True)
    if "--renew" in sys.argv:
        MANUAL.write_text(expected)
    elif text != expected:
        sys.stdout.writelines(line + "\n" for line in difflib.unified_diff(
            text.splitlines(), expected.splitlines(), "deploy/RESULTS.md", "a new database", lineterm=""))
        sys.exit("deploy/RESULTS.md differs from a new database; if it should, run Tests/results.py INSPECTD --renew")
    print(f"{len(TABLES)} tables: as a new database has them")


if __name__ == "__main__":
    main()
