-- Fills a scratch database for Tests/console-pages.sh: :jobs jobs of 20 partners, of which 10 % wait, 1 % wait for a review, and 1 % are
-- dead letters, half of them resolved; two steps and an event of each that ended, an access on record for every second one, a delivered
-- callback for every fourth one, and a week of samples. Rows are written as they lie after settlement, without its checks.
\set ON_ERROR_STOP on
SET synchronous_commit = off;
SET session_replication_role = replica;
SELECT count(insp.create_partner('p' || lpad(n::text, 2, '0'))) FROM generate_series(1, 20) n;
SELECT insp.ensure_partitions();
INSERT INTO insp.queue (region, lane, partner_id) SELECT 0, 1, p.id FROM insp.partner p ON CONFLICT DO NOTHING;
CREATE TEMP TABLE fresh AS
SELECT nextval('insp.job_id') AS id, n, 1 + n / 100 % 20 AS place,
    CASE WHEN n % 10 = 0 THEN 1 WHEN n % 100 = 1 THEN 64 ELSE 128 END AS status,
    now() - (:jobs - n) * interval '7 days' / :jobs AS at
FROM generate_series(1, :jobs) n;
CREATE TEMP TABLE owner AS SELECT p.id, row_number() OVER (ORDER BY p.name) AS place FROM insp.partner p WHERE p.name ~ '^p[0-9]{2}$';
INSERT INTO insp.job (id, partner_id, lane, status, created_at, started_at, completed_at, expires_at, workflow, request)
SELECT f.id, o.id, 1, f.status, f.at, f.at + interval '1 s', CASE f.status WHEN 128 THEN f.at + interval '3 s' END,
    f.at + interval '14 days', 'id', '{"workflow": "id"}'
FROM fresh f JOIN owner o ON o.place = f.place ORDER BY f.id;
INSERT INTO insp.step (job_id, status, fence, stored_at, summary, body)
SELECT f.id, s.status, 1, f.at + interval '2 s', CASE WHEN s.status >= 64 THEN
    '{"decision": {"type": "WARNING", "details": {"label": "BLURRY"}}, "labels": [{"capability": "usability", "label": "BLURRY"}], "rejectReasons": []}'::jsonb END,
    convert_to('{"capabilities": {}, "reasons": [], "rejectReasons": [], "faces": [], "engine": {"versions": {}, "models": {}, "timingsMs": {}}}', 'UTF8')
FROM fresh f CROSS JOIN LATERAL (VALUES (f.status)) s (status) WHERE f.status >= 64 ORDER BY f.id;
INSERT INTO insp.event (job_id, kind, fence, at, detail)
SELECT f.id, 'finished', 0, f.at + interval '3 s', '{"decision": "WARNING"}' FROM fresh f WHERE f.status = 128 ORDER BY f.id;
INSERT INTO insp.part (job_id, kind, size, sha256, content_id) SELECT f.id, 'FRONT', 1, sha256(''), f.id FROM fresh f ORDER BY f.id;
INSERT INTO insp.job_reference (partner_id, kind, index, job_id)
SELECT o.id, 'user', sha256(convert_to((f.n / 5)::text, 'UTF8')), f.id FROM fresh f JOIN owner o ON o.place = f.place;
INSERT INTO insp.ready (job_id, queue)
SELECT f.id, q.id FROM fresh f JOIN owner o ON o.place = f.place JOIN insp.queue q ON q.partner_id = o.id AND q.lane = 1 AND q.region = 0
WHERE f.status = 1 ORDER BY f.id;
INSERT INTO insp.review_wait (job_id, partner_id, since)
SELECT f.id, o.id, f.at FROM fresh f JOIN owner o ON o.place = f.place WHERE f.status = 64 ORDER BY f.id;
INSERT INTO insp.dead (job_id, partner_id, code, attempts, crashes, died_at, resolved_at, resolved_by)
SELECT f.id, o.id, CASE WHEN f.n % 1000 = 2 THEN 'CORRUPT_IMAGE' ELSE 'TIMED_OUT' END, 8, 0, f.at,
    CASE WHEN f.n % 200 = 2 THEN f.at END, CASE WHEN f.n % 200 = 2 THEN 'x' END
FROM fresh f JOIN owner o ON o.place = f.place WHERE f.status = 128 AND f.n % 100 = 2 ORDER BY f.id;
INSERT INTO insp.record (chain, at, actor, action, subject, purpose, seq, prev, hash)
SELECT 'access', f.at, 'x', 'result', j.public_id::text, 'support', row_number() OVER (ORDER BY f.id), '', ''
FROM fresh f JOIN insp.job j ON j.id = f.id WHERE f.n % 2 = 0 ORDER BY f.id;
INSERT INTO insp.callback (job_id, endpoint_id, url, created_at, public_id)
SELECT f.id, e.id, 'https://x.example', f.at, j.public_id FROM fresh f JOIN insp.job j ON j.id = f.id JOIN insp.endpoint e ON e.partner_id = j.partner_id
WHERE f.n % 4 = 3 ORDER BY f.id;
INSERT INTO insp.callback_attempt (callback_id, attempt, started_at, duration_ms, http_status)
SELECT c.id, 1, c.created_at, 40, 200 FROM insp.callback c ORDER BY c.id;
INSERT INTO insp.queue_sample SELECT m, '{0,0,0}', '{0,1,2}', '{5,50000,3}', '{1,60,2}', '{4,60,2}', '{0,0,0}', '{20,900,9}', '{0,3,0}', 12, 3, 4
FROM generate_series(date_trunc('minute', now() - interval '7 days'), now(), interval '1 minute') m ON CONFLICT DO NOTHING;
INSERT INTO insp.partner_sample SELECT o.id, m, 2500, 60, 3, 45, 0, 11, 0 FROM owner o,
    generate_series(date_trunc('minute', now() - interval '7 days'), now(), interval '1 minute') m ON CONFLICT DO NOTHING;
SET session_replication_role = origin;
VACUUM ANALYZE;
SELECT pg_size_pretty(pg_database_size(current_database()));
