-- The words of the contract, for partners.

CREATE OR REPLACE FUNCTION insp.reasons(language text DEFAULT 'en')
RETURNS TABLE (code text, labels text[], parts text[], contract_code integer, advice text, mobile_code text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT r.code, r.labels, r.parts, r.contract_code, coalesce(a.advice, e.advice), r.mobile_code
    FROM insp.reason r JOIN insp.reason_advice e ON e.code = r.code AND e.language = 'en'
        LEFT JOIN insp.reason_advice a ON a.code = r.code AND a.language = lower(left(reasons.language, 2))
    ORDER BY r.contract_code, r.code
$$;
COMMENT ON FUNCTION insp.reasons(text) IS
    'Reasons for objections: their labels and parts, their number in Jumio''s mobile SDK, and what the person can do, in the given language (ISO 639-1, or a tag such as de-AT) or else in English';
GRANT EXECUTE ON FUNCTION insp.reasons(text) TO insp_producer, insp_gateway, insp_operator, insp_reviewer, insp_auditor;

CREATE OR REPLACE VIEW insp.v_error AS
SELECT e.code, e.sqlstate, e.message, e.retryable, e.http_status, e.hint, c.mobile_code, o.error AS face_code, c.payment_code
FROM insp.error_code e JOIN insp.error_contract c ON c.code = e.code JOIN insp.face_outcome o ON o.outcome = c.face_outcome;
COMMENT ON VIEW insp.v_error IS 'Errors, with their codes in the contracts of partners'' apps';
COMMENT ON COLUMN insp.v_error.code IS 'Stable name';
COMMENT ON COLUMN insp.v_error.sqlstate IS 'SQLSTATE of a refused call';
COMMENT ON COLUMN insp.v_error.message IS 'One sentence';
COMMENT ON COLUMN insp.v_error.retryable IS 'Whether the same work may succeed later without any change by the caller';
COMMENT ON COLUMN insp.v_error.http_status IS 'Status of an HTTP request that is refused with it; null: no request is';
COMMENT ON COLUMN insp.v_error.hint IS 'What is allowed, or what to do';
COMMENT ON COLUMN insp.v_error.mobile_code IS 'Its code in Jumio''s mobile SDK';
COMMENT ON COLUMN insp.v_error.face_code IS 'The error of the face SDK';
COMMENT ON COLUMN insp.v_error.payment_code IS 'Its number in iZettle''s SDK; null: the SDK has none';
GRANT SELECT ON insp.v_error TO insp_operator, insp_auditor;
