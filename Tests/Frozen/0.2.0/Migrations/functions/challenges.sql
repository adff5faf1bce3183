-- Liveness challenges: issued here, and used up by the job that answers them. The token is enough to use one; the table has
-- its digest.

CREATE OR REPLACE FUNCTION insp.hmac_sha256(p_key bytea, p_message bytea) RETURNS bytea
LANGUAGE sql IMMUTABLE STRICT SET search_path = pg_catalog, insp, pg_temp AS $$
    -- RFC 2104: the key, padded to the 64 bytes of a block, XOR 0x36 for the inner digest and XOR 0x5c for the outer.
    SELECT sha256(k.outer_pad || sha256(k.inner_pad || p_message))
    FROM (
        SELECT string_agg(set_byte('\x00'::bytea, 0, b.byte # 54), ''::bytea ORDER BY b.n) AS inner_pad,
            string_agg(set_byte('\x00'::bytea, 0, b.byte # 92), ''::bytea ORDER BY b.n) AS outer_pad
        FROM (
            SELECT n, CASE WHEN n < length(s.key) THEN get_byte(s.key, n) ELSE 0 END AS byte
            FROM (SELECT CASE WHEN length(p_key) > 64 THEN sha256(p_key) ELSE p_key END AS key) s, generate_series(0, 63) n
        ) b
    ) k
$$;
COMMENT ON FUNCTION insp.hmac_sha256(bytea, bytea) IS 'HMAC with SHA-256 (RFC 2104)';

CREATE OR REPLACE FUNCTION insp.draw(p_key bytea, p_purpose text, p_kinds integer, p_count integer) RETURNS integer[]
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    drawn integer[] := '{}'::integer[];
    pool bytea := ''::bytea;
    used integer := 0;
    block integer := 0;
    byte integer;
    kinds integer;
BEGIN
    WHILE cardinality(drawn) < p_count LOOP
        IF used >= length(pool) THEN
            pool := insp.hmac_sha256(p_key, convert_to(p_purpose || block, 'UTF8'));
            block := block + 1;
            used := 0;
        END IF;
        byte := get_byte(pool, used);
        used := used + 1;
        -- All equally likely: byte values beyond the last full multiple are skipped. No two in a row are equal.
        kinds := CASE WHEN drawn = '{}' THEN p_kinds ELSE p_kinds - 1 END;
        CONTINUE WHEN byte >= 256 - 256 % kinds;
        drawn := drawn || CASE WHEN drawn = '{}' THEN byte % kinds
            ELSE (drawn[cardinality(drawn)] + 1 + byte % kinds) % p_kinds END;
    END LOOP;
    RETURN drawn;
END
$$;
COMMENT ON FUNCTION insp.draw(bytea, text, integer, integer) IS
    'A sequence of numbers below p_kinds without immediate repeats, drawn with a key: every such sequence is equally likely';

CREATE OR REPLACE FUNCTION insp.challenge_issue(
    partner text,
    method text DEFAULT 'colour_flash',
    colours integer DEFAULT 7,
    colour_ms integer DEFAULT 400,
    steps integer DEFAULT 3,
    motions text[] DEFAULT ARRAY['MOUTH_OPEN', 'SMILE', 'BLINK', 'SHAKE', 'NOD'],
    step_timeout_ms integer DEFAULT 7000,
    lifetime interval DEFAULT NULL
) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    names constant text[] := ARRAY['RED', 'GREEN', 'BLUE', 'CYAN', 'MAGENTA', 'YELLOW'];
    owner integer;
    nonce constant bytea := insp.random_key();
    token constant text := insp.random_token();
    made insp.challenge;
    asked jsonb := '{}'::jsonb;
    term interval;
BEGIN
    SELECT p.id INTO owner FROM insp.partner p WHERE p.name = challenge_issue.partner AND p.enabled AND insp.may_act(p.id);
    IF NOT FOUND THEN
        PERFORM insp.refuse('PARTNER_UNKNOWN', left(quote_nullable(challenge_issue.partner), 40));
    END IF;
    -- Fields have the names of the gateway's request.
    PERFORM insp.require(challenge_issue.method IN ('colour_flash', 'motion', 'colour_flash+motion'),
        'method ' || left(quote_nullable(challenge_issue.method), 40), 'A method is colour_flash, motion or colour_flash+motion.',
        p_field => 'method');
    PERFORM insp.require(challenge_issue.colours BETWEEN 6 AND 8, 'colours is ' || coalesce(challenge_issue.colours::text, 'null'),
        'colours is 6 to 8.', p_field => 'colours');
    PERFORM insp.require(challenge_issue.steps BETWEEN 1 AND 5, 'steps is ' || coalesce(challenge_issue.steps::text, 'null'),
        'steps is 1 to 5.', p_field => 'steps');
    -- At most three changes a second, for the sake of photosensitive people (WCAG 2.2, 2.3.1).
    PERFORM insp.require(challenge_issue.colour_ms BETWEEN 334 AND 1000, 'the time of a colour',
        'A colour is shown for 334 to 1000 ms.', p_field => 'colourMs');
    PERFORM insp.require(challenge_issue.step_timeout_ms BETWEEN 1000 AND 30000, 'the time for a step',
        'A step may take 1000 to 30000 ms.', p_field => 'stepTimeoutMs');
    PERFORM insp.require(cardinality(challenge_issue.motions) >= 2
        AND challenge_issue.motions <@ ARRAY['MOUTH_OPEN', 'SMILE', 'BLINK', 'SHAKE', 'NOD']
        AND (SELECT count(DISTINCT m) FROM unnest(challenge_issue.motions) m) = cardinality(challenge_issue.motions), 'motions',
        'motions are two or more of MOUTH_OPEN, SMILE, BLINK, SHAKE, NOD.', p_field => 'motions');
    term := coalesce(challenge_issue.lifetime, interval '30 seconds' + CASE WHEN challenge_issue.method LIKE '%motion'
        THEN make_interval(secs => challenge_issue.steps * challenge_issue.step_timeout_ms / 1000.0) ELSE interval '0' END);
    PERFORM insp.require(term BETWEEN interval '5 seconds' AND interval '5 minutes', 'lifetime',
        'lifetime is 5 seconds to 5 minutes.', p_field => 'lifetimeSeconds');
    IF challenge_issue.method LIKE 'colour_flash%' THEN
        asked := jsonb_build_object('colourMs', challenge_issue.colour_ms, 'colours',
            (SELECT jsonb_agg(names[d.kind + 1] ORDER BY d.n)
             FROM unnest(insp.draw(nonce, 'colours', 6, challenge_issue.colours)) WITH ORDINALITY AS d (kind, n)));
    END IF;
    IF challenge_issue.method LIKE '%motion' THEN
        asked := asked || jsonb_build_object('stepTimeoutMs', challenge_issue.step_timeout_ms, 'steps',
            (SELECT jsonb_agg(challenge_issue.motions[d.kind + 1] ORDER BY d.n) FROM unnest(insp.draw(nonce, 'steps',
                cardinality(challenge_issue.motions), challenge_issue.steps)) WITH ORDINALITY AS d (kind, n)));
    END IF;
    -- Each call deletes a few expired ones, so that the table needs no other maintenance.
    DELETE FROM insp.challenge c WHERE c.id IN (
        SELECT x.id FROM insp.challenge x WHERE x.expires_at < now() - interval '1 hour'
        ORDER BY x.expires_at LIMIT 10 FOR UPDATE SKIP LOCKED);
    INSERT INTO insp.challenge AS c (partner_id, token_sha256, spec, expires_at)
    VALUES (owner, sha256(convert_to(token, 'UTF8')), asked, clock_timestamp() + term)
    RETURNING * INTO made;
    RETURN asked || jsonb_build_object('id', made.id, 'method', challenge_issue.method,
        'expiresAt', insp.iso_time(made.expires_at), 'token', token);
END
$$;
COMMENT ON FUNCTION insp.challenge_issue(text, text, integer, integer, integer, text[], integer, interval) IS
    'Issues a liveness challenge to a partner: colours to show, motions to request, in random order. Single use; a job takes it as payload key challenge: {"token", "frameTimes": [milliseconds since the first colour or instruction, one for each frame, negative before]}. method: colour_flash, motion or colour_flash+motion';
GRANT EXECUTE ON FUNCTION insp.challenge_issue(text, text, integer, integer, integer, text[], integer, interval)
    TO insp_producer, insp_operator;

CREATE OR REPLACE FUNCTION insp.check_challenge(p jsonb, p_flow insp.workflow, p_kinds text[]) RETURNS void
LANGUAGE plpgsql STABLE AS $$
DECLARE
    given constant jsonb := p -> 'challenge';
BEGIN
    IF given IS NULL THEN
        RETURN;
    ELSIF jsonb_typeof(given) <> 'object' OR given - ARRAY['token', 'frameTimes'] <> '{}'
        OR jsonb_typeof(given -> 'token') IS DISTINCT FROM 'string'
        OR jsonb_typeof(given -> 'frameTimes') IS DISTINCT FROM 'array' THEN
        PERFORM insp.refuse('PAYLOAD_INVALID', 'challenge is not an object of token and frameTimes', p_field => 'challenge');
    ELSIF jsonb_array_length(given -> 'frameTimes') NOT BETWEEN 1 AND 256 OR EXISTS (
        SELECT FROM jsonb_array_elements(given -> 'frameTimes') t
        WHERE jsonb_typeof(t) <> 'number' OR abs(t::numeric) > 600000) THEN
        PERFORM insp.refuse('PAYLOAD_INVALID', 'challenge.frameTimes is out of range', 'frameTimes are 1 to 256 numbers of milliseconds.',
            'challenge.frameTimes');
    ELSIF 'liveness' <> ALL (p_flow.capabilities) THEN
        PERFORM insp.refuse('PAYLOAD_INVALID', p_flow.name || ' takes no challenge',
            insp.workflow_hint(ARRAY['liveness'], 'a challenge'), 'challenge');
    ELSIF 'FRAMES' <> ALL (p_kinds) THEN
        PERFORM insp.refuse('PART_MISSING', 'FRAMES, which a challenge asks for', p_field => 'FRAMES');
    END IF;
END
$$;
COMMENT ON FUNCTION insp.check_challenge(jsonb, insp.workflow, text[]) IS 'Refuses the challenge of a payload if its form is wrong';

CREATE OR REPLACE FUNCTION insp.consume_challenge() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off AS $$
DECLARE
    -- Digests are compared, so that the time taken reveals nothing of the token.
    digest constant bytea := sha256(convert_to(NEW.request #>> '{challenge,token}', 'UTF8'));
    used insp.challenge;
BEGIN
    -- Of two concurrent jobs the second waits for the first, and finds the challenge used, or free if the first was rolled
    -- back.
    UPDATE insp.challenge c SET consumed_at = clock_timestamp(), job_id = NEW.id
    WHERE c.token_sha256 = digest AND c.partner_id = NEW.partner_id AND c.consumed_at IS NULL AND c.capture_id IS NULL
    RETURNING * INTO used;
    IF NOT FOUND THEN
        SELECT * INTO used FROM insp.challenge c WHERE c.token_sha256 = digest AND c.partner_id = NEW.partner_id;
        PERFORM insp.refuse(CASE WHEN NOT FOUND OR used.capture_id IS NOT NULL THEN 'CHALLENGE_INVALID'
            WHEN used.expires_at < clock_timestamp() THEN 'CHALLENGE_EXPIRED' ELSE 'CHALLENGE_USED' END, p_field => 'challenge.token');
    ELSIF used.expires_at < clock_timestamp() THEN
        PERFORM insp.refuse('CHALLENGE_EXPIRED', p_field => 'challenge.token');
    END IF;
    -- From here on the job has the specification: no attempt and no rerun reads the challenge again.
    NEW.request := NEW.request || jsonb_build_object('challenge', used.spec || jsonb_build_object('id', used.id,
        'frameTimes', NEW.request #> '{challenge,frameTimes}',
        'ageMs', round(1000 * extract(epoch FROM clock_timestamp() - used.issued_at))));
    RETURN NEW;
END
$$;
COMMENT ON FUNCTION insp.consume_challenge() IS
    'Uses up the challenge of a new job in the transaction that accepts the job, and puts its specification into the request. No other job can use that of a capture link';
CREATE OR REPLACE TRIGGER consume_challenge BEFORE INSERT ON insp.job FOR EACH ROW
    WHEN (NEW.request ? 'challenge' AND NEW.rerun_of IS NULL) EXECUTE FUNCTION insp.consume_challenge();
