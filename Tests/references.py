"""What finding jobs by their references costs the request: time, processor time and WAL of insp.enqueue with three references, in turns
with everything, without the index that the list reads, and without any row of a reference.

GET /inspectionjob reads job_reference_pkey (reference, kind, partner, job) alone; job_public_id serves its after, job_pkey its rows.
job_reference_job is erasure's. An index is switched off in the catalog rather than dropped, so that none is ever rebuilt, and so denser.

Usage: Tests/references.py [ROUNDS [JOBS]]    on the empty, migrated database of INSPECTD_DATABASE_URL, as a superuser on the server's
                                              host; nothing else may use that server afterwards. JOBS: how many are there before [200000]
Takes a minute. Prints one JSON line: medians for each job, and what the list adds: the lowest, median and highest of the rounds' differences.
"""

import json
import os
import statistics
import sys
import time

import psycopg2

COUNT = 500
KINDS = ("customer", "user", "criteria")
PAYLOAD = json.dumps({"partner": "bank", "workflow": "id", "parts": {"FRONT": {"url": "https://img.example.com/a", "sha256": "0" * 64}}})
# Every job has a customerInternalReference of its own, every fourth another person, and all share a criterion.
ENQUEUE = """DO $$ BEGIN FOR n IN {first}..{last} LOOP
    PERFORM insp.enqueue('{payload}'::jsonb || jsonb_build_object('customerInternalReference', 'order ' || n, 'userReference',
        'user ' || n / 4, 'reportingCriteria', 'cards'));
    COMMIT;
END LOOP; END $$"""
WAYS = ("withoutReferences", "withoutIndex", "whole")


class Server:
    def __init__(self, before):
        connection = psycopg2.connect(os.environ["INSPECTD_DATABASE_URL"])
        connection.autocommit = True
        self.cursor = connection.cursor()
        self.pid = self.query("SELECT pg_backend_pid()")[0][0]
        self.jobs = 0
        # The disk's speed is not what differs, and whole pages after checkpoints would fall into some rounds alone.
        for setting in ("ALTER SYSTEM SET full_page_writes = off", "SELECT pg_reload_conf()", "SET synchronous_commit = off"):
            self.query(setting)
        self.query("SELECT insp.create_partner('bank')")
        self.noting = self.query("SELECT pg_get_functiondef('insp.note_references'::regproc)")[0][0]
        head = self.noting[:self.noting.index("AS $function$")]
        self.silent = head + "AS $function$ BEGIN END $function$"
        self.query("INSERT INTO insp.job_reference (partner_id, kind, index, job_id) SELECT 1, k, sha256(convert_to(k || CASE k"
                   " WHEN 'customer' THEN n WHEN 'user' THEN n / 4 ELSE 0 END, 'UTF8')), -n FROM generate_series(1, %s) n,"
                   " unnest(%s) k", (before, list(KINDS)))
        self.query("VACUUM (ANALYZE) insp.job_reference")

    def query(self, sql, values=()):
        self.cursor.execute(sql, values or None)
        return self.cursor.fetchall() if self.cursor.description else []

    def seconds(self):
        """Processor time of the connection's server process, which /proc/PID/stat has in hundredths of a second only."""
        with open(f"/proc/{self.pid}/schedstat", encoding="ascii") as file:
            return int(file.read().split()[0]) / 1e9

    def round(self, way):
        """Microseconds on the clock and of the processor, and bytes of WAL, for each job."""
        self.query("UPDATE pg_index SET indisready = %s WHERE indexrelid = 'insp.job_reference_pkey'::regclass", (way != "withoutIndex",))
        self.query(self.silent if way == "withoutReferences" else self.noting)
        rows = self.query("SELECT count(*) FROM insp.job_reference WHERE job_id > 0")[0][0]
        begin, seconds, clock = self.query("SELECT pg_current_wal_insert_lsn()")[0][0], self.seconds(), time.monotonic()
        self.query(ENQUEUE.format(first=self.jobs + 1, last=self.jobs + COUNT, payload=PAYLOAD))
        clock, seconds = time.monotonic() - clock, self.seconds() - seconds
        self.jobs += COUNT
        size = self.query("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), %s)", (begin,))[0][0]
        more = self.query("SELECT count(*) FROM insp.job_reference WHERE job_id > 0")[0][0] - rows
        wanted = 0 if way == "withoutReferences" else COUNT * len(KINDS)
        assert more == wanted, f"{way}: {more} references are stored, not {wanted}"
        return clock / COUNT * 1e6, seconds / COUNT * 1e6, float(size) / COUNT


def spread(values):
    values = sorted(values)
    return [round(values[0], 1), round(statistics.median(values), 1), round(values[-1], 1)]


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    before = int(sys.argv[2]) if len(sys.argv) > 2 else 200_000
    server = Server(before)
    measured = {way: [] for way in WAYS}
    for number in range(rounds + 1):
        # Each way comes first, second and last as often.
        for place in range(len(WAYS)):
            way = WAYS[(number + place) % len(WAYS)]
            result = server.round(way)
            # The first round plans and fills caches.
            if number:
                measured[way].append(result)
    names = ("microseconds", "processorMicroseconds", "walBytes")
    answer = {"rounds": rounds, "jobsEach": COUNT, "jobsBefore": before}
    for place, name in enumerate(names):
        answer[name] = {way: round(statistics.median(one[place] for one in values), 1) for way, values in measured.items()}
        for key, other in (("index", "withoutIndex"), ("references", "withoutReferences")):
            answer[name][key + "Adds"] = spread(
                whole[place] - less[place] for whole, less in zip(measured["whole"], measured[other]))
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
