"""procrastinate: psycopg's pool of 50 connections for 50 concurrent jobs; one fetch and one finish statement a job."""

import asyncio
import logging

import uvloop

from .common import Driver, main, stopped


class Procrastinate(Driver):
    """Jobs are deferred by batches and claimed one by one."""

    name = "procrastinate"
    workers = 2
    producers = 2

    def app(self, connections):
        import procrastinate

        connector = procrastinate.PsycopgConnector(conninfo=self.url, min_size=1, max_size=connections)
        return procrastinate.App(connector=connector)

    def install(self):
        async def run():
            app = self.app(2)
            async with app.open_async():
                await app.schema_manager.apply_schema_async()

        uvloop.run(run())

    def producer(self):
        import procrastinate

        app = procrastinate.App(connector=procrastinate.SyncPsycopgConnector(conninfo=self.url, min_size=1, max_size=1))
        app.open()
        task = app.configure_task("noop")

        def put(numbers):
            task.batch_defer(*[{"number": number} for number in numbers])

        return put

    def work(self, mode, hooks):
        concurrency = 50 if mode == "drain" else 20

        async def run():
            app = self.app(concurrency)

            @app.task(name="noop")
            async def noop(number):
                hooks.started(number)
                if hooks.hold:
                    await asyncio.sleep(hooks.hold)

            async with app.open_async():
                worker = asyncio.create_task(
                    app.run_worker_async(concurrency=concurrency, install_signal_handlers=False))
                await asyncio.wait(
                    [worker, asyncio.create_task(stopped(hooks))], return_when=asyncio.FIRST_COMPLETED)
                worker.cancel()
                await asyncio.wait([worker])

        uvloop.run(run())

    def finished(self, connection):
        # The library notes every change of a job's state as an event.
        return connection.execute(
            """
            SELECT count(*) FILTER (WHERE type = 'succeeded'),
                extract(epoch FROM max(at) FILTER (WHERE type = 'succeeded')
                    - min(at) FILTER (WHERE type = 'started'))::float8
            FROM procrastinate_events
            """).fetchone()


if __name__ == "__main__":
    # A line for each job otherwise, and a warning that this is the main module, which is meant.
    logging.getLogger("procrastinate").setLevel(logging.ERROR)
    main(Procrastinate)
