-- The record of who did what, and its chains. If writers gave their rows positions, they would lock the chain's end until their
-- commit, and an operator's open transaction would stop all others. So rows are written without a position, and the duty `record`
-- gives one to those that have committed.

CREATE OR REPLACE FUNCTION insp.actor() RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT coalesce((SELECT a.actor FROM insp.console_act a WHERE a.transaction = pg_current_xact_id_if_assigned()), session_user)
$$;
COMMENT ON FUNCTION insp.actor() IS 'Who acts: the person for whom the console makes the call (console:NAME), or else the login';

CREATE OR REPLACE FUNCTION insp.record_words() RETURNS text[]
LANGUAGE sql IMMUTABLE AS $$ SELECT ARRAY['note', 'reason', 'decision', 'label', 'previous'] $$;
COMMENT ON FUNCTION insp.record_words() IS 'The details that are words: they are removed when a job''s person is erased';

CREATE OR REPLACE FUNCTION insp.record(
    p_action text, p_subject text, p_detail jsonb DEFAULT '{}', p_purpose text DEFAULT NULL
) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, insp, pg_temp AS $$
    INSERT INTO insp.record (chain, actor, action, subject, purpose, detail, words, words_salt, words_sha256)
    SELECT 'operator', insp.actor(), p_action, p_subject, p_purpose, g.detail - k.keys, s.words, s.salt, insp.words_digest(s.salt, s.words)
    FROM (SELECT jsonb_strip_nulls(coalesce(p_detail, '{}')) AS detail) g
        CROSS JOIN (SELECT insp.record_words() AS keys) k
        LEFT JOIN LATERAL (
            SELECT jsonb_object_agg(e.key, e.value) AS words, gen_random_uuid() AS salt
            FROM jsonb_each(g.detail) e WHERE e.key = ANY (k.keys) HAVING count(*) > 0) s ON true
$$;
COMMENT ON FUNCTION insp.record(text, text, jsonb, text) IS 'Records an action of insp.actor()';

CREATE OR REPLACE FUNCTION insp.words_digest(p_salt uuid, p_words jsonb) RETURNS bytea
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT sha256(uuid_send(p_salt) || convert_to(p_words::text, 'UTF8'))
$$;
COMMENT ON FUNCTION insp.words_digest(uuid, jsonb) IS 'The digest that remains in the record when words are removed';

CREATE OR REPLACE FUNCTION insp.record_hash(r insp.record, p_seq bigint, p_prev bytea) RETURNS bytea
LANGUAGE sql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT sha256(p_prev || convert_to(jsonb_build_array(r.chain, p_seq, (extract(epoch FROM r.at) * 1000000)::bigint, r.actor,
        r.action, r.subject, r.purpose, r.detail, encode(r.words_sha256, 'hex'))::text, 'UTF8'))
$$;
COMMENT ON FUNCTION insp.record_hash(insp.record, bigint, bytea) IS
    'The hash of a row at this position after one with this hash: SHA-256 of that hash and of the text of a jsonb array of chain, seq, at (microseconds since 1970), actor, action, subject, purpose, detail and words_sha256 (hexadecimal), in UTF-8';

CREATE OR REPLACE FUNCTION insp.link_record(p_limit integer DEFAULT 5000) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    c insp.record_chain;
    rows tid[];
    texts bytea[];
    text bytea;
    hashes bytea[];
    linked integer := 0;
    seen text[] := '{}'::text[];
BEGIN
    -- One at a time; a chain that retention is processing is linked later.
    FOR c IN SELECT * FROM insp.record_chain x ORDER BY x.chain FOR UPDATE SKIP LOCKED LOOP
        seen := seen || c.chain;
        BEGIN
            -- Rows held by an uncommitted erasure get their position later. The texts are those of insp.record_hash: made for all rows in
            -- one statement they take a third of the time.
            SELECT array_agg(w.row ORDER BY w.id), array_agg(convert_to(jsonb_build_array(w.chain, w.seq,
                (extract(epoch FROM w.at) * 1000000)::bigint, w.actor, w.action, w.subject, w.purpose, w.detail,
                encode(w.words_sha256, 'hex'))::text, 'UTF8') ORDER BY w.id)
            INTO rows, texts
            FROM (SELECT r.*, c.seq + row_number() OVER (ORDER BY r.id) AS seq FROM (
                SELECT x.ctid AS row, x.chain, x.id, x.at, x.actor, x.action, x.subject, x.purpose, x.detail, x.words_sha256
                FROM insp.record x WHERE x.chain || '' = c.chain AND x.seq IS NULL
                ORDER BY x.id LIMIT p_limit FOR NO KEY UPDATE SKIP LOCKED) r) w;
            CONTINUE WHEN rows IS NULL;
            hashes := ARRAY[c.hash];
            FOREACH text IN ARRAY texts LOOP
                c.hash := sha256(c.hash || text);
                hashes := hashes || c.hash;
            END LOOP;
            UPDATE insp.record x SET seq = c.seq + u.place, prev = u.prev, hash = u.hash
            FROM (SELECT * FROM unnest(rows, hashes, hashes[2:]) WITH ORDINALITY AS n (row, prev, hash, place)
                WHERE n.row IS NOT NULL) u
            WHERE x.ctid = u.row;
            c.seq := c.seq + cardinality(rows);
            linked := linked + cardinality(rows);
            UPDATE insp.record_chain x SET seq = c.seq, hash = c.hash WHERE x.chain = c.chain;
        EXCEPTION WHEN unique_violation OR invalid_text_representation THEN
            -- Only the owner can write a row that cannot be placed. The other chains go on; this one stalls, which verification reports.
            RAISE WARNING 'chain %: %', c.chain, SQLERRM;
        END;
    END LOOP;
    IF EXISTS (SELECT FROM insp.record_chain x WHERE x.chain <> ALL (seen)
            AND EXISTS (SELECT FROM insp.record w WHERE w.chain || '' = x.chain AND w.seq IS NULL)) THEN
        RETURN -1;
    END IF;
    RETURN linked;
END
$$;
COMMENT ON FUNCTION insp.link_record(integer) IS
    'Gives committed rows of the record without a position one at the end of their chain, oldest first; returns how many, or -1: another transaction holds a chain in which rows wait. An open transaction delays only its own rows';
GRANT EXECUTE ON FUNCTION insp.link_record(integer) TO insp_worker;

CREATE OR REPLACE FUNCTION insp.retire_record(p_chain text, p_before timestamptz, p_limit integer) RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    c insp.record_chain;
    removed integer;
BEGIN
    SELECT * INTO c FROM insp.record_chain x WHERE x.chain = p_chain FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    -- From the start up to the first row to be kept: a chain has no gaps. A row dated in the future was forged, or the clock was wrong: it
    -- is no younger than an old row behind it, and must not keep the rest forever.
    SELECT o.seq, o.hash INTO c.anchor_seq, c.anchor_hash FROM (
        SELECT x.seq, x.hash, x.at, bool_and(x.at <= p_before OR x.at > now() + interval '1 day') OVER (ORDER BY x.seq) AS is_old FROM (
            SELECT y.seq, y.hash, y.at FROM insp.record y WHERE y.chain = p_chain AND y.seq > c.anchor_seq
            ORDER BY y.seq LIMIT p_limit) x) o
    WHERE o.is_old AND o.at <= p_before ORDER BY o.seq DESC LIMIT 1;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    UPDATE insp.record_chain x SET anchor_seq = c.anchor_seq, anchor_hash = c.anchor_hash WHERE x.chain = p_chain;
    DELETE FROM insp.record x WHERE x.chain = p_chain AND x.seq <= c.anchor_seq;
    GET DIAGNOSTICS removed = ROW_COUNT;
    RETURN removed;
EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
    RETURN 0;
END
$$;
COMMENT ON FUNCTION insp.retire_record(text, timestamptz, integer) IS
    'Removes a chain''s rows from its start up to the first that is younger, at most p_limit, and stores the hash on which the rest builds; returns how many';

CREATE OR REPLACE FUNCTION insp.record_guard() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    IF TG_OP = 'DELETE' AND (OLD.chain = 'endpoint' OR OLD.at < now() - interval '1 year' OR OLD.at > now() + interval '1 day')
        AND OLD.seq <= (SELECT c.anchor_seq FROM insp.record_chain c WHERE c.chain = OLD.chain) THEN
        RETURN OLD;
    ELSIF TG_OP = 'UPDATE' AND num_nulls(NEW.seq, NEW.prev, NEW.hash) IN (0, 3) AND coalesce(NEW.seq > 0, true)
        AND (NEW.words IS NULL) = (NEW.words_salt IS NULL)
        AND (OLD.seq IS NULL OR (NEW.seq, NEW.prev, NEW.hash) = (OLD.seq, OLD.prev, OLD.hash))
        AND (NEW.words IS NULL OR (NEW.words, NEW.words_salt) IS NOT DISTINCT FROM (OLD.words, OLD.words_salt))
        AND (NEW.chain, NEW.id, NEW.at, NEW.actor, NEW.action, NEW.subject, NEW.purpose, NEW.detail, NEW.words_sha256)
            IS NOT DISTINCT FROM (OLD.chain, OLD.id, OLD.at, OLD.actor, OLD.action, OLD.subject, OLD.purpose, OLD.detail,
                OLD.words_sha256) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'insp.record is append-only' USING ERRCODE = 'insufficient_privilege';
END
$$;
COMMENT ON FUNCTION insp.record_guard() IS
    'Refuses all changes of the record, even by the owner, except those of insp.link_record, erasure (words) and insp.retire_record; rows younger than a year are never removed, except endpoints'' rows and those dated in the future';
CREATE OR REPLACE TRIGGER record_guard BEFORE DELETE ON insp.record
    FOR EACH ROW EXECUTE FUNCTION insp.record_guard();
-- A row gets its position and nothing else, once: that is checked without calling the function, which takes six microseconds.
CREATE OR REPLACE TRIGGER record_guard_update BEFORE UPDATE ON insp.record FOR EACH ROW
    WHEN (NOT (OLD.seq IS NULL AND NEW.seq > 0 AND num_nulls(NEW.prev, NEW.hash) = 0
        AND (NEW.chain, NEW.id, NEW.at, NEW.actor, NEW.action, NEW.subject, NEW.purpose, NEW.detail, NEW.words, NEW.words_salt,
                NEW.words_sha256) IS NOT DISTINCT FROM (OLD.chain, OLD.id, OLD.at, OLD.actor, OLD.action, OLD.subject, OLD.purpose,
                OLD.detail, OLD.words, OLD.words_salt, OLD.words_sha256)))
    EXECUTE FUNCTION insp.record_guard();
CREATE OR REPLACE TRIGGER record_truncate BEFORE TRUNCATE ON insp.record
    FOR EACH STATEMENT EXECUTE FUNCTION insp.record_guard();

CREATE OR REPLACE FUNCTION insp.record_chain_guard() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    IF TG_OP <> 'UPDATE' THEN
        RAISE EXCEPTION 'insp.record_chain keeps its rows' USING ERRCODE = 'insufficient_privilege';
    END IF;
    -- An end is unchanged or moves ahead to an existing row; the start moves over rows that retention may remove.
    IF NEW.chain = OLD.chain
        AND ((NEW.seq, NEW.hash) = (OLD.seq, OLD.hash) OR NEW.seq > OLD.seq AND EXISTS (
            SELECT FROM insp.record r WHERE r.chain = NEW.chain AND r.seq = NEW.seq AND r.hash = NEW.hash))
        AND ((NEW.anchor_seq, NEW.anchor_hash) = (OLD.anchor_seq, OLD.anchor_hash) OR NEW.anchor_seq > OLD.anchor_seq
            AND EXISTS (SELECT FROM insp.record r
                WHERE r.chain = NEW.chain AND r.seq = NEW.anchor_seq AND r.hash = NEW.anchor_hash)
            AND (NEW.chain = 'endpoint' OR NOT EXISTS (SELECT FROM insp.record r WHERE r.chain = NEW.chain
                AND r.seq > OLD.anchor_seq AND r.seq <= NEW.anchor_seq AND r.at >= now() - interval '1 year'
                -- Only over rows dated in the future that precede an old one.
                AND (r.seq = NEW.anchor_seq OR r.at <= now() + interval '1 day')))) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'insp.record_chain only moves on' USING ERRCODE = 'insufficient_privilege';
END
$$;
COMMENT ON FUNCTION insp.record_chain_guard() IS
    'Refuses to move the ends of a chain, even for the owner, except as insp.link_record and insp.retire_record do: ahead, to an existing row';
CREATE OR REPLACE TRIGGER record_chain_guard BEFORE UPDATE OR DELETE ON insp.record_chain
    FOR EACH ROW EXECUTE FUNCTION insp.record_chain_guard();
CREATE OR REPLACE TRIGGER record_chain_truncate BEFORE TRUNCATE ON insp.record_chain
    FOR EACH STATEMENT EXECUTE FUNCTION insp.record_chain_guard();

CREATE OR REPLACE FUNCTION insp.verify_record(
    p_chain text, p_seq bigint DEFAULT NULL, p_hash text DEFAULT NULL,
    OUT outcome text, OUT broken_at bigint, OUT reason text, OUT first bigint, OUT last bigint, OUT hash text, OUT erased bigint
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET jit = off AS $$
DECLARE
    c insp.record_chain;
    r insp.record;
    waiting bigint;
    since timestamptz;
    digests text[] := '{}'::text[];
    unexplained bigint;
BEGIN
    SELECT * INTO c FROM insp.record_chain x WHERE x.chain = p_chain;
    IF NOT FOUND THEN
        PERFORM insp.refuse('PARAMETER_INVALID', 'chain ' || left(quote_nullable(p_chain), 40),
            (SELECT format('Chains are %s.', string_agg(x.chain, ', ' ORDER BY x.chain)) FROM insp.record_chain x));
    END IF;
    outcome := 'broken';
    last := c.anchor_seq;
    hash := encode(c.anchor_hash, 'hex');
    erased := 0;
    FOR r IN SELECT * FROM insp.record x WHERE x.chain = p_chain AND x.seq IS NOT NULL ORDER BY x.seq LOOP
        broken_at := last + 1;
        reason := CASE
            WHEN r.seq > last + 1 THEN 'missing'
            WHEN r.seq > c.seq THEN 'behind the end of the chain'
            WHEN encode(r.prev, 'hex') <> hash THEN 'does not follow the row before it'
            WHEN r.words IS NOT NULL AND insp.words_digest(r.words_salt, r.words) IS DISTINCT FROM r.words_sha256
                OR insp.record_hash(r, r.seq, r.prev) <> r.hash THEN 'changed'
            WHEN r.seq = p_seq AND encode(r.hash, 'hex') <> lower(p_hash) THEN 'not the row that was noted'
            WHEN r.at > clock_timestamp() + interval '1 day' THEN 'dated in the future'
        END;
        IF reason IS NOT NULL THEN
            RETURN;
        END IF;
        first := coalesce(first, r.seq);
        last := r.seq;
        hash := encode(r.hash, 'hex');
        IF r.words IS NULL AND r.words_sha256 IS NOT NULL THEN
            erased := erased + 1;
            digests := digests || encode(r.words_sha256, 'hex');
        END IF;
    END LOOP;
    IF (last, hash) <> (c.seq, encode(c.hash, 'hex')) THEN
        broken_at := CASE WHEN last < c.seq THEN last + 1 ELSE last END;
        reason := CASE WHEN last < c.seq THEN 'missing' ELSE 'changed' END;
        RETURN;
    END IF;
    IF p_seq > last THEN
        -- Rows were removed together with the chain's end: only a hash noted elsewhere can show this.
        broken_at := last + 1;
        reason := format('ends at %s, and had a row %s when that was noted', last, p_seq);
        RETURN;
    END IF;
    broken_at := NULL;
    SELECT count(*), min(x.at) INTO waiting, since FROM insp.record x WHERE x.chain || '' = p_chain AND x.seq IS NULL;
    SELECT count(*) INTO unexplained FROM unnest(digests) AS d WHERE d NOT IN (
        SELECT w.digest FROM insp.record x, jsonb_array_elements_text(x.detail -> 'words') AS w (digest)
        WHERE x.chain = 'operator' AND x.action = 'forget_words');
    -- Rows without a position can be changed unnoticed; for a moment this is by design.
    IF since < clock_timestamp() - interval '1 minute' THEN
        outcome := 'inconclusive';
        reason := format('%s rows wait for their position, since %s: see insp.v_maintenance', waiting, since);
    ELSIF first IS NULL THEN
        outcome := 'inconclusive';
        reason := 'there is no row with a place';
    ELSIF unexplained > 0 THEN
        outcome := 'inconclusive';
        reason := format('words of %s rows were removed, and no erasure on record says so', unexplained);
    ELSIF p_seq <= c.anchor_seq THEN
        outcome := 'inconclusive';
        reason := 'retention has removed the row that was noted';
    ELSE
        outcome := 'whole';
    END IF;
END
$$;
COMMENT ON FUNCTION insp.verify_record(text, bigint, text) IS
    'Verifies a chain of the record: whole, from first to last, with the hash of last; broken, with position and reason; inconclusive, with the reason. Reads the whole chain. erased: rows whose words were removed with a person. A superuser can rebuild a chain or cut off its end: pass last and hash as noted elsewhere, and a truncated or replaced chain is reported as broken';
GRANT EXECUTE ON FUNCTION insp.verify_record(text, bigint, text) TO insp_operator, insp_auditor;

CREATE OR REPLACE VIEW insp.v_operator_events AS
SELECT r.at, r.actor AS who, r.action, r.subject, r.detail || coalesce(r.words, '{}') AS detail, r.purpose
FROM insp.record r WHERE r.chain = 'operator' ORDER BY r.id DESC;
COMMENT ON VIEW insp.v_operator_events IS 'What operators did, newest first';
COMMENT ON COLUMN insp.v_operator_events.at IS 'When it happened';
COMMENT ON COLUMN insp.v_operator_events.who IS 'The role that was logged in, or console: and the name of the person signed in there';
COMMENT ON COLUMN insp.v_operator_events.action IS 'The function that was called';
COMMENT ON COLUMN insp.v_operator_events.subject IS 'The object: a job''s public id, or a partner, lane or worker';
COMMENT ON COLUMN insp.v_operator_events.detail IS 'Reasons, old and new values, counts';
COMMENT ON COLUMN insp.v_operator_events.purpose IS 'The purpose, if personal data was read';
GRANT SELECT ON insp.v_operator_events TO insp_operator, insp_auditor;
