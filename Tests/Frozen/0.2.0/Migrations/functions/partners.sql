-- Partners, the logins that act for them, and their current state.
-- After: queue

CREATE OR REPLACE FUNCTION insp.partner_number(p_partner text) RETURNS integer
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    number integer;
    is_erased boolean;
BEGIN
    SELECT p.id, p.erased_at IS NOT NULL INTO number, is_erased FROM insp.partner p WHERE p.name = p_partner;
    IF NOT FOUND OR NOT insp.may_act(number) THEN
        PERFORM insp.refuse('PARTNER_UNKNOWN', left(quote_nullable(p_partner), 40));
    ELSIF is_erased THEN
        -- Its name cannot be used again, and no program makes keys for it.
        PERFORM insp.refuse('PARTNER_DISABLED', 'the partner was erased');
    END IF;
    RETURN number;
END
$$;
COMMENT ON FUNCTION insp.partner_number(text) IS 'Number of a partner; refuses other names, and partners that were erased';

CREATE OR REPLACE FUNCTION insp.may_act(p_partner integer) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off AS $$
DECLARE
    -- The login itself, even if a function runs with its owner's rights.
    me constant oid := to_regrole(quote_ident(session_user));
BEGIN
    RETURN coalesce((SELECT bool_or(b.partner_id = p_partner AND b.login = session_user AND b.role = me AND b.is_active)
        FROM insp.producer_partner b WHERE b.login = session_user OR b.role = me), true);
END
$$;
COMMENT ON FUNCTION insp.may_act(integer) IS 'Whether the login may act for a partner: it is bound to it, or was never bound to any';

CREATE OR REPLACE FUNCTION insp.partner_lock(p_partner text) RETURNS insp.partner
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    p insp.partner;
BEGIN
    SELECT * INTO p FROM insp.partner x WHERE x.id = insp.partner_number(p_partner) FOR NO KEY UPDATE;
    RETURN p;
END
$$;
COMMENT ON FUNCTION insp.partner_lock(text) IS 'A partner''s row, locked; refuses unknown names';

CREATE OR REPLACE FUNCTION insp.partner_settings(p insp.partner) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT to_jsonb(p) - ARRAY['id', 'name', 'created_at', 'pause_reason', 'erased_at', 'test_of'] || jsonb_build_object(
        'lane', insp.lane_name(p.lane), 'region', coalesce((SELECT g.name FROM insp.region g WHERE g.id = p.region), 'any'))
$$;
COMMENT ON FUNCTION insp.partner_settings(insp.partner) IS 'A partner''s settings for operators, named as in insp.v_partner';

CREATE OR REPLACE FUNCTION insp.record_partner(p_action text, p_was insp.partner, p_detail jsonb DEFAULT '{}') RETURNS text[]
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    change record;
BEGIN
    SELECT coalesce(array_agg(o.key || ' ' || coalesce(n.value #>> '{}', 'none') ORDER BY o.key), '{}') AS words,
        -- A record has no nulls.
        jsonb_object_agg(o.key, coalesce(nullif(o.value, 'null'), '"none"')) AS was,
        jsonb_object_agg(o.key, coalesce(nullif(n.value, 'null'), '"none"')) AS now_is
    INTO change
    FROM jsonb_each(insp.partner_settings(p_was)) o
        JOIN insp.partner p ON p.id = p_was.id CROSS JOIN LATERAL jsonb_each(insp.partner_settings(p)) n
    WHERE n.key = o.key AND n.value <> o.value;
    PERFORM insp.record(p_action, 'partner ' || p_was.name,
        jsonb_build_object('was', change.was, 'is', change.now_is) || p_detail);
    RETURN change.words;
END
$$;
COMMENT ON FUNCTION insp.record_partner(text, insp.partner, jsonb) IS
    'Records a change of a partner with the old and new values. Returns each changed setting with its new value';

CREATE OR REPLACE FUNCTION insp.create_partner(
    p_name text,
    p_callback_url text DEFAULT NULL,
    p_allow_http boolean DEFAULT false,
    p_allow_private boolean DEFAULT false,
    p_make_secret boolean DEFAULT true,
    OUT partner_id integer,
    OUT endpoint_id bigint,
    OUT secret text
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    problem constant text := insp.endpoint_problem(p_callback_url, coalesce(p_allow_http, false), coalesce(p_allow_private, false));
BEGIN
    PERFORM insp.need_approval('create_partner');
    IF p_callback_url IS NOT NULL AND problem IS NOT NULL THEN
        PERFORM insp.refuse('CALLBACK_URL_INVALID', problem);
    ELSIF num_nulls(p_allow_http, p_allow_private, p_make_secret) > 0 THEN
        PERFORM insp.refuse('ENDPOINT_INVALID', 'p_allow_http, p_allow_private or p_make_secret is null', 'Each is true or false.');
    ELSIF p_name IS NULL OR p_name !~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$' THEN
        PERFORM insp.refuse('PARTNER_INVALID', 'the name',
            'A name is 1 to 64 letters, digits, dots, hyphens and underscores, and begins with a letter or digit.');
    END IF;
    INSERT INTO insp.partner AS p (name) VALUES (p_name) ON CONFLICT DO NOTHING RETURNING p.id INTO partner_id;
    IF partner_id IS NULL THEN
        PERFORM insp.refuse('PARTNER_EXISTS', quote_literal(p_name));
    END IF;
    INSERT INTO insp.endpoint AS e (partner_id, url, allow_http, allow_private)
    VALUES (create_partner.partner_id, p_callback_url, p_allow_http, p_allow_private)
    RETURNING e.id INTO endpoint_id;
    IF p_make_secret THEN
        secret := insp.new_secret();
        PERFORM insp.set_secret('endpoint ' || endpoint_id, 'signing_secret', secret);
    END IF;
    PERFORM insp.record('create_partner', 'partner ' || p_name, jsonb_build_object('endpoint', endpoint_id,
        'url', p_callback_url, 'allowHTTP', p_allow_http, 'allowPrivate', p_allow_private));
END
$$;
COMMENT ON FUNCTION insp.create_partner(text, text, boolean, boolean, boolean) IS
    'Adds a partner with its default endpoint and returns the new signing secret, which is shown only here; the URL pull: and p_make_secret as in insp.create_endpoint';
GRANT EXECUTE ON FUNCTION insp.create_partner(text, text, boolean, boolean, boolean) TO insp_operator;

CREATE OR REPLACE FUNCTION insp.set_partner(
    partner text, enabled boolean DEFAULT NULL, region text DEFAULT NULL, lane text DEFAULT NULL, review text DEFAULT NULL,
    consent_required boolean DEFAULT NULL, callback_required boolean DEFAULT NULL, job_lifetime interval DEFAULT NULL
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
#variable_conflict use_column
DECLARE
    was constant insp.partner := insp.partner_lock(set_partner.partner);
    place smallint;
    changes text[];
BEGIN
    -- What these settings loosen needs what their own functions need.
    PERFORM insp.need_approval('set_consent_policy', set_partner.consent_required IS NOT NULL);
    PERFORM insp.need_approval('set_region_policy', set_partner.region IS NOT NULL);
    PERFORM insp.need_approval('set_partner', num_nonnulls(set_partner.review, set_partner.job_lifetime) > 0);
    IF set_partner.region IS NOT NULL THEN
        place := insp.partner_region(set_partner.region);
    END IF;
    IF set_partner.review NOT IN ('never', 'rejected', 'warning', 'always') THEN
        PERFORM insp.refuse('PARTNER_INVALID', 'review is ' || left(quote_literal(set_partner.review), 40),
            'A review is never, rejected, warning or always.');
    ELSIF NOT (set_partner.job_lifetime > '0' AND insp.is_within_year(set_partner.job_lifetime)) THEN
        PERFORM insp.refuse('PARTNER_INVALID', format('job_lifetime is %s', set_partner.job_lifetime),
            'job_lifetime is above 0 and at most 366 days, without a negative part.');
    END IF;
    UPDATE insp.partner p SET enabled = coalesce(set_partner.enabled, p.enabled),
        region = CASE WHEN set_partner.region IS NULL THEN p.region ELSE place END,
        lane = CASE WHEN set_partner.lane IS NULL THEN p.lane ELSE insp.lane_number(set_partner.lane) END,
        review = coalesce(set_partner.review, p.review),
        consent_required = coalesce(set_partner.consent_required, p.consent_required),
        callback_required = coalesce(set_partner.callback_required, p.callback_required),
        job_lifetime = coalesce(set_partner.job_lifetime, p.job_lifetime)
    WHERE p.id = was.id;
    changes := insp.record_partner('set_partner', was);
    RETURN format('partner %s: %s', was.name, coalesce(nullif(array_to_string(changes, ', '), ''), 'nothing changed'));
END
$$;
COMMENT ON FUNCTION insp.set_partner(text, boolean, text, text, text, boolean, boolean, interval) IS
    'Changes the settings for a partner''s jobs that are accepted from now on: enabled (whether any are), region (any: every worker) and lane of jobs that specify none, review (which decisions wait for a review: never, rejected, warning, always), consent_required, callback_required, job_lifetime. Settings not given are unchanged';
GRANT EXECUTE ON FUNCTION insp.set_partner(text, boolean, text, text, text, boolean, boolean, interval) TO insp_operator;

CREATE OR REPLACE FUNCTION insp.set_liveness_policy(partner text, passive_signals_suffice boolean) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    was constant insp.partner := insp.partner_lock(set_liveness_policy.partner);
BEGIN
    PERFORM insp.need_approval('set_liveness_policy');
    IF set_liveness_policy.passive_signals_suffice IS NULL THEN
        PERFORM insp.refuse('PARAMETER_INVALID', 'passive_signals_suffice is null', 'passive_signals_suffice is true or false.');
    END IF;
    UPDATE insp.partner p SET passive_signals_suffice = set_liveness_policy.passive_signals_suffice
    WHERE p.id = was.id;
    PERFORM insp.record_partner('set_liveness_policy', was);
    RETURN format('partner %s: passive signals %s', set_liveness_policy.partner,
        CASE WHEN set_liveness_policy.passive_signals_suffice THEN 'suffice' ELSE 'do not suffice' END);
END
$$;
COMMENT ON FUNCTION insp.set_liveness_policy(text, boolean) IS
    'Sets whether passive PAD signals that find nothing suffice to pass liveness, for a partner''s jobs accepted from now on. They do not prove a living person: a good print or screen causes no findings either';
GRANT EXECUTE ON FUNCTION insp.set_liveness_policy(text, boolean) TO insp_operator;

CREATE OR REPLACE FUNCTION insp.bind_producer(login text, partner text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
#variable_conflict use_column
DECLARE
    number constant integer := insp.partner_number(bind_producer.partner);
    who constant oid := (SELECT r.oid FROM pg_roles r WHERE r.rolname = bind_producer.login AND r.rolcanlogin);
BEGIN
    PERFORM insp.need_approval('bind_producer');
    -- A group is nobody's session_user.
    PERFORM insp.require(who IS NOT NULL, format('no login %s exists', left(quote_nullable(bind_producer.login), 70)));
    -- Its bindings under another name.
    DELETE FROM insp.producer_partner b WHERE b.role = who AND b.partner_id = number AND b.login <> bind_producer.login;
    -- Rows of a renamed login under this name move with that login: without a row it would act for every partner.
    UPDATE insp.producer_partner b SET login = r.rolname FROM pg_roles r
    WHERE r.oid = b.role AND b.role <> who AND b.login = bind_producer.login AND b.partner_id = number
        AND NOT EXISTS (SELECT FROM insp.producer_partner x WHERE x.login = r.rolname AND x.partner_id = number);
    INSERT INTO insp.producer_partner AS b (login, role, partner_id) VALUES (bind_producer.login, who, number)
    ON CONFLICT (login, partner_id) DO UPDATE SET role = excluded.role, is_active = true;
    PERFORM insp.record('bind_producer', 'login ' || bind_producer.login,
        jsonb_build_object('partner', bind_producer.partner));
    RETURN format('login %s acts for partner %s', bind_producer.login, bind_producer.partner);
END
$$;
COMMENT ON FUNCTION insp.bind_producer(text, text) IS
    'Lets a login act for a partner, and no longer for partners to which it is not bound. Call it again for a login that was renamed, or recreated under the same name';
GRANT EXECUTE ON FUNCTION insp.bind_producer(text, text) TO insp_operator;

CREATE OR REPLACE FUNCTION insp.unbind_producer(login text, partner text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
#variable_conflict use_column
DECLARE
    number constant integer := insp.partner_number(unbind_producer.partner);
    who constant oid := to_regrole(quote_ident(unbind_producer.login));
BEGIN
    PERFORM insp.need_approval('unbind_producer');
    PERFORM insp.require(unbind_producer.login IS NOT NULL, 'login is null');
    -- Not the row of a renamed login that had this name before: that is that login's.
    UPDATE insp.producer_partner b SET is_active = false WHERE b.partner_id = number AND (b.role = who
        OR b.login = unbind_producer.login AND NOT EXISTS (SELECT FROM pg_roles r WHERE r.oid = b.role));
    -- The last one stays: a login without any row acts for every partner.
    DELETE FROM insp.producer_partner b WHERE NOT b.is_active AND EXISTS (SELECT FROM insp.producer_partner x
        WHERE x.login = b.login AND x.partner_id <> b.partner_id AND CASE WHEN x.role = b.role
            THEN x.is_active OR x.partner_id > b.partner_id
            -- The login was dropped, and the new login of that name is bound instead.
            ELSE x.role = to_regrole(quote_ident(b.login))::oid AND NOT EXISTS (SELECT FROM pg_roles r WHERE r.oid = b.role) END);
    PERFORM insp.record('unbind_producer', 'login ' || unbind_producer.login,
        jsonb_build_object('partner', unbind_producer.partner));
    RETURN insp.bound_to(unbind_producer.login, format('no longer acts for partner %s', unbind_producer.partner));
END
$$;
COMMENT ON FUNCTION insp.unbind_producer(text, text) IS
    'Ends a binding. A login whose last one ends acts for no partner, until it is bound again or freed (insp.free_producer)';
GRANT EXECUTE ON FUNCTION insp.unbind_producer(text, text) TO insp_operator;

CREATE OR REPLACE FUNCTION insp.free_producer(login text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    who constant oid := to_regrole(quote_ident(free_producer.login));
BEGIN
    PERFORM insp.need_approval('free_producer');
    PERFORM insp.require(free_producer.login IS NOT NULL, 'login is null');
    -- Not rows of a renamed login that had this name before: without them, that login would act for every partner.
    DELETE FROM insp.producer_partner b WHERE b.role = who
        OR b.login = free_producer.login AND NOT EXISTS (SELECT FROM pg_roles r WHERE r.oid = b.role);
    PERFORM insp.record('free_producer', 'login ' || free_producer.login);
    RETURN insp.bound_to(free_producer.login, 'is bound by what a renamed login left');
END
$$;
COMMENT ON FUNCTION insp.free_producer(text) IS
    'Ends all bindings of a login, which then acts for every partner, as if it had never been bound';
GRANT EXECUTE ON FUNCTION insp.free_producer(text) TO insp_operator;

CREATE OR REPLACE FUNCTION insp.bound_to(p_login text, p_otherwise text) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT format('login %s %s', p_login, CASE WHEN count(*) = 0 THEN 'acts for every partner'
        WHEN bool_or(b.is_active) THEN p_otherwise ELSE 'acts for no partner' END)
    FROM insp.producer_partner b WHERE b.login = p_login OR b.role = to_regrole(quote_ident(p_login))::oid
$$;
COMMENT ON FUNCTION insp.bound_to(text, text) IS 'A sentence on what a login may do after a change of its bindings';

CREATE OR REPLACE FUNCTION insp.find_producers() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    -- A row that is held is being bound again.
    UPDATE insp.producer_partner b SET role = coalesce(to_regrole(quote_ident(b.login))::oid, 0)
    WHERE b.ctid = ANY (ARRAY(SELECT x.ctid FROM insp.producer_partner x FOR UPDATE SKIP LOCKED));
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION insp.find_producers() IS
    'Finds the logins of bindings by name in a new cluster, where the same numbers are other logins';
CREATE OR REPLACE TRIGGER find_producers AFTER UPDATE OF system ON insp.epoch
    FOR EACH ROW WHEN (OLD.system <> NEW.system) EXECUTE FUNCTION insp.find_producers();

CREATE OR REPLACE VIEW insp.v_producer AS
SELECT b.login::text AS login, p.name AS partner, CASE
        WHEN NOT b.is_active THEN 'was unbound, and acts for nobody: bind or free it'
        WHEN r.rolname = b.login THEN 'acts for the partner'
        WHEN r.oid IS NOT NULL THEN format('is called %s now, and no longer acts for any partner: bind it again', r.rolname)
        WHEN n.oid IS NOT NULL THEN 'another login has the name, and acts for nobody by this: bind or unbind it'
        ELSE 'there is no such login' END AS state
FROM insp.producer_partner b JOIN insp.partner p ON p.id = b.partner_id
    LEFT JOIN pg_roles r ON r.oid = b.role LEFT JOIN pg_roles n ON n.rolname = b.login;
COMMENT ON VIEW insp.v_producer IS 'Logins that are bound to partners (bind_producer)';
COMMENT ON COLUMN insp.v_producer.login IS 'The login''s name when it was bound';
COMMENT ON COLUMN insp.v_producer.partner IS 'The partner';
COMMENT ON COLUMN insp.v_producer.state IS 'Whether it acts for the partner; if not, why and what to do';
GRANT SELECT ON insp.v_producer TO insp_operator, insp_auditor;

-- Each table is read once for all partners: a query for each would read it hundreds of times.
CREATE OR REPLACE VIEW insp.v_partner AS
SELECT p.id, p.name, p.enabled, p.paused, insp.lane_name(p.lane) AS lane, coalesce(g.name, 'any') AS region,
    coalesce(w.jobs, 0) AS waiting, coalesce(l.jobs, 0) AS running, p.max_running, p.rate_per_second,
    coalesce(d.jobs, 0) AS dead_lettered, coalesce(e.endpoints, 0) AS endpoints,
    p.pause_reason, p.rate_burst, p.review, coalesce(r.jobs, 0) AS in_review,
    p.keep_parts, p.keep_results, p.passive_signals_suffice, p.consent_required, p.callback_required, p.job_lifetime,
    p.erased_at, p.test_of IS NOT NULL AS is_test, p.consent_policy_url, p.consent_policy_version, p.consent_purposes, p.region_choice,
    p.callback_hosts, p.decision_version, p.decision_policy, p.vendor, p.capture_hosts
FROM insp.partner p LEFT JOIN insp.region g ON g.id = p.region
    LEFT JOIN (SELECT q.partner_id, sum(x.waiting)::bigint AS jobs
        FROM insp.waiting_by_queue() x JOIN insp.queue q ON q.id = x.queue GROUP BY q.partner_id) w ON w.partner_id = p.id
    LEFT JOIN (SELECT q.partner_id, count(*) AS jobs
        FROM insp.lease x JOIN insp.queue q ON q.id = x.queue GROUP BY q.partner_id) l ON l.partner_id = p.id
    LEFT JOIN (SELECT x.partner_id, count(*) AS jobs
        FROM insp.dead x WHERE x.resolved_at IS NULL GROUP BY x.partner_id) d ON d.partner_id = p.id
    -- Looked up one by one, so that no partition of jobs is read in full for a few.
    LEFT JOIN (SELECT j.partner_id, count(*) AS jobs
        FROM insp.review_wait x JOIN insp.job j ON j.id = ANY (ARRAY[x.job_id])
        WHERE j.status = 64 GROUP BY j.partner_id) r ON r.partner_id = p.id
    LEFT JOIN (SELECT x.partner_id, count(*) AS endpoints
        FROM insp.endpoint x WHERE x.enabled GROUP BY x.partner_id) e ON e.partner_id = p.id;
COMMENT ON VIEW insp.v_partner IS 'Partners with their settings and current state';
COMMENT ON COLUMN insp.v_partner.id IS 'Number of the partner';
COMMENT ON COLUMN insp.v_partner.name IS 'Its name in payloads';
COMMENT ON COLUMN insp.v_partner.enabled IS 'Whether its jobs are accepted';
COMMENT ON COLUMN insp.v_partner.lane IS 'Lane of jobs that specify none';
COMMENT ON COLUMN insp.v_partner.region IS 'Region of jobs that specify none';
COMMENT ON COLUMN insp.v_partner.running IS 'Jobs in work';
COMMENT ON COLUMN insp.v_partner.dead_lettered IS 'Unresolved dead letters';
COMMENT ON COLUMN insp.v_partner.endpoints IS 'Enabled callback endpoints';
COMMENT ON COLUMN insp.v_partner.paused IS 'Whether claiming its jobs is stopped';
COMMENT ON COLUMN insp.v_partner.waiting IS 'Jobs ready to be claimed; an estimate if there are many';
COMMENT ON COLUMN insp.v_partner.max_running IS 'Maximum of jobs running at once; null: no limit';
COMMENT ON COLUMN insp.v_partner.rate_per_second IS 'Maximum of jobs started per second; null: no limit';
COMMENT ON COLUMN insp.v_partner.pause_reason IS 'Why it is paused (insp.pause)';
COMMENT ON COLUMN insp.v_partner.rate_burst IS 'Jobs that may start at once after a quiet period (insp.limit_partner)';
COMMENT ON COLUMN insp.v_partner.review IS 'Which decisions wait for a review: never, rejected, warning, always';
COMMENT ON COLUMN insp.v_partner.in_review IS 'Jobs that wait for insp.review';
COMMENT ON COLUMN insp.v_partner.keep_parts IS 'How long parts are kept (insp.set_retention)';
COMMENT ON COLUMN insp.v_partner.keep_results IS 'How long results are kept';
COMMENT ON COLUMN insp.v_partner.passive_signals_suffice IS
    'Whether passive PAD signals suffice to pass liveness (insp.set_liveness_policy)';
COMMENT ON COLUMN insp.v_partner.consent_required IS 'Whether each job must record the person''s consent';
COMMENT ON COLUMN insp.v_partner.callback_required IS 'Whether a job without any callback URL is refused';
COMMENT ON COLUMN insp.v_partner.job_lifetime IS 'Time after which a job without expiresAt ends as EXPIRED';
COMMENT ON COLUMN insp.v_partner.erased_at IS 'When its erasure began (insp.erase_partner); null: it was not erased';
COMMENT ON COLUMN insp.v_partner.is_test IS 'Whether its jobs are tests with fixed outcomes (insp.create_test_credential)';
COMMENT ON COLUMN insp.v_partner.consent_policy_url IS 'Where persons read what they consent to (insp.set_consent_policy)';
COMMENT ON COLUMN insp.v_partner.consent_policy_version IS 'The version that a required consent must name; null: any';
COMMENT ON COLUMN insp.v_partner.consent_purposes IS 'Purposes that a required consent must contain';
COMMENT ON COLUMN insp.v_partner.region_choice IS 'Whether a job may specify another region (insp.set_region_policy)';
COMMENT ON COLUMN insp.v_partner.decision_version IS 'Number of its decision policy (insp.set_decision_policy), 0: it never had one';
COMMENT ON COLUMN insp.v_partner.decision_policy IS 'What its jobs accept';
COMMENT ON COLUMN insp.v_partner.callback_hosts IS 'Hosts that a job''s callbackUrl may have (insp.set_callback_policy); null: any';
COMMENT ON COLUMN insp.v_partner.vendor IS 'The liveness vendor''s server of its sessions (insp.set_vendor); null: the workers'' own';
COMMENT ON COLUMN insp.v_partner.capture_hosts IS 'Hosts to which a capture link may send the person back (insp.set_capture_policy); null: none';
GRANT SELECT ON insp.v_partner TO insp_operator, insp_auditor;
