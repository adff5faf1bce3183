"""awa: its queue storage, jobs by COPY, one queue with 200 workers on 20 connections."""

import asyncio
import dataclasses

import uvloop

from .common import Driver, main, stopped


@dataclasses.dataclass
class Noop:
    number: int


class Awa(Driver):
    """The library's runtime is native; only the handler is Python."""

    name = "awa"
    workers = 2
    producers = 2
    queue = "bench"

    def install(self):
        async def run():
            import awa

            client = awa.AsyncClient(self.url)
            await client.migrate()
            # A fresh database stays with the older storage until this.
            await client.install_queue_storage(schema="awa")
            await client.close()

        uvloop.run(run())

    def producer(self):
        import awa

        client = awa.Client(self.url, max_connections=2)

        def put(numbers):
            client.enqueue_many_copy([Noop(number) for number in numbers], queue=self.queue)

        return put

    def work(self, mode, hooks):
        async def run():
            import awa

            client = awa.AsyncClient(self.url, max_connections=20)

            @client.task(Noop, queue=self.queue)
            async def noop(job):
                hooks.started(job.args.number)
                if hooks.hold:
                    await asyncio.sleep(hooks.hold)

            await client.start([(self.queue, 200 if mode == "drain" else 50)])
            await stopped(hooks)
            await client.shutdown()

        uvloop.run(run())

    def finished(self, connection):
        # What awa.terminal_jobs is made of, without its joins: that view takes seconds on tables not yet analysed.
        return connection.execute(
            """
            SELECT coalesce(sum(jobs), 0)::bigint, extract(epoch FROM max(finalized_at) - min(attempted_at))::float8
            FROM (
                SELECT cardinality(b.job_ids) AS jobs, b.finalized_at,
                    (SELECT min(a) FROM unnest(b.attempted_ats) AS a) AS attempted_at
                FROM awa.receipt_completion_batches b
                UNION ALL
                SELECT 1, d.finalized_at, d.attempted_at FROM awa.done_entries d WHERE d.state = 'completed') AS finished
            """).fetchone()


if __name__ == "__main__":
    main(Awa)
