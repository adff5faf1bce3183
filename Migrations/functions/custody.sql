-- After: errors, record
-- Which key store and which wrapping key the programs must have.

CREATE OR REPLACE VIEW insp.v_custody AS
SELECT c.key_store, c.wrapping_key, c.former_key, c.changed_at FROM insp.custody c;
COMMENT ON VIEW insp.v_custody IS 'The key store and the wrapping key (inspectd keys)';
COMMENT ON COLUMN insp.v_custody.key_store IS 'The key store, as it names itself';
COMMENT ON COLUMN insp.v_custody.wrapping_key IS 'Name of the wrapping key for new keys';
COMMENT ON COLUMN insp.v_custody.former_key IS 'Name of the one from which a rotation moves the keys; null: none is under way';
COMMENT ON COLUMN insp.v_custody.changed_at IS 'When a rotation began or ended';
GRANT SELECT ON insp.v_custody TO insp_producer, insp_worker, insp_operator, insp_auditor, insp_gateway;

CREATE OR REPLACE FUNCTION insp.set_custody(key_store uuid, wrapping_key text, former_key text DEFAULT NULL) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '5s' AS $$
#variable_conflict use_column
DECLARE
    was insp.custody;
    name constant text := '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$';
BEGIN
    PERFORM insp.require(set_custody.key_store IS NOT NULL, 'no key store');
    PERFORM insp.require(coalesce(set_custody.wrapping_key ~ name AND coalesce(set_custody.former_key ~ name, true), false),
        'the name of a wrapping key', 'It has 1 to 64 letters, digits, dots, dashes and underscores.');
    INSERT INTO insp.custody (key_store, wrapping_key, former_key)
    VALUES (set_custody.key_store, set_custody.wrapping_key, set_custody.former_key) ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
        SELECT c.* INTO was FROM insp.custody c FOR UPDATE;
        IF was.key_store <> set_custody.key_store THEN
            PERFORM insp.refuse('KEY_MISMATCH', 'the database belongs to another key store',
                'What is sealed opens with the keys of key store ' || was.key_store || ' alone.');
        END IF;
        IF was.wrapping_key = set_custody.wrapping_key AND was.former_key IS NOT DISTINCT FROM set_custody.former_key THEN
            RETURN false;
        END IF;
        UPDATE insp.custody c SET wrapping_key = set_custody.wrapping_key, former_key = set_custody.former_key,
            changed_at = clock_timestamp();
    END IF;
    PERFORM insp.record('set_custody', 'keys', jsonb_build_object('key_store', set_custody.key_store,
        'wrapping_key', set_custody.wrapping_key, 'former_key', set_custody.former_key, 'was', was.wrapping_key));
    RETURN true;
END
$$;
COMMENT ON FUNCTION insp.set_custody(uuid, text, text) IS
    'Notes the key store and the wrapping key, as inspectd keys does after a change in the key store; returns whether that is new. Another key store is refused';
GRANT EXECUTE ON FUNCTION insp.set_custody(uuid, text, text) TO insp_operator;
