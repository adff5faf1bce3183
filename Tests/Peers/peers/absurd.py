"""absurd: the asynchronous worker with 50 concurrent tasks on one connection; it polls and has no notification."""

import asyncio
import json
import os
import subprocess
import sys

import psycopg
import uvloop

from .common import Driver, main, stopped


class Absurd(Driver):
    """Durable tasks; this one has no step."""

    name = "absurd"
    workers = 2
    producers = 2
    queue = "bench"

    def install(self):
        # Its own tool, which brings the SQL of the same version along.
        tool = os.path.join(os.path.dirname(sys.executable), "absurdctl")
        for command in (["init"], ["create-queue", self.queue]):
            subprocess.run(
                [tool, *command], check=True, stdout=subprocess.DEVNULL,
                env={**os.environ, "ABSURD_DATABASE_URL": self.url, "PGDATABASE": self.url})

    def producer(self):
        connection = psycopg.connect(self.url, autocommit=True)

        def put(numbers):
            # The SDK spawns one task a call. This is the function that it calls, for a whole chunk in one statement.
            connection.execute(
                "SELECT count(*) FROM unnest(%s::text[]) AS u (params), "
                "LATERAL absurd.spawn_task(%s, 'noop', u.params::jsonb, '{}')",
                ([json.dumps({"number": number}) for number in numbers], self.queue))

        return put

    def work(self, mode, hooks):
        concurrency = 50 if mode == "drain" else 10

        async def run():
            from absurd_sdk import AsyncAbsurd

            app = AsyncAbsurd(self.url, queue_name=self.queue)

            @app.register_task(name="noop")
            async def noop(params, context):
                hooks.started(params["number"])
                if hooks.hold:
                    await asyncio.sleep(hooks.hold)

            worker = asyncio.create_task(app.start_worker(concurrency=concurrency, batch_size=concurrency))
            await asyncio.wait([worker, asyncio.create_task(stopped(hooks))], return_when=asyncio.FIRST_COMPLETED)
            app.stop_worker()
            await worker
            await app.close()

        uvloop.run(run())

    def finished(self, connection):
        return connection.execute(
            f"""
            SELECT count(*), extract(epoch FROM max(completed_at) - min(started_at))::float8
            FROM absurd.r_{self.queue} WHERE state = 'completed'
            """).fetchone()


if __name__ == "__main__":
    main(Absurd)
