"""PgQ, by its SQL functions: one consumer that takes whole batches, ticked by hand after every 1,000 events.

Not the same service: no claim, state or lease of a single job, so its rate is not comparable. It shows what a log gives up.
"""

import time

import psycopg

from .common import CHUNK, Driver, main


class PgQ(Driver):
    """An event log with rotated tables; a batch is finished as a whole."""

    name = "pgq"
    workers = 1
    producers = 2
    no_pickup = "events are handed out at ticks, by default once a second"
    no_crash = "a batch belongs to the consumer by name, whoever asks for it again"
    queue = "bench"
    consumer = "bench"

    def install(self):
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("CREATE EXTENSION pgq")
            connection.execute("SELECT pgq.create_queue(%s)", (self.queue,))
            connection.execute("SELECT pgq.register_consumer(%s, %s)", (self.queue, self.consumer))
            # Otherwise the ticker waits for its own conditions; here a tick follows every chunk.
            connection.execute("SELECT pgq.set_queue_config(%s, 'ticker_max_count', '1')", (self.queue,))

    def producer(self):
        connection = psycopg.connect(self.url, autocommit=True)

        def put(numbers):
            connection.execute(
                "SELECT count(pgq.insert_event(%s, 'noop', u.data)) FROM unnest(%s::text[]) AS u (data)",
                (self.queue, [str(number) for number in numbers]))
            connection.execute("SELECT pgq.ticker(%s)", (self.queue,))

        return put

    def work(self, mode, hooks):
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("CREATE TABLE seen (batch bigint, events integer, began timestamptz, ended timestamptz)")
            connection.execute("SELECT pgq.force_tick(%s)", (self.queue,))
            connection.execute("SELECT pgq.ticker(%s)", (self.queue,))
            while not hooks.stopping:
                row = connection.execute(
                    "SELECT pgq.next_batch(%s, %s), clock_timestamp()", (self.queue, self.consumer)).fetchone()
                if row[0] is None:
                    time.sleep(0.05)
                    continue
                events = connection.execute(
                    "SELECT ev_id, ev_data FROM pgq.get_batch_events(%s)", (row[0],)).fetchall()
                for event in events:
                    hooks.started(event[1])
                connection.execute("SELECT pgq.finish_batch(%s)", (row[0],))
                # PgQ keeps no trace of what was finished when, so the consumer does; a row for each batch costs little.
                connection.execute(
                    "INSERT INTO seen VALUES (%s, %s, %s, clock_timestamp())", (row[0], len(events), row[1]))

    def finished(self, connection):
        return connection.execute(
            "SELECT coalesce(sum(events), 0)::bigint, extract(epoch FROM max(ended) - min(began))::float8 FROM seen"
        ).fetchone()


if __name__ == "__main__":
    assert CHUNK == 1000
    main(PgQ)
