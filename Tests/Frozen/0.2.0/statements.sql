-- Callbacks, the queue
-- takes: integer, double precision, integer, bigint, bigint[], bigint[], bigint[], bigint, text
-- gives: floor_microseconds bigint, endpoints insp.callback_endpoint[], id bigint, claim_id bigint, webhook_id text, endpoint_id bigint, url text, body bytea, attempts integer, released integer, waited_ms double precision, job uuid, traceparent text, elsewhere boolean, event text, created_at timestamp with time zone, definition_key text, user_reference text, decision text, is_expired boolean, result text, is_reduced boolean, form smallint, sealed bytea, sealed_body bytea, partner_id integer
SELECT * FROM insp.callback_claim($1, $2 * interval '1 second', $3, $4, $5, $6, $7, $8, $9);

-- Callbacks, the queue
-- takes: bigint[], bigint[], bigint[], text[], bigint[], bigint[], bigint[], bigint[], text[], text[], text
-- gives: lost bigint[], endpoints bigint[], changes text[]
SELECT * FROM insp.callback_settle($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11);

-- Callbacks, the queue
-- takes: text
-- gives: id bigint, permit bigint, endpoint bigint, document text, due_in_seconds double precision
SELECT * FROM insp.revocation_claim($1);

-- Callbacks, the queue
-- takes: bigint, bigint
-- gives: token text, generation bigint, refresh_in_seconds double precision, expires_in_seconds double precision, permit bigint, code text, partner integer
SELECT * FROM insp.token_take($1, $2);

-- Callbacks, the queue
-- takes: text, text, boolean, boolean, boolean
-- gives: endpoint_id bigint, secret text
SELECT endpoint_id, secret FROM insp.create_endpoint($1, $2, $3, $4, $5);

-- Callbacks, the queue
-- takes: text, text, boolean, boolean, boolean
-- gives: endpoint_id bigint, secret text
SELECT endpoint_id, secret FROM insp.create_partner($1, $2, $3, $4, $5);

-- Callbacks, the queue
-- takes: bigint, text, text, text, text, text, text, text, text, text, jsonb
-- gives: callback_authorize void
SELECT insp.callback_authorize($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11);

-- Callbacks, the queue
-- takes: bigint, interval, text, text
-- gives: callback_rotate_secret text
SELECT insp.callback_rotate_secret($1, $2::interval, $3, $4);

-- Callbacks, the queue
-- takes: bigint, text
-- gives: callback_use_authorization void
SELECT insp.callback_use_authorization($1, $2);

-- Callbacks, the queue
-- takes: bigint
-- gives: endpoint_partner integer
SELECT insp.endpoint_partner($1);

-- Callbacks, the queue
-- takes: bigint, bigint, text, boolean
-- gives: revocation_settle boolean
SELECT insp.revocation_settle($1, $2, $3, $4);

-- Callbacks, the queue
-- takes: text, text, text, text, text, text, text, text, text, text, text, jsonb
-- gives: set_authorization bigint
SELECT insp.set_authorization($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12);

-- Callbacks, the queue
-- takes: bigint, jsonb
-- gives: set_endpoint void
SELECT insp.set_endpoint($1, $2::jsonb);

-- Callbacks, the queue
-- takes: bigint, bigint, text, double precision
-- gives: token_fail void
SELECT insp.token_fail($1, $2, $3, $4);

-- Callbacks, the queue
-- takes: bigint, bigint, text, double precision, double precision
-- gives: token_store bigint
SELECT insp.token_store($1, $2, $3, $4, $5);

-- Console, the queue
-- takes: bytea
-- gives: console_partner_names text
SELECT * FROM insp.console_partner_names($1);

-- Console, the queue
-- takes: bytea, uuid
-- gives: aspect text, explanation text
SELECT aspect, explanation FROM insp.console_explain($1, $2);

-- Console, the queue
-- takes: bytea, uuid
-- gives: at timestamp with time zone, kind text, who text, detail text
SELECT at, kind, who, detail FROM insp.console_timeline($1, $2);

-- Console, the queue
-- takes: bytea, text, integer
-- gives: at timestamp with time zone, lane text, waiting double precision, oldest_seconds double precision, running double precision, finished double precision, failed double precision, delivered double precision, undelivered double precision
SELECT at, lane, waiting, oldest_seconds, running, finished, failed, delivered, undelivered
FROM insp.console_plots($1, $2, $3);

-- Console, the queue
-- takes: bytea, uuid, text, integer
-- gives: bytes bytea, is_sealed boolean, location text, size integer, partner_id integer
SELECT bytes, is_sealed, location, size, partner_id FROM insp.console_part($1, $2, $3, $4);

-- Console, the queue
-- takes: bytea
-- gives: id bigint, action text, arguments text, proposed_by text, proposed timestamp with time zone, expires timestamp with time zone, state text, decided_by text, decided timestamp with time zone, is_own boolean, returns_secret boolean
SELECT id, action, arguments, proposed_by, proposed, expires, state, decided_by, decided, is_own, returns_secret
FROM insp.console_proposals($1);

-- Console, the queue
-- takes: bytea, uuid
-- gives: id uuid, at timestamp with time zone, kind text, status integer, document jsonb, sealed bytea, body bytea, partner_id integer, was_removed boolean
SELECT id, at, kind, status, document, sealed, body, partner_id, was_removed FROM insp.console_history($1, $2);

-- Console, the queue
-- takes: bytea, text, bigint, bigint, text, text, text, bigint
-- gives: id bigint, at timestamp with time zone, who text, action text, object text, purpose text, detail text
SELECT id, at, who, action, object, purpose, detail
FROM insp.console_record($1, $2, $3, $4, $5, $6, $7, $8);

-- Console, the queue
-- takes: bytea
-- gives: id bigint, host text, process integer, version text, region text, slots integer, busy integer, leases bigint, state text, silent_seconds double precision
SELECT id, host, process, version, region, slots, busy, leases, state, silent_seconds FROM insp.console_workers($1);

-- Console, the queue
-- takes: bytea
-- gives: id bigint, name text, issuer text, subject text, roles text, since timestamp with time zone, seen timestamp with time zone, sessions bigint, cases bigint
SELECT id, name, issuer, subject, roles, since, seen, sessions, cases FROM insp.console_people($1);

-- Console, the queue
-- takes: bytea
-- gives: id bigint, partner text, origin text, pending bigint, in_flight bigint, held bigint, dead bigint, delivered bigint, oldest_seconds double precision, breaker text, last_code text, warnings text
SELECT id, partner, origin, pending, in_flight, held, dead, delivered, oldest_seconds, breaker, last_code, warnings
FROM insp.console_endpoints($1);

-- Console, the queue
-- takes: bytea, text, text, bigint, uuid
-- gives: id uuid, partner text, workflow text, code text, detail text, attempts integer, died_microseconds bigint
SELECT id, partner, workflow, code, detail, attempts, died_microseconds FROM insp.console_dead($1, $2, $3, $4, $5);

-- Console, the queue
-- takes: bytea, text, text, integer, bigint, uuid
-- gives: id uuid, partner text, workflow text, decision text, waits_seconds double precision, remains_seconds double precision, because text[], holder text, is_mine boolean, since_microseconds bigint, first_by text, may_take boolean
SELECT id, partner, workflow, decision, waits_seconds, remains_seconds, because, holder, is_mine,
    since_microseconds, first_by, may_take
FROM insp.console_cases($1, $2, $3, $4, $5, $6);

-- Console, the queue
-- takes: bytea
-- gives: id bigint, who text, kind text, action text, partner text, filter text, reason text, began timestamp with time zone, total integer, done integer, refused integer, refusals text, ended timestamp with time zone, ended_by text, failure text, may_stop boolean
SELECT id, who, kind, action, partner, filter, reason, began, total, done, refused, refusals, ended, ended_by,
    failure, may_stop
FROM insp.console_tasks($1);

-- Console, the queue
-- takes: bytea, bigint
-- gives: console_approve void
SELECT insp.console_approve($1, $2);

-- Console, the queue
-- takes: bigint, integer, bigint, text
-- gives: console_batch_fail void
SELECT insp.console_batch_fail($1, $2::integer, $3, $4);

-- Console, the queue
-- takes: bytea, text, text, jsonb, bigint, text, text
-- gives: console_begin_task bigint
SELECT insp.console_begin_task($1, $2, $3, $4::jsonb, $5, $6, $7);

-- Console, the queue
-- takes: bytea, uuid, text, text, text
-- gives: console_decide jsonb
SELECT insp.console_decide($1, $2, $3, $4, $5);

-- Console, the queue
-- takes: bytea, bigint, text
-- gives: console_end_person void
SELECT insp.console_end_person($1, $2, $3);

-- Console, the queue
-- takes: bytea, uuid
-- gives: console_keep boolean
SELECT insp.console_keep($1, $2);

-- Console, the queue
-- takes: bytea, text, text, integer
-- gives: console_next uuid
SELECT insp.console_next($1, $2, $3, $4::integer);

-- Console, the queue
-- takes: bytea, text, text, boolean, text
-- gives: console_pause void
SELECT insp.console_pause($1, $2, $3, $4, $5);

-- Console, the queue
-- takes: bytea, bigint
-- gives: console_reject void
SELECT insp.console_reject($1, $2);

-- Console, the queue
-- takes: bytea, uuid
-- gives: console_release boolean
SELECT insp.console_release($1, $2);

-- Console, the queue
-- takes: bytea, text, integer, double precision, integer, bigint, bigint, text, jsonb
-- gives: console_set_limits boolean
SELECT insp.console_set_limits($1, $2, $3, $4, $5, $6, $7, $8, $9::jsonb);

-- Console, the queue
-- takes: bytea, text, text[]
-- gives: console_sign_in void
SELECT insp.console_sign_in($1, $2, 'link', $3);

-- Console, the queue
-- takes: bytea, text, text[], text, text
-- gives: console_sign_in void
SELECT insp.console_sign_in($1, $2, 'oidc', $3, $4, $5);

-- Console, the queue
-- takes: bytea
-- gives: console_sign_out void
SELECT insp.console_sign_out($1);

-- Console, the queue
-- takes: bigint, integer, bigint
-- gives: console_step boolean
SELECT insp.console_step($1, $2::integer, $3);

-- Console, the queue
-- takes: bytea, bigint
-- gives: console_stop_task boolean
SELECT insp.console_stop_task($1, $2);

-- Console, the queue
-- takes: bytea, uuid
-- gives: console_take timestamp with time zone
SELECT insp.console_take($1, $2);

-- Console, the queue
-- takes: bytea, uuid
-- gives: key_id uuid
SELECT key_id FROM insp.console_key($1, $2);

-- Console, the queue
-- takes: bytea, uuid
-- gives: key_id uuid, partner_id integer
SELECT key_id, partner_id FROM insp.console_key($1, $2);

-- Console, the queue
-- takes: bytea
-- gives: key_store text, wrapping_key text, former_key text, changed timestamp with time zone, keys bigint, keys_oldest_seconds double precision, persons bigint, persons_oldest_seconds double precision, faces bigint, objects bigint, objects_oldest_seconds double precision, checkpoint bigint, signer text, signed timestamp with time zone
SELECT key_store, wrapping_key, former_key, changed, keys, keys_oldest_seconds, persons, persons_oldest_seconds,
    faces, objects, objects_oldest_seconds, checkpoint, signer, signed FROM insp.console_keys($1);

-- Console, the queue
-- takes: bytea
-- gives: kid text, workers bigint, is_listed boolean
SELECT kid, workers, is_listed FROM insp.console_decryption_keys($1);

-- Console, the queue
-- takes: bytea, text
-- gives: kind text, name text, value text, used timestamp with time zone
SELECT kind, name, value, used FROM insp.console_partner($1, $2);

-- Console, the queue
-- takes: bytea, boolean
-- gives: name text, roles text[], partners text[], all_roles text[]
SELECT name, roles, partners, all_roles FROM insp.console_session_of($1, $2);

-- Console, the queue
-- takes: bytea[], text[]
-- gives: page integer, stamp text
SELECT page, stamp FROM insp.console_pulse($1, $2);

-- Console, the queue
-- takes: bytea, text, text
-- gives: partner text, enabled boolean, paused boolean, pause_reason text, max_running integer, running bigint, rate_per_second double precision, rate_burst integer, max_waiting bigint, waiting bigint, max_bytes bigint, bytes bigint, may_change boolean
SELECT partner, enabled, paused, pause_reason, max_running, running, rate_per_second, rate_burst, max_waiting,
    waiting, max_bytes, bytes, may_change FROM insp.console_limits($1, $2, $3);

-- Console, the queue
-- takes: bytea
-- gives: region text, lane text, partner text, paused boolean, waiting bigint, is_estimate boolean, oldest_seconds double precision, delayed bigint, running bigint, why text, remedy text
SELECT region, lane, partner, paused, waiting, is_estimate, oldest_seconds, delayed, running, why, remedy
FROM insp.console_queue($1);

-- Console, the queue
-- takes: bytea, uuid
-- gives: request jsonb, decided_at timestamp with time zone, statuses integer[], bodies bytea[], kinds text[], ordinals integer[], document jsonb, sealed bytea, body bytea, partner_id integer, notes jsonb, runs jsonb
SELECT request, decided_at, statuses, bodies, kinds, ordinals, document, sealed, body, partner_id, notes, runs
FROM insp.console_case($1, $2);

-- Console, the queue
-- takes: bytea, uuid
-- gives: status integer, partner text, workflow text, waits_seconds double precision, remains_seconds double precision, decision text, label text, because text[], holder text, is_mine boolean, until timestamp with time zone, second boolean, first_by text, first_decision text, first_label text, first_is_mine boolean, decided_by text, confirmed text, decided_at timestamp with time zone, final_decision text, final_label text
SELECT status, partner, workflow, waits_seconds, remains_seconds, decision, label, because, holder, is_mine, until, second,
    first_by, first_decision, first_label, first_is_mine, decided_by, confirmed, decided_at, final_decision, final_label
FROM insp.console_state($1, $2);

-- Console, the queue
-- takes:
-- gives: task bigint, batch integer, attempt bigint
SELECT task, batch, attempt FROM insp.console_batch_take();

-- Console, the queue
-- takes: bytea, text, jsonb
-- gives: total integer, before_microseconds bigint, seen text, ids text[], partners text[], what text[]
SELECT total, before_microseconds, seen, ids, partners, what FROM insp.console_preview($1, $2, $3::jsonb);

-- Console, the queue
-- takes: bytea, bigint
-- gives: worker bigint, id uuid, partner text, workflow text, stage text, attempt integer, since_seconds double precision, remains_seconds double precision
SELECT worker, id, partner, workflow, stage, attempt, since_seconds, remains_seconds FROM insp.console_work($1, $2);

-- Custody, the key store
-- takes: integer, uuid, text, bytea
-- gives: id uuid, kind text, partner_id integer, parent uuid, wrapping_key text, wrapped bytea
SELECT * FROM insp.add_partner_key($1, $2, $3, $4);

-- Custody, the key store
-- takes: bytea[], uuid[], uuid[], bytea[]
-- gives: id uuid, kind text, partner_id integer, parent uuid, wrapping_key text, wrapped bytea, subject bytea
SELECT * FROM insp.add_person_keys($1, $2::uuid[], $3::uuid[], $4);

-- Custody, the key store
-- takes: uuid, integer
-- gives: id uuid, kind text, partner_id integer, parent uuid, wrapping_key text, wrapped bytea
SELECT * FROM insp.all_partner_keys($1, $2);

-- Custody, the key store
-- takes: text, bytea, uuid, uuid
-- gives: key_store uuid, wrapping_key text, proof bytea, former_key text, main_database uuid
SELECT * FROM insp.begin_custody($1, $2, $3, $4);

-- Custody, the key store
-- takes: text, bytea, boolean
-- gives: key_store uuid, wrapping_key text, proof bytea, former_key text, main_database uuid
SELECT * FROM insp.begin_rotation($1, $2, $3);

-- Custody, the key store
-- takes: text, integer
-- gives: partner_id integer, persons bigint, jobs bigint, templates bigint
SELECT * FROM insp.count_below($1, $2);

-- Custody, the key store
-- takes:
-- gives: kind text, wrapping_key text, keys bigint, oldest timestamp with time zone
SELECT * FROM insp.count_keys();

-- Custody, the key store
-- takes:
-- gives: key_store uuid, wrapping_key text, proof bytea, former_key text, main_database uuid
SELECT * FROM insp.custody();

-- Custody, the key store
-- takes:
-- gives: key_store uuid, wrapping_key text, proof bytea, former_key text, main_database uuid
SELECT * FROM insp.end_rotation();

-- Custody, the key store
-- takes: uuid[]
-- gives: id uuid, kind text, partner_id integer, parent uuid, wrapping_key text, wrapped bytea
SELECT * FROM insp.fetch_keys($1::uuid[]);

-- Custody, the key store
-- takes: uuid
-- gives: id uuid, kind text, partner_id integer, parent uuid, wrapping_key text, wrapped bytea
SELECT * FROM insp.key_below($1);

-- Custody, the key store
-- takes: integer, integer
-- gives: partner_id integer, is_idle boolean
SELECT * FROM insp.partner_key_uses($1, $2);

-- Custody, the key store
-- takes: integer[]
-- gives: id uuid, kind text, partner_id integer, parent uuid, wrapping_key text, wrapped bytea
SELECT * FROM insp.partner_keys($1::integer[]);

-- Custody, the key store
-- takes: uuid[], uuid[], bytea[], text
-- gives: count bigint
SELECT count(*) FROM insp.add_job_keys($1::uuid[], $2::uuid[], $3, $4);

-- Custody, the queue
-- takes:
-- gives: history text, job bigint
SELECT history, job FROM insp.custody_mark();

-- Custody, the key store
-- takes:
-- gives: history text, job bigint
SELECT history, job FROM insp.main_mark();

-- Custody, the queue
-- takes: integer[]
-- gives: id integer, name text
SELECT id, name FROM insp.v_partner WHERE id = ANY ($1::integer[]);

-- Custody, the key store
-- takes: uuid[], integer[]
-- gives: ?column? text
SELECT id::text || ' ' || partner_id FROM insp.destroy_job_keys($1::uuid[], $2::integer[]);

-- Custody, the key store
-- takes: uuid, integer
-- gives: id text, is_idle boolean
SELECT id::text, is_idle FROM insp.idle_person_keys($1, interval '1 hour', $2);

-- Custody, the key store
-- takes: text, text, bytea
-- gives: abandon_keys integer
SELECT insp.abandon_keys($1, $2, $3);

-- Custody, the key store
-- takes: uuid
-- gives: all_keys text
SELECT insp.all_keys($1, 1000)::text;

-- Custody, the queue
-- takes: text
-- gives: custody_partner integer
SELECT insp.custody_partner($1);

-- Custody, the queue
-- takes:
-- gives: database_id text
SELECT insp.database_id()::text;

-- Custody, the key store
-- takes: integer, bytea
-- gives: destroy_deleted_face boolean
SELECT insp.destroy_deleted_face($1, $2);

-- Custody, the key store
-- takes: integer, bytea, interval
-- gives: destroy_erased_person boolean
SELECT insp.destroy_erased_person($1, $2, $3::interval);

-- Custody, the key store
-- takes: uuid[]
-- gives: destroy_keys integer
SELECT insp.destroy_keys($1::uuid[]);

-- Custody, the key store
-- takes: integer
-- gives: destroy_partner_key integer
SELECT insp.destroy_partner_key($1);

-- Custody, the key store
-- takes: integer, bytea
-- gives: destroy_person_key integer
SELECT insp.destroy_person_key($1, $2);

-- Custody, the key store
-- takes: uuid[]
-- gives: destroyed_keys text
SELECT insp.destroyed_keys($1::uuid[])::text;

-- Custody, the key store
-- takes: uuid[]
-- gives: drop_idle_persons integer
SELECT insp.drop_idle_persons($1::uuid[]);

-- Custody, the key store
-- takes: text, bigint, bigint
-- gives: follow_main void
SELECT insp.follow_main($1, $2, $3);

-- Custody, the queue
-- takes:
-- gives: key_writers text
SELECT insp.key_writers();

-- Custody, the queue
-- takes: uuid[]
-- gives: keys_of_no_job text
SELECT insp.keys_of_no_job($1::uuid[])::text;

-- Custody, the key store
-- takes: text, bigint
-- gives: note_main void
SELECT insp.note_main($1, $2);

-- Custody, the queue
-- takes: integer[]
-- gives: numbers_of_no_partner integer
SELECT insp.numbers_of_no_partner($1::integer[]);

-- Custody, the key store
-- takes: uuid, integer
-- gives: old_job_keys text
SELECT insp.old_job_keys($1, interval '1 hour', $2)::text;

-- Custody, the key store
-- takes: integer, interval, integer
-- gives: partners_with_keys integer
SELECT insp.partners_with_keys($1, $2::interval, $3);

-- Custody, the queue
-- takes: text, text, integer
-- gives: record_keys void
SELECT insp.record_keys($1, $2, $3::integer);

-- Custody, the queue
-- takes: text, integer, text, text
-- gives: record_keys void
SELECT insp.record_keys('abandon', $1, $2::integer, $3, $4);

-- Custody, the key store
-- takes: text, uuid[], bytea[], bytea[]
-- gives: rewrap_keys integer
SELECT insp.rewrap_keys($1, $2::uuid[], $3, $4);

-- Custody, the queue
-- takes: uuid, uuid, text, text
-- gives: set_custody boolean
SELECT insp.set_custody($1, $2, $3, $4);

-- Custody, the key store
-- takes: integer
-- gives: sweep_keys integer
SELECT insp.sweep_keys($1);

-- Custody, the queue
-- takes:
-- gives: key_store text, wrapping_key text, former_key text, database text
SELECT key_store::text, wrapping_key, former_key, database::text FROM insp.v_custody;

-- Custody, the key store
-- takes:
-- gives: key_table text, file_node bigint
SELECT key_table, file_node FROM insp.key_file();

-- Custody, the key store
-- takes:
-- gives: wrapping_key text, partners bigint
SELECT wrapping_key, partners FROM insp.wrapped_partners();

-- Gateway, the queue
-- takes: bytea, bytea
-- gives: id uuid, partner text, partner_id integer, state text, is_mine boolean, request jsonb, return_url text, sealed bytea, parts text[], challenge text, fallback text, shows_result boolean, locale text, embed_origin text, expires_in_seconds integer, consent jsonb, policy_url text, policy_version text, purposes text[], tries jsonb, job uuid, job_status smallint, session_seconds integer
SELECT * FROM insp.capture_find($1, $2);

-- Gateway, the queue
-- takes: text, bytea
-- gives: id bigint, partner text, partner_id integer, scopes text[], rate_per_second double precision, rate_burst integer, origins text[], is_test boolean
SELECT * FROM insp.gateway_credential($1, $2);

-- Gateway, the queue
-- takes: bigint, bytea, text, integer, bigint
-- gives: next text, start_epoch bigint, start_position bigint, endpoints insp.callback_endpoint[], id bigint, claim_id bigint, webhook_id text, endpoint_id bigint, url text, body bytea, attempts integer, released integer, waited_ms double precision, job uuid, traceparent text, elsewhere boolean, event text, created_at timestamp with time zone, definition_key text, user_reference text, decision text, is_expired boolean, result text, is_reduced boolean, form smallint, sealed bytea, sealed_body bytea, partner_id integer
SELECT * FROM insp.gateway_events($1, $2, $3, $4, $5);

-- Gateway, the queue
-- takes: bigint, bytea, bytea[], uuid, integer
-- gives: id uuid, document jsonb, sealed bytea, body bytea, partner_id integer, personal jsonb, parts jsonb, notes jsonb
SELECT * FROM insp.gateway_export($1, $2, $3, $4, $5);

-- Gateway, the queue
-- takes: bigint, bytea, text[], bytea[], bytea[], smallint, uuid, integer
-- gives: id uuid, status smallint, workflow text, created_at text, completed_at text
SELECT * FROM insp.gateway_jobs($1, $2, $3, $4, $5, $6, $7, $8);

-- Gateway, the queue
-- takes: bytea, bytea, text, text, bytea
-- gives: attempt integer, advice jsonb
SELECT attempt, advice FROM insp.capture_judge($1, $2, $3, $4, $5);

-- Gateway, the queue
-- takes: bigint, bytea, uuid
-- gives: body bytea, key_id uuid, partner_id integer
SELECT body, key_id, partner_id FROM insp.gateway_session_answer($1, $2, $3);

-- Gateway, the queue
-- takes: bigint, bytea, uuid, text, integer, text
-- gives: bytes bytea, is_sealed boolean, location text, size integer
SELECT bytes, is_sealed, location, size FROM insp.gateway_part($1, $2, $3, $4, $5, $6);

-- Gateway, the queue
-- takes: bigint, bytea, uuid, text, bigint, text, integer
-- gives: callback jsonb, moment bigint, webhook_id text
SELECT callback, (extract(epoch FROM moment) * 1000000)::bigint AS moment, webhook_id
FROM insp.gateway_callbacks($1, $2, $3, $4, timestamptz 'epoch' + $5::bigint * interval '1 microsecond', $6, $7);

-- Gateway, the queue
-- takes: bigint, bytea, bytea[]
-- gives: cancelled integer, erased integer
SELECT cancelled, erased FROM insp.gateway_withdraw($1, $2, $3);

-- Gateway, the queue
-- takes: bigint, bytea, text
-- gives: code text, advice text
SELECT code, advice FROM insp.gateway_usability($1, $2, $3);

-- Gateway, the queue
-- takes: bigint, bytea, uuid, jsonb, bytea
-- gives: id uuid, blobs integer, key_id uuid, repeated bigint, idempotency_key text, request_sha256 bytea
SELECT id, blobs, key_id, repeated, idempotency_key, request_sha256 FROM insp.gateway_session_find($1, $2, $3, $4, $5);

-- Gateway, the queue
-- takes: bigint, bytea, uuid, integer, bytea, text, bytea
-- gives: id uuid, job bigint, repeated boolean
SELECT id, job, repeated FROM insp.gateway_session_add($1, $2, $3, $4, $5, $6, $7);

-- Gateway, the queue
-- takes: bigint, bytea, text, jsonb, text, text[], bytea[], bytea, bytea, text[], bytea[], integer[], boolean
-- gives: id uuid, job bigint, status smallint, repeated boolean
SELECT id, job, status, repeated FROM insp.gateway_create($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13);

-- Gateway, the queue
-- takes: bytea, bytea, jsonb, text[], bytea[], bytea, bytea, text[], bytea[], integer[]
-- gives: id uuid, repeated boolean
SELECT id, repeated FROM insp.capture_submit($1, $2, $3, $4, $5, $6, $7, $8, $9, $10);

-- Gateway, the queue
-- takes: bigint, bytea, uuid, text
-- gives: id uuid, status smallint, repeated boolean
SELECT id, status, repeated FROM insp.gateway_rerun($1, $2, $3, $4);

-- Gateway, the queue
-- takes: bytea, bytea
-- gives: capture_challenge jsonb
SELECT insp.capture_challenge($1, $2);

-- Gateway, the queue
-- takes: bytea, bytea, text, text, text[]
-- gives: capture_open integer
SELECT insp.capture_open($1, $2, $3, $4, $5);

-- Gateway, the queue
-- takes: bytea, bytea
-- gives: capture_result text
SELECT insp.capture_result($1, $2);

-- Gateway, the queue
-- takes: bytea, bytea, jsonb, text[]
-- gives: capture_try void
SELECT insp.capture_try($1, $2, $3, $4);

-- Gateway, the queue
-- takes:
-- gives: decryption_keys jsonb
SELECT insp.decryption_keys();

-- Gateway, the queue
-- takes: bigint[]
-- gives: gateway_answered bigint
SELECT insp.gateway_answered($1);

-- Gateway, the queue
-- takes: bigint, bytea, uuid
-- gives: gateway_cancel boolean
SELECT insp.gateway_cancel($1, $2, $3);

-- Gateway, the queue
-- takes: bigint, bytea, jsonb
-- gives: gateway_challenge jsonb
SELECT insp.gateway_challenge($1, $2, $3);

-- Gateway, the queue
-- takes: bigint, bytea, text
-- gives: gateway_encryption jsonb
SELECT insp.gateway_encryption($1, $2, $3);

-- Gateway, the queue
-- takes: bigint, bytea, bigint, text, jsonb, text
-- gives: gateway_endpoint_act jsonb
SELECT insp.gateway_endpoint_act($1, $2, $3, $4, $5, $6);

-- Gateway, the queue
-- takes: bigint, bytea
-- gives: gateway_endpoints jsonb
SELECT insp.gateway_endpoints($1, $2);

-- Gateway, the queue
-- takes: bigint, bytea, bytea[]
-- gives: gateway_erase integer
SELECT insp.gateway_erase($1, $2, $3);

-- Gateway, the queue
-- takes: bigint, bytea, text, bytea
-- gives: gateway_face jsonb
SELECT insp.gateway_face($1, $2, $3, $4);

-- Gateway, the queue
-- takes: bigint, bytea, text, bytea
-- gives: gateway_face_delete jsonb
SELECT insp.gateway_face_delete($1, $2, $3, $4);

-- Gateway, the queue
-- takes: bigint[]
-- gives: gateway_finished bigint
SELECT insp.gateway_finished($1);

-- Gateway, the queue
-- takes: bigint, bytea
-- gives: gateway_key jsonb
SELECT insp.gateway_key($1, $2);

-- Gateway, the queue
-- takes:
-- gives: gateway_number_pulls integer
SELECT insp.gateway_number_pulls();

-- Gateway, the queue
-- takes:
-- gives: origins text[]
SELECT insp.gateway_origins() AS origins;

-- Gateway, the queue
-- takes: bigint, bytea, bytea[]
-- gives: gateway_person_faces jsonb
SELECT insp.gateway_person_faces($1, $2, $3);

-- Gateway, the queue
-- takes: bigint[], bigint[], bigint[]
-- gives: gateway_pulls integer
SELECT insp.gateway_pulls($1, $2, $3);

-- Gateway, the queue
-- takes: bigint, bytea, text
-- gives: gateway_replay void
SELECT insp.gateway_replay($1, $2, $3);

-- Gateway, the queue
-- takes: bigint, bytea, jsonb
-- gives: gateway_set_key jsonb
SELECT insp.gateway_set_key($1, $2, $3);

-- Gateway, the queue
-- takes: bigint, bytea, text, jsonb, text[]
-- gives: gateway_try void
SELECT insp.gateway_try($1, $2, $3, $4, $5);

-- Gateway, the queue
-- takes: bigint, bytea, text
-- gives: gateway_usage jsonb
SELECT insp.gateway_usage($1, $2, $3);

-- Gateway, the queue
-- takes: bigint, bytea, uuid
-- gives: gateway_withdraw_job boolean
SELECT insp.gateway_withdraw_job($1, $2, $3);

-- Gateway, the queue
-- takes: bigint, bytea, text, uuid
-- gives: job bigint, finished boolean, document jsonb, sealed bytea, body bytea, partner_id integer, encryption jsonb
SELECT job, finished, document, sealed, body, partner_id, encryption FROM insp.gateway_result($1, $2, $3, $4);

-- Gateway, the queue
-- takes: bigint, bytea, uuid, text
-- gives: request jsonb, decided_at timestamp with time zone, statuses integer[], bodies bytea[], kinds text[], ordinals integer[], document jsonb, sealed bytea, body bytea, partner_id integer, partner text, encryption jsonb
SELECT request, decided_at, statuses, bodies, kinds, ordinals, document, sealed, body, partner_id, partner,
    encryption
FROM insp.gateway_report($1, $2, $3, $4);

-- Gateway, the queue
-- takes: bigint, bytea, uuid, jsonb, jsonb, bytea, bytea, bytea
-- gives: token text, expires_at text, id uuid, repeated boolean
SELECT token, expires_at, id, repeated FROM insp.capture_create($1, $2, $3, $4, $5, $6, $7, $8);

-- Gateway, the queue
-- takes: bigint, bytea, text[]
-- gives: token text, seconds integer
SELECT token, seconds FROM insp.gateway_token($1, $2, $3);

-- JobQueue, the queue
-- takes: bigint, uuid, double precision, integer, integer[], bigint[], integer[], integer, bigint, bigint, boolean
-- gives: epoch bigint, last_seq bigint, snapshot_xmin xid8, snapshot_xmax xid8, limits integer[], queues insp.queue[], job_id bigint, fence bigint, attempt smallint, crashes smallint, queue integer, seq bigint, public_id uuid, status smallint, expired boolean, payload jsonb, traceparent text, steps bytea[], key_id uuid, partner_id integer
SELECT * FROM insp.claim($1, $2, make_interval(secs => $3), $4, $5, $6, $7, $8, $9, $10, $11);

-- JobQueue, the queue
-- takes: bigint[], bigint[], text[], text[], boolean[]
-- gives: dead_letter bigint
SELECT * FROM insp.dead_letter($1, $2, $3, $4, $5);

-- JobQueue, the queue
-- takes: bigint, bigint
-- gives: generation bigint, mode text, engine text, model_sha256 text, embedding text
SELECT * FROM insp.face_of($1, $2);

-- JobQueue, the queue
-- takes: bigint, uuid, integer, bigint, integer[], bigint[], bigint, bigint, bigint
-- gives: alive boolean, draining boolean, lease_jobs bigint[], lease_fences bigint[], fence bigint, weights smallint[], epoch bigint
SELECT * FROM insp.heartbeat($1, $2, $3, $4, $5, $6, $7, $8, $9);

-- JobQueue, the queue
-- takes: bigint[], bigint[], text[], bytea[], bigint[], bigint[], smallint[], bytea[]
-- gives: job bigint, is_damaged boolean
SELECT * FROM insp.hold_for_review($1, $2, $3, $4, $5, $6, $7, $8);

-- JobQueue, the queue
-- takes: integer
-- gives: key_id uuid, partner_id integer
SELECT * FROM insp.keys_gone($1);

-- JobQueue, the queue
-- takes: bigint[]
-- gives: locked_jobs bigint
SELECT * FROM insp.locked_jobs($1);

-- JobQueue, the queue
-- takes:
-- gives: after text, until text
SELECT * FROM insp.object_sweep();

-- JobQueue, the queue
-- takes: bigint, bigint, bigint
-- gives: kind text, ordinal smallint, sha256 bytea, is_sealed boolean, url text, bytes bytea, allow_http boolean, allow_private boolean, networks text[], size integer
SELECT * FROM insp.parts($1, $2, $3);

-- JobQueue, the queue
-- takes: bigint[], bigint[]
-- gives: release bigint
SELECT * FROM insp.release($1, $2);

-- JobQueue, the queue
-- takes: bigint[], bigint[], double precision[], text[], boolean[]
-- gives: retry_later bigint
SELECT * FROM insp.retry_later($1, $2, $3, $4, $5);

-- JobQueue, the queue
-- takes: bigint, bigint
-- gives: url text, pins text[], key_name text, allow_private boolean, networks text[], reference text
SELECT * FROM insp.session_vendor($1, $2);

-- JobQueue, the queue
-- takes: bigint[], bigint[], text[], bytea[], bigint[], bigint[], smallint[], bytea[]
-- gives: job bigint, is_damaged boolean
SELECT * FROM insp.settle($1, $2, $3, $4, $5, $6, $7, $8);

-- JobQueue, the queue
-- takes: bigint[], bigint[], smallint[], bytea[]
-- gives: store_steps bigint
SELECT * FROM insp.store_steps($1, $2, $3, $4);

-- JobQueue, the queue
-- takes: text
-- gives: aspect text, explanation text
SELECT aspect, explanation FROM insp.explain_job($1);

-- JobQueue, the queue
-- takes: text, bytea
-- gives: cancelled integer, erased integer
SELECT cancelled, erased FROM insp.withdraw_by_index($1, $2);

-- JobQueue, the queue
-- takes:
-- gives: chain text, seq bigint
SELECT chain, seq FROM insp.record_strays();

-- JobQueue, the queue
-- takes: text, text, text
-- gives: coalesce jsonb
SELECT coalesce(jsonb_agg(to_jsonb(t)), '[]') FROM insp.face_templates($1, $3, $2) AS t;

-- JobQueue, the queue
-- takes: text, text, text, bytea
-- gives: coalesce jsonb
SELECT coalesce(jsonb_agg(to_jsonb(t)), '[]') FROM insp.sealed_face_templates($1, $3, $4, $2) AS t;

-- JobQueue, the queue
-- takes: uuid, text
-- gives: document jsonb, sealed bytea, body bytea, partner_id integer
SELECT document, sealed, body, partner_id FROM insp.sealed_result($1, $2);

-- JobQueue, the queue
-- takes: uuid, text
-- gives: document jsonb, sealed bytea, body bytea, partner_id integer, notes jsonb
SELECT document, sealed, body, partner_id, notes FROM insp.sealed_review($1, $2);

-- JobQueue, the queue
-- takes:
-- gives: duty text, extract double precision, ?column? boolean
SELECT duty, extract(epoch FROM age)::float8, state = 'fails' FROM insp.v_maintenance;

-- JobQueue, the queue
-- takes: text, text
-- gives: duty integer, duty_done void
SELECT duty.*, insp.duty_done($1, $2, to_jsonb(duty)) FROM insp.count_usage() AS duty
WHERE current_setting('insp.duty', true) = $1;

-- JobQueue, the queue
-- takes: text, text
-- gives: duty integer, duty_done void
SELECT duty.*, insp.duty_done($1, $2, to_jsonb(duty)) FROM insp.ensure_partitions() AS duty
WHERE current_setting('insp.duty', true) = $1;

-- JobQueue, the queue
-- takes: text, text
-- gives: duty integer, duty_done void
SELECT duty.*, insp.duty_done($1, $2, to_jsonb(duty)) FROM insp.expire() AS duty
WHERE current_setting('insp.duty', true) = $1;

-- JobQueue, the queue
-- takes: text, text
-- gives: duty integer, duty_done void
SELECT duty.*, insp.duty_done($1, $2, to_jsonb(duty)) FROM insp.face_purge() AS duty
WHERE current_setting('insp.duty', true) = $1;

-- JobQueue, the queue
-- takes: text, text
-- gives: duty integer, duty_done void
SELECT duty.*, insp.duty_done($1, $2, to_jsonb(duty)) FROM insp.link_record() AS duty
WHERE current_setting('insp.duty', true) = $1;

-- JobQueue, the queue
-- takes: text, text
-- gives: duty integer, duty_done void
SELECT duty.*, insp.duty_done($1, $2, to_jsonb(duty)) FROM insp.measure_quotas() AS duty
WHERE current_setting('insp.duty', true) = $1;

-- JobQueue, the queue
-- takes: text, text
-- gives: duty integer, duty_done void
SELECT duty.*, insp.duty_done($1, $2, to_jsonb(duty)) FROM insp.number_events() AS duty
WHERE current_setting('insp.duty', true) = $1;

-- JobQueue, the queue
-- takes: text, text
-- gives: duty integer, duty_done void
SELECT duty.*, insp.duty_done($1, $2, to_jsonb(duty)) FROM insp.number_pulls() AS duty
WHERE current_setting('insp.duty', true) = $1;

-- JobQueue, the queue
-- takes: text, text
-- gives: duty integer, duty_done void
SELECT duty.*, insp.duty_done($1, $2, to_jsonb(duty)) FROM insp.promote() AS duty
WHERE current_setting('insp.duty', true) = $1;

-- JobQueue, the queue
-- takes: text, text
-- gives: parts integer, results integer, keys integer, callbacks integer, partitions integer, more boolean, duty_done void
SELECT duty.*, insp.duty_done($1, $2, to_jsonb(duty)) FROM insp.purge() AS duty
WHERE current_setting('insp.duty', true) = $1;

-- JobQueue, the queue
-- takes: text, text, double precision, integer, integer, double precision
-- gives: requeued integer, dead_lettered integer, workers integer, duty_done void
SELECT duty.*, insp.duty_done($1, $2, to_jsonb(duty)) FROM insp.rescue(make_interval(secs => $3), $4, $5, p_elapsed => make_interval(secs => $6), p_thorough => false) AS duty
WHERE current_setting('insp.duty', true) = $1;

-- JobQueue, the queue
-- takes: text, text, double precision, integer, integer, double precision
-- gives: requeued integer, dead_lettered integer, workers integer, duty_done void
SELECT duty.*, insp.duty_done($1, $2, to_jsonb(duty)) FROM insp.rescue(make_interval(secs => $3), $4, $5, p_elapsed => make_interval(secs => $6), p_thorough => true) AS duty
WHERE current_setting('insp.duty', true) = $1;

-- JobQueue, the queue
-- takes: text, text
-- gives: duty integer, duty_done void
SELECT duty.*, insp.duty_done($1, $2, to_jsonb(duty)) FROM insp.sample_queue() AS duty
WHERE current_setting('insp.duty', true) = $1;

-- JobQueue, the queue
-- takes: text, text
-- gives: duty integer, duty_done void
SELECT duty.*, insp.duty_done($1, $2, to_jsonb(duty)) FROM insp.sweep() AS duty
WHERE current_setting('insp.duty', true) = $1;

-- JobQueue, the queue
-- takes: bigint, bigint, text, text, bytea
-- gives: add_checkpoint boolean
SELECT insp.add_checkpoint($1, $2, $3, $4, $5);

-- JobQueue, the queue
-- takes:
-- gives: begin_objects void
SELECT insp.begin_objects();

-- JobQueue, the queue
-- takes: uuid
-- gives: cancel boolean
SELECT insp.cancel($1);

-- JobQueue, the queue
-- takes: uuid, jsonb
-- gives: consent_holds boolean
SELECT insp.consent_holds($1, $2::jsonb);

-- JobQueue, the queue
-- takes: integer[], bigint[], integer
-- gives: drop_strays integer
SELECT insp.drop_strays($1, $2, $3);

-- JobQueue, the queue
-- takes: text, text, integer
-- gives: duty_done void
SELECT insp.duty_done($1, $2, to_jsonb($3::integer));

-- JobQueue, the queue
-- takes: text, text, text
-- gives: duty_failed void
SELECT insp.duty_failed($1, $2, $3);

-- JobQueue, the queue
-- takes: text
-- gives: duty_take boolean
SELECT insp.duty_take($1, interval '0.8 s');

-- JobQueue, the queue
-- takes: text, double precision
-- gives: duty_take boolean
SELECT insp.duty_take($1, make_interval(secs => $2));

-- JobQueue, the queue
-- takes: jsonb, text[], bytea[], bytea, bytea, text[], bytea[], integer[]
-- gives: enqueue_parts uuid
SELECT insp.enqueue_parts($1, $2, $3, $4, $5, $6, $7, $8);

-- JobQueue, the queue
-- takes: text, bytea
-- gives: erase_by_index integer
SELECT insp.erase_by_index($1, $2);

-- JobQueue, the queue
-- takes: text
-- gives: erase_partner integer
SELECT insp.erase_partner($1);

-- JobQueue, the queue
-- takes: text, text
-- gives: face_delete jsonb
SELECT insp.face_delete($1, $2);

-- JobQueue, the queue
-- takes: integer, bytea, timestamp with time zone
-- gives: face_in_use void
SELECT insp.face_in_use($1, $2, $3::timestamptz);

-- JobQueue, the queue
-- takes: bigint, bigint, bigint, text, text, text
-- gives: face_stage void
SELECT insp.face_stage($1, $2, $3, $4, $5, $6);

-- JobQueue, the queue
-- takes: text, bytea
-- gives: faces_by_index text
SELECT insp.faces_by_index($1, $2, 'support');

-- JobQueue, the queue
-- takes: text
-- gives: find_job uuid
SELECT insp.find_job($1);

-- JobQueue, the queue
-- takes: bigint
-- gives: is_empty boolean
SELECT insp.is_empty($1);

-- JobQueue, the queue
-- takes: uuid
-- gives: is_sealed boolean
SELECT insp.is_sealed($1);

-- JobQueue, the queue
-- takes: text, bytea, text
-- gives: jobs_by_index text
SELECT insp.jobs_by_index($1, $2, $3)::text;

-- JobQueue, the queue
-- takes: uuid[], integer[], boolean[]
-- gives: keys_destroyed void
SELECT insp.keys_destroyed($1::uuid[], $2::integer[], $3::boolean[]);

-- JobQueue, the queue
-- takes:
-- gives: last_checkpoint bigint
SELECT insp.last_checkpoint();

-- JobQueue, the queue
-- takes: text[]
-- gives: objects_deleted void
SELECT insp.objects_deleted($1);

-- JobQueue, the queue
-- takes: text, integer
-- gives: objects_gone text
SELECT insp.objects_gone($1, $2);

-- JobQueue, the queue
-- takes: text[]
-- gives: objects_of_no_part text
SELECT insp.objects_of_no_part($1);

-- JobQueue, the queue
-- takes: text
-- gives: objects_swept void
SELECT insp.objects_swept($1);

-- JobQueue, the queue
-- takes: integer, bytea, timestamp with time zone, boolean, boolean
-- gives: person_destroyed void
SELECT insp.person_destroyed($1, $2, $3::timestamptz, $4, $5);

-- JobQueue, the queue
-- takes: text, bigint
-- gives: record_hash_at text
SELECT insp.record_hash_at($1, $2);

-- JobQueue, the queue
-- takes:
-- gives: record_heads text
SELECT insp.record_heads()::text;

-- JobQueue, the queue
-- takes: text, double precision
-- gives: record_waits boolean
SELECT insp.record_waits($1, timestamptz 'epoch' + $2 * interval '1 microsecond');

-- JobQueue, the queue
-- takes: uuid, text, text, text
-- gives: review jsonb
SELECT insp.review($1, $2, $3, $4);

-- JobQueue, the queue
-- takes: text, text, bytea
-- gives: sealed_face_delete jsonb
SELECT insp.sealed_face_delete($1, $2, $3);

-- JobQueue, the queue
-- takes: bigint, bigint
-- gives: sealed_values bytea
SELECT insp.sealed_values($1, $2);

-- JobQueue, the queue
-- takes: bigint, bigint, integer
-- gives: session_begin boolean
SELECT insp.session_begin($1, $2, $3);

-- JobQueue, the queue
-- takes: bigint, bigint, text, integer, bytea, integer
-- gives: session_end void
SELECT insp.session_end($1, $2, $3, $4, $5, $6);

-- JobQueue, the queue
-- takes: bigint, bigint, double precision
-- gives: session_pause boolean
SELECT insp.session_pause($1, $2, $3);

-- JobQueue, the queue
-- takes: text, text[]
-- gives: set_callback_policy text
SELECT insp.set_callback_policy($1, nullif($2::text[], '{}'));

-- JobQueue, the queue
-- takes: text, text[]
-- gives: set_capture_policy text
SELECT insp.set_capture_policy($1, nullif($2::text[], '{}'));

-- JobQueue, the queue
-- takes: text, boolean, text, text, text[]
-- gives: set_consent_policy text
SELECT insp.set_consent_policy($1, $2, $3, $4, $5);

-- JobQueue, the queue
-- takes: text, jsonb
-- gives: set_decision_policy integer
SELECT insp.set_decision_policy($1, $2::jsonb);

-- JobQueue, the queue
-- takes: text, jsonb
-- gives: set_partner_key jsonb
SELECT insp.set_partner_key($1, $2);

-- JobQueue, the queue
-- takes: text, text, boolean
-- gives: set_region_policy text
SELECT insp.set_region_policy($1, $2, $3);

-- JobQueue, the queue
-- takes: text[]
-- gives: set_regions text
SELECT insp.set_regions($1);

-- JobQueue, the queue
-- takes: text, jsonb
-- gives: set_vendor text
SELECT insp.set_vendor($1, $2::jsonb);

-- JobQueue, the queue
-- takes: double precision
-- gives: snapshot jsonb
SELECT insp.snapshot(make_interval(secs => $1));

-- JobQueue, the queue
-- takes: jsonb, text[]
-- gives: try_request void
SELECT insp.try_request($1, $2);

-- JobQueue, the queue
-- takes: bigint, uuid
-- gives: worker_stop void
SELECT insp.worker_stop($1, $2);

-- JobQueue, the queue
-- takes: text, bigint
-- gives: jobs integer, templates integer, persons integer, kept integer, last bigint, more boolean
SELECT jobs, templates, persons, kept, last, more FROM insp.erase_partner_data($1, $2);

-- JobQueue, the queue
-- takes:
-- gives: measure text, lane text, value double precision
SELECT measure, lane, value FROM insp.depth();

-- JobQueue, the queue
-- takes: bigint, integer
-- gives: number bigint, line text
SELECT number, line FROM insp.record_checkpoints($1, $2);

-- JobQueue, the queue
-- takes: integer
-- gives: partner_id integer, index bytea, since text, microseconds bigint, keeps_jobs boolean
SELECT partner_id, index, since::text, microseconds, keeps_jobs FROM insp.persons_gone($1);

-- JobQueue, the queue
-- takes: uuid, text, integer, text, text, smallint[], integer, jsonb
-- gives: worker_id bigint, region_id smallint, floor_queues integer[], floor_seqs bigint[], epoch bigint, worker_keys void
SELECT r.*, insp.check_epoch() AS epoch, insp.worker_keys(r.worker_id, $8)
FROM insp.worker_register($1, $2, $3, $4, $5, $6, $7) r;

-- JobQueue, the queue
-- takes: text, bigint, integer, boolean
-- gives: seq bigint, line text
SELECT seq, line FROM insp.record_rows($1, $2, $3, $4);
