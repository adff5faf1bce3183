-- One commit for a batch, as a worker does it: end the jobs of the last claim and make the next claim, here in a single
-- statement. The same rows are written as by insp.claim and insp.settle; nothing is read that need not be.
\if :queue = 0
SELECT q.id AS queue FROM insp.queue q JOIN insp.partner p ON p.id = q.partner_id
WHERE p.name = 'floor-' || :client_id::text \gset
\endif
WITH ended AS (
    DELETE FROM insp.lease l USING unnest(:jobs::bigint[], :fences::bigint[]) AS u (job_id, fence)
    WHERE l.job_id = u.job_id AND l.fence = u.fence
    RETURNING l.job_id, l.fence, l.claimed_at
), done AS (
    UPDATE insp.job j SET status = 128, completed_at = now(), started_at = e.claimed_at
    FROM ended e WHERE j.id = e.job_id AND j.status < 128
    RETURNING j.id, j.public_id, j.endpoint_id, e.fence
), result AS (
    INSERT INTO insp.step (job_id, status, fence, summary, body)
    SELECT d.id, 128, d.fence, '{"decision":{"type":"PASSED","details":{"label":"OK"},"risk":{"score":0}},"rejectReasons":[]}', '{"capabilities":{}}'
    FROM done d
), terminal AS (
    INSERT INTO insp.event (job_id, kind, fence, detail)
    SELECT d.id, 'finished', 0, jsonb_build_object('decision', 'PASSED', 'error', NULL, 'fence', d.fence) FROM done d
), outbox AS (
    INSERT INTO insp.callback (job_id, public_id, endpoint_id, url, definition_key, decision)
    SELECT d.id, d.public_id, e.id, e.url, '2', 'PASSED'
    FROM done d JOIN insp.endpoint e ON e.id = d.endpoint_id
), picked AS MATERIALIZED (
    SELECT r.ctid AS row FROM insp.ready r
    WHERE r.queue = :queue AND r.seq >= :floor ORDER BY r.seq LIMIT :batch FOR UPDATE SKIP LOCKED
), taken AS (
    DELETE FROM insp.ready r WHERE r.ctid = ANY (ARRAY(SELECT p.row FROM picked p))
    RETURNING r.job_id, r.seq, r.queue, r.attempt, r.crashes
), leased AS (
    INSERT INTO insp.lease (job_id, fence, worker_id, deadline, queue, attempt, crashes)
    SELECT t.job_id, nextval('insp.fence'), :worker, now() + interval '5 min', t.queue, t.attempt + 1, t.crashes FROM taken t
    RETURNING job_id, fence
)
SELECT coalesce(array_agg(l.job_id), '{}')::text AS jobs, coalesce(array_agg(l.fence), '{}')::text AS fences,
    coalesce((SELECT max(t.seq) + 1 FROM taken t), :floor::bigint) AS floor
FROM leased l \gset
