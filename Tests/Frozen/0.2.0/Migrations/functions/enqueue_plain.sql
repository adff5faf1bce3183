-- Requests of the usual shape are checked as one expression each, which takes a fifth of the time of insp.check_request; all
-- others, rare or wrong, go there. These functions add no rules: they may only accept less.

CREATE OR REPLACE FUNCTION insp.is_plain_part(p_part jsonb, p_url text, p_sha256 text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT p_url IS NOT NULL AND p_sha256 IS NOT NULL AND p_part - ARRAY['url', 'sha256'] = '{}'
        AND length(p_sha256) = 64 AND length(p_url) <= 2048 AND strpos(p_url, E'\n') = 0
$$;
COMMENT ON FUNCTION insp.is_plain_part(jsonb, text, text) IS
    'Whether a part by URL is plainly valid, apart from the characters of URL and digest; otherwise insp.check_part_url decides';

-- Starting a regular expression costs most, so the URLs and digests of a whole batch are matched as one text.
CREATE OR REPLACE FUNCTION insp.are_plain_sources(p_lines text, p_digests text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT p_lines ~ '^(?:https://(?:[a-z0-9]+(?:-[a-z0-9]+)*\.)+[a-z]{2,}(?:/[!"$-[\]-~]*)?\n)+$'
        AND p_lines !~ '\.(?:local|localhost|internal|intranet|lan|home|arpa|invalid|onion)[/\n]'
        AND p_digests !~ '[^0-9a-fA-F]'
$$;
COMMENT ON FUNCTION insp.are_plain_sources(text, text) IS
    'Whether all of these lines are plainly valid URLs and the digests hexadecimal; otherwise insp.check_part_url decides';

-- In steps, each value looked up once: an operator of jsonb costs as much as comparing a page of text.
CREATE OR REPLACE FUNCTION insp.plain_requests(p_payloads jsonb[])
RETURNS TABLE (n bigint, payload jsonb, is_plain boolean, has_others boolean, urls text, digests text)
LANGUAGE sql STABLE AS $$
    -- A missing value makes a comparison null, which bool_and ignores, so it must become false.
    SELECT y.n, y.p,
        coalesce(insp.is_plain_part(y.front, y.front_url, y.front_sha256)
            AND (y.back IS NULL OR insp.is_plain_part(y.back, y.back ->> 'url', y.back ->> 'sha256'))
            AND CASE WHEN y.face IS NULL THEN y.p ->> 'workflow' <> 'similarity'
                ELSE insp.is_plain_part(y.face, y.face ->> 'url', y.face ->> 'sha256') END
            AND y.parts - ARRAY['FRONT', 'BACK', 'FACE'] = '{}'
            AND pg_column_size(y.p) <= 8192
            AND jsonb_typeof(y.p -> 'partner') = 'string'
            AND y.p ->> 'workflow' IN ('id', 'id_identity', 'similarity')
            AND (y.rest = '{}' OR y.rest - ARRAY['customerInternalReference', 'userReference', 'idempotencyKey'] = '{}'
                -- JSON escapes every other control character.
                AND strpos(y.rest::text, '\') = 0 AND strpos(y.rest::text, E'\x7F') = 0
                AND coalesce(jsonb_typeof(y.rest -> 'customerInternalReference') = 'string'
                    AND length(y.rest ->> 'customerInternalReference') BETWEEN 1 AND 100, true)
                AND coalesce(jsonb_typeof(y.rest -> 'userReference') = 'string'
                    AND length(y.rest ->> 'userReference') BETWEEN 1 AND 100, true)
                AND coalesce(jsonb_typeof(y.rest -> 'idempotencyKey') = 'string'
                    AND length(y.rest ->> 'idempotencyKey') BETWEEN 1 AND 100, true)), false),
        y.back IS NOT NULL OR y.face IS NOT NULL,
        y.front_url || E'\n' || coalesce((y.back ->> 'url') || E'\n', '') || coalesce((y.face ->> 'url') || E'\n', ''),
        y.front_sha256 || coalesce(y.back ->> 'sha256', '') || coalesce(y.face ->> 'sha256', '')
    FROM (
        SELECT x.*, x.front ->> 'url' AS front_url, x.front ->> 'sha256' AS front_sha256
        FROM (
            SELECT w.*, w.parts -> 'FRONT' AS front, w.parts -> 'BACK' AS back, w.parts -> 'FACE' AS face
            FROM (SELECT u.n, u.p, u.p -> 'parts' AS parts,
                    -- A number or a string has no keys; insp.check_request reports the error.
                    CASE WHEN jsonb_typeof(u.p) = 'object' THEN u.p - ARRAY['partner', 'workflow', 'parts'] END AS rest
                FROM unnest(p_payloads) WITH ORDINALITY AS u (p, n) OFFSET 0) w
            OFFSET 0) x
        OFFSET 0) y
$$;
COMMENT ON FUNCTION insp.plain_requests(jsonb[]) IS
    'Payloads in order: whether each is plainly valid apart from its URLs, digests and its partner''s requirements (otherwise insp.check_request decides), whether it has parts other than FRONT, its URLs, one per line, and its digests';

CREATE OR REPLACE FUNCTION insp.accept_plain(p_payloads jsonb[], OUT public_ids uuid[], OUT job_ids bigint[])
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    whose record;
    place integer;
    prefix text;
    is_plain boolean;
    has_others boolean;
    is_named boolean;
    persons bigint[];
    partner constant text := p_payloads[1] ->> 'partner';
    me constant oid := to_regrole(quote_ident(session_user));
BEGIN
    -- OFFSET 0 makes it one index scan for each partner, whatever the statistics say, as ANY does in insp.claim.
    SELECT x.id, e.id AS endpoint_id, x.lane, coalesce(x.region, 0::smallint) AS region, now() + x.job_lifetime AS expires_at,
        x.max_waiting
    INTO whose
    FROM insp.partner x LEFT JOIN LATERAL (SELECT e.id FROM insp.endpoint e
        WHERE e.partner_id = x.id AND e.is_default OFFSET 0) e ON true
    WHERE x.name = partner AND x.enabled
        AND NOT x.callback_required AND NOT x.consent_required AND x.review = 'never'
        AND NOT x.passive_signals_suffice AND x.test_of IS NULL
        AND x.decision_version = 0
        AND (x.region IS NOT NULL OR NOT EXISTS (SELECT FROM insp.region g WHERE g.is_served))
        AND coalesce((SELECT bool_or(b.partner_id = x.id AND b.login = session_user AND b.role = me AND b.is_active)
            FROM insp.producer_partner b WHERE b.login = session_user OR b.role = me), true);
    IF NOT FOUND THEN
        RETURN;
    END IF;
    SELECT bool_and(coalesce(u.is_plain AND u.payload ->> 'partner' = partner AND NOT u.payload ? 'idempotencyKey', false))
        AND insp.are_plain_sources(string_agg(u.urls, ''), string_agg(u.digests, '')), bool_or(u.has_others),
        bool_or(u.payload ?| ARRAY['customerInternalReference', 'userReference'])
    INTO is_plain, has_others, is_named FROM insp.plain_requests(p_payloads) u;
    IF is_plain IS NOT TRUE THEN
        RETURN;
    END IF;

    IF whose.max_waiting IS NOT NULL THEN
        PERFORM insp.take_waiting(whose.id, whose.max_waiting, cardinality(p_payloads));
    END IF;
    IF is_named THEN
        persons := insp.persons(p_payloads);
    END IF;
    place := insp.queue_of(whose.region, whose.lane, whose.id);
    prefix := insp.id_prefix();
    WITH asked AS MATERIALIZED (
        SELECT nextval('insp.job_id') AS id, insp.random_id(prefix) AS public_id, u.payload, u.person
        FROM unnest(p_payloads, persons) AS u (payload, person)
    ), jobs AS (
        INSERT INTO insp.job (id, public_id, partner_id, endpoint_id, person_id, lane, region, expires_at, workflow, request,
            personal)
        SELECT a.id, a.public_id, whose.id, whose.endpoint_id, a.person, whose.lane, whose.region, whose.expires_at,
            a.payload ->> 'workflow', a.payload - ARRAY['parts', 'customerInternalReference', 'userReference'],
            CASE WHEN a.payload ?| ARRAY['customerInternalReference', 'userReference']
                THEN insp.personal_bytes(insp.request_personal(a.payload)) END
        FROM asked a
    ), waiting AS (
        INSERT INTO insp.ready (job_id, queue) SELECT a.id, place FROM asked a ORDER BY a.id
    ), parts AS (
        INSERT INTO insp.part (job_id, kind, ordinal, sha256, location)
        SELECT a.id, 'FRONT', 0, decode(a.payload #>> '{parts,FRONT,sha256}', 'hex'), a.payload #>> '{parts,FRONT,url}'
        FROM asked a
    )
    SELECT array_agg(a.public_id), array_agg(a.id) INTO public_ids, job_ids FROM asked a;
    IF has_others THEN
        INSERT INTO insp.part (job_id, kind, ordinal, sha256, location)
        SELECT u.id, k.kind, 0, decode(u.payload #>> ARRAY['parts', k.kind, 'sha256'], 'hex'),
            u.payload #>> ARRAY['parts', k.kind, 'url']
        FROM unnest(job_ids, p_payloads) AS u (id, payload) CROSS JOIN (VALUES ('BACK'), ('FACE')) AS k (kind)
        WHERE u.payload -> 'parts' ? k.kind;
    END IF;
    IF is_named THEN
        PERFORM insp.note_references(job_ids, p_payloads);
    END IF;
    PERFORM insp.wake(whose.lane);
    IF EXISTS (SELECT FROM unnest(job_ids) AS id WHERE id % 1000000 = 0) THEN
        PERFORM insp.ensure_partitions_late();
    END IF;
END
$$;
COMMENT ON FUNCTION insp.accept_plain(jsonb[]) IS
    'Like insp.accept, if all requests are plain, of one partner and without a key; otherwise does nothing and returns nulls';
