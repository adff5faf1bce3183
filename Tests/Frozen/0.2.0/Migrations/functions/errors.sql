-- Refusals of calls, and results of jobs that end with an error.

CREATE OR REPLACE FUNCTION insp.refuse(
    p_code text, p_detail text DEFAULT NULL, p_hint text DEFAULT NULL, p_field text DEFAULT NULL
) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    row insp.error_code;
    text text;
    hint text;
    field constant text := coalesce(p_field, '');
BEGIN
    SELECT * INTO STRICT row FROM insp.error_code e WHERE e.code = p_code;
    text := row.code || ': ' || row.message;
    hint := coalesce(p_hint, row.hint);
    -- RAISE takes no null, and psql would show an empty DETAIL or HINT; a COLUMN it shows only if asked.
    IF p_detail IS NULL AND hint IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = row.sqlstate, MESSAGE = text, CONSTRAINT = row.code, COLUMN = field;
    ELSIF hint IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = row.sqlstate, MESSAGE = text, CONSTRAINT = row.code, COLUMN = field,
            DETAIL = p_detail;
    ELSIF p_detail IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = row.sqlstate, MESSAGE = text, CONSTRAINT = row.code, COLUMN = field, HINT = hint;
    END IF;
    RAISE EXCEPTION USING ERRCODE = row.sqlstate, MESSAGE = text, CONSTRAINT = row.code, COLUMN = field, DETAIL = p_detail,
        HINT = hint;
END
$$;
COMMENT ON FUNCTION insp.refuse(text, text, text, text) IS
    'Raises the error of a code: its SQLSTATE and message, the code as constraint_name, what is wrong as DETAIL, what is allowed or what to do as HINT (by default the code''s own), the member of the request that is wrong as column_name. None of it may contain personal data';

CREATE OR REPLACE FUNCTION insp.need_read_committed() RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    IF current_setting('transaction_isolation') IN ('repeatable read', 'serializable') THEN
        PERFORM insp.refuse('ISOLATION_LEVEL_INVALID', upper(current_setting('transaction_isolation')));
    END IF;
END
$$;
COMMENT ON FUNCTION insp.need_read_committed() IS
    'Refuses a transaction with one snapshot for all statements. Called first by functions that lock rows and must then see what others have committed';

CREATE OR REPLACE FUNCTION insp.require(
    p_holds boolean, p_detail text, p_hint text DEFAULT NULL, p_code text DEFAULT 'PARAMETER_INVALID', p_field text DEFAULT NULL
) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    IF p_holds IS NOT TRUE THEN
        PERFORM insp.refuse(p_code, p_detail, p_hint, p_field);
    END IF;
END
$$;
COMMENT ON FUNCTION insp.require(boolean, text, text, text, text) IS
    'Refuses a call unless a condition on its arguments is true. A null condition, from a null argument, counts as false';

CREATE OR REPLACE FUNCTION insp.is_passing(p_state text) RETURNS boolean
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT left(p_state, 2) = ANY (ARRAY['08', '25', '40', '42', '53', '55', '57', '58']) OR p_state = 'XX000'
$$;
COMMENT ON FUNCTION insp.is_passing(text) IS
    'Whether the same call may succeed later: another transaction holds a row, the server lacks a resource, or a function or table was altered. Any other SQLSTATE would recur each time';

CREATE OR REPLACE FUNCTION insp.may_be_of_row(p_state text) RETURNS boolean
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT NOT insp.is_passing(p_state) OR p_state = 'XX000'
$$;
COMMENT ON FUNCTION insp.may_be_of_row(text) IS
    'Whether a failure may be a single row''s fault. XX000 can be either: a broken table or function, or bytes of a row that form no value. It counts as the row''s fault if the row then loses nothing (it is put off, or the job ends with an error in any case)';

CREATE OR REPLACE FUNCTION insp.failure_summary(p_code text, p_detail text) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT jsonb_build_object(
        'decision', jsonb_build_object('type', 'NOT_EXECUTED',
            'details', jsonb_build_object('label', 'TECHNICAL_ERROR'), 'risk', jsonb_build_object('score', -1)),
        'capabilities', jsonb_build_object(),
        'rejectReasons', jsonb_build_array(),
        'error', jsonb_build_object('code', e.code,
            'message', e.message || coalesce(' (' || nullif(p_detail, '') || ')', ''), 'retryable', e.retryable,
            'contractCodes', jsonb_strip_nulls(jsonb_build_object('mobile', c.mobile_code, 'payment', c.payment_code))))
    FROM insp.error_code e JOIN insp.error_contract c ON c.code = e.code WHERE e.code = p_code
$$;
COMMENT ON FUNCTION insp.failure_summary(text, text) IS 'The result of a job that ends with an error, which has no body';
