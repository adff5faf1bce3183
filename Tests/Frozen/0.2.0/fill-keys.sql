-- Fills a key store of this release with something in every state, by the release's own functions. What a key wraps is all zeros: the
-- database sees no more of it than its form.
\set ON_ERROR_STOP on
\set wrapped '''\\x01''::bytea || decode(repeat(''00'', 60), ''hex'')'

SELECT insp.begin_custody('wrapping-1', decode(repeat('01', 32), 'hex'), md5('database')::uuid, NULL);
SELECT insp.note_main('history', 100);
SELECT count(*) FROM generate_series(1, 4) p, LATERAL insp.add_partner_key(p, md5('partner ' || p)::uuid, 'wrapping-1', :wrapped);
SELECT count(*) FROM (SELECT array_agg(convert_to('person ' || n, 'UTF8')) AS subjects, array_agg(md5('person ' || p || n)::uuid) AS ids,
        array_agg(md5('partner ' || p)::uuid) AS parents, array_agg(:wrapped) AS wrapped FROM generate_series(1, 3) p, generate_series(1, 5) n) a,
    LATERAL insp.add_person_keys(a.subjects, a.ids, a.parents, a.wrapped);
SELECT count(*) FROM unnest('{job,template}'::text[]) kind, LATERAL (SELECT array_agg(md5(kind || p || n || i)::uuid) AS ids,
        array_agg(md5('person ' || p || n)::uuid) AS parents, array_agg(:wrapped) AS wrapped
        FROM generate_series(1, 3) p, generate_series(1, 5) n, generate_series(1, 2) i) a,
    LATERAL insp.add_job_keys(a.ids, a.parents, a.wrapped, kind);
SELECT count(*) FROM insp.add_job_keys(ARRAY[md5('alone')::uuid], ARRAY[md5('partner 1')::uuid], ARRAY[:wrapped]);
-- Keys of before a new wrapping key, and one of after it.
SELECT insp.begin_rotation('wrapping-2', decode(repeat('02', 32), 'hex'));
SELECT insp.rewrap_keys('wrapping-2', ARRAY[k.id], ARRAY[k.wrapped], ARRAY['\x02'::bytea || k.wrapped]) FROM insp.key k
WHERE k.kind = 'partner' AND k.partner_id = 1;
-- A partner, a person and a job whose keys are gone; those below them still lie there.
SELECT insp.destroy_partner_key(3);
SELECT insp.destroy_person_key(1, 'person 5');
SELECT insp.destroy_job_keys(ARRAY[md5('job111')::uuid], '{1}');
INSERT INTO insp.destroyed (id) VALUES (md5('job111')::uuid);

SELECT string_agg(w.what, ', ') AS missing FROM (
    SELECT k AS what FROM unnest('{partner,person,job,template}'::text[]) k WHERE NOT EXISTS (SELECT FROM insp.key x WHERE x.kind = k)
    UNION ALL SELECT 'fallen ' || k FROM unnest('{partner,person}'::text[]) k WHERE NOT EXISTS (SELECT FROM insp.fallen f WHERE f.kind = k)
    UNION ALL SELECT 'destroyed' WHERE NOT EXISTS (SELECT FROM insp.destroyed)
    UNION ALL SELECT 'two wrapping keys' WHERE (SELECT count(DISTINCT k.wrapping_key) FROM insp.key k) <> 2
    UNION ALL SELECT 'custody' WHERE NOT EXISTS (SELECT FROM insp.custody c WHERE c.former_key IS NOT NULL AND c.main_job = 100)) w \gset
\if :{?missing}
\warn not filled: :missing
SELECT 1 / 0;
\endif
