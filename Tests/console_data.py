"""The starting point of Tests/console.py: a database with something for each page, and free ports."""

import json
import os
import socket
import subprocess

MARK = "<img src=x onerror=\"window.zqmark=1\"><script>window.zqmark=1</script>"
HOLD = """
    WITH worker AS MATERIALIZED (SELECT gen_random_uuid() AS incarnation), registered AS MATERIALIZED (
        SELECT w.incarnation, r.worker_id FROM worker w,
            LATERAL insp.worker_register(w.incarnation, 'h', 1, 'x', NULL, '{0,1,2}', 64) r), claimed AS MATERIALIZED (
        SELECT c.job_id, c.fence FROM registered r, LATERAL insp.claim(r.worker_id, r.incarnation, '330 s', 64,
            ARRAY(SELECT q.id FROM insp.queue q), ARRAY(SELECT 0::bigint FROM insp.queue q),
            ARRAY(SELECT 64 FROM insp.queue q), 2147483647, 0, 0, false) c WHERE c.job_id IS NOT NULL)
    SELECT count(h) FROM (
        SELECT array_agg(c.job_id) AS jobs, array_agg(c.fence) AS fences, array_agg($s${"decision":{"type":"WARNING","details":
            {"label":"BLURRY"}},"labels":[{"capability":"usability","label":"BLURRY"}]}$s$::text) AS summaries,
            array_agg(convert_to($b$BODY$b$, 'UTF8')) AS bodies FROM claimed c) x,
        LATERAL insp.hold_for_review(x.jobs, x.fences, x.summaries, x.bodies, '{}', '{}', '{}', '{}') h
"""


def sql(text):
    command = ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", os.environ["INSPECTD_DATABASE_URL"], "-c", text]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def prepare():
    """Three cases, five dead letters, and a partner that is none of ann's business."""
    sql("SELECT insp.create_partner('bank'), insp.create_partner('shop'); SELECT insp.set_partner('bank', review => 'always')")
    sql("SELECT count(insp.enqueue('{\"partner\":\"bank\",\"workflow\":\"id\"}', front => 'x')) FROM generate_series(1, 3)")
    body = json.dumps({
        "capabilities": {}, "reasons": [], "rejectReasons": [{"code": 2001, "message": MARK, "part": "FRONT"}], "faces": [],
        "engine": {"versions": {MARK: "1"}, "models": {}, "timingsMs": {}},
    })
    sql(HOLD.replace("BODY", body))
    sql("SELECT count(insp.enqueue('{\"partner\":\"bank\",\"workflow\":\"id\"}', front => 'x')) FROM generate_series(1, 5)")
    sql("SELECT count(insp.cancel(public_id)) FROM insp.job WHERE status = 1")
    sql("INSERT INTO insp.dead (job_id, partner_id, code, attempts, crashes) SELECT id, partner_id, 'TIMED_OUT', 8, 0 FROM insp.job "
        "WHERE status = 128")
    # An image of each case, as the worker's first stage stores it, and a minute of plots.
    image = {"format": "JPEG", "width": 1500, "height": 1000, "orientation": 6, "storedWidth": 1000, "storedHeight": 1500}
    facts = json.dumps({"images": {"FRONT": image}, "cpuMs": 1})
    sql(f"INSERT INTO insp.step (job_id, status, fence, seal, body) SELECT job_id, 4, 1, 0, convert_to('{facts}', 'UTF8') FROM insp.review_wait")
    sql("SELECT insp.sample_queue()")
    return sql("SELECT string_agg(id::text, ' ' ORDER BY since DESC) FROM insp.v_review").split()
