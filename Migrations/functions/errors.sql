-- How a call is refused, and what a job's result is that ended with an error.

CREATE OR REPLACE FUNCTION insp.refuse(p_code text, p_detail text DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    row insp.error_code;
BEGIN
    SELECT * INTO STRICT row FROM insp.error_code e WHERE e.code = p_code;
    RAISE EXCEPTION USING
        ERRCODE = row.sqlstate,
        MESSAGE = row.code || ': ' || row.message || coalesce(' (' || p_detail || ')', '');
END
$$;
COMMENT ON FUNCTION insp.refuse(text, text) IS
    'Raises the error of a code: its SQLSTATE, and a message that starts with the code. The detail must hold no personal data';

CREATE OR REPLACE FUNCTION insp.failure_summary(p_code text, p_detail text) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT jsonb_build_object(
        'decision', jsonb_build_object('type', 'NOT_EXECUTED',
            'details', jsonb_build_object('label', 'TECHNICAL_ERROR'), 'risk', jsonb_build_object('score', -1)),
        'capabilities', jsonb_build_object(),
        'rejectReasons', jsonb_build_array(),
        'error', jsonb_build_object('code', e.code,
            'message', e.message || coalesce(' (' || nullif(p_detail, '') || ')', ''), 'retryable', e.retryable))
    FROM insp.error_code e WHERE e.code = p_code
$$;
COMMENT ON FUNCTION insp.failure_summary(text, text) IS 'The result of a job that ends with an error, which has no body';
