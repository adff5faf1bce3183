-- Fills a database of this release, from this folder, with something in every state, by the release's own functions. A worker of the release holds eight
-- leases; its number and its incarnation are in public.held.
\set ON_ERROR_STOP on
SET synchronous_commit = off;

-- Results as the release's worker stored them for the ICAO's specimen, but for the face's features, which are zeros here.
CREATE TEMP TABLE line (text text);
\copy line FROM 'bodies.jsonl' (FORMAT csv, QUOTE E'\x01', DELIMITER E'\x02')
-- json, not jsonb: the bytes stay as they were.
CREATE TEMP TABLE body AS SELECT l.text::json ->> 'workflow' AS workflow, (l.text::json ->> 'status')::smallint AS status,
    l.text::json ->> 'summary' AS summary, convert_to(l.text::json ->> 'document', 'UTF8') AS document FROM line l;

SELECT insp.create_partner('bank', 'https://bank.example.com/hook');
SELECT insp.create_partner('shop', 'https://shop.example.com/hook');
SELECT insp.create_partner('club', 'pull:');
SELECT insp.set_second_review('shop', true);
SELECT insp.set_quota('bank', max_waiting => 100000);
SELECT insp.limit_partner('club', max_running => 100);
SELECT insp.set_authorization('shop', 'other', 'https://login.example.com/token', 'me', 'secret');
SELECT insp.callback_use_authorization(e.id, 'other') FROM insp.endpoint e WHERE e.url LIKE 'https://shop%';
SELECT insp.token_store(e.id, t.permit, 'token', 3600, 60) FROM insp.endpoint e, insp.token_take(e.id) t WHERE e.url LIKE 'https://shop%';
SELECT insp.set_partner_key('bank', '{"kty": "EC", "crv": "P-256", "x": "weNJy2HscCSM6AEDTDg04biOvhFhyyWvOHQfeF_PxMQ",
    "y": "e8lnCO-AlStT-NJVX-crhB7QRYhiix03illJOVAOyck"}');
SELECT insp.face_import('bank', 'face', repeat('0', 1024), 'engine', repeat('0', 64), user_reference => 'user-1');
SELECT insp.challenge_issue('bank');
SELECT insp.create_credential('bank', (SELECT array_agg(s.scope) FROM insp.scope s));
CREATE TABLE public.credential AS SELECT 'bank' AS partner, c.id, c.key_id, s.value FROM insp.credential c, insp.secret s WHERE s.purpose = 'credential';
SELECT insp.create_credential('club', '{events}');
INSERT INTO public.credential SELECT 'club', c.id, c.key_id, s.value FROM insp.credential c, insp.secret s
WHERE s.purpose = 'credential' AND NOT EXISTS (SELECT FROM public.credential p WHERE p.id = c.id OR p.value = s.value);
SELECT insp.sample_queue();

-- Twelve of each, of which the worker below takes those of two lanes; the rest waits, is delayed or was cancelled.
SELECT count(insp.enqueue(jsonb_build_object('partner', p, 'workflow', 'liveness', 'lane', l, 'userReference', 'user-' || n % 5,
    'customerInternalReference', n::text, 'idempotencyKey', l || n), face => convert_to('face ' || n, 'UTF8')))
FROM unnest('{bank,shop,club}'::text[]) p, unnest('{urgent,normal,bulk}'::text[]) l, generate_series(1, 12) n;
SELECT insp.enqueue('{"partner": "bank", "workflow": "id", "delaySeconds": 600, "consent": {"obtained": "yes",
    "obtainedAt": "2026-01-01T00:00:00Z"}}', front => 'front', back => 'back');
SELECT insp.cancel(insp.enqueue('{"partner": "bank", "workflow": "id"}', front => 'front'));
SELECT insp.enqueue('{"partner": "bank", "workflow": "id_identity", "lane": "bulk", "parts": {"FRONT": {"url": "https://bank.example.com/front",
    "sha256": "0000000000000000000000000000000000000000000000000000000000000000"}}}', face => 'face');
SELECT insp.enqueue('{"partner": "bank", "workflow": "id_identity", "lane": "urgent", "userReference": "user-9"}', front => 'front', face => 'face');
-- Sealed under a key that nobody has: the database sees no more of a seal than its form.
SELECT insp.enqueue_parts('{"partner": "bank", "workflow": "id_identity", "lane": "bulk"}', '{FRONT,FACE}', ARRAY[k.head || 'front'::bytea || k.rest,
    k.head || 'face'::bytea || k.rest], k.head || k.rest, sha256('request'))
FROM (SELECT '\x01'::bytea || uuid_send(gen_random_uuid()) AS head, decode(repeat('00', 60), 'hex') AS rest) k;

-- By n: the cancelled job is -1, that of id_identity 0.
CREATE TABLE public.held AS
SELECT r.worker_id, i.incarnation, c.job_id, c.fence, j.workflow, row_number() OVER (ORDER BY j.workflow, c.fence) - 2 AS n
FROM (SELECT gen_random_uuid() AS incarnation) i,
    LATERAL insp.worker_register(i.incarnation, 'frozen', 1, :'version', NULL, '{0,1,2}', 62) r,
    LATERAL insp.claim(r.worker_id, i.incarnation, '330 s', 62, ARRAY(SELECT q.id FROM insp.queue q WHERE q.lane < 2 ORDER BY q.id),
        ARRAY(SELECT 0::bigint FROM insp.queue q WHERE q.lane < 2), ARRAY(SELECT 62 FROM insp.queue q WHERE q.lane < 2), 0, 0, 0, false) c
    JOIN insp.job j ON j.id = c.job_id;
SELECT count(*) = 62 AND count(*) FILTER (WHERE n = 0 AND workflow = 'id_identity') = 1 AS is_full FROM public.held \gset
\if :is_full
\else
\warn the worker has not claimed sixty-two jobs
SELECT 1 / 0;
\endif

SELECT insp.callback_disable(e.id) FROM insp.endpoint e WHERE e.url LIKE 'https://shop%';
-- Stages of the jobs that go on, and of one that ends below.
SELECT count(*) FROM (SELECT array_agg(h.job_id) AS jobs, array_agg(h.fence) AS fences, array_agg(b.status) AS statuses,
        array_agg(b.document) AS documents
    FROM public.held h JOIN body b USING (workflow) WHERE h.n % 3 = 0 AND b.status = 4 OR h.n = 0 AND b.status < 128) a,
    LATERAL insp.store_steps(a.jobs, a.fences, a.statuses, a.documents);
SELECT count(*) FROM public.held h JOIN body b ON b.workflow = h.workflow AND b.status = 128 JOIN body s ON s.workflow = h.workflow AND s.status = 16,
    LATERAL insp.settle(ARRAY[h.job_id], ARRAY[h.fence], ARRAY[b.summary], ARRAY[b.document], ARRAY[h.job_id], ARRAY[h.fence], '{16}',
        ARRAY[s.document]) WHERE h.n BETWEEN 0 AND 20;
SELECT count(*) FROM public.held h JOIN body b ON b.workflow = h.workflow AND b.status = 128,
    LATERAL insp.hold_for_review(ARRAY[h.job_id], ARRAY[h.fence], ARRAY[b.summary], ARRAY[b.document], '{}', '{}', '{}', '{}')
WHERE h.n BETWEEN 21 AND 32;
SELECT count(*) FROM public.held h, LATERAL insp.dead_letter(ARRAY[h.job_id], ARRAY[h.fence], '{CORRUPT_IMAGE}', '{FACE}', '{f}') WHERE h.n BETWEEN 33 AND 44;
SELECT count(*) FROM public.held h, LATERAL insp.retry_later(ARRAY[h.job_id], ARRAY[h.fence], '{600}', '{PART_UNREACHABLE}', '{f}') WHERE h.n BETWEEN 45 AND 48;
SELECT count(*) FROM public.held h, LATERAL insp.release(ARRAY[h.job_id], ARRAY[h.fence]) WHERE h.n = -1 OR h.n BETWEEN 49 AND 52;
DELETE FROM public.held h WHERE NOT EXISTS (SELECT FROM insp.lease l WHERE l.job_id = h.job_id);

-- Callbacks: pending, held, dead, delivered with an attempt, in a dispatcher's hands; pulled events with numbers.
SELECT insp.callback_dead_letter(c.webhook_id) FROM insp.v_callback c WHERE c.state = 'pending' ORDER BY c.id DESC LIMIT 1;
CREATE TABLE public.sent AS SELECT c.id, c.endpoint_id, c.claim_id FROM insp.callback_claim(3, '1 hour', 3) c WHERE c.id IS NOT NULL;
SELECT insp.callback_settle(array_agg(s.endpoint_id), array_agg(s.id), array_agg(s.claim_id), '{delivered,retry}', '{0,600000}', '{0,0}', '{40,40}',
    '{204,503}', '{NULL,NULL}', '{NULL,NULL}', 'frozen') FROM (SELECT s.* FROM public.sent s ORDER BY s.id LIMIT 2) s;
SELECT insp.number_events();
SELECT insp.number_pulls();

-- The console: a case taken, one decided for the first time, tasks begun and half done.
SELECT insp.console_sign_in(sha256('ann'), 'ann', 'oidc', '{reviewer:*,operator:*,auditor:*}', 'https://id.example', 'a');
SELECT insp.console_sign_in(sha256('bob'), 'bob', 'oidc', '{reviewer:*,operator:*}', 'https://id.example', 'b');
SELECT insp.console_take(sha256('ann'), (SELECT v.id FROM insp.v_review v WHERE v.partner = 'bank' ORDER BY v.id LIMIT 1));
SELECT insp.console_take(sha256('bob'), v.id), insp.console_decide(sha256('bob'), v.id, 'PASSED', NULL, 'looked at twice')
FROM (SELECT v.id FROM insp.v_review v WHERE v.partner = 'shop' ORDER BY v.id LIMIT 1) v;
SELECT insp.console_begin_task(sha256('ann'), 'dead', 'rerun', '{"partner": "bank"}', (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, 'again', concat(pg_snapshot_xmax(pg_current_snapshot()), ':'));
SELECT * FROM insp.console_batch_take() \gset batch_
SELECT insp.console_step(:batch_task, :batch_batch, :batch_attempt);
SELECT insp.console_begin_task(sha256('ann'), 'dead', 'resolve', '{"partner": "club"}', (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, 'known', concat(pg_snapshot_xmax(pg_current_snapshot()), ':'));

-- Links that capture: one made, one opened.
SELECT insp.capture_create(1, s.value, gen_random_uuid(), '{"workflow": "id_identity", "documentFormat": "TD3"}')
FROM public.credential s, generate_series(1, 2) WHERE s.partner = 'bank';
SELECT insp.capture_open(c.token_sha256, sha256('browser')) FROM insp.capture_session c ORDER BY c.token_sha256 LIMIT 1;

-- What is proposed and not yet approved; a partner that is gone; a job that was erased.
SET SESSION AUTHORIZATION insp_operator;
SELECT insp.propose('set_retention', '{"what": "events", "keep": "30 days"}');
RESET SESSION AUTHORIZATION;
SELECT insp.create_partner('gone');
SELECT insp.erase_partner('gone');
SELECT insp.erase(j.public_id) FROM insp.job j WHERE j.status = 128 AND j.workflow = 'liveness' ORDER BY j.id DESC LIMIT 1;
-- A sealed job that was erased, whose key is not destroyed yet.
SELECT insp.enqueue_parts('{"partner": "bank", "workflow": "id", "lane": "bulk"}', '{FRONT}', ARRAY[k.head || 'front'::bytea || k.rest],
    k.head || k.rest, sha256('another request')) AS sealed
FROM (SELECT '\x01'::bytea || uuid_send(gen_random_uuid()) AS head, decode(repeat('00', 60), 'hex') AS rest) k \gset
SELECT insp.cancel(:'sealed');
SELECT insp.erase(:'sealed');
SELECT insp.custody_mark();
SELECT insp.set_custody(gen_random_uuid(), insp.database_id(), 'wrapping-1');
SELECT insp.link_record();
SELECT insp.add_checkpoint(1, (extract(epoch FROM now()) * 1000000)::bigint, repeat('0', 16), insp.record_heads()::text, decode(repeat('00', 64), 'hex'));
SELECT insp.count_usage();

-- Whatever is missing here would be missed by nobody.
SELECT string_agg(w.what, ', ') AS missing FROM (
    SELECT 'status ' || s AS what FROM unnest('{1,2,4,64,128}'::int[]) s WHERE NOT EXISTS (SELECT FROM insp.job j WHERE j.status = s)
    UNION ALL SELECT 'callback ' || s FROM unnest('{pending,held,dead,delivered,claimed,pulled}'::text[]) s WHERE CASE s
        WHEN 'claimed' THEN NOT EXISTS (SELECT FROM insp.callback_lease)
        WHEN 'pulled' THEN NOT EXISTS (SELECT FROM insp.callback_pull)
        ELSE NOT EXISTS (SELECT FROM insp.v_callback c WHERE c.state = s) END
    UNION ALL SELECT 'lease' WHERE (SELECT count(*) FROM insp.lease) <> 8
    UNION ALL SELECT 'dead letter' WHERE NOT EXISTS (SELECT FROM insp.dead d WHERE d.resolved_at IS NULL)
    UNION ALL SELECT 'sealed part' WHERE NOT EXISTS (SELECT FROM insp.part p WHERE p.seal > 0)
    UNION ALL SELECT 'case taken' WHERE NOT EXISTS (SELECT FROM insp.case_lease)
    UNION ALL SELECT 'task half done' WHERE NOT EXISTS (SELECT FROM insp.console_task t WHERE t.ended_at IS NULL)
    UNION ALL SELECT 'result ' || w FROM unnest('{liveness,id_identity}'::text[]) w WHERE NOT EXISTS (SELECT FROM insp.job j
        JOIN insp.step s ON s.job_id = j.id AND s.status = 128 WHERE j.workflow = w AND length(s.body) > 1000)
    UNION ALL SELECT 'key gone' WHERE NOT EXISTS (SELECT FROM insp.key_gone)
    UNION ALL SELECT 'checkpoint' WHERE NOT EXISTS (SELECT FROM insp.record_checkpoint)
    UNION ALL SELECT 'link' WHERE (SELECT count(*) FROM insp.capture_session) <> 2
    UNION ALL SELECT 'proposal' WHERE NOT EXISTS (SELECT FROM insp.proposal)) w \gset
\if :{?missing}
\warn not filled: :missing
SELECT 1 / 0;
\endif
