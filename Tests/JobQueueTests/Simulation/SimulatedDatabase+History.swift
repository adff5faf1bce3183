import Foundation
import Postgres

/// Servers that are replaced by an earlier state of themselves, and clocks that are set.
extension SimulatedDatabase {
    /// How a database that went back shows it.
    enum Return: CaseIterable, Sendable {
        /// A standby was promoted: another timeline, another server.
        case promoted
        /// A backup took its place: nothing but the server's start is another.
        case restored
        /// A crash lost what was committed last, and the server recovered by itself.
        case recovered
    }

    /// Keeps the committed state, as a standby or a backup has it.
    func keep() async throws { _ = try await self.control.query("SELECT fake.keep()") }

    /// Back to what was kept last.
    ///
    /// - Returns: Whether anything was kept.
    func goBack(_ way: Return) async throws -> Bool {
        try await self.control.query("SELECT fake.go_back($1)", [.text("\(way)")])[0].bool(0)
    }

    /// Sets the clock. The time that really passes is not concerned.
    func setClock(by seconds: Double) async throws {
        _ = try await self.control.query(
            "SELECT setval('fake.clock', last_value + $1::bigint) FROM fake.clock", [.int(Int64(seconds * 1_000_000))])
    }

    /// Which of these jobs there are.
    func known(_ jobs: [String]) async throws -> Set<String> {
        Set(
            try await self.control.query(
                "SELECT public_id::text FROM insp.job WHERE public_id = ANY ($1::uuid[])", [.textArray(jobs)]
            ).map { try $0.string(0) })
    }

    /// What tells one server from another, and the time that really passes. Lots are drawn from a sequence, so that a seed
    /// plays the same run again.
    static let server = """
        CREATE SEQUENCE fake.real AS bigint MINVALUE 0 START 0;
        CREATE SEQUENCE fake.timeline AS bigint MINVALUE 0 START 1;
        CREATE SEQUENCE fake.recovered AS bigint MINVALUE 0 START 1700000000000000;
        CREATE SEQUENCE fake.lot AS bigint;
        CREATE FUNCTION fake.pg_walfile_name(pg_lsn) RETURNS text LANGUAGE sql STABLE AS
            'SELECT lpad(last_value::text, 8, ''0'') || repeat(''0'', 16) FROM fake.timeline';
        CREATE FUNCTION fake.pg_stat_get_bgwriter_stat_reset_time() RETURNS timestamptz LANGUAGE sql STABLE AS
            'SELECT to_timestamp(last_value / 1e6) FROM fake.recovered';
        CREATE FUNCTION fake.random() RETURNS double precision LANGUAGE sql VOLATILE AS
            'SELECT (hashint8extended(nextval(''fake.lot''), 7) & 4503599627370495) / 4503599627370496.0';
        CREATE FUNCTION fake.real_now() RETURNS bigint LANGUAGE sql VOLATILE AS 'SELECT last_value FROM fake.real';
        ALTER TABLE insp.lease ADD COLUMN fake_real bigint DEFAULT fake.real_now();
        ALTER TABLE insp.event ADD COLUMN fake_real bigint DEFAULT fake.real_now();
        ALTER TABLE insp.worker ADD COLUMN fake_beat bigint DEFAULT fake.real_now();
        CREATE FUNCTION fake.beat() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF NEW.heartbeat_at <> OLD.heartbeat_at OR NEW.beat_microseconds <> OLD.beat_microseconds THEN NEW.fake_beat := fake.real_now(); END IF;
            RETURN NEW;
        END $$;
        CREATE TRIGGER beat BEFORE UPDATE OF heartbeat_at ON insp.worker FOR EACH ROW EXECUTE FUNCTION fake.beat();
        -- Also of workers that are gone.
        CREATE TABLE fake.last_beat (worker_id bigint PRIMARY KEY, at bigint, fence_floor bigint);
        CREATE FUNCTION fake.note_beat() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            INSERT INTO fake.last_beat VALUES (NEW.id, NEW.fake_beat, NEW.fence_floor)
            ON CONFLICT (worker_id) DO UPDATE SET at = excluded.at, fence_floor = excluded.fence_floor;
            RETURN NULL;
        END $$;
        CREATE TRIGGER note_beat AFTER INSERT OR UPDATE OF heartbeat_at, fence_floor ON insp.worker
            FOR EACH ROW EXECUTE FUNCTION fake.note_beat();
        -- Of this database alone: what others do on the server must not move a floor, or a seed would not repeat its run.
        CREATE FUNCTION fake.pg_current_snapshot() RETURNS pg_snapshot LANGUAGE sql STABLE AS $$
            WITH running AS (
                SELECT a.backend_xid::text::bigint AS xid FROM pg_stat_get_activity(NULL) a
                WHERE a.datid = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
                    AND a.backend_xid IS NOT NULL AND a.pid <> pg_backend_pid()
            ), next AS (
                SELECT greatest(pg_snapshot_xmax(pg_catalog.pg_current_snapshot())::text::bigint, max(r.xid) + 1) AS xid
                FROM running r
            )
            SELECT format('%s:%s:%s', coalesce(min(r.xid), n.xid), n.xid, string_agg(r.xid::text, ',' ORDER BY r.xid))::pg_snapshot
            FROM next n LEFT JOIN running r ON true GROUP BY n.xid
        $$;
        -- Whoever holds it is another actor of the same thread.
        ALTER FUNCTION insp.begin_epoch SET lock_timeout = '40ms';
        -- Time passes while somebody's maintenance looks.
        CREATE FUNCTION fake.advance(p_by bigint) RETURNS void LANGUAGE sql AS $$
            SELECT setval('fake.real', last_value + p_by) FROM fake.real;
            SELECT setval('insp.steady', last_value + p_by) FROM insp.steady;
            SELECT setval('fake.clock', last_value + p_by) FROM fake.clock;
            SELECT setval('insp.scanned', l.last_value + p_by) FROM insp.scanned l;
        $$;
        CREATE FUNCTION fake.restart_server() RETURNS void LANGUAGE sql AS $$
            SELECT setval('fake.real', 0), setval('fake.timeline', 1), setval('fake.recovered', 1700000000000000),
                setval('fake.lot', 1), setval('insp.steady', 0), setval('insp.scanned', 1800000000000000),
                setval('insp.callback_claim', 1000), setval(pg_get_serial_sequence('insp.worker', 'id'), 1000);
            UPDATE insp.epoch SET id = 0, timeline = '00000001', started_at = to_timestamp(1700000000),
                recovered_at = to_timestamp(1700000000), began_at = to_timestamp(1800000000), reason = 'migrated';
        $$;
        """

    static let history = """
        CREATE TABLE fake.copied (name text PRIMARY KEY, number bigint);
        CREATE FUNCTION fake.tables() RETURNS SETOF text LANGUAGE sql IMMUTABLE AS $$
            SELECT unnest('{insp.job,insp.part,insp.content,insp.step,insp.event,insp.ready,insp.lease,insp.delayed,insp.expiry,
                insp.worker,insp.dead,insp.job_key,insp.person,insp.job_reference,insp.callback,insp.callback_waiting,insp.callback_lease,
                insp.review_wait,insp.queue,insp.partner_tokens,insp.control,insp.partner,insp.epoch,insp.event_batch,insp.event_cursor,
                fake.seen,fake.seen_limit,fake.seen_step,fake.seen_event,fake.read_event,fake.last_beat}'::text[])
        $$;
        CREATE FUNCTION fake.sequences() RETURNS SETOF text LANGUAGE sql STABLE AS $$
            SELECT unnest('{insp.job_id,insp.ready_seq,insp.fence,insp.callback_claim,insp.queue_id_seq,insp.steady,
                insp.scanned}'::text[])
            UNION ALL SELECT pg_get_serial_sequence('insp.worker', 'id')
        $$;
        DO $$
        DECLARE
            name text;
        BEGIN
            FOR name IN SELECT fake.tables() LOOP
                EXECUTE format('CREATE TABLE fake.%I AS TABLE %s WITH NO DATA', 'copy ' || name, name);
            END LOOP;
        END $$;
        CREATE FUNCTION fake.keep() RETURNS void LANGUAGE plpgsql AS $$
        DECLARE
            name text;
            number bigint;
        BEGIN
            DELETE FROM fake.copied;
            FOR name IN SELECT fake.tables() LOOP
                EXECUTE format('DELETE FROM fake.%I', 'copy ' || name);
                EXECUTE format('INSERT INTO fake.%I SELECT * FROM %s', 'copy ' || name, name);
            END LOOP;
            FOR name IN SELECT fake.sequences() LOOP
                EXECUTE 'SELECT last_value FROM ' || name INTO number;
                INSERT INTO fake.copied VALUES (name, number);
            END LOOP;
        END $$;
        CREATE FUNCTION fake.go_back(p_way text) RETURNS boolean
        LANGUAGE plpgsql SET session_replication_role = replica AS $$
        DECLARE
            name text;
        BEGIN
            IF NOT EXISTS (SELECT FROM fake.copied) THEN RETURN false; END IF;
            FOR name IN SELECT fake.tables() LOOP
                EXECUTE 'DELETE FROM ' || name;
                EXECUTE format('INSERT INTO %s OVERRIDING SYSTEM VALUE SELECT * FROM fake.%I', name, 'copy ' || name);
            END LOOP;
            PERFORM setval(c.name, c.number) FROM fake.copied c;
            -- What is only seen by its last value, as a lot that was drawn, stays ahead: it is not the database's.
            CASE p_way
                WHEN 'promoted' THEN
                    PERFORM setval('fake.timeline', last_value + 1) FROM fake.timeline;
                    PERFORM setval('fake.started', last_value + 1000000) FROM fake.started;
                WHEN 'restored' THEN PERFORM setval('fake.started', last_value + 1000000) FROM fake.started;
                ELSE PERFORM setval('fake.recovered', last_value + 1000000) FROM fake.recovered;
            END CASE;
            RETURN true;
        END $$;
        """
}
