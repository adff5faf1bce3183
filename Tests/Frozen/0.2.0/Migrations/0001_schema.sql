-- The schema. Numbered scripts create tables and their data. Functions, triggers and views are in functions/, each object
-- once. An administrator creates the roles from roles.sql.

CREATE SCHEMA insp;
COMMENT ON SCHEMA insp IS 'inspectd: inspection jobs, their parts and results, and the callbacks about them';
REVOKE ALL ON SCHEMA insp FROM PUBLIC;
GRANT USAGE ON SCHEMA insp TO insp_producer, insp_worker, insp_gateway, insp_operator, insp_reviewer, insp_auditor, insp_signer,
    insp_console;
-- PostgreSQL lets everyone execute functions by default; here each is granted by name.
ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
