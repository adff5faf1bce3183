-- Capture links, as their page uses them. The person who opens one needs no credential, and can do what the session says and
-- nothing more. The gateway passes digests of the link's token and of the browser's cookie.
-- After: capture_links, challenges, contract, gateway, gateway_jobs, requests, results

CREATE OR REPLACE FUNCTION insp.capture_check_open(s insp.capture_session, p_grace interval DEFAULT '0') RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    IF s.id IS NULL THEN
        PERFORM insp.refuse('LINK_UNKNOWN');
    ELSIF s.job_id IS NULL AND (s.expires_at + p_grace <= clock_timestamp() OR s.request IS NULL) THEN
        PERFORM insp.refuse('LINK_ENDED');
    ELSIF NOT EXISTS (SELECT FROM insp.credential c JOIN insp.partner p ON p.id = c.partner_id
        WHERE c.id = s.credential_id AND c.revoked_at IS NULL AND (c.expires_at IS NULL OR c.expires_at > now()) AND p.enabled) THEN
        -- Revoking the credential, or disabling the partner, ends its links.
        PERFORM insp.refuse('LINK_ENDED');
    END IF;
END
$$;
COMMENT ON FUNCTION insp.capture_check_open(insp.capture_session, interval) IS
    'Refuses a link that does not exist, has expired for longer than p_grace, or ended with its credential';

CREATE OR REPLACE FUNCTION insp.capture_lock(p_token_sha256 bytea, p_browser_sha256 bytea, p_grace interval DEFAULT '0')
RETURNS insp.capture_session
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off AS $$
DECLARE
    s insp.capture_session;
BEGIN
    SELECT * INTO s FROM insp.capture_session x WHERE x.token_sha256 = p_token_sha256 FOR NO KEY UPDATE;
    PERFORM insp.capture_check_open(s, p_grace);
    IF (s.browser_sha256 = p_browser_sha256) IS NOT TRUE THEN
        PERFORM insp.refuse('LINK_TAKEN', CASE WHEN s.browser_sha256 IS NULL THEN 'nobody has begun' END);
    END IF;
    RETURN s;
END
$$;
COMMENT ON FUNCTION insp.capture_lock(bytea, bytea, interval) IS
    'The session of a link that the browser with this cookie has begun, locked so that its calls run one after the other. p_grace: how long after its end it is still accepted';

CREATE OR REPLACE FUNCTION insp.capture_find(
    p_token_sha256 bytea, p_browser_sha256 bytea DEFAULT NULL,
    OUT id uuid, OUT partner text, OUT partner_id integer, OUT state text, OUT is_mine boolean, OUT request jsonb, OUT return_url text,
    OUT sealed bytea, OUT parts text[], OUT challenge text, OUT fallback text, OUT shows_result boolean, OUT locale text,
    OUT embed_origin text, OUT expires_in_seconds integer, OUT consent jsonb, OUT policy_url text, OUT policy_version text, OUT purposes text[],
    OUT tries jsonb, OUT job uuid, OUT job_status smallint, OUT session_seconds integer
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET jit = off SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    s insp.capture_session;
BEGIN
    SELECT * INTO s FROM insp.capture_session x WHERE x.token_sha256 = p_token_sha256;
    is_mine := coalesce(s.browser_sha256 = p_browser_sha256, false);
    PERFORM insp.capture_check_open(s, CASE WHEN is_mine THEN insp.capture_grace() ELSE '0' END);
    id := s.id;
    state := CASE WHEN s.job_id IS NOT NULL THEN 'submitted' WHEN s.browser_sha256 IS NOT NULL THEN 'open' ELSE 'new' END;
    parts := s.parts;
    challenge := s.challenge;
    fallback := s.fallback;
    shows_result := s.shows_result;
    locale := s.locale;
    embed_origin := s.embed_origin;
    expires_in_seconds := greatest(0, extract(epoch FROM s.expires_at - clock_timestamp()));
    session_seconds := s.session_seconds;
    SELECT p.name, p.id, p.consent_policy_url, p.consent_policy_version, p.consent_purposes
    INTO partner, partner_id, policy_url, policy_version, purposes FROM insp.partner p WHERE p.id = s.partner_id;
    IF is_mine OR s.browser_sha256 IS NULL THEN
        request := s.request;
    END IF;
    IF is_mine THEN
        return_url := s.return_url;
        sealed := s.sealed;
        consent := s.consent;
        IF s.consent IS NOT NULL THEN
            policy_version := s.consent ->> 'policyVersion';
            purposes := ARRAY(SELECT jsonb_array_elements_text(s.consent -> 'purposes'));
        END IF;
        tries := s.tries;
        job := s.job_id;
        -- A job that was removed has ended.
        job_status := CASE WHEN s.job_id IS NOT NULL THEN
            coalesce((SELECT j.status FROM insp.job j WHERE j.public_id = s.job_id), 128::smallint) END;
    END IF;
END
$$;
COMMENT ON FUNCTION insp.capture_find(bytea, bytea) IS
    'What a link''s page must know: the state (new, open, submitted), whether this browser began, what to capture, and the policy to consent to, or to which this browser''s person consented. Only the browser that began learns of the return URL, the tries and the job, and for insp.capture_grace after the link''s time (expires_in_seconds is 0) of what it needs to send again';
GRANT EXECUTE ON FUNCTION insp.capture_find(bytea, bytea) TO insp_gateway;

CREATE OR REPLACE FUNCTION insp.capture_open(
    p_token_sha256 bytea, p_browser_sha256 bytea, p_policy_version text DEFAULT NULL, p_text text DEFAULT NULL,
    p_purposes text[] DEFAULT NULL
) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    -- When the consent arrived, however long it waits below.
    agreed_at constant timestamptz := clock_timestamp();
    s insp.capture_session;
    partner insp.partner;
BEGIN
    PERFORM insp.require(length(p_browser_sha256) = 32, 'browser');
    PERFORM insp.require(coalesce(p_text ~ '^[A-Za-z0-9._ -]{1,32}$', true), 'text');
    SELECT * INTO s FROM insp.capture_session x WHERE x.token_sha256 = p_token_sha256 FOR NO KEY UPDATE;
    PERFORM insp.capture_check_open(s);
    IF s.browser_sha256 IS NULL THEN
        SELECT * INTO partner FROM insp.partner p WHERE p.id = s.partner_id;
        -- The person agreed to what the page showed: if the policy has changed since, the page must show the new one.
        IF p_policy_version IS DISTINCT FROM partner.consent_policy_version THEN
            PERFORM insp.refuse('CONSENT_MISSING', 'policyVersion', insp.consent_hint(partner), 'policyVersion');
        ELSIF p_purposes <> partner.consent_purposes THEN
            PERFORM insp.refuse('CONSENT_MISSING', 'purposes', insp.consent_hint(partner), 'purposes');
        END IF;
        UPDATE insp.capture_session x SET browser_sha256 = p_browser_sha256, opened_at = agreed_at,
            expires_at = agreed_at + x.session_seconds * interval '1 second',
            consent = insp.capture_consent(partner, agreed_at) || jsonb_strip_nulls(jsonb_build_object('text', p_text))
        WHERE x.id = s.id;
        PERFORM insp.record_access(s.credential_id, 'capture_open', 'capture', NULL, jsonb_build_object('capture', s.id));
    ELSIF s.browser_sha256 <> p_browser_sha256 THEN
        PERFORM insp.refuse('LINK_TAKEN');
    END IF;
    RETURN (SELECT greatest(0, extract(epoch FROM x.expires_at - clock_timestamp()))::integer FROM insp.capture_session x WHERE x.id = s.id);
END
$$;
COMMENT ON FUNCTION insp.capture_open(bytea, bytea, text, text, text[]) IS
    'The person consents to the policy of this version, and these purposes (null: not stated), by the page''s text of this version and language, and begins: from now on the link serves only this browser, for its session''s time. Repeating it from the same browser changes nothing. Returns for how many seconds';
GRANT EXECUTE ON FUNCTION insp.capture_open(bytea, bytea, text, text, text[]) TO insp_gateway;

CREATE OR REPLACE FUNCTION insp.capture_judge(
    p_token_sha256 bytea, p_browser_sha256 bytea, p_kind text, p_language text DEFAULT 'en', p_image_sha256 bytea DEFAULT NULL,
    OUT attempt integer, OUT advice jsonb
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
#variable_conflict use_column
DECLARE
    -- After that the person goes on with what there is.
    most constant integer := 3;
    -- A lost answer costs no try; a browser that keeps sending one image gets no further one.
    most_repeats constant integer := 9;
    s constant insp.capture_session := insp.capture_lock(p_token_sha256, p_browser_sha256);
    mark constant bytea := sha256(convert_to(s.id::text || p_kind, 'UTF8') || p_image_sha256);
BEGIN
    IF s.job_id IS NOT NULL THEN
        PERFORM insp.refuse('LINK_ENDED');
    END IF;
    PERFORM insp.require(p_kind = ANY (s.parts) AND p_kind <> 'FRAMES', left(p_kind, 40), NULL, 'PART_UNEXPECTED');
    PERFORM insp.require(coalesce(length(p_image_sha256) = 32, true), 'image_sha256');
    attempt := coalesce((s.tries ->> p_kind)::integer, 0);
    IF mark = ANY (s.judged) AND s.repeats < most_repeats THEN
        UPDATE insp.capture_session x SET repeats = x.repeats + 1 WHERE x.id = s.id;
    ELSIF attempt >= most THEN
        attempt := NULL;
        RETURN;
    ELSE
        attempt := attempt + 1;
        UPDATE insp.capture_session x SET tries = x.tries || jsonb_build_object(p_kind, attempt),
            judged = x.judged || array_remove(ARRAY[mark], NULL)
        WHERE x.id = s.id;
    END IF;
    advice := (SELECT jsonb_object_agg(r.code, r.advice) FROM insp.reasons(p_language) r);
    PERFORM insp.record_access(s.credential_id, 'usability', 'capture', NULL, jsonb_build_object('capture', s.id));
END
$$;
COMMENT ON FUNCTION insp.capture_judge(bytea, bytea, text, text, bytea) IS
    'Counts a try of a part that is judged at once. An image that was judged before, by its SHA-256, does not count as a further try, up to nine times. Returns how many tries there were; null: three, so that this one is refused; and the advice of insp.reasons';
GRANT EXECUTE ON FUNCTION insp.capture_judge(bytea, bytea, text, text, bytea) TO insp_gateway;

CREATE OR REPLACE FUNCTION insp.capture_challenge(p_token_sha256 bytea, p_browser_sha256 bytea) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
#variable_conflict use_column
DECLARE
    most constant integer := 5;
    s constant insp.capture_session := insp.capture_lock(p_token_sha256, p_browser_sha256);
    made jsonb;
BEGIN
    IF s.job_id IS NOT NULL THEN
        PERFORM insp.refuse('LINK_ENDED');
    ELSIF s.challenge = 'none' THEN
        PERFORM insp.refuse('PAYLOAD_INVALID', 'the link has no challenge');
    ELSIF s.challenges >= most THEN
        PERFORM insp.refuse('CHALLENGE_INVALID', format('the link had %s', most));
    END IF;
    -- The frames and the photos go over a phone's slow line, in one request, which may take minutes to arrive. To judge by when its
    -- head arrived would give a forger the same time, as the body may follow as slowly.
    -- Phones in dim light take ten frames a second, and each colour needs some.
    made := insp.challenge_issue((SELECT p.name FROM insp.partner p WHERE p.id = s.partner_id), method => s.challenge,
        colour_ms => 500, lifetime => interval '5 minutes');
    -- One at a time: a browser that had several could answer the one that suits a recording.
    UPDATE insp.challenge c SET expires_at = clock_timestamp() WHERE c.id = s.challenge_id AND c.consumed_at IS NULL;
    UPDATE insp.challenge c SET capture_id = s.id WHERE c.id = (made ->> 'id')::uuid;
    UPDATE insp.capture_session x SET challenges = x.challenges + 1, challenge_id = (made ->> 'id')::uuid WHERE x.id = s.id;
    PERFORM insp.record_access(s.credential_id, 'challenge', 'capture', NULL,
        jsonb_build_object('capture', s.id, 'challenge', made -> 'id'));
    RETURN made;
END
$$;
COMMENT ON FUNCTION insp.capture_challenge(bytea, bytea) IS
    'insp.challenge_issue for a link, which gets at most five, one after the other: each ends the previous one, and no other job can use it';
GRANT EXECUTE ON FUNCTION insp.capture_challenge(bytea, bytea) TO insp_gateway;

CREATE OR REPLACE FUNCTION insp.capture_payload(s insp.capture_session, p_payload jsonb, p_kinds text[]) RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    -- Of a sealed request the partner's key may have been replaced since, and pseudonyms with it.
    personal constant text[] := CASE WHEN s.sealed IS NULL THEN '{}'::text[]
        ELSE ARRAY['customerInternalReference', 'userReference', 'reportingCriteria', 'callbackUrl'] END;
    own constant text[] := ARRAY['challenge', 'consent', 'review'];
    person constant text[] := ARRAY(SELECT k.kind FROM insp.part_kind k WHERE k.source = 'person');
    -- Without what the camera should have taken of the person, if the partner lets a reviewer decide; never without the document.
    declines constant boolean := s.fallback = 'review' AND EXISTS (SELECT FROM unnest(s.parts) k WHERE k = ANY (person) AND k <> ALL (p_kinds));
    other text;
    given insp.challenge;
BEGIN
    other := (SELECT k FROM unnest(p_kinds) k WHERE k <> ALL (s.parts) LIMIT 1);
    IF other IS NOT NULL THEN
        PERFORM insp.refuse('PART_UNEXPECTED', left(other, 40), format('The link takes %s.', array_to_string(s.parts, ', ')), left(other, 40));
    END IF;
    other := (SELECT k FROM unnest(s.parts) k WHERE k <> ALL (p_kinds) AND NOT (declines AND k = ANY (person)) LIMIT 1);
    IF other IS NOT NULL THEN
        PERFORM insp.refuse('PART_MISSING', other, p_field => other);
    END IF;
    PERFORM insp.require(jsonb_typeof(p_payload) = 'object' AND p_payload - own - personal = s.request - own - personal
            AND NOT EXISTS (SELECT k FROM jsonb_object_keys(p_payload - own) k EXCEPT SELECT k FROM jsonb_object_keys(s.request) k)
            AND p_payload -> 'review' IS NOT DISTINCT FROM CASE WHEN declines THEN '"always"' ELSE s.request -> 'review' END,
        'the payload is not the link''s', NULL, 'PAYLOAD_INVALID');
    PERFORM insp.require(('FRAMES' = ANY (p_kinds)) = (p_payload ? 'challenge'), 'FRAMES or challenge', 'Frames answer a challenge.',
        'PART_MISSING', 'FRAMES');
    IF p_payload ? 'challenge' THEN
        SELECT * INTO given FROM insp.challenge c
        WHERE c.id = s.challenge_id AND c.token_sha256 = sha256(convert_to(p_payload #>> '{challenge,token}', 'UTF8'));
        IF NOT FOUND THEN
            PERFORM insp.refuse('CHALLENGE_INVALID', 'it is not the link''s last one', p_field => 'challenge.token');
        ELSIF given.expires_at < clock_timestamp() THEN
            -- Here, too: what insp.consume_challenge refuses has a key already.
            PERFORM insp.refuse('CHALLENGE_EXPIRED', p_field => 'challenge.token');
        ELSIF given.consumed_at IS NOT NULL THEN
            PERFORM insp.refuse('CHALLENGE_USED', p_field => 'challenge.token');
        END IF;
    END IF;
    RETURN insp.gateway_payload(s.partner_id, 'capture', p_payload);
END
$$;
COMMENT ON FUNCTION insp.capture_payload(insp.capture_session, jsonb, text[]) IS
    'The payload of a link''s job, if it is that of the session with a consent, its last challenge and the parts that it asks for; a person who continues without their own parts gets a review, if the link allows that';

CREATE OR REPLACE FUNCTION insp.capture_grace() RETURNS interval
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, insp, pg_temp AS $$
    -- The gateway looks the link up when a request's head arrives, and its body may take five minutes. If it did not arrive, the
    -- page sends it again whole.
    SELECT interval '6 minutes'
$$;
COMMENT ON FUNCTION insp.capture_grace() IS 'How long after a link''s end the data of a capture that began earlier is still accepted';

CREATE OR REPLACE FUNCTION insp.capture_try(
    p_token_sha256 bytea, p_browser_sha256 bytea, p_payload jsonb, p_kinds text[]
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    s constant insp.capture_session := insp.capture_lock(p_token_sha256, p_browser_sha256, insp.capture_grace());
BEGIN
    IF s.job_id IS NULL THEN
        PERFORM set_config('insp.capture', s.id::text, true);
        PERFORM insp.try_request(insp.capture_payload(s, p_payload, ARRAY(SELECT DISTINCT k FROM unnest(p_kinds) k)), p_kinds);
        PERFORM set_config('insp.capture', '', true);
    END IF;
END
$$;
COMMENT ON FUNCTION insp.capture_try(bytea, bytea, jsonb, text[]) IS
    'Refuses a payload that insp.capture_submit would refuse, before the gateway creates a key for it';
GRANT EXECUTE ON FUNCTION insp.capture_try(bytea, bytea, jsonb, text[]) TO insp_gateway;

CREATE OR REPLACE FUNCTION insp.capture_submit(
    p_token_sha256 bytea, p_browser_sha256 bytea, p_payload jsonb, p_kinds text[] DEFAULT '{}', p_contents bytea[] DEFAULT '{}',
    p_sealed bytea DEFAULT NULL, p_request_hmac bytea DEFAULT NULL, p_locations text[] DEFAULT NULL, p_digests bytea[] DEFAULT NULL,
    p_sizes integer[] DEFAULT NULL, OUT id uuid, OUT repeated boolean
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    s constant insp.capture_session := insp.capture_lock(p_token_sha256, p_browser_sha256, insp.capture_grace());
    payload jsonb;
    -- insp.capture_payload refuses the others.
    declined constant text[] := ARRAY(SELECT k.kind FROM insp.part_kind k
        WHERE k.source = 'person' AND k.kind = ANY (s.parts) AND k.kind <> ALL (p_kinds) ORDER BY k.place);
BEGIN
    IF s.job_id IS NOT NULL THEN
        -- The answer was lost, and the page sent everything again.
        id := s.job_id;
        repeated := true;
        IF p_locations IS NOT NULL THEN
            PERFORM insp.forget_objects(p_locations);
        END IF;
        RETURN;
    END IF;
    IF p_sealed IS NULL AND EXISTS (SELECT FROM insp.custody) THEN
        PERFORM insp.refuse('KEY_MISSING', 'the gateway passes a request that is not sealed');
    END IF;
    -- In the transaction that ends the link: the job is neither lost nor accepted twice.
    payload := insp.capture_payload(s, p_payload, ARRAY(SELECT DISTINCT k FROM unnest(p_kinds) k));
    -- For insp.check_consent, which reads what the person agreed to; whatever fails puts it back.
    PERFORM set_config('insp.capture', s.id::text, true);
    -- This job may use the link's challenge.
    UPDATE insp.challenge c SET capture_id = NULL WHERE c.id = s.challenge_id AND payload ? 'challenge';
    id := insp.enqueue_parts(payload, p_kinds, p_contents, p_sealed, p_request_hmac, p_locations, p_digests, p_sizes);
    PERFORM set_config('insp.capture', '', true);
    -- No payload can say it: a reviewer relies on it. No worker has seen the job yet.
    UPDATE insp.job j SET request = j.request || jsonb_build_object('declined', declined)
    WHERE j.public_id = capture_submit.id AND declined <> '{}';
    repeated := false;
    UPDATE insp.capture_session x SET job_id = capture_submit.id, submitted_at = clock_timestamp(), request = NULL, consent = NULL
    WHERE x.id = s.id;
    PERFORM insp.record_access(s.credential_id, 'create', 'capture', capture_submit.id, jsonb_build_object('capture', s.id));
END
$$;
COMMENT ON FUNCTION insp.capture_submit(bytea, bytea, jsonb, text[], bytea[], bytea, bytea, text[], bytea[], integer[]) IS
    'Accepts the job of a link, once: insp.enqueue_parts for the session''s partner. Its request says which parts of the person were declined. The same again returns the job that was accepted';
GRANT EXECUTE ON FUNCTION insp.capture_submit(bytea, bytea, jsonb, text[], bytea[], bytea, bytea, text[], bytea[], integer[]) TO insp_gateway;

CREATE OR REPLACE FUNCTION insp.capture_result(p_token_sha256 bytea, p_browser_sha256 bytea) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET jit = off SET enable_seqscan = off AS $$
DECLARE
    s insp.capture_session;
    decision text;
BEGIN
    SELECT * INTO s FROM insp.capture_session x WHERE x.token_sha256 = p_token_sha256;
    PERFORM insp.capture_check_open(s);
    IF (s.browser_sha256 = p_browser_sha256) IS NOT TRUE THEN
        PERFORM insp.refuse('LINK_TAKEN');
    ELSIF s.shows_result THEN
        SELECT insp.plain_result(j) #>> '{decision,type}' INTO decision FROM insp.job j WHERE j.public_id = s.job_id AND j.status = 128;
        IF decision IS NOT NULL THEN
            PERFORM insp.record_access(s.credential_id, 'read', 'capture', s.job_id, jsonb_build_object('capture', s.id));
        END IF;
    END IF;
    RETURN decision;
END
$$;
COMMENT ON FUNCTION insp.capture_result(bytea, bytea) IS
    'The decision of a link''s job for the browser that began, and nothing else from its result; null: it has none, or the session does not show it. Recorded';
GRANT EXECUTE ON FUNCTION insp.capture_result(bytea, bytea) TO insp_gateway;
