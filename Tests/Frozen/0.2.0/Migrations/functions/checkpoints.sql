-- What the programs read of the record to verify it elsewhere, and the signed checkpoints. The signing key never reaches the
-- database: insp.record_checkpoint stores what `inspectd audit sign` signed.
-- After: record

CREATE OR REPLACE FUNCTION insp.record_heads() RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT jsonb_object_agg(c.chain, jsonb_build_array(
        c.anchor_seq, encode(c.anchor_hash, 'hex'), c.seq, encode(c.hash, 'hex')))
    FROM insp.record_chain c
$$;
COMMENT ON FUNCTION insp.record_heads() IS
    'Both ends of each chain of the record: [position, hash] of the last row that retention removed, and of the last row';
GRANT EXECUTE ON FUNCTION insp.record_heads() TO insp_operator, insp_auditor, insp_signer;

CREATE OR REPLACE FUNCTION insp.record_hash_at(p_chain text, p_seq bigint) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off AS $$
    SELECT encode(coalesce(
        (SELECT c.anchor_hash FROM insp.record_chain c WHERE c.chain = p_chain AND c.anchor_seq = p_seq),
        (SELECT r.hash FROM insp.record r WHERE r.chain = p_chain AND r.seq = p_seq)), 'hex')
$$;
COMMENT ON FUNCTION insp.record_hash_at(text, bigint) IS
    'Hash of the row at a position of a chain, hexadecimal; also of the last one that retention removed; null: there is none';
GRANT EXECUTE ON FUNCTION insp.record_hash_at(text, bigint) TO insp_operator, insp_auditor, insp_signer;

CREATE OR REPLACE FUNCTION insp.record_rows(
    p_chain text, p_after bigint, p_limit integer DEFAULT 5000, p_words boolean DEFAULT false
) RETURNS TABLE (seq bigint, line text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off AS $$
    -- The values' texts are those of insp.record_hash: joined by ', ' and in brackets they are what was hashed.
    SELECT r.seq, format('{"chain": %s, "seq": %s, "at": %s, "actor": %s, "action": %s, "subject": %s, "purpose": %s, '
            '"detail": %s, "words_sha256": %s, "prev": "%s", "hash": "%s"%s}',
        to_jsonb(r.chain), r.seq, (extract(epoch FROM r.at) * 1000000)::bigint, to_jsonb(r.actor), to_jsonb(r.action),
        to_jsonb(r.subject), coalesce(to_jsonb(r.purpose), 'null'), r.detail,
        coalesce(to_jsonb(encode(r.words_sha256, 'hex')), 'null'), encode(r.prev, 'hex'), encode(r.hash, 'hex'),
        CASE WHEN r.words IS NULL THEN CASE WHEN r.words_sha256 IS NULL THEN '' ELSE ', "words": null' END
            WHEN p_words THEN format(', "words": %s, "words_salt": "%s"', r.words, r.words_salt) ELSE '' END)
    FROM insp.record r WHERE r.chain = p_chain AND r.seq > p_after ORDER BY r.seq LIMIT greatest(p_limit, 0)
$$;
COMMENT ON FUNCTION insp.record_rows(text, bigint, integer, boolean) IS
    'Rows of a chain behind a position, in order, as the JSON lines of inspectd audit export. words is null if an erasure removed them; otherwise they and their salt are there only if asked for';
GRANT EXECUTE ON FUNCTION insp.record_rows(text, bigint, integer, boolean) TO insp_operator, insp_auditor, insp_signer;

CREATE OR REPLACE FUNCTION insp.record_checkpoints(p_after bigint DEFAULT 0, p_limit integer DEFAULT 5000)
RETURNS TABLE (number bigint, line text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off AS $$
    SELECT c.number, format('{"checkpoint": %s, "at": %s, "key": %s, "heads": %s, "signature": "%s"}', c.number,
        (extract(epoch FROM c.at) * 1000000)::bigint, to_jsonb(c.key_id), c.heads, encode(c.signature, 'hex'))
    FROM insp.record_checkpoint c WHERE c.number > p_after ORDER BY c.number LIMIT greatest(p_limit, 0)
$$;
COMMENT ON FUNCTION insp.record_checkpoints(bigint, integer) IS
    'Checkpoints behind a number, in order, as the JSON lines of inspectd audit export';
GRANT EXECUTE ON FUNCTION insp.record_checkpoints(bigint, integer) TO insp_operator, insp_auditor, insp_signer;

CREATE OR REPLACE FUNCTION insp.last_checkpoint() RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off AS $$
    SELECT coalesce(max(c.number), 0) FROM insp.record_checkpoint c
$$;
COMMENT ON FUNCTION insp.last_checkpoint() IS 'Number of the newest checkpoint; 0: there is none';
GRANT EXECUTE ON FUNCTION insp.last_checkpoint() TO insp_operator, insp_auditor, insp_signer;

CREATE OR REPLACE FUNCTION insp.add_checkpoint(
    p_number bigint, p_at_microseconds bigint, p_key_id text, p_heads text, p_signature bytea
) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
    last constant bigint := insp.last_checkpoint();
    ends jsonb;
BEGIN
    PERFORM insp.require(p_number > 0 AND p_at_microseconds BETWEEN 0 AND 4102444800000000 AND p_key_id ~ '^[0-9a-f]{16}$'
        AND length(p_signature) = 64, 'number, at, key_id or signature',
        'number is above 0, at microseconds since 1970, key_id 16 hexadecimal digits, signature 64 bytes.');
    -- A checkpoint from the future would never be thinned out, and no later one could be dated after it.
    PERFORM insp.require(p_at_microseconds <= extract(epoch FROM clock_timestamp() + interval '5 min') * 1000000, 'at',
        'at is at most five minutes ahead of the database''s clock: set the clocks.');
    BEGIN
        ends := p_heads::jsonb;
    EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
        ends := NULL;
    END;
    -- Nothing else is stored: this is where a worker's or a stranger's text could hide.
    PERFORM insp.require(jsonb_typeof(ends) = 'object' AND ends::text = p_heads, 'heads', 'heads is what insp.record_heads returned.');
    PERFORM insp.require((SELECT count(*) = (SELECT count(*) FROM insp.record_chain) AND bool_and(
            e.value = jsonb_build_array(e.value -> 0, e.value -> 1, e.value -> 2, e.value -> 3)
            AND e.value ->> 3 = insp.record_hash_at(e.key, CASE WHEN jsonb_typeof(e.value -> 2) = 'number'
                AND length(e.value ->> 2) <= 18 AND e.value ->> 2 ~ '^[0-9]+$' THEN (e.value ->> 2)::bigint END))
        FROM jsonb_each(ends) e), 'heads', 'heads is what insp.record_heads returned.');
    IF p_number <> last + 1 THEN
        RETURN false;
    END IF;
    INSERT INTO insp.record_checkpoint (number, at, key_id, heads, signature)
    VALUES (p_number, timestamptz 'epoch' + p_at_microseconds * interval '1 microsecond', p_key_id, ends, p_signature)
    ON CONFLICT DO NOTHING;
    RETURN FOUND;
EXCEPTION WHEN lock_not_available THEN
    PERFORM insp.refuse('ROW_LOCKED');
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION insp.add_checkpoint(bigint, bigint, text, text, bytea) IS
    'Stores a checkpoint that was signed outside the database, over the text of insp.record_heads; false: another one has its number. The signature is verified by those who read it';
GRANT EXECUTE ON FUNCTION insp.add_checkpoint(bigint, bigint, text, text, bytea) TO insp_signer;

CREATE OR REPLACE FUNCTION insp.record_strays() RETURNS TABLE (chain text, seq bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
    SELECT c.chain, s.seq FROM insp.record_chain c CROSS JOIN LATERAL (
        (SELECT r.seq FROM insp.record r WHERE r.chain = c.chain AND r.seq <= c.anchor_seq ORDER BY r.seq LIMIT 1)
        UNION ALL
        (SELECT r.seq FROM insp.record r WHERE r.chain = c.chain AND r.seq > c.seq ORDER BY r.seq LIMIT 1)) s
    UNION ALL
    -- Between the names of chains, in the order of the index.
    SELECT r.chain, r.seq
    FROM (SELECT c.chain, lead(c.chain) OVER (ORDER BY c.chain) AS next FROM insp.record_chain c
            UNION ALL SELECT NULL, min(c.chain) FROM insp.record_chain c) n
        CROSS JOIN LATERAL (SELECT x.chain, x.seq FROM insp.record x
            WHERE (n.chain IS NULL OR x.chain > n.chain) AND (n.next IS NULL OR x.chain < n.next) LIMIT 1) r
$$;
COMMENT ON FUNCTION insp.record_strays() IS
    'Rows that are not part of a chain: with a position before its start or after its end, or in a chain that does not exist; one row for each such range';
GRANT EXECUTE ON FUNCTION insp.record_strays() TO insp_operator, insp_auditor, insp_signer;

CREATE OR REPLACE FUNCTION insp.record_waits(p_chain text, p_before timestamptz) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off AS $$
    SELECT EXISTS (SELECT FROM insp.record r WHERE r.chain || '' = p_chain AND r.seq IS NULL AND r.at < p_before)
$$;
COMMENT ON FUNCTION insp.record_waits(text, timestamptz) IS
    'Whether committed rows of a chain that were written before a time still have no position in it';
GRANT EXECUTE ON FUNCTION insp.record_waits(text, timestamptz) TO insp_operator, insp_auditor, insp_signer;

CREATE OR REPLACE FUNCTION insp.thin_checkpoints(p_limit integer) RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    removed integer;
BEGIN
    DELETE FROM insp.record_checkpoint c WHERE c.number = ANY (ARRAY(
        SELECT x.number FROM (
            SELECT y.number, y.at, lag(y.at) OVER (ORDER BY y.number) AS before FROM insp.record_checkpoint y
            WHERE y.at < now() - interval '1 day') x
        WHERE date_trunc('hour', x.at, 'UTC') = date_trunc('hour', x.before, 'UTC') ORDER BY x.number LIMIT p_limit));
    GET DIAGNOSTICS removed = ROW_COUNT;
    RETURN removed;
END
$$;
COMMENT ON FUNCTION insp.thin_checkpoints(integer) IS
    'Removes checkpoints older than a day except the first of each hour; returns how many. Each has its own signature, so the others can still be verified';

CREATE OR REPLACE FUNCTION insp.checkpoint_guard() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    IF TG_OP = 'DELETE' AND OLD.at < now() - interval '1 day' AND EXISTS (SELECT FROM insp.record_checkpoint c
            WHERE c.number < OLD.number AND date_trunc('hour', c.at, 'UTC') = date_trunc('hour', OLD.at, 'UTC')) THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'insp.record_checkpoint is append-only' USING ERRCODE = 'insufficient_privilege';
END
$$;
COMMENT ON FUNCTION insp.checkpoint_guard() IS
    'Refuses all changes of checkpoints, even by the owner, except by insp.thin_checkpoints';
CREATE OR REPLACE TRIGGER checkpoint_guard BEFORE UPDATE OR DELETE ON insp.record_checkpoint
    FOR EACH ROW EXECUTE FUNCTION insp.checkpoint_guard();
CREATE OR REPLACE TRIGGER checkpoint_truncate BEFORE TRUNCATE ON insp.record_checkpoint
    FOR EACH STATEMENT EXECUTE FUNCTION insp.checkpoint_guard();
