"""What it costs the database that a delivered result is on record: processor time and WAL of insp.callback_settle with that row and
without, alternately.

Usage: Tests/settle.py [ROUNDS]      on the empty, migrated database of INSPECTD_DATABASE_URL, as a superuser on the server's host
Prints one JSON line.
"""

import json
import os
import statistics
import sys

import psycopg2

COUNT, BATCH = 4000, 200
CALL = ("SELECT * FROM insp.{}(%s::bigint[], %s::bigint[], %s::bigint[], '{{}}', '{{}}', %s::bigint[], %s::bigint[], %s::bigint[],"
        " '{{}}', '{{}}', 'worker')")


class Server:
    def __init__(self):
        connection = psycopg2.connect(os.environ["INSPECTD_DATABASE_URL"])
        connection.autocommit = True
        self.cursor = connection.cursor()
        self.pid = self.query("SELECT pg_backend_pid()")[0][0]
        self.jobs = 0

    def query(self, sql, values=()):
        self.cursor.execute(sql, values)
        return self.cursor.fetchall() if self.cursor.description else []

    def seconds(self):
        """Processor time of the connection's server process."""
        with open(f"/proc/{self.pid}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def set_up(self):
        self.query("SELECT insp.create_partner('bank', 'https://hooks.example.com/x')")
        self.query("SELECT insp.set_endpoint(id, '{\"inlineResult\": true}') FROM insp.endpoint")
        body = self.query("SELECT pg_get_functiondef('insp.callback_settle'::regproc)")[0][0]
        start, end = body.index("IF told IS NOT NULL THEN"), body.index("IF cardinality(p_ids) >")
        self.query((body[:start] + "\n" + body[end:]).replace("insp.callback_settle(", "insp.settle_without("))

    def round(self, function):
        """Microseconds and bytes of WAL for each callback."""
        # Without triggers, which make each callback wait.
        self.query("SET session_replication_role = replica")
        ids = [row[0] for row in self.query(
            "INSERT INTO insp.callback (job_id, endpoint_id, url, public_id, definition_key, decision, has_result)"
            " SELECT %s + n, 1, 'https://hooks.example.com/x', gen_random_uuid(), '2', 'PASSED', true FROM generate_series(1, %s) n"
            " RETURNING id", (self.jobs, COUNT))]
        self.jobs += COUNT
        self.query("INSERT INTO insp.callback_lease (callback_id, endpoint_id, claim_id, lease_until, attempts, released, due_at)"
                   " SELECT i, 1, i, now() + interval '1 hour', 0, 0, now() FROM unnest(%s::bigint[]) i", (ids,))
        self.query("RESET session_replication_role")
        begin = self.query("SELECT pg_current_wal_insert_lsn()")[0][0]
        seconds = self.seconds()
        for place in range(0, COUNT, BATCH):
            part = ids[place:place + BATCH]
            self.query(CALL.format(function), ([1] * BATCH, part, part, [1_700_000_000_000_000] * BATCH, [10] * BATCH, [200] * BATCH))
        seconds = self.seconds() - seconds
        size = self.query("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), %s)", (begin,))[0][0]
        return seconds / COUNT * 1e6, float(size) / COUNT


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 12
    server = Server()
    server.set_up()
    measured = {"callback_settle": [], "settle_without": []}
    for number in range(rounds + 1):
        for name in sorted(measured, reverse=number % 2 == 1):
            result = server.round(name)
            # The first one plans and fills caches.
            if number:
                measured[name].append(result)
    pairs = [(one[0] - other[0], one[1] - other[1]) for one, other in zip(*measured.values())]
    times = sorted(pair[0] for pair in pairs)
    print(json.dumps({
        "rounds": rounds, "callbacksEach": COUNT,
        "microseconds": {name: round(statistics.median(t for t, _ in values), 1) for name, values in measured.items()},
        "moreMicroseconds": {"median": round(statistics.median(times), 1), "lowest": round(times[0], 1), "highest": round(times[-1], 1)},
        "moreWALBytes": round(statistics.median(pair[1] for pair in pairs)),
    }))


if __name__ == "__main__":
    main()
