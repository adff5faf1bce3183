-- A case at the console: a job that waits for a review. A reviewer takes it first; a lease keeps it for one person at a time,
-- who alone sees the person inspected. The others see how far it is.
-- After: record

CREATE OR REPLACE FUNCTION insp.console_take(p_token_sha256 bytea, p_id uuid) RETURNS timestamptz
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    c record;
    ends timestamptz;
BEGIN
    SELECT insp.console_job(p_token_sha256, ARRAY['reviewer'], p_id) AS job, insp.console_actor(p_token_sha256) AS actor INTO c;
    IF (c.job).status <> 64 THEN
        PERFORM insp.refuse('REVIEW_NOT_DUE', 'status ' || (c.job).status);
    ELSIF EXISTS (SELECT FROM insp.review_wait w JOIN insp.partner p ON p.id = (c.job).partner_id
            WHERE w.job_id = (c.job).id AND insp.is_same_person(w.decided_by, c.actor) AND p.second_review) THEN
        PERFORM insp.refuse('CASE_TAKEN', 'you have decided it', 'Somebody else must confirm that, or decide otherwise.');
    END IF;
    DELETE FROM insp.case_lease l WHERE l.until < now() - interval '1 day';
    INSERT INTO insp.case_lease AS l (job_id, actor, until) VALUES ((c.job).id, c.actor, now() + interval '15 minutes')
    ON CONFLICT (job_id) DO UPDATE SET actor = EXCLUDED.actor, until = EXCLUDED.until,
        taken_at = CASE WHEN l.actor = EXCLUDED.actor AND l.until > now() THEN l.taken_at ELSE now() END
    WHERE l.actor = EXCLUDED.actor OR l.until <= now()
    RETURNING l.until INTO ends;
    IF ends IS NULL THEN
        PERFORM insp.refuse('CASE_TAKEN', 'somebody else has it', 'Take another one, or wait: a person has a case for 15 minutes at a time.');
    END IF;
    PERFORM insp.console_begin(c.actor);
    PERFORM insp.record('console_take', p_id::text);
    PERFORM insp.console_end();
    RETURN ends;
END
$$;
COMMENT ON FUNCTION insp.console_take(bytea, uuid) IS
    'Takes a case for a quarter of an hour, or extends that; CASE_TAKEN if somebody else has it, or if the caller decided it and a second person must confirm. Recorded';
GRANT EXECUTE ON FUNCTION insp.console_take(bytea, uuid) TO insp_console;

CREATE OR REPLACE FUNCTION insp.console_keep(p_token_sha256 bytea, p_id uuid) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET jit = off SET enable_seqscan = off AS $$
DECLARE
    w record;
BEGIN
    SELECT * INTO w FROM insp.console_who(p_token_sha256, ARRAY['reviewer']);
    UPDATE insp.case_lease l SET until = now() + interval '15 minutes'
    WHERE l.job_id = (SELECT j.id FROM insp.job j WHERE j.public_id = p_id AND j.status = 64
            AND (w.is_all OR j.partner_id = ANY (w.partners)))
        AND l.actor = w.actor AND l.until > now();
    RETURN FOUND;
END
$$;
COMMENT ON FUNCTION insp.console_keep(bytea, uuid) IS
    'Extends the caller''s own lease of a case while the person types; false: the caller does not have it, and does not get it';
GRANT EXECUTE ON FUNCTION insp.console_keep(bytea, uuid) TO insp_console;

CREATE OR REPLACE FUNCTION insp.console_release(p_token_sha256 bytea, p_id uuid) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    c record;
BEGIN
    SELECT insp.console_job(p_token_sha256, ARRAY['reviewer'], p_id) AS job, insp.console_actor(p_token_sha256) AS actor INTO c;
    DELETE FROM insp.case_lease l WHERE l.job_id = (c.job).id AND l.actor = c.actor;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM insp.console_begin(c.actor);
    PERFORM insp.record('console_release', p_id::text);
    PERFORM insp.console_end();
    RETURN true;
END
$$;
COMMENT ON FUNCTION insp.console_release(bytea, uuid) IS 'Gives a case back; false: it was not the caller''s. Recorded';
GRANT EXECUTE ON FUNCTION insp.console_release(bytea, uuid) TO insp_console;

CREATE OR REPLACE FUNCTION insp.console_state(
    p_token_sha256 bytea, p_id uuid, OUT status integer, OUT partner text, OUT workflow text, OUT waits_seconds double precision,
    OUT remains_seconds double precision, OUT decision text, OUT label text, OUT because text[], OUT holder text, OUT is_mine boolean,
    OUT until timestamptz, OUT second boolean, OUT first_by text, OUT first_decision text, OUT first_label text,
    OUT first_is_mine boolean, OUT decided_by text, OUT confirmed text, OUT decided_at timestamptz, OUT final_decision text,
    OUT final_label text
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    c record;
    j insp.job;
    held insp.step;
BEGIN
    SELECT insp.console_job(p_token_sha256, ARRAY['reviewer'], p_id) AS job, insp.console_actor(p_token_sha256) AS actor INTO c;
    j := c.job;
    SELECT * INTO held FROM insp.step s WHERE s.job_id = j.id AND s.status = 64;
    -- Jobs that nobody was asked about are none of a reviewer's business.
    IF j.status < 64 OR held.job_id IS NULL AND j.status <> 64 THEN
        PERFORM insp.refuse('REVIEW_NOT_DUE', 'status ' || j.status);
    ELSIF j.request IS NULL OR held.summary #>> '{decision,type}' IS NULL THEN
        PERFORM insp.refuse('RESULT_PURGED');
    END IF;
    status := j.status;
    workflow := j.workflow;
    decision := held.summary #>> '{decision,type}';
    label := held.summary #>> '{decision,details,label}';
    because := insp.case_reasons(held.summary);
    waits_seconds := extract(epoch FROM now() - held.stored_at);
    SELECT p.name, p.second_review INTO partner, second FROM insp.partner p WHERE p.id = j.partner_id;
    IF status = 64 THEN
        remains_seconds := extract(epoch FROM j.expires_at - now());
        UPDATE insp.case_lease l SET until = now() + interval '15 minutes'
        WHERE l.job_id = j.id AND l.actor = c.actor AND l.until > now();
        SELECT substr(l.actor, 9), l.actor = c.actor, l.until INTO holder, is_mine, until
        FROM insp.case_lease l WHERE l.job_id = j.id AND l.until > now();
        SELECT substr(w.decided_by, 1 + CASE WHEN w.decided_by LIKE 'console:%' THEN 8 ELSE 0 END), w.decision, w.label,
            coalesce(insp.is_same_person(w.decided_by, c.actor), false)
        INTO first_by, first_decision, first_label, first_is_mine FROM insp.review_wait w WHERE w.job_id = j.id;
    ELSE
        decided_at := j.completed_at;
        SELECT s.summary #>> '{review,decision}', s.summary #>> '{review,label}' INTO final_decision, final_label
        FROM insp.step s WHERE s.job_id = j.id AND s.status = j.status;
        SELECT substr(r.actor, 1 + CASE WHEN r.actor LIKE 'console:%' THEN 8 ELSE 0 END),
            substr(r.detail ->> 'confirms', 1 + CASE WHEN r.detail ->> 'confirms' LIKE 'console:%' THEN 8 ELSE 0 END)
        INTO decided_by, confirmed
        -- <> matches the index by subject, and no other.
        FROM insp.record r WHERE r.chain <> 'access' AND r.subject = j.public_id::text AND r.action = 'review'
        ORDER BY r.id DESC LIMIT 1;
    END IF;
    is_mine := coalesce(is_mine, false);
    IF NOT is_mine THEN
        INSERT INTO insp.record (chain, actor, action, subject, purpose)
        VALUES ('access', c.actor, 'case', j.public_id::text, 'review');
    END IF;
END
$$;
COMMENT ON FUNCTION insp.console_state(bytea, uuid) IS
    'How far a case is, for every reviewer of its partner, and nothing of the person inspected: what was proposed and why (labels), how long it waits, who has it, who decided it first where a second person must confirm (second), and afterwards who decided what and when, and whose decision that confirmed. Prolongs the caller''s lease. Recorded with the purpose review, unless the caller has the case: insp.console_case records that access';
GRANT EXECUTE ON FUNCTION insp.console_state(bytea, uuid) TO insp_console;

CREATE OR REPLACE FUNCTION insp.console_case(
    p_token_sha256 bytea, p_id uuid, OUT request jsonb, OUT decided_at timestamptz, OUT statuses integer[],
    OUT bodies bytea[], OUT kinds text[], OUT ordinals integer[], OUT document jsonb, OUT sealed bytea, OUT body bytea,
    OUT partner_id integer, OUT notes jsonb, OUT runs jsonb
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    c record;
    j insp.job;
    said jsonb;
    decided insp.step;
BEGIN
    SELECT insp.console_job(p_token_sha256, ARRAY['reviewer'], p_id) AS job, insp.console_actor(p_token_sha256) AS actor INTO c;
    j := c.job;
    IF j.status <> 64 THEN
        PERFORM insp.refuse('REVIEW_NOT_DUE', 'status ' || j.status);
    END IF;
    -- The lease is the grant, as for images.
    UPDATE insp.case_lease l SET until = now() + interval '15 minutes'
    WHERE l.job_id = j.id AND l.actor = c.actor AND l.until > now();
    IF NOT FOUND THEN
        PERFORM insp.refuse('CASE_TAKEN');
    END IF;
    SELECT * INTO decided FROM insp.step s WHERE s.job_id = j.id AND s.status = 64;
    IF j.request IS NULL OR decided.summary #>> '{decision,type}' IS NULL THEN
        PERFORM insp.refuse('RESULT_PURGED');
    END IF;
    said := CASE WHEN j.key_id IS NULL THEN insp.readable_personal(j.personal) END;
    document := insp.step_document(decided) || insp.result_frame(j) || jsonb_strip_nulls(jsonb_build_object(
        'customerInternalReference', said -> 'customerInternalReference', 'userReference', said -> 'userReference'));
    sealed := j.sealed;
    body := CASE WHEN decided.seal > 0 THEN decided.body END;
    request := j.request;
    decided_at := decided.stored_at;
    partner_id := j.partner_id;
    SELECT coalesce(array_agg(s.status ORDER BY s.status), '{}'), coalesce(array_agg(s.body ORDER BY s.status), '{}')
    INTO statuses, bodies FROM insp.step s WHERE s.job_id = j.id AND s.status IN (4, 8, 16, 32) AND s.body IS NOT NULL;
    SELECT coalesce(array_agg(p.kind ORDER BY p.kind, p.ordinal), '{}'),
        coalesce(array_agg(p.ordinal ORDER BY p.kind, p.ordinal), '{}')
    INTO kinds, ordinals FROM insp.part p WHERE p.job_id = j.id;
    SELECT coalesce(jsonb_agg(jsonb_build_object('at', insp.iso_time(r.at), 'who', r.actor, 'action', r.action,
        'note', r.words -> 'note') ORDER BY r.id), '[]') INTO notes
    -- <> matches the index by subject, and no other.
    FROM insp.record r WHERE r.chain <> 'access' AND r.subject = j.public_id::text AND r.words ? 'note';
    SELECT coalesce(jsonb_agg(jsonb_build_object('id', x.public_id, 'at', insp.iso_time(x.created_at), 'status', x.status,
        'decision', s.summary #> '{decision,type}', 'label', s.summary #> '{decision,details,label}') ORDER BY x.id), '[]')
    INTO runs
    FROM (SELECT (SELECT r.first_id FROM insp.rerun r WHERE r.job_id = j.id) AS first) f,
        LATERAL (SELECT r.job_id FROM insp.rerun r WHERE r.first_id = coalesce(f.first, j.id)
            UNION SELECT coalesce(f.first, j.id)) chain
        JOIN insp.job x ON x.id = ANY (ARRAY[chain.job_id])
        LEFT JOIN insp.step s ON s.job_id = x.id AND s.status = x.status AND x.status IN (64, 128);
    INSERT INTO insp.record (chain, actor, action, subject, purpose)
    VALUES ('access', c.actor, 'case', j.public_id::text, 'review');
END
$$;
COMMENT ON FUNCTION insp.console_case(bytea, uuid) IS
    'A case as its page shows it to the person who has taken it: the request, the results of its stages and the decision that waits, as they are stored, its parts, notes, and all runs of the job; CASE_TAKEN for anybody else, REVIEW_NOT_DUE once it is decided. Prolongs the lease. Each call is recorded with the purpose review';
GRANT EXECUTE ON FUNCTION insp.console_case(bytea, uuid) TO insp_console;

CREATE OR REPLACE FUNCTION insp.console_part(
    p_token_sha256 bytea, p_id uuid, p_kind text, p_ordinal integer,
    OUT bytes bytea, OUT is_sealed boolean, OUT location text, OUT size integer, OUT partner_id integer
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET jit = off SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    c record;
    part insp.part;
BEGIN
    SELECT insp.console_job(p_token_sha256, ARRAY['reviewer'], p_id) AS job, insp.console_actor(p_token_sha256) AS actor INTO c;
    -- The lease is the grant: only a reviewer who decides the case sees the person.
    IF (c.job).status <> 64 OR NOT EXISTS (SELECT FROM insp.case_lease l
            WHERE l.job_id = (c.job).id AND l.actor = c.actor AND l.until > now()) THEN
        PERFORM insp.refuse('CASE_TAKEN');
    END IF;
    SELECT * INTO part FROM insp.part p WHERE p.job_id = (c.job).id AND p.kind = p_kind AND p.ordinal = p_ordinal;
    IF NOT FOUND THEN
        PERFORM insp.refuse(CASE WHEN EXISTS (SELECT FROM insp.part p WHERE p.job_id = (c.job).id)
            THEN 'PART_ABSENT' ELSE 'PARTS_PURGED' END);
    ELSIF part.size IS NULL THEN
        PERFORM insp.refuse('PART_ABSENT', 'it was given by URL', 'Fetch it from that URL; it is not stored here.');
    END IF;
    is_sealed := part.seal > 0;
    size := part.size;
    partner_id := (c.job).partner_id;
    IF part.content_id IS NULL THEN
        location := part.location;
    ELSE
        SELECT x.bytes INTO bytes FROM insp.content x
        WHERE x.id = part.content_id AND x.kind = part.kind AND x.ordinal = part.ordinal;
        IF bytes IS NULL THEN
            PERFORM insp.refuse('PARTS_PURGED');
        END IF;
    END IF;
    INSERT INTO insp.record (chain, actor, action, subject, purpose, detail)
    VALUES ('access', c.actor, 'image', p_id::text, 'review',
        jsonb_strip_nulls(jsonb_build_object('part', part.kind, 'ordinal', nullif(part.ordinal, 0))));
END
$$;
COMMENT ON FUNCTION insp.console_part(bytea, uuid, text, integer) IS
    'The bytes of a part of a case that the caller has taken, as they are stored, or where in the object store they are; CASE_TAKEN otherwise. Each call is recorded with the purpose review';
GRANT EXECUTE ON FUNCTION insp.console_part(bytea, uuid, text, integer) TO insp_console;

CREATE OR REPLACE FUNCTION insp.console_key(p_token_sha256 bytea, p_id uuid, OUT key_id uuid, OUT partner_id integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    c record;
BEGIN
    SELECT insp.console_job(p_token_sha256, ARRAY['reviewer'], p_id) AS job, insp.console_actor(p_token_sha256) AS actor INTO c;
    key_id := (c.job).key_id;
    partner_id := (c.job).partner_id;
END
$$;
COMMENT ON FUNCTION insp.console_key(bytea, uuid) IS 'The name of the key that seals a note on a case, and whose it is; null: the job is not sealed';
GRANT EXECUTE ON FUNCTION insp.console_key(bytea, uuid) TO insp_console;

CREATE OR REPLACE FUNCTION insp.console_decide(
    p_token_sha256 bytea, p_id uuid, p_decision text, p_label text, p_note text
) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    c record;
    entry jsonb;
    is_over boolean;
BEGIN
    SELECT insp.console_job(p_token_sha256, ARRAY['reviewer'], p_id) AS job, insp.console_actor(p_token_sha256) AS actor INTO c;
    IF (c.job).status <> 64 THEN
        PERFORM insp.refuse('REVIEW_NOT_DUE', 'status ' || (c.job).status);
    END IF;
    PERFORM insp.require(coalesce(length(p_note), 0) <= 10000, 'the note', 'A note has at most 10,000 characters, sealed.');
    -- Locked, so that nobody takes the case between this check and the decision. A reviewer who typed for longer than the lease
    -- still has it, unless somebody took it since.
    SELECT l.until <= now() INTO is_over FROM insp.case_lease l WHERE l.job_id = (c.job).id AND l.actor = c.actor FOR UPDATE;
    IF NOT FOUND THEN
        PERFORM insp.refuse('CASE_TAKEN', 'you do not have it', 'Take the case first, look at it, then decide.');
    END IF;
    PERFORM insp.console_begin(c.actor);
    IF is_over THEN
        PERFORM insp.record('console_take', p_id::text);
    END IF;
    entry := insp.review(p_id, p_decision, p_label, p_note);
    PERFORM insp.console_end();
    DELETE FROM insp.case_lease l WHERE l.job_id = (c.job).id;
    RETURN entry;
END
$$;
COMMENT ON FUNCTION insp.console_decide(bytea, uuid, text, text, text) IS
    'insp.review by the person who has taken the case, or was the last to have it; CASE_TAKEN for anybody else. The record names the person. isConfirmed false: a second person must confirm';
GRANT EXECUTE ON FUNCTION insp.console_decide(bytea, uuid, text, text, text) TO insp_console;
