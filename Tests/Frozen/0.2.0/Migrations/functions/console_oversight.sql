-- What operators and auditors of every partner see at the console beyond the queue: proposals that wait for a second person, the
-- record, the state of keys, who is signed in. No function here returns anything of a job's person, or a secret.
-- After: approvals, console, partner_keys

CREATE OR REPLACE FUNCTION insp.console_overseer(p_token_sha256 bytea, p_roles text[]) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    w record;
BEGIN
    SELECT * INTO w FROM insp.console_who(p_token_sha256, p_roles);
    IF NOT w.is_all THEN
        PERFORM insp.refuse('SCOPE_MISSING', array_to_string(p_roles, ' or ') || ' of every partner');
    END IF;
    RETURN w.actor;
END
$$;
COMMENT ON FUNCTION insp.console_overseer(bytea, text[]) IS 'Who a session is; refuses persons without one of these roles for every partner';

CREATE OR REPLACE FUNCTION insp.console_proposals(p_token_sha256 bytea) RETURNS TABLE (
    id bigint, action text, arguments text, proposed_by text, proposed timestamptz, expires timestamptz, state text,
    decided_by text, decided timestamptz, is_own boolean, returns_secret boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
#variable_conflict use_column
BEGIN
    PERFORM insp.console_begin(insp.console_overseer(p_token_sha256, ARRAY['operator', 'auditor']));
    RETURN QUERY SELECT p.id, p.action, p.arguments::text, p.proposed_by, p.proposed_at, p.expires_at, v.state, p.decided_by,
        p.decided_at, insp.is_proposer(p), insp.returns_secret(p.action)
    FROM insp.proposal p JOIN insp.v_proposal v ON v.proposal = p.id ORDER BY v.state <> 'open', p.id DESC LIMIT 100;
    PERFORM insp.console_end();
END
$$;
COMMENT ON FUNCTION insp.console_proposals(bytea) IS
    'The newest 100 proposals, open ones first; is_own: the person proposed it, and cannot approve it; returns_secret: it is approved in psql';
GRANT EXECUTE ON FUNCTION insp.console_proposals(bytea) TO insp_console;

CREATE OR REPLACE FUNCTION insp.returns_secret(p_action text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT p_action IN ('create_credential', 'create_endpoint', 'create_partner', 'create_test_credential')
$$;
COMMENT ON FUNCTION insp.returns_secret(text) IS 'Whether an action (insp.approval) returns a secret, which is shown nowhere else';

CREATE OR REPLACE FUNCTION insp.console_approve(p_token_sha256 bytea, p_proposal bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    PERFORM insp.console_begin(insp.console_overseer(p_token_sha256, ARRAY['operator']));
    IF EXISTS (SELECT FROM insp.proposal p WHERE p.id = p_proposal AND insp.returns_secret(p.action)) THEN
        PERFORM insp.refuse('APPROVAL_REFUSED', 'its call returns a secret, which no page shows',
            format('Approve it in psql: SELECT insp.approve(%s).', p_proposal));
    END IF;
    PERFORM insp.approve(p_proposal);
    PERFORM insp.console_end();
END
$$;
COMMENT ON FUNCTION insp.console_approve(bytea, bigint) IS
    'insp.approve for an operator of every partner other than the proposer. APPROVAL_REFUSED also for a call that returns a secret';
GRANT EXECUTE ON FUNCTION insp.console_approve(bytea, bigint) TO insp_console;

CREATE OR REPLACE FUNCTION insp.console_reject(p_token_sha256 bytea, p_proposal bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    PERFORM insp.console_begin(insp.console_overseer(p_token_sha256, ARRAY['operator']));
    PERFORM insp.reject_proposal(p_proposal);
    PERFORM insp.console_end();
END
$$;
COMMENT ON FUNCTION insp.console_reject(bytea, bigint) IS 'insp.reject_proposal for an operator of every partner';
GRANT EXECUTE ON FUNCTION insp.console_reject(bytea, bigint) TO insp_console;

CREATE OR REPLACE FUNCTION insp.record_since(p_chain text, p_time timestamptz) RETURNS bigint
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    low bigint := (SELECT min(r.id) FROM insp.record r WHERE r.chain = p_chain);
    high bigint := (SELECT max(r.id) + 1 FROM insp.record r WHERE r.chain = p_chain);
    middle bigint;
    one record;
BEGIN
    WHILE low < high LOOP
        middle := low + (high - low) / 2;
        SELECT r.id, r.at INTO one FROM insp.record r WHERE r.chain = p_chain AND r.id >= middle ORDER BY r.id LIMIT 1;
        IF one.at < p_time THEN low := one.id + 1; ELSE high := middle; END IF;
    END LOOP;
    RETURN low;
END
$$;
COMMENT ON FUNCTION insp.record_since(text, timestamptz) IS
    'The number of a chain below which rows are older than a time; accurate to a moment, since rows are numbered as they are written';

CREATE OR REPLACE FUNCTION insp.console_record(
    p_token_sha256 bytea, p_chain text, p_from_seconds bigint DEFAULT NULL, p_end_seconds bigint DEFAULT NULL, p_actor text DEFAULT NULL,
    p_action text DEFAULT NULL, p_object text DEFAULT NULL, p_edge bigint DEFAULT NULL
) RETURNS TABLE (id bigint, at timestamptz, who text, action text, object text, purpose text, detail text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    me constant text := insp.console_overseer(p_token_sha256, ARRAY['operator', 'auditor']);
    since timestamptz;
    until timestamptz;
    low bigint := 0;
    high bigint := coalesce(p_edge, 9223372036854775807);
    -- As many as a page answers at once.
    looked constant integer := 20000;
    found integer := 0;
    last bigint;
    one record;
BEGIN
    PERFORM insp.require(EXISTS (SELECT FROM insp.record_chain c WHERE c.chain = p_chain), 'chain',
        (SELECT format('Chains are %s.', string_agg(c.chain, ', ' ORDER BY c.chain)) FROM insp.record_chain c));
    PERFORM insp.require(coalesce(p_from_seconds, 0) BETWEEN 0 AND 253402300799 AND coalesce(p_end_seconds, 0) BETWEEN 0 AND 253402300799,
        'time', 'A time is between 1970 and 9999.');
    PERFORM insp.require(greatest(length(p_actor), length(p_action), length(p_object), 0) <= 200, 'filter', 'At most 200 characters.');
    since := 'epoch'::timestamptz + p_from_seconds * interval '1 second';
    until := 'epoch'::timestamptz + p_end_seconds * interval '1 second';
    IF p_from_seconds IS NOT NULL THEN
        low := coalesce(insp.record_since(p_chain, since - interval '1 minute'), 0);
    END IF;
    IF p_end_seconds IS NOT NULL THEN
        high := least(high, coalesce(insp.record_since(p_chain, until + interval '1 minute'), high));
    END IF;
    FOR one IN
        SELECT x.*, count(*) OVER () AS seen FROM (
            SELECT r.id, r.at, r.actor, r.action, r.subject, r.purpose, r.detail, r.words FROM insp.record r
            WHERE p_object IS NULL AND r.chain = p_chain AND r.id >= low AND r.id < high ORDER BY r.id DESC LIMIT looked) x
        UNION ALL
        SELECT x.*, 0 FROM (
            SELECT r.id, r.at, r.actor, r.action, r.subject, r.purpose, r.detail, r.words FROM insp.record r
            WHERE p_object IS NOT NULL AND p_chain <> 'access' AND r.chain <> 'access' AND r.subject = p_object AND r.chain = p_chain
                AND r.id >= low AND r.id < high ORDER BY r.id DESC LIMIT looked) x
        UNION ALL
        SELECT x.*, 0 FROM (
            SELECT r.id, r.at, r.actor, r.action, r.subject, r.purpose, r.detail, r.words FROM insp.record r
            WHERE p_chain = 'access' AND r.chain = 'access' AND r.seq IS NOT NULL AND insp.is_uuid(p_object)
                AND nullif(r.subject::uuid, '00000000-0000-0000-0000-000000000000') = CASE WHEN insp.is_uuid(p_object) THEN p_object::uuid END
                AND r.id >= low AND r.id < high ORDER BY r.id DESC LIMIT looked) x
    LOOP
        last := CASE WHEN one.seen = looked THEN one.id END;
        CONTINUE WHEN one.at < since OR one.at >= until OR one.action <> p_action
            OR one.actor <> p_actor AND one.actor <> 'console:' || p_actor;
        found := found + 1;
        last := one.id;
        RETURN QUERY SELECT one.id, one.at, one.actor, one.action, one.subject, one.purpose,
            -- Words about a job may be about its person.
            nullif((one.detail || CASE WHEN insp.is_uuid(one.subject) THEN '{}' ELSE coalesce(one.words, '{}') END)::text, '{}');
        EXIT WHEN found = 50;
        last := CASE WHEN one.seen = looked THEN one.id END;
    END LOOP;
    IF last IS NOT NULL THEN
        RETURN QUERY SELECT last, NULL::timestamptz, NULL::text, NULL::text, NULL::text, NULL::text, NULL::text;
    END IF;
    -- Also a further page: where it begins is the caller's word. What may be words about a person is not kept: no erasure reaches it.
    PERFORM insp.console_begin(me);
    PERFORM insp.record('search_record', 'record ' || p_chain, jsonb_build_object('since', since, 'until', until,
        -- What was found is on record anyway; what was not may be a person's name.
        'actor', CASE WHEN found > 0 THEN p_actor WHEN p_actor IS NOT NULL THEN 'another' END,
        'searched', CASE WHEN found > 0 THEN p_action WHEN p_action IS NOT NULL THEN 'another' END, 'object', CASE WHEN insp.is_uuid(p_object) OR p_object ~ '^(partner|endpoint|task|proposal|lane) '
            THEN p_object WHEN p_object IS NOT NULL THEN 'another' END));
    PERFORM insp.console_end();
END
$$;
COMMENT ON FUNCTION insp.console_record(bytea, text, bigint, bigint, text, text, text, bigint) IS
    'Up to 50 rows of a chain of the record, newest first: from a time until before another one (since 1970), of a login or a person, an action, an object; words about jobs are left out. Looks at 20,000 rows; a last row without a time says with which p_edge the search goes on. Each search, and each further page, is recorded';
GRANT EXECUTE ON FUNCTION insp.console_record(bytea, text, bigint, bigint, text, text, text, bigint) TO insp_console;

CREATE OR REPLACE FUNCTION insp.is_uuid(p_text text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$ SELECT p_text ~ '^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$' $$;
COMMENT ON FUNCTION insp.is_uuid(text) IS 'Whether a text is a UUID';

CREATE OR REPLACE FUNCTION insp.console_keys(
    p_token_sha256 bytea, OUT key_store text, OUT wrapping_key text, OUT former_key text, OUT changed timestamptz,
    OUT keys bigint, OUT keys_oldest_seconds double precision, OUT persons bigint, OUT persons_oldest_seconds double precision, OUT faces bigint,
    OUT objects bigint, OUT objects_oldest_seconds double precision, OUT checkpoint bigint, OUT signer text, OUT signed timestamptz
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_column
BEGIN
    PERFORM insp.console_overseer(p_token_sha256, ARRAY['operator', 'auditor']);
    SELECT c.key_store::text, c.wrapping_key, c.former_key, c.changed_at
    INTO key_store, wrapping_key, former_key, changed FROM insp.custody c;
    keys := (SELECT count(*) FROM (SELECT FROM insp.key_gone LIMIT 10000) g);
    keys_oldest_seconds := extract(epoch FROM clock_timestamp() - (SELECT min(g.since) FROM insp.key_gone g));
    persons := (SELECT count(*) FROM (SELECT FROM insp.person_gone g WHERE NOT g.keeps_jobs LIMIT 10000) g);
    persons_oldest_seconds := extract(epoch FROM clock_timestamp() - (SELECT min(g.since) FROM insp.person_gone g WHERE NOT g.keeps_jobs));
    faces := (SELECT count(*) FROM (SELECT FROM insp.person_gone g WHERE g.keeps_jobs LIMIT 10000) g);
    objects := (SELECT count(*) FROM (SELECT FROM insp.object_gone LIMIT 10000) g);
    objects_oldest_seconds := extract(epoch FROM clock_timestamp() - (SELECT min(g.since) FROM insp.object_gone g));
    SELECT p.number, p.key_id, p.at INTO checkpoint, signer, signed
    FROM insp.record_checkpoint p ORDER BY p.number DESC LIMIT 1;
END
$$;
COMMENT ON FUNCTION insp.console_keys(bytea) IS
    'The key store and its wrapping keys; keys, persons, deleted faces and objects that wait for their destruction (counted up to 10,000), and for how long; the last signed checkpoint of the record';
GRANT EXECUTE ON FUNCTION insp.console_keys(bytea) TO insp_console;

CREATE OR REPLACE FUNCTION insp.console_decryption_keys(p_token_sha256 bytea) RETURNS TABLE (kid text, workers bigint, is_listed boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
#variable_conflict use_column
BEGIN
    PERFORM insp.console_overseer(p_token_sha256, ARRAY['operator', 'auditor']);
    RETURN QUERY SELECT k.kid, k.workers, k.is_listed FROM insp.v_decryption_key k ORDER BY k.kid LIMIT 100;
END
$$;
COMMENT ON FUNCTION insp.console_decryption_keys(bytea) IS 'insp.v_decryption_key without the keys';
GRANT EXECUTE ON FUNCTION insp.console_decryption_keys(bytea) TO insp_console;

CREATE OR REPLACE FUNCTION insp.console_people(p_token_sha256 bytea) RETURNS TABLE (
    id bigint, name text, issuer text, subject text, roles text, since timestamptz, seen timestamptz, sessions bigint, cases bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
#variable_conflict use_column
BEGIN
    PERFORM insp.console_overseer(p_token_sha256, ARRAY['operator', 'auditor']);
    RETURN QUERY SELECT p.id::bigint, substr(p.actor, 9), p.issuer, p.subject, (
            SELECT coalesce(string_agg(DISTINCT g.role || ':' || coalesce(a.name, '*'), ' '), '')
            FROM insp.console_session x JOIN insp.console_grant g ON g.session_id = x.id LEFT JOIN insp.partner a ON a.id = g.partner_id
            WHERE x.actor = p.actor AND x.expires_at > now() AND x.seen_at > now() - interval '30 minutes'),
        min(s.created_at), max(s.seen_at), count(*),
        (SELECT count(*) FROM insp.case_lease l WHERE l.actor = p.actor AND l.until > now())
    FROM insp.console_person p JOIN insp.console_session s ON s.actor = p.actor
    -- As in insp.console_who.
    WHERE s.expires_at > now() AND s.seen_at > now() - interval '30 minutes'
    GROUP BY p.id ORDER BY p.actor LIMIT 201;
END
$$;
COMMENT ON FUNCTION insp.console_people(bytea) IS
    'Up to 201 persons who are signed in (a page shows 200), with their roles, sessions and cases, for operators and auditors of every partner';
GRANT EXECUTE ON FUNCTION insp.console_people(bytea) TO insp_console;

CREATE OR REPLACE FUNCTION insp.console_end_person(p_token_sha256 bytea, p_person bigint, p_reason text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    PERFORM insp.console_begin(insp.console_overseer(p_token_sha256, ARRAY['operator']));
    PERFORM insp.require(p_reason IS NOT NULL, 'reason', 'Give a reason of at most 200 characters.');
    PERFORM insp.console_end_sessions((SELECT p.actor FROM insp.console_person p WHERE p.id = p_person), p_reason);
    PERFORM insp.console_end();
END
$$;
COMMENT ON FUNCTION insp.console_end_person(bytea, bigint, text) IS 'insp.console_end_sessions for an operator of every partner';
GRANT EXECUTE ON FUNCTION insp.console_end_person(bytea, bigint, text) TO insp_console;
