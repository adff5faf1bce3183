-- Approvals: if a deployment requires it, one login proposes a change and another one approves it.
-- After: record

CREATE OR REPLACE FUNCTION insp.need_approval(p_action text, p_applies boolean DEFAULT true) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    -- insp.approve marks its proposal with its own transaction while it makes the call: no setting that a login could set.
    IF p_applies AND EXISTS (SELECT FROM insp.approval a WHERE a.action = p_action AND a.is_needed)
        AND NOT EXISTS (SELECT FROM insp.proposal p WHERE p.approving = pg_current_xact_id()) THEN
        PERFORM insp.refuse('APPROVAL_NEEDED', p_action,
            format('SELECT insp.propose(%L, arguments) as JSON; another login then calls insp.approve.', p_action));
    END IF;
END
$$;
COMMENT ON FUNCTION insp.need_approval(text, boolean) IS
    'Refuses a change that needs an approval, unless insp.approve makes it';

CREATE OR REPLACE FUNCTION insp.set_approval(action text, needed boolean) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '5s' AS $$
#variable_conflict use_column
DECLARE
    was boolean;
BEGIN
    PERFORM insp.require(set_approval.needed IS NOT NULL, 'needed is null', 'needed is true or false.');
    SELECT a.is_needed INTO was FROM insp.approval a WHERE a.action = set_approval.action FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        PERFORM insp.refuse('PARAMETER_INVALID', 'action ' || left(quote_nullable(set_approval.action), 40), insp.approval_hint());
    END IF;
    -- One login can require an approval; lifting that takes two.
    IF was AND NOT set_approval.needed AND NOT EXISTS (SELECT FROM insp.proposal p WHERE p.approving = pg_current_xact_id()) THEN
        PERFORM insp.refuse('APPROVAL_NEEDED', 'set_approval',
            format('SELECT insp.propose(''set_approval'', ''{"action": "%s", "needed": false}''); another login then calls insp.approve.',
                set_approval.action));
    END IF;
    UPDATE insp.approval a SET is_needed = set_approval.needed WHERE a.action = set_approval.action;
    PERFORM insp.record('set_approval', 'action ' || set_approval.action, jsonb_build_object('needed', set_approval.needed, 'was', was));
    RETURN format('%s: %s', set_approval.action, CASE WHEN set_approval.needed THEN 'needs two logins' ELSE 'needs one login' END);
EXCEPTION WHEN lock_not_available THEN
    PERFORM insp.refuse('ROW_LOCKED');
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION insp.set_approval(text, boolean) IS
    'Sets whether an action (insp.approval) needs a second login. Switching it off must itself be proposed and approved';
GRANT EXECUTE ON FUNCTION insp.set_approval(text, boolean) TO insp_operator;

CREATE OR REPLACE FUNCTION insp.approval_hint() RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT format('Actions are %s.', string_agg(a.action, ', ' ORDER BY a.action)) FROM insp.approval a
$$;
COMMENT ON FUNCTION insp.approval_hint() IS 'The actions that can need approval, for refusals';

CREATE OR REPLACE FUNCTION insp.propose(action text, arguments jsonb, expires interval DEFAULT '1 day') RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '5s' AS $$
#variable_conflict use_column
DECLARE
    number bigint;
BEGIN
    IF NOT EXISTS (SELECT FROM insp.approval a WHERE a.action = propose.action) THEN
        PERFORM insp.refuse('PARAMETER_INVALID', 'action ' || left(quote_nullable(propose.action), 40), insp.approval_hint());
    END IF;
    PERFORM insp.require((propose.expires > '0' AND propose.expires <= '30 days') IS TRUE, 'expires',
        'expires is above 0 and at most 30 days.');
    PERFORM insp.require(jsonb_typeof(propose.arguments) = 'object' AND length(propose.arguments::text) <= 20000, 'arguments',
        'arguments is a JSON object of the function''s arguments by their names.');
    PERFORM insp.approval_call(propose.action, propose.arguments);
    -- It would lie here in plain text until somebody approves it.
    PERFORM insp.require((propose.arguments -> 'p_settings' ?| ARRAY['signingKey', 'clientKey', 'apiKey']
            OR propose.arguments ?| ARRAY['p_client_secret', 'p_assertion']) IS NOT TRUE, 'p_settings, p_client_secret or p_assertion',
        'Secrets are set by a separate call; propose allow_endpoint_secret or allow_authorization_secret where that needs approval.');
    INSERT INTO insp.proposal AS p (action, arguments, proposed_by, role, expires_at)
    VALUES (propose.action, propose.arguments, session_user, to_regrole(quote_ident(session_user))::oid,
        clock_timestamp() + propose.expires)
    RETURNING p.id INTO number;
    PERFORM insp.record('propose', 'proposal ' || number, jsonb_build_object('action', propose.action, 'arguments', propose.arguments));
    RETURN number;
END
$$;
COMMENT ON FUNCTION insp.propose(text, jsonb, interval) IS
    'Proposes a call of an action (insp.approval) with named arguments; returns the number for insp.approve, which another login calls before it expires';
GRANT EXECUTE ON FUNCTION insp.propose(text, jsonb, interval) TO insp_operator;

CREATE OR REPLACE FUNCTION insp.approval_call(p_action text, p_arguments jsonb) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    call text;
    unknown text;
BEGIN
    WITH known AS (
        SELECT n.name, format_type(n.type, NULL) AS type
        FROM pg_proc p, unnest(p.proargtypes::oid[], p.proargnames[1:p.pronargs]) AS n (type, name)
        WHERE p.pronamespace = 'insp'::regnamespace AND p.proname = p_action
    ), given AS (
        SELECT a.key, k.name, format('%I => %s::%s', a.key, CASE
            WHEN k.type = 'jsonb' THEN quote_nullable(a.value::text)
            WHEN jsonb_typeof(a.value) = 'array' THEN quote_literal(ARRAY(SELECT jsonb_array_elements_text(
                CASE jsonb_typeof(a.value) WHEN 'array' THEN a.value ELSE '[]' END))::text)
            ELSE quote_nullable(a.value #>> '{}') END, k.type) AS argument
        FROM jsonb_each(p_arguments) a LEFT JOIN known k ON k.name = a.key
    )
    SELECT min(g.key) FILTER (WHERE g.name IS NULL),
        format('SELECT to_jsonb(x) FROM insp.%I(%s) AS x', p_action, string_agg(g.argument, ', ' ORDER BY g.key))
    INTO unknown, call FROM given g;
    PERFORM insp.require(unknown IS NULL, 'unknown argument ' || left(quote_nullable(unknown), 40),
        format('insp.%s takes %s.', p_action, (SELECT string_agg(n.name, ', ')
            FROM pg_proc p, unnest(p.proargnames[1:p.pronargs]) AS n (name)
            WHERE p.pronamespace = 'insp'::regnamespace AND p.proname = p_action)));
    RETURN call;
END
$$;
COMMENT ON FUNCTION insp.approval_call(text, jsonb) IS 'The statement that a proposal stands for; refuses arguments that the function does not have';

CREATE OR REPLACE FUNCTION insp.is_same_person(p_one text, p_other text) RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, insp, pg_temp AS $$
    -- Of two at the console, one name is one issuer and subject (insp.console_person), and one issuer has one subject for a person.
    -- Another issuer, a link and a login say nothing of that subject: there names count, which may have a domain, and a number here.
    SELECT lower(p_one) = lower(p_other) OR (p_one LIKE 'console:%' OR p_other LIKE 'console:%')
        AND split_part(regexp_replace(lower(replace(p_one, 'console:', '')), '(~[0-9]+)+$', ''), '@', 1)
            = split_part(regexp_replace(lower(replace(p_other, 'console:', '')), '(~[0-9]+)+$', ''), '@', 1)
        AND NOT EXISTS (SELECT FROM insp.console_person x JOIN insp.console_person y ON y.issuer = x.issuer
            WHERE x.issuer <> 'link' AND lower(x.actor) = lower(p_one) AND lower(y.actor) = lower(p_other))
$$;
COMMENT ON FUNCTION insp.is_same_person(text, text) IS
    'Whether two names in the record (a login, or console: and the name of the person signed in) may belong to one person: within one provider by its subject, otherwise by the names; in doubt, yes';

CREATE OR REPLACE FUNCTION insp.is_proposer(p insp.proposal) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
    -- A person who proposed with a login must not approve at the console, whose login is another one.
    SELECT insp.is_same_person(p.proposed_by, a.actor)
        OR a.actor NOT LIKE 'console:%' AND p.role = to_regrole(quote_ident(session_user))::oid
    FROM insp.actor() AS a (actor)
$$;
COMMENT ON FUNCTION insp.is_proposer(insp.proposal) IS
    'Whether the caller proposed this: the same login or, at the console, the person whose name, or its part before an @, is the login''s name';

CREATE OR REPLACE FUNCTION insp.approve(proposal bigint) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '5s' AS $$
#variable_conflict use_column
DECLARE
    p insp.proposal;
    result jsonb;
BEGIN
    p := insp.open_proposal(approve.proposal);
    IF insp.is_proposer(p) THEN
        PERFORM insp.refuse('APPROVAL_REFUSED', 'the same login proposed it');
    END IF;
    UPDATE insp.proposal x SET approving = pg_current_xact_id() WHERE x.id = p.id;
    BEGIN
        EXECUTE insp.approval_call(p.action, p.arguments) INTO result;
    EXCEPTION WHEN data_exception OR undefined_function OR ambiguous_function OR syntax_error THEN
        -- The server's own message would quote the values.
        PERFORM insp.refuse('APPROVAL_REFUSED', format('its arguments do not fit insp.%s: SQLSTATE %s', p.action, SQLSTATE));
    END;
    UPDATE insp.proposal x SET approving = NULL, outcome = 'approved', decided_by = insp.actor(), decided_at = clock_timestamp()
    WHERE x.id = p.id;
    PERFORM insp.record('approve', 'proposal ' || p.id, jsonb_build_object('action', p.action, 'proposedBy', p.proposed_by));
    RETURN result;
EXCEPTION WHEN lock_not_available THEN
    PERFORM insp.refuse('ROW_LOCKED');
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION insp.approve(bigint) IS
    'Makes the proposed call and returns its result. APPROVAL_REFUSED if the caller is the login that proposed it, or the proposal has expired or was decided';
GRANT EXECUTE ON FUNCTION insp.approve(bigint) TO insp_operator;

CREATE OR REPLACE FUNCTION insp.open_proposal(p_number bigint) RETURNS insp.proposal
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    p insp.proposal;
BEGIN
    SELECT * INTO p FROM insp.proposal x WHERE x.id = p_number FOR UPDATE;
    IF NOT FOUND THEN
        PERFORM insp.refuse('APPROVAL_REFUSED', 'the proposal does not exist');
    ELSIF p.outcome IS NOT NULL THEN
        PERFORM insp.refuse('APPROVAL_REFUSED', format('it was %s by %s', p.outcome, p.decided_by));
    ELSIF p.expires_at <= clock_timestamp() THEN
        PERFORM insp.refuse('APPROVAL_REFUSED', format('it expired at %s', insp.iso_time(p.expires_at)));
    END IF;
    RETURN p;
END
$$;
COMMENT ON FUNCTION insp.open_proposal(bigint) IS 'A proposal that can be decided, locked; refuses others';

CREATE OR REPLACE FUNCTION insp.reject_proposal(proposal bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '5s' AS $$
#variable_conflict use_column
DECLARE
    p insp.proposal;
BEGIN
    p := insp.open_proposal(reject_proposal.proposal);
    UPDATE insp.proposal x SET outcome = 'rejected', decided_by = insp.actor(), decided_at = clock_timestamp() WHERE x.id = p.id;
    PERFORM insp.record('reject_proposal', 'proposal ' || p.id, jsonb_build_object('action', p.action, 'proposedBy', p.proposed_by));
EXCEPTION WHEN lock_not_available THEN
    PERFORM insp.refuse('ROW_LOCKED');
END
$$;
COMMENT ON FUNCTION insp.reject_proposal(bigint) IS 'Rejects a proposal, or withdraws your own';
GRANT EXECUTE ON FUNCTION insp.reject_proposal(bigint) TO insp_operator;

CREATE OR REPLACE VIEW insp.v_proposal AS
SELECT p.id AS proposal, p.action, p.arguments, p.proposed_by, p.proposed_at, p.expires_at,
    coalesce(p.outcome, CASE WHEN p.expires_at <= now() THEN 'expired' ELSE 'open' END) AS state, p.decided_by, p.decided_at
FROM insp.proposal p ORDER BY p.id DESC;
COMMENT ON VIEW insp.v_proposal IS 'Changes that were proposed, newest first';
COMMENT ON COLUMN insp.v_proposal.proposal IS 'Its number (for insp.approve)';
COMMENT ON COLUMN insp.v_proposal.action IS 'The function to be called';
COMMENT ON COLUMN insp.v_proposal.arguments IS 'Its arguments by their names';
COMMENT ON COLUMN insp.v_proposal.proposed_by IS 'The login that proposed it, which cannot approve it';
COMMENT ON COLUMN insp.v_proposal.proposed_at IS 'When';
COMMENT ON COLUMN insp.v_proposal.expires_at IS 'When it expires';
COMMENT ON COLUMN insp.v_proposal.state IS 'open, approved, rejected or expired';
COMMENT ON COLUMN insp.v_proposal.decided_by IS 'The login that approved or rejected it, or console: and the name of the person signed in there';
COMMENT ON COLUMN insp.v_proposal.decided_at IS 'When';
GRANT SELECT ON insp.v_proposal TO insp_operator, insp_auditor;
