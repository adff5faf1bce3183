"""pgqueuer: durable tables, the project's own autovacuum settings, one asyncpg connection for each process."""

import asyncio
import contextlib

import uvloop

from .common import Driver, main, stopped


class Pgqueuer(Driver):
    """Jobs are enqueued by lists, claimed by batches, and their completion is logged by batches."""

    name = "pgqueuer"
    workers = 2
    producers = 2

    def install(self):
        async def run():
            import asyncpg
            from pgqueuer.queries import Queries

            connection = await asyncpg.connect(self.url)
            queries = Queries.from_asyncpg_connection(connection)
            await queries.install()
            await queries.optimize_autovacuum()
            await connection.close()

        uvloop.run(run())

    def producer(self):
        import asyncpg
        from pgqueuer.queries import Queries

        loop = uvloop.new_event_loop()
        queries = Queries.from_asyncpg_connection(loop.run_until_complete(asyncpg.connect(self.url)))

        def put(numbers):
            count = len(numbers)
            payloads = [str(number).encode() for number in numbers]
            loop.run_until_complete(queries.enqueue(["noop"] * count, payloads, [0] * count))

        return put

    def work(self, mode, hooks):
        async def run():
            import asyncpg
            from pgqueuer import PgQueuer

            worker = PgQueuer.from_asyncpg_connection(await asyncpg.connect(self.url))

            @worker.entrypoint("noop")
            async def noop(job):
                hooks.started(job.payload)
                if hooks.hold:
                    await asyncio.sleep(hooks.hold)

            async def watch():
                await stopped(hooks)
                worker.shutdown.set()

            watching = asyncio.create_task(watch())
            # The default batch of 10 drains at a third of this rate; for one job at a time it is the better one.
            await worker.run(batch_size=250 if mode == "drain" else 10)
            with contextlib.suppress(asyncio.CancelledError):
                await watching

        uvloop.run(run())

    def finished(self, connection):
        # A job has one row for each change of its state; the first "picked" and the last "successful" count.
        return connection.execute(
            """
            SELECT count(*) FILTER (WHERE status = 'successful'),
                extract(epoch FROM max(created) FILTER (WHERE status = 'successful')
                    - min(created) FILTER (WHERE status = 'picked'))::float8
            FROM pgqueuer_log
            """).fetchone()


if __name__ == "__main__":
    main(Pgqueuer)
