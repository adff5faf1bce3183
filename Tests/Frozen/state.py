"""What an upgrade may take from those who continue with the old program: rows, files of tables, rights, defaults."""

import collections
import os
import re
import time

import release

# Columns whose content a later script has moved, with where to.
MOVED = {}
# Columns and arguments whose default a later script has changed, with why the release before does not need the old one.
DEFAULTS = {}
# Few rows, whatever the number of jobs: they may be rewritten, updated and indexed while others wait.
FEW = set(release.LISTS) | {
    "partner", "partner_policy", "partner_key", "endpoint", "region", "control", "credential", "worker", "epoch", "custody"}
# The table of DEPLOYING.md names them without this.
GROUP = "insp_"


def content(connection, columns=None):
    """Each table's columns, and its rows by these columns."""
    if columns is None:
        columns = dict(release.rows(connection, """
            SELECT c.relname, array_agg(a.attname::text ORDER BY a.attnum) FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
            WHERE c.relnamespace = 'insp'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND a.attnum > 0
                AND NOT a.attisdropped GROUP BY 1"""))
    found, gone = {}, []
    for table, names in columns.items():
        present = {row[0] for row in release.rows(connection, """
            SELECT a.attname FROM pg_attribute a WHERE a.attrelid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped""",
            ("insp." + table,))}
        gone += [f"{table}.{column}" for column in names if column not in present]
        if present.issuperset(names):
            listed = ", ".join(f'"{column}"' for column in names)
            found[table] = collections.Counter(
                row[0] for row in release.rows(connection, f"SELECT ROW({listed})::text FROM insp.{table}"))
    return columns, found, gone


def files(connection):
    """The file of each table that grows with jobs, and its indexes."""
    return {row[0]: (row[1], set(row[2])) for row in release.rows(connection, """
        SELECT c.relname, c.relfilenode, ARRAY(SELECT i.indexrelid::regclass::text FROM pg_index i WHERE i.indrelid = c.oid)
        FROM pg_class c WHERE c.relnamespace = 'insp'::regnamespace AND c.relkind = 'r' AND c.relname <> ALL (%s)""", (sorted(FEW),))}


def written(connection):
    """How many rows of each table that grows with jobs were ever updated or deleted, its partitions' among them."""
    # A program that has ended has told its numbers once its server process is no longer listed.
    until = time.monotonic() + 30
    while release.rows(connection, """
            SELECT FROM pg_stat_activity a WHERE a.datname = current_database() AND a.pid <> pg_backend_pid()
                AND a.backend_type = 'client backend'"""):
        if time.monotonic() > until:
            raise SystemExit("somebody else is connected to a database of this test")
        time.sleep(0.05)
    release.rows(connection, "SELECT pg_stat_clear_snapshot()")
    return dict(release.rows(connection, """
        SELECT coalesce(pg_partition_root(s.relid), s.relid)::regclass::text, sum(s.n_tup_upd + s.n_tup_del)::bigint
        FROM pg_stat_all_tables s WHERE s.schemaname = 'insp' GROUP BY 1"""))


def defaults(connection):
    """What a column or an argument holds if nobody says so."""
    found = {f"column {row[0]}": row[1] for row in release.rows(connection, """
        SELECT c.relname || '.' || a.attname, CASE a.attidentity WHEN '' THEN pg_get_expr(d.adbin, d.adrelid) ELSE 'identity' END
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
        WHERE c.relnamespace = 'insp'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND a.attnum > 0
            AND NOT a.attisdropped""")}
    found |= {f"argument {row[0]}": row[1] for row in release.rows(connection, """
        SELECT p.proname || '.' || p.proargnames[n], pg_get_function_arg_default(p.oid, n) FROM pg_proc p, generate_series(1, p.pronargs) n
        WHERE p.pronamespace = 'insp'::regnamespace AND pg_get_function_arg_default(p.oid, n) IS NOT NULL""")}
    return found


def rights(connection):
    """Who but the owner may do what, in the words of the table of DEPLOYING.md: `insp_worker call claim`."""
    return {row[0] for row in release.rows(connection, """
        SELECT CASE x.grantee WHEN 0 THEN 'public' ELSE x.grantee::regrole::text END
            || CASE x.privilege_type WHEN 'SELECT' THEN ' read ' WHEN 'EXECUTE' THEN ' call ' ELSE ' ' || lower(x.privilege_type) || ' ' END
            || o.name
        FROM (
            SELECT c.relname::text, c.relowner, c.relacl FROM pg_class c
            WHERE c.relnamespace = 'insp'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'S')
            UNION ALL
            SELECT c.relname || '(' || a.attname || ')', c.relowner, a.attacl FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
            WHERE c.relnamespace = 'insp'::regnamespace AND NOT a.attisdropped
            UNION ALL
            SELECT p.proname, p.proowner, coalesce(p.proacl, acldefault('f', p.proowner)) FROM pg_proc p
            WHERE p.pronamespace = 'insp'::regnamespace AND p.prorettype <> 'trigger'::regtype
            UNION ALL
            SELECT 'schema ' || n.nspname, n.nspowner, n.nspacl FROM pg_namespace n WHERE n.nspname = 'insp'
        ) o (name, owner, acl), aclexplode(o.acl) x WHERE x.grantee <> o.owner""")}


def manual():
    """The rights that DEPLOYING.md grants, of the queue."""
    with open(os.path.join(release.ROOT, "deploy", "DEPLOYING.md"), encoding="utf-8") as file:
        section = file.read().split("\n## Rights\n")[1].split("\n## ")[0]
    lines = [line[2:-2].split(" | ") for line in section.splitlines() if line.startswith("| ")]
    roles = [GROUP + name for name in lines[0][1:]]
    found = {f"{role} usage schema insp" for role in roles}
    for objects, *verbs in lines[1:]:
        for name in re.findall(r"`([^`]+)`", objects):
            columns = re.fullmatch(r"(\w+)\((.+)\)", name)
            names = [f"{columns[1]}({column})" for column in columns[2].split(", ")] if columns else [name]
            found |= {f"{role} {verb} {one}" for role, verb in zip(roles, verbs) if verb != "–" for one in names}
    return found


class State:
    """What a database has, as far as an upgrade could take it."""

    def __init__(self, url, columns=None):
        connection = release.connect(url)
        self.columns, self.rows, self.gone = content(connection, columns)
        self.files, self.written = files(connection), written(connection)
        self.defaults, self.rights = defaults(connection), rights(connection)
        connection.close()

    def lost(self, new, allowed):
        """What the state after an upgrade lacks, has changed, or lets others do, each in words."""
        found = [f"{name} is gone; if its content has a new place, Tests/Frozen/state.py lists it" for name in new.gone if name not in MOVED]
        found += [f"{name} is listed as moved, and is there" for name in MOVED if name not in new.gone]
        for table, had in self.rows.items():
            lost = had - new.rows.get(table, had)
            if lost:
                found.append(f"insp.{table} has lost or changed {sum(lost.values())} rows, such as {next(iter(lost))[:200]}")
            count, total = new.written.get("insp." + table, 0) - self.written.get("insp." + table, 0), sum(had.values())
            if table not in FEW and count * 2 >= total > 0:
                found.append(f"{count} rows of insp.{table}, which had {total}, are updated or deleted in one transaction:"
                             " with millions that takes hours; let a duty of the workers do it in portions")
        for table, (file, indexes) in new.files.items():
            if table in self.files and file != self.files[table][0]:
                found.append(f"insp.{table} is written anew, while all who need it wait")
            elif table in self.files and indexes - self.files[table][1]:
                found.append(f"insp.{table} is indexed while those who write into it wait; build it ON ONLY the partitioned table")
        for name, value in self.defaults.items():
            if new.defaults.get(name, value) != value and name not in DEFAULTS:
                found.append(f"the default of {name} is {new.defaults[name]}, and was {value}")
            if name.startswith("argument ") and name not in new.defaults and name not in DEFAULTS:
                found.append(f"{name} has no default, and had {value}")
        found += [f"{right} is revoked" for right in sorted(self.rights - new.rights) if re.sub(r"\(.*", "", right) not in new.rights]
        return found + [f"{right} is granted, and is not in the table under Rights of deploy/DEPLOYING.md"
                        for right in sorted(new.rights - allowed)]
