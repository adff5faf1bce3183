-- Sign-in at the console. Its role reaches cases, jobs and queues only through functions that take the digest of a signed-in
-- person's cookie and check the person's roles again, for each partner: a console can do nothing for those who are not signed in.
-- After: record

CREATE OR REPLACE FUNCTION insp.console_person_named(p_issuer text, p_subject text, p_name text) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    who text;
    number integer;
BEGIN
    SELECT p.actor INTO who FROM insp.console_person p WHERE (p.issuer, p.subject) = (p_issuer, p_subject);
    IF FOUND THEN
        RETURN who;
    END IF;
    -- The first sign-in: of two at once, the second one finds the first.
    LOCK TABLE insp.console_person IN SHARE ROW EXCLUSIVE MODE;
    SELECT p.actor INTO who FROM insp.console_person p WHERE (p.issuer, p.subject) = (p_issuer, p_subject);
    IF FOUND THEN
        RETURN who;
    END IF;
    SELECT coalesce(max(p.id), 0) + 1 INTO number FROM insp.console_person p;
    -- A name that ends like one with a number gets its own number, so that it can be nobody else's.
    who := 'console:' || p_name || CASE WHEN p_name ~ '~[0-9]+$'
        OR EXISTS (SELECT FROM insp.console_person p WHERE lower(p.actor) = lower('console:' || p_name)) THEN '~' || number ELSE '' END;
    INSERT INTO insp.console_person (id, issuer, subject, actor) VALUES (number, p_issuer, p_subject, who);
    RETURN who;
END
$$;
COMMENT ON FUNCTION insp.console_person_named(text, text, text) IS
    'The name of a provider''s person in the record: the same since the first sign-in, even if the provider changes the name later';

CREATE OR REPLACE FUNCTION insp.console_sign_in(
    p_token_sha256 bytea, p_name text, p_method text, p_grants text[], p_issuer text DEFAULT NULL, p_subject text DEFAULT NULL
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    number bigint;
    who text;
BEGIN
    PERFORM insp.require(p_name ~ '^[[:graph:]]{1,100}$', 'the name', 'A name has 1 to 100 visible characters and no space.',
        'PARAMETER_INVALID', 'name');
    PERFORM insp.require(length(p_token_sha256) = 32, 'the digest', 'It is a SHA-256.');
    PERFORM insp.require(p_method IN ('link', 'oidc'), 'the method', 'A method is link or oidc.');
    PERFORM insp.require(coalesce(cardinality(p_grants) <= 1000, false), 'grants', 'There are at most 1000 grants.');
    -- Only issuer and subject name a person for ever: OpenID Connect Core 1.0, section 5.7.
    PERFORM insp.require(CASE p_method WHEN 'oidc' THEN octet_length(p_issuer) BETWEEN 1 AND 1000
            AND octet_length(p_subject) BETWEEN 1 AND 255
        ELSE num_nonnulls(p_issuer, p_subject) = 0 END, 'issuer and subject', 'A person of a provider has both, one with a link neither.');
    who := insp.console_person_named(coalesce(p_issuer, 'link'), coalesce(p_subject, p_name), p_name);
    DELETE FROM insp.console_session s WHERE s.expires_at < now() - interval '1 day';
    INSERT INTO insp.console_session AS s (token_sha256, actor, method, expires_at)
    VALUES (p_token_sha256, who, p_method, now() + interval '10 hours') ON CONFLICT DO NOTHING RETURNING s.id INTO number;
    PERFORM insp.require(number IS NOT NULL, 'the digest', 'Each sign-in has a cookie of its own.');
    -- What names no role or no partner grants nothing.
    INSERT INTO insp.console_grant (session_id, role, partner_id)
    SELECT DISTINCT number, g.role, p.id
    FROM (SELECT split_part(x, ':', 1) AS role, substr(x, strpos(x, ':') + 1) AS partner
            FROM unnest(p_grants) x WHERE strpos(x, ':') > 0) g
        LEFT JOIN insp.partner p ON p.name = g.partner AND p.erased_at IS NULL
    WHERE g.role IN ('reviewer', 'operator', 'auditor') AND (p.id IS NOT NULL OR g.partner = '*');
    IF NOT FOUND THEN
        PERFORM insp.refuse('SCOPE_MISSING', 'the person has no role here',
            'A role is reviewer, operator or auditor, a colon, and a partner or *.');
    END IF;
    INSERT INTO insp.record (chain, actor, action, subject, detail)
    SELECT 'operator', who, 'console_sign_in', 'console', jsonb_strip_nulls(jsonb_build_object('method', p_method, 'issuer', p_issuer,
        'subject', p_subject, 'name', CASE WHEN who <> 'console:' || p_name THEN p_name END)) || jsonb_build_object('grants', jsonb_agg(
        g.role || ':' || coalesce((SELECT p.name FROM insp.partner p WHERE p.id = g.partner_id), '*')
        ORDER BY g.role, g.partner_id))
    FROM insp.console_grant g WHERE g.session_id = number;
END
$$;
COMMENT ON FUNCTION insp.console_sign_in(bytea, text, text, text[], text, text) IS
    'Begins a person''s session of at most ten hours: the SHA-256 of its cookie, the name, how the person signed in (link or oidc), grants such as reviewer:bank or auditor:*, and of a provider its issuer and the person''s subject, which identify the person even if the name changes. Refused as SCOPE_MISSING if no grant is known. Recorded';
GRANT EXECUTE ON FUNCTION insp.console_sign_in(bytea, text, text, text[], text, text) TO insp_console;

CREATE OR REPLACE FUNCTION insp.console_sign_out(p_token_sha256 bytea) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    s insp.console_session;
BEGIN
    DELETE FROM insp.console_session x WHERE x.token_sha256 = p_token_sha256 RETURNING * INTO s;
    IF FOUND THEN
        -- Others do not wait for abandoned work.
        DELETE FROM insp.case_lease l WHERE l.actor = s.actor
            AND NOT EXISTS (SELECT FROM insp.console_session x WHERE x.actor = s.actor
                AND x.expires_at > now() AND x.seen_at > now() - interval '30 minutes');
        INSERT INTO insp.record (chain, actor, action, subject) VALUES ('operator', s.actor, 'console_sign_out', 'console');
    END IF;
END
$$;
COMMENT ON FUNCTION insp.console_sign_out(bytea) IS 'Ends a session, and releases the person''s cases with the last one. Recorded';
GRANT EXECUTE ON FUNCTION insp.console_sign_out(bytea) TO insp_console;

CREATE OR REPLACE FUNCTION insp.console_end_sessions(person text, reason text DEFAULT NULL) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '5s' AS $$
#variable_conflict use_column
DECLARE
    who text;
    ended integer;
    released integer;
    stopped integer := 0;
    t insp.console_task;
BEGIN
    PERFORM insp.require(coalesce(length(btrim(console_end_sessions.reason)) BETWEEN 1 AND 200, true), 'reason',
        'Give a reason of at most 200 characters.');
    SELECT p.actor INTO who FROM insp.console_person p
    WHERE lower(p.actor) IN (lower(console_end_sessions.person), lower('console:' || console_end_sessions.person))
    -- A provider's name may itself begin with console:, so the name in the record goes first.
    ORDER BY lower(p.actor) = lower(console_end_sessions.person) DESC LIMIT 1;
    PERFORM insp.require(who IS NOT NULL, 'person', 'insp.console_person lists who has signed in, by their names in the record.');
    DELETE FROM insp.console_session s WHERE s.actor = who;
    GET DIAGNOSTICS ended = ROW_COUNT;
    DELETE FROM insp.case_lease l WHERE l.actor = who;
    GET DIAGNOSTICS released = ROW_COUNT;
    -- As insp.console_stop_task does: what the person began goes on no further.
    FOR t IN UPDATE insp.console_task x SET ended_at = clock_timestamp(), ended_by = insp.actor()
            WHERE x.actor = who AND x.ended_at IS NULL RETURNING x.* LOOP
        PERFORM insp.console_drop_batches(t.id);
        PERFORM insp.record('console_stop_task', 'task ' || t.id, jsonb_build_object('done', t.done, 'refused', t.refusals));
        stopped := stopped + 1;
    END LOOP;
    PERFORM insp.record('console_end_sessions', 'console', jsonb_build_object('person', substr(who, 9), 'sessions', ended,
        'cases', released, 'tasks', stopped, 'reason', btrim(console_end_sessions.reason)));
    RETURN ended;
EXCEPTION WHEN lock_not_available THEN
    PERFORM insp.refuse('ROW_LOCKED');
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION insp.console_end_sessions(text, text) IS
    'Ends all sessions of a person at the console, such as ann, releases the person''s cases and stops the person''s tasks; returns how many sessions. To keep someone out, first disable them at the provider. Recorded with the reason';
GRANT EXECUTE ON FUNCTION insp.console_end_sessions(text, text) TO insp_operator;

CREATE OR REPLACE FUNCTION insp.console_who(
    p_token_sha256 bytea, p_roles text[], OUT actor text, OUT partners integer[], OUT is_all boolean
)
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
#variable_conflict use_column
DECLARE
    s insp.console_session;
BEGIN
    SELECT * INTO s FROM insp.console_session x WHERE x.token_sha256 = p_token_sha256
        AND x.expires_at > now() AND x.seen_at > now() - interval '30 minutes';
    IF NOT FOUND THEN
        PERFORM insp.refuse('UNAUTHENTICATED');
    END IF;
    SELECT s.actor, coalesce(array_agg(g.partner_id) FILTER (WHERE g.partner_id IS NOT NULL), '{}'),
        coalesce(bool_or(g.partner_id IS NULL), false)
    INTO actor, partners, is_all FROM insp.console_grant g WHERE g.session_id = s.id AND g.role = ANY (p_roles);
    IF NOT is_all AND partners = '{}' THEN
        PERFORM insp.refuse('SCOPE_MISSING', array_to_string(p_roles, ' or '));
    END IF;
END
$$;
COMMENT ON FUNCTION insp.console_who(bytea, text[]) IS
    'Who a session is, and the partners for which the person has one of these roles (is_all: every one); refuses without such a role';

CREATE OR REPLACE FUNCTION insp.console_job(p_token_sha256 bytea, p_roles text[], p_id uuid) RETURNS insp.job
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp SET jit = off SET enable_seqscan = off AS $$
DECLARE
    w record;
    j insp.job;
BEGIN
    SELECT * INTO w FROM insp.console_who(p_token_sha256, p_roles);
    SELECT * INTO j FROM insp.job x WHERE x.public_id = p_id;
    -- Another partner's job does not exist for the person.
    IF NOT FOUND OR NOT (w.is_all OR j.partner_id = ANY (w.partners)) THEN
        PERFORM insp.refuse('JOB_UNKNOWN');
    END IF;
    RETURN j;
END
$$;
COMMENT ON FUNCTION insp.console_job(bytea, text[], uuid) IS 'A job of a partner for which the signed-in person has one of these roles; refuses others';

CREATE OR REPLACE FUNCTION insp.console_actor(p_token_sha256 bytea) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT s.actor FROM insp.console_session s WHERE s.token_sha256 = p_token_sha256
$$;
COMMENT ON FUNCTION insp.console_actor(bytea) IS 'The person whose session it is, even if it has ended';

CREATE OR REPLACE FUNCTION insp.console_begin(p_actor text) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, insp, pg_temp AS $$
    INSERT INTO insp.console_act (transaction, actor) VALUES (pg_current_xact_id(), p_actor)
    ON CONFLICT (transaction) DO UPDATE SET actor = EXCLUDED.actor
$$;
COMMENT ON FUNCTION insp.console_begin(text) IS 'From here on insp.actor is this person, until insp.console_end or the transaction''s end';

CREATE OR REPLACE FUNCTION insp.console_end() RETURNS void
LANGUAGE sql SET search_path = pg_catalog, insp, pg_temp AS $$
    DELETE FROM insp.console_act a WHERE a.transaction = pg_current_xact_id()
$$;
COMMENT ON FUNCTION insp.console_end() IS 'Ends what insp.console_begin began';

CREATE OR REPLACE FUNCTION insp.console_session_of(
    p_token_sha256 bytea, p_is_use boolean DEFAULT true, OUT name text, OUT roles text[], OUT partners text[], OUT all_roles text[]
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
#variable_conflict use_column
DECLARE
    w record;
BEGIN
    SELECT * INTO w FROM insp.console_who(p_token_sha256, ARRAY['reviewer', 'operator', 'auditor']);
    -- A row is written at most once a minute, without waiting for its lock.
    IF p_is_use THEN
        UPDATE insp.console_session x SET seen_at = now()
        WHERE x.id IN (SELECT y.id FROM insp.console_session y WHERE y.token_sha256 = p_token_sha256
            AND y.seen_at < now() - interval '1 minute' FOR NO KEY UPDATE SKIP LOCKED);
    END IF;
    name := substr(w.actor, 9);
    SELECT array_agg(DISTINCT g.role ORDER BY g.role),
        coalesce(array_agg(DISTINCT g.role ORDER BY g.role) FILTER (WHERE g.partner_id IS NULL), '{}')
    INTO roles, all_roles
    FROM insp.console_grant g JOIN insp.console_session s ON s.id = g.session_id WHERE s.token_sha256 = p_token_sha256;
    partners := ARRAY(SELECT p.name FROM insp.partner p WHERE p.erased_at IS NULL AND (w.is_all OR p.id = ANY (w.partners))
        ORDER BY p.name LIMIT 1000);
END
$$;
COMMENT ON FUNCTION insp.console_session_of(bytea, boolean) IS
    'The name of the person signed in, the roles, and up to 1000 partners for which there is one; all_roles: the roles for every partner. p_is_use: a person''s call, which prolongs the session; a page that keeps itself up to date does not';
GRANT EXECUTE ON FUNCTION insp.console_session_of(bytea, boolean) TO insp_console;
