"""Runs the blocks of sh and sql of .github/CONTRIBUTING.md and deploy/DEPLOYING.md as printed, against real clusters. Only
`runuser -u postgres --` is left out: it takes root, and the clusters here are the caller's.

What cannot run has a line `<!-- not run: WHY -->` before it. A block of any page that is neither run, here or by
Tests/readme.py and Tests/operating.py, nor marked so fails. Tests/clients.py runs the pages of deploy/clients/.

Usage: Tests/guides.py BIN     the folder with the built inspectd
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import readme

ROOT = readme.ROOT
CONTRIBUTING, DEPLOYING = ROOT / ".github/CONTRIBUTING.md", ROOT / "deploy/DEPLOYING.md"
# Whose blocks others run, all of them.
ELSEWHERE = {*readme.PAGES, "deploy/CALLBACKS.md", "deploy/RUNBOOKS.md", "deploy/OPERATING.md"}
MARK = re.compile(r"<!-- not run: .{10,} -->")


def blocks(page):
    """The blocks of sh and sql that are not marked: heading, language, text."""
    found, heading, language, lines, last = [], "", None, [], ""
    for line in page.read_text().splitlines():
        if language is not None:
            if line.startswith("```"):
                if language in ("sh", "sql"):
                    found.append((heading, language, "\n".join(lines)))
                language, last = None, ""
            else:
                lines.append(line)
        elif line.startswith("```"):
            language, lines = line[3:] if not MARK.fullmatch(last) else "marked", []
        else:
            heading = line.lstrip("# ") if line.startswith("#") else heading
            last = line or last
    return found


def execute(words, environment, folder, text=None):
    done = subprocess.run(words, input=text, cwd=folder, env=environment, text=True, timeout=120,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, (words, text, done.stdout[-2000:])
    return done.stdout.strip()


def run(language, text, environment, folder):
    if language == "sql":
        return execute(["psql", "-Xq", "-v", "ON_ERROR_STOP=1", "postgresql:///postgres"], environment, folder, text)
    return execute(["bash", "-e", "-c", text.replace("runuser -u postgres -- ", "")], environment, folder, "")


def query(url, sql, environment):
    return execute(["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", url, "-c", sql], environment, ROOT)


def cluster(environment, folder):
    """A cluster as Debian makes it: its superuser is postgres, and no other role is there. Its environment."""
    url = subprocess.run([ROOT / "deploy/scratch-postgres.sh", "start", folder], check=True, text=True,
                         stdout=subprocess.PIPE).stdout.strip()
    query(url, "CREATE ROLE postgres SUPERUSER LOGIN", environment)
    environment = {**environment, "PGHOST": re.search(r"host=([^&]*)", url)[1], "PGUSER": "postgres"}
    query("postgresql:///postgres", "ALTER ROLE inspectd RENAME TO first", environment)
    return environment


def check_deploying(environment, folder):
    clusters = {"Roles": cluster(environment, folder / "main"), "Keys": cluster(environment, folder / "keys")}
    ran = 0
    for heading, language, text in blocks(DEPLOYING):
        run(language, text, clusters[heading], folder)
        ran += 1
    assert ran >= 6, ran
    main, keys = clusters["Roles"], clusters["Keys"]
    # The owner, who cannot create roles, migrates; then each login can connect and has the rights of its group.
    owner = {**environment, "INSPECTD_DATABASE_URL": f"postgresql:///inspectd?host={main['PGHOST']}&user=inspectd"}
    execute(["inspectd", "migrate"], owner, folder)
    for base, site, logins in (
            ("inspectd", main, (("worker", "insp_worker"), ("gateway", "insp_gateway"), ("scaler", "insp_auditor"), ("signer", "insp_signer"))),
            ("inspectd_keys", keys, (("worker", "keys_eraser"), ("gateway", "keys_custodian"), ("locksmith", "keys_locksmith")))):
        for login, group in logins:
            has = query(f"postgresql:///{base}", f"SELECT pg_has_role(current_user, '{group}', 'USAGE')", {**site, "PGUSER": login})
            assert has == "t", (login, group)


def check_contributing(environment, folder):
    # The repository as its pages see it, so that the block's cluster and build lie where it says.
    (folder / ".build").mkdir()
    (folder / ".build/debug").symlink_to(environment["BIN"])
    for name in ("deploy", "Migrations", "Tests"):
        (folder / name).symlink_to(ROOT / name)
    try:
        (block,) = blocks(CONTRIBUTING)
        run(*block[1:], environment, folder)
        url = execute(["deploy/scratch-postgres.sh", "url", ".build/postgres"], environment, folder)
        assert query(url, "SELECT count(*) FROM insp.partner", environment) == "0"
    finally:
        subprocess.run(["deploy/scratch-postgres.sh", "stop", ".build/postgres"], cwd=folder, stdout=subprocess.DEVNULL)


def main():
    pages = [*ROOT.glob("*.md"), *ROOT.glob("deploy/**/*.md"), *ROOT.glob(".github/*.md"), *ROOT.glob(".devcontainer/*.md")]
    for page in pages:
        name = str(page.relative_to(ROOT))
        assert page in (CONTRIBUTING, DEPLOYING) or name in ELSEWHERE or not blocks(page), f"{name}: nobody runs its blocks"
    folder = Path(sys.argv[1]).resolve()
    environment = {**os.environ, "BIN": str(folder), "PATH": f"{folder}:{os.environ['PATH']}", "INSPECTD_MIGRATIONS": str(ROOT / "Migrations")}
    for name in [name for name in environment if name.startswith(("INSPECTD_DATABASE", "INSPECTD_KEYS", "INSPECTD_WRAPPING", "PG"))]:
        del environment[name]
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        for name in ("deploying", "contributing"):
            (scratch / name).mkdir()
        try:
            check_deploying(environment, scratch / "deploying")
            check_contributing(environment, scratch / "contributing")
        finally:
            for name in ("main", "keys"):
                subprocess.run([ROOT / "deploy/scratch-postgres.sh", "stop", scratch / "deploying" / name], stdout=subprocess.DEVNULL)
    print("2 guides: as they say")


if __name__ == "__main__":
    main()
