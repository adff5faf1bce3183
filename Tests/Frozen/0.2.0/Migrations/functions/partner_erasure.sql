-- Erasure of a whole partner, its tests included. inspectd partner erase calls insp.erase_partner, destroys the keys, after which no sealed
-- data can be opened, and then calls insp.erase_partner_data until nothing is left.
-- After: erasure, partners

CREATE OR REPLACE FUNCTION insp.end_partner(p insp.partner) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    endpoints bigint[];
    credentials bigint[];
    authorizations bigint[];
    secrets integer;
BEGIN
    UPDATE insp.partner x SET enabled = false, pause_reason = NULL, vendor = NULL, erased_at = clock_timestamp() WHERE x.id = p.id;
    -- While its endpoints have what a request to the provider needs. Sealed tokens cannot be opened once the partner's key is destroyed.
    PERFORM insp.end_token(e.id, false) FROM insp.endpoint e WHERE e.partner_id = p.id ORDER BY e.id;
    -- Without a URL no callback is sent, and none is kept.
    WITH ended AS (
        UPDATE insp.endpoint e SET enabled = false, disabled_reason = 'the partner was erased', url = NULL, origins = '{}',
            pins = NULL, allowed_networks = NULL, client_certificate = NULL, api_key_header = NULL, alert_endpoint_id = NULL
        WHERE e.partner_id = p.id RETURNING e.id
    )
    SELECT coalesce(array_agg(e.id), '{}') INTO endpoints FROM ended e;
    DELETE FROM insp.endpoint_authorization a WHERE a.endpoint_id = ANY (endpoints);
    DELETE FROM insp.access_token t WHERE t.endpoint_id = ANY (endpoints);
    WITH ended AS (
        DELETE FROM insp.client_authorization a WHERE a.partner_id = p.id RETURNING a.id
    )
    SELECT coalesce(array_agg(a.id), '{}') INTO authorizations FROM ended a;
    WITH ended AS (
        UPDATE insp.credential c SET revoked_at = coalesce(c.revoked_at, now()), note = NULL
        WHERE c.partner_id = p.id RETURNING c.id
    )
    SELECT coalesce(array_agg(c.id), '{}') INTO credentials FROM ended c;
    DELETE FROM insp.secret s WHERE s.owner IN (
        SELECT 'endpoint ' || e FROM unnest(endpoints) e UNION ALL SELECT 'credential ' || c FROM unnest(credentials) c
        UNION ALL SELECT 'authorization ' || a FROM unnest(authorizations) a);
    GET DIAGNOSTICS secrets = ROW_COUNT;
    DELETE FROM insp.credential_token t WHERE t.credential_id = ANY (credentials);
    DELETE FROM insp.challenge c WHERE c.partner_id = p.id;
    DELETE FROM insp.capture_session c WHERE c.partner_id = p.id;
    DELETE FROM insp.partner_key k WHERE k.partner_id = p.id;
    DELETE FROM insp.partner_sample s WHERE s.partner_id = p.id;
    PERFORM insp.forget_tasks(p.id);
    PERFORM insp.record('erase_partner', 'partner ' || p.name, jsonb_build_object('endpoints', cardinality(endpoints),
        'credentials', cardinality(credentials), 'secrets', secrets));
END
$$;
COMMENT ON FUNCTION insp.end_partner(insp.partner) IS
    'Ends a partner: from then on it has no requests, URLs, credentials or secrets; a plain access token is revoked';

CREATE OR REPLACE FUNCTION insp.erase_partner(partner text) RETURNS SETOF integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '5s' AS $$
#variable_conflict use_column
DECLARE
    p insp.partner;
    own insp.partner;
BEGIN
    SELECT * INTO p FROM insp.partner x WHERE x.name = erase_partner.partner FOR NO KEY UPDATE;
    IF NOT FOUND OR NOT insp.may_act(p.id) THEN
        PERFORM insp.refuse('PARTNER_UNKNOWN', left(quote_nullable(erase_partner.partner), 40));
    END IF;
    PERFORM insp.need_approval('erase_partner', EXISTS (
        SELECT FROM insp.partner x WHERE p.id IN (x.id, x.test_of) AND x.erased_at IS NULL));
    -- Its tests go with it.
    FOR own IN SELECT * FROM insp.partner x WHERE p.id IN (x.id, x.test_of) ORDER BY x.id <> p.id FOR NO KEY UPDATE LOOP
        IF own.erased_at IS NULL THEN
            PERFORM insp.end_partner(own);
        END IF;
        RETURN NEXT own.id;
    END LOOP;
EXCEPTION WHEN lock_not_available THEN
    PERFORM insp.refuse('ROW_LOCKED');
END
$$;
COMMENT ON FUNCTION insp.erase_partner(text) IS
    'Begins the permanent erasure of a partner, and of the partner of its tests: their requests are no longer accepted, their endpoints have no URL, their credentials and secrets are deleted. Returns the partner''s number, then that of its tests, also if that was done before. inspectd partner erase calls it, destroys the partners'' keys and erases the rest; the names stay taken';
GRANT EXECUTE ON FUNCTION insp.erase_partner(text) TO insp_operator;

CREATE OR REPLACE FUNCTION insp.cancel_erased(p_jobs bigint[]) RETURNS bigint[]
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    ended bigint[] := '{}'::bigint[];
    job bigint;
BEGIN
    FOREACH job IN ARRAY p_jobs LOOP
        BEGIN
            PERFORM insp.end_unclaimed(ARRAY[job], 'CANCELLED', NULL);
            ended := ended || job;
        EXCEPTION WHEN OTHERS THEN
            -- A job that cannot be ended must not stop the others.
            IF SQLSTATE NOT IN ('55P03', '40P01') AND NOT insp.may_be_of_row(SQLSTATE) THEN
                RAISE;
            END IF;
        END;
    END LOOP;
    RETURN ended;
END
$$;
COMMENT ON FUNCTION insp.cancel_erased(bigint[]) IS 'Cancels jobs whose rows are locked, and returns those that could be';

CREATE OR REPLACE FUNCTION insp.erase_partner_data(
    partner text, after bigint DEFAULT 0, batch integer DEFAULT 200,
    OUT jobs integer, OUT templates integer, OUT persons integer, OUT kept integer, OUT last bigint, OUT more boolean
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '5s'
SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    p insp.partner;
    own integer[];
    rows bigint[];
    locked bigint[];
    open bigint[];
    n integer;
BEGIN
    PERFORM insp.need_read_committed();
    PERFORM insp.require(erase_partner_data.batch BETWEEN 1 AND 10000, 'batch', 'batch is 1 to 10000.');
    SELECT * INTO p FROM insp.partner x WHERE x.name = erase_partner_data.partner;
    IF NOT FOUND OR NOT insp.may_act(p.id) THEN
        PERFORM insp.refuse('PARTNER_UNKNOWN', left(quote_nullable(erase_partner_data.partner), 40));
    END IF;
    PERFORM insp.require(p.erased_at IS NOT NULL, 'the partner is not being erased', 'insp.erase_partner comes first.');
    own := ARRAY(SELECT x.id FROM insp.partner x WHERE p.id IN (x.id, x.test_of) AND x.erased_at IS NOT NULL);
    templates := 0;
    persons := 0;
    kept := 0;
    -- A page of all partners' jobs, up to the last one of which this call takes this partner's or its tests'.
    WITH page AS MATERIALIZED (
        SELECT j.id, j.partner_id, j.status, j.forgotten_at FROM insp.job j
        WHERE j.id > coalesce(erase_partner_data.after, 0) ORDER BY j.id LIMIT 50 * erase_partner_data.batch
    ), mine AS MATERIALIZED (
        SELECT g.id, row_number() OVER (ORDER BY g.id) AS place FROM page g
        -- What an earlier call has done is not counted again.
        WHERE g.partner_id = ANY (own) AND (g.status < 128 OR g.forgotten_at IS NULL
            OR EXISTS (SELECT FROM insp.part x WHERE x.job_id = ANY (ARRAY[g.id]))
            OR EXISTS (SELECT FROM insp.step s WHERE s.job_id = ANY (ARRAY[g.id]) AND s.body IS NOT NULL))
    )
    SELECT coalesce((SELECT m.id FROM mine m WHERE m.place = erase_partner_data.batch), (SELECT max(g.id) FROM page g)),
        coalesce((SELECT array_agg(m.id) FROM mine m WHERE m.place <= erase_partner_data.batch), '{}')
    INTO last, rows;
    locked := ARRAY(SELECT j.id FROM insp.job j WHERE j.id = ANY (rows) ORDER BY j.id FOR NO KEY UPDATE SKIP LOCKED);
    open := ARRAY(SELECT j.id FROM insp.job j WHERE j.id = ANY (locked) AND j.status < 128 ORDER BY j.id);
    IF open <> '{}' THEN
        locked := ARRAY(SELECT unnest(locked) EXCEPT SELECT unnest(open) UNION SELECT unnest(insp.cancel_erased(open)) ORDER BY 1);
    END IF;
    jobs := cardinality(locked);
    kept := cardinality(rows) - jobs;
    IF jobs > 0 THEN
        SELECT e.templates INTO templates FROM insp.erase_jobs(locked) e;
    END IF;
    more := last IS NOT NULL;
    IF NOT more THEN
        -- No job was left to read. What is left without one: imported faces, and rows that an older version wrote.
        n := insp.face_forget(ARRAY(SELECT t.id FROM insp.face_template t WHERE t.partner_id = ANY (own) LIMIT erase_partner_data.batch));
        templates := templates + n;
        more := n = erase_partner_data.batch;
        DELETE FROM insp.face f WHERE f.partner_id = ANY (own)
            AND NOT EXISTS (SELECT FROM insp.face_template t WHERE t.partner_id = f.partner_id AND t.face_id = f.face_id);
        DELETE FROM insp.face_rate r WHERE r.partner_id = ANY (own);
        DELETE FROM insp.job_key k WHERE k.ctid = ANY (ARRAY(
            SELECT x.ctid FROM insp.job_key x WHERE x.partner_id = ANY (own) LIMIT 10 * erase_partner_data.batch));
        GET DIAGNOSTICS n = ROW_COUNT;
        more := more OR n = 10 * erase_partner_data.batch;
        UPDATE insp.person x SET reference_index = NULL, erased_at = clock_timestamp() WHERE x.id = ANY (ARRAY(
            SELECT y.id FROM insp.person y WHERE y.partner_id = ANY (own) AND y.reference_index IS NOT NULL
            LIMIT 10 * erase_partner_data.batch FOR UPDATE SKIP LOCKED));
        GET DIAGNOSTICS persons = ROW_COUNT;
        more := more OR persons = 10 * erase_partner_data.batch;
        rows := ARRAY(
            SELECT w.callback_id FROM insp.endpoint e JOIN insp.callback_waiting w ON w.endpoint_id = e.id WHERE e.partner_id = ANY (own)
            UNION SELECT l.callback_id FROM insp.endpoint e JOIN insp.callback_lease l ON l.endpoint_id = e.id WHERE e.partner_id = ANY (own)
            UNION SELECT u.callback_id FROM insp.endpoint e JOIN insp.callback_pull u ON u.endpoint_id = e.id
            WHERE e.partner_id = ANY (own) AND u.position IS NOT NULL
            LIMIT erase_partner_data.batch);
        PERFORM insp.forget_callbacks(rows, true);
        more := more OR cardinality(rows) = erase_partner_data.batch;
    END IF;
    IF jobs + templates + persons > 0 THEN
        PERFORM insp.record('erase_partner', 'partner ' || p.name, jsonb_build_object('jobs', nullif(jobs, 0),
            'templates', nullif(templates, 0), 'persons', nullif(persons, 0)));
    END IF;
EXCEPTION WHEN lock_not_available THEN
    PERFORM insp.refuse('ROW_LOCKED');
END
$$;
COMMENT ON FUNCTION insp.erase_partner_data(text, bigint, integer) IS
    'Erases up to a batch of the jobs of a partner that insp.erase_partner has ended, and of its tests, those that are not finished as CANCELLED, starting after this job''s number, then the data that belongs to no job. Call it with last until more is false, and from the beginning while any was kept: another transaction held it, or it is damaged. Bare rows of jobs stay until their retention, and nothing in them names a person';
GRANT EXECUTE ON FUNCTION insp.erase_partner_data(text, bigint, integer) TO insp_operator;
