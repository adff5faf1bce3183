-- What partners are told in the contract's words.

CREATE OR REPLACE FUNCTION insp.reasons(language text DEFAULT 'en')
RETURNS TABLE (code text, labels text[], parts text[], contract_code integer, advice text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT r.code, r.labels, r.parts, r.contract_code, coalesce(a.advice, e.advice)
    FROM insp.reason r JOIN insp.reason_advice e ON e.code = r.code AND e.language = 'en'
        LEFT JOIN insp.reason_advice a ON a.code = r.code AND a.language = lower(left(reasons.language, 2))
    ORDER BY r.contract_code, r.code
$$;
COMMENT ON FUNCTION insp.reasons(text) IS
    'Reasons for objections: the labels and parts that they go with, their number in Jumio''s mobile SDK, and what the person can do, in a language (ISO 639-1, or a tag such as de-AT) or else in English';
GRANT EXECUTE ON FUNCTION insp.reasons(text) TO insp_producer, insp_gateway, insp_operator, insp_auditor;
