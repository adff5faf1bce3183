-- The schema. The scripts with a number hold what is there once: tables and their data. What works on them (functions,
-- triggers, views) stands in functions/, each object once. The roles are made by an administrator, from roles.sql.

CREATE SCHEMA insp;
COMMENT ON SCHEMA insp IS 'inspectd: inspection jobs, their parts and results, and the callbacks about them';
REVOKE ALL ON SCHEMA insp FROM PUBLIC;
GRANT USAGE ON SCHEMA insp TO insp_producer, insp_worker, insp_gateway, insp_operator, insp_auditor;
-- Functions are executable by everyone unless said otherwise; here each is granted by name.
ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
