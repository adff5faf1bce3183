"""Where personal data may be left, and what is found there."""

import glob
import http.client
import os
import subprocess

from Custody.inputs import names, places as scans
from Custody.marks import Family, Mark, manual, search


def hits(trial, others, plain_numbers):
    """How many marks are where, of sealed jobs and of plain ones.

    others: numbers of what was refused and what was sought, which are like those of sealed jobs.
    """
    marks = [Family({value.removeprefix("zqmark"): f"{number}.{key}" for number in (*range(len(trial.jobs)), *others)
                     for key, value in trial.marks_of(number).items()})]
    for name in names():
        with open(trial.input(name), "rb") as file:
            data = file.read()
        marks += [Mark(f"{name}[{place}]", data[place:place + 24]) for place in scans(data)]
    marks += [Mark("signing secret", trial.secret.encode()), Mark("API key", trial.api_key.encode()),
              Mark("device key", trial.device_key.encode()), Mark("vendor's image", b"audit-trail-imageaudit-trail-image")]
    # What is read in the images: the specimens' numbers.
    marks += [Mark("number", b"L898902C3"), Mark("number of the card", b"D23145890")]
    # Of plain jobs, by the names of DEPLOYING.md's list.
    plain = [Family({trial.marks_of(number)[key].removeprefix("zqmark"): key for number in plain_numbers
                     for key in trial.marks_of(number) if key != "note"}), Mark("results", b"T64235789")]
    for name in ("specimens/licence_front.jpg", "faces/biden.jpg"):
        with open(trial.input(name), "rb") as file:
            data = file.read()
        plain += [Mark("parts", data[place:place + 24]) for place in range(700, len(data), len(data) // 8)]
    template = trial.main.query("SELECT embedding FROM insp.face_template WHERE key_id IS NULL")[0][0]
    plain.append(Mark("templates", bytes.fromhex(template)[:24]))
    dump = os.path.join(trial.folder, "dump.sql")
    with open(dump, "wb") as file:
        subprocess.run([os.path.join(trial.main.tools, "pg_dumpall"), "-h", trial.main.folder + "/run", "-U", "inspectd"],
                       stdout=file, check=True)
    with open(os.path.join(trial.folder, "statements"), "w", encoding="utf-8") as file:
        for row in trial.main.query("SELECT query FROM pg_stat_statements"):
            file.write(row[0] + "\n")
    for name, _ in trial.serving.values():
        for path in ("metrics", "healthz", "readyz"):
            connection = http.client.HTTPConnection("127.0.0.1", trial.port(name, "health port open"), timeout=30)
            connection.request("GET", "/" + path)
            with open(os.path.join(trial.logs, f"{name}.{path}"), "wb") as file:
                file.write(connection.getresponse().read())
    trial.main.query("SELECT pg_switch_wal()")
    trial.backup = os.path.join(trial.folder, "main", "backup")
    trial.main.backup(trial.backup)
    trial.main.archive()
    places = {
        "dump": [dump], "wal": [os.path.join(trial.main.folder, "archive")], "baseBackup": [trial.backup],
        "serverLog": [os.path.join(trial.main.folder, "log")], "statements": [os.path.join(trial.folder, "statements")],
        "keyStore": [trial.keys.folder], "programs": [trial.logs],
        "temporary": [trial.temporary, trial.cores, *glob.glob(os.path.join(trial.main.data, "base", "pgsql_tmp*"))]}
    answer = {}
    controls = {}
    for place, folders in places.items():
        found = search(marks, *folders)
        controls[place] = set(search(plain, *folders))
        answer[place] = {"sealed": len(found), "plain": len(controls[place])}
        for name, path in list(found.items())[:5]:
            trial.faults.append(f"{name} is in {os.path.relpath(path, trial.folder)}")
    # The control: what plain SQL leaves, and where, is what the manual says.
    left = manual("deploy/DEPLOYING.md")
    # What is large lies compressed in the server's files, but not in the dump.
    stored = controls["dump"] | controls["wal"] | controls["baseBackup"]
    for column, found, where in ((0, stored, "tables"), (1, controls["serverLog"], "server's log")):
        listed = {name for name, columns in left.items() if columns[column]}
        trial.expect(found == listed, f"the plain jobs' {sorted(found ^ listed)} in the {where} differ from DEPLOYING.md's list")
    for place in ("wal", "baseBackup"):
        trial.expect("parts" in controls[place] and "userReference" in controls[place], f"the search finds no plain job in the {place}")
    for place in ("statements", "keyStore", "programs", "temporary"):
        trial.expect(not controls[place], f"the plain jobs' {sorted(controls[place])} are in the {place}")
    # Bodies may lie compressed, so they are looked at by themselves.
    for table, column in (("step", "body"), ("content", "bytes"), ("job", "sealed")):
        rows = trial.main.query(f"""SELECT count(*) FROM insp.{table} t JOIN insp.job j ON j.id = t.{'id' if table != 'step' else 'job_id'}
            WHERE j.key_id IS NOT NULL AND t.{column} IS NOT NULL AND substr(t.{column}, 1, 1) <> '\\x01'""")
        trial.expect(rows[0][0] == 0, f"{rows[0][0]} rows of {table} are not sealed")
    plain = trial.main.query("SELECT count(*) FILTER (WHERE key_id IS NULL), count(*) FILTER (WHERE length(embedding) <> 1114) FROM insp.face_template")
    trial.expect(plain[0] == (1, 1), f"templates without a key, or not sealed: {plain[0]}; only the plain job's is one")
    return answer


def rewrite(trial, before):
    """No data file of the key store has a destroyed key after the step that the manual names before a copy of the files, and its log no
    key. WAL and archive, which are not searched here, have them until they are deleted (deploy/SEALING.md, "Backups")."""
    trial.command("keys", "sweep", "--rewrite")
    trial.keys.query("CHECKPOINT")
    present = {row[0] for row in trial.keys.query("SELECT id FROM insp.key")}
    contents = []
    for folder, _, files in os.walk(os.path.join(trial.keys.data, "base")):
        for name in files:
            with open(os.path.join(folder, name), "rb") as file:
                contents.append(file.read())
    left = {key for key, wrapped in before.items() if any(wrapped in content for content in contents)}
    with open(os.path.join(trial.keys.folder, "log"), "rb") as file:
        log = file.read()
    logged = sum(wrapped.hex().encode() in log for wrapped in before.values())
    trial.expect(b"add_job_keys" in log and not logged, f"{logged} keys are in the log of the key store's server, or it has no statements")
    trial.expect(before.keys() - present, "no key was destroyed")
    trial.expect(left == before.keys() & present, f"{len(left - present)} destroyed keys are in the key store's files, and {len(present & before.keys() - left)} others are not")
