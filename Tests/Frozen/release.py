"""What a release has promised to whoever still runs it: the statements that its program sends, read from the sources, and the
functions, views, channels and codes that programs and people use, read from a database."""

import glob
import json
import os
import re
import subprocess

import psycopg2

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FROZEN = os.path.join(ROOT, "Tests", "Frozen")
PROMISES = {"queue": "promises.jsonl", "key store": "key-promises.jsonl"}

# Benchmarks run on a schema of their own version; Postgres reads catalogues and migrates.
LEFT_OUT = {"Benchmarks", "Postgres"}

LITERAL = re.compile(r'"""\n(?P<lines>.*?)\n[ ]*"""|"(?P<line>(?:\\\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)|\\.|[^"\\\n])*)"', re.S)
STATEMENT = re.compile(r"(SELECT|WITH|INSERT|UPDATE|DELETE|CALL|VALUES)\s")
HOLE = re.compile(r"\\\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)")

# Statements that are put together: the file, and what finds all that is put into their hole.
FILLINGS = {
    "Callbacks/Endpoints/EndpointStore.swift": r'"(create_\w+)"',
    "Custody/Store/KeyStore+Rotation.swift": r'changed\(\s*"([^"]+)"',
    "Gateway/GatewayStore+Persons.swift": r'call\(\s*"(\w+)"',
    "JobQueue/JobClient.swift": r'"((?:sealed_)?face_templates\([^"]+)"',
    "JobQueue/Maintenance.swift": r'"(insp\.(?!rescue)\w+\([^"]*\))"',
}
# The one call that is itself put together.
RESCUE = re.compile(r'rescueCall =\s*"([^"]+)"')
THOROUGH = re.compile(r'rescueCall \+ "([^"]+)"')


def versions():
    """This version and the one before it, as the sources have them."""
    with open(os.path.join(ROOT, "Sources", "InspectCore", "Version.swift"), encoding="utf-8") as file:
        text = file.read()
    current = re.search(r'static let current = "([^"]+)"', text).group(1)
    return current, re.search(r'static let previous: String\? = (?:"([^"]+)"|nil)', text).group(1)


def beside():
    """The folders of frozen releases whose workers go on beside today's."""
    found = [os.path.join(FROZEN, version) for version in versions() if version]
    found = [folder for folder in found if os.path.isdir(folder)]
    if not found:
        raise SystemExit("neither this version nor the one before is under Tests/Frozen: Tests/freeze.sh --renew")
    return found


def fillings(name, text):
    found = re.findall(FILLINGS[name], text)
    if name == "JobQueue/Maintenance.swift":
        found += [RESCUE.search(text).group(1) + end for end in THOROUGH.findall(text)]
    return found


def unescaped(text):
    return re.sub(r"\\(.)", lambda match: {"n": "\n", "t": "\t"}.get(match.group(1), match.group(1)), text)


def dedented(text):
    lines = text.split("\n")
    margin = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
    return "\n".join(line[margin:].rstrip() for line in lines if line.strip())


def statements(root=ROOT):
    """The statements about the schema, by module. One that is put together in a way that is not known here is an error."""
    found = {}
    for path in sorted(glob.glob(os.path.join(root, "Sources", "**", "*.swift"), recursive=True)):
        name = os.path.relpath(path, os.path.join(root, "Sources"))
        module = name.split("/")[0]
        if module in LEFT_OUT:
            continue
        with open(path, encoding="utf-8") as file:
            text = re.sub(r"(?m)^\s*//.*$", "", file.read())
        for match in LITERAL.finditer(text):
            body = dedented(match["lines"]) if match["lines"] is not None else match["line"]
            body = body.strip()
            # What ends with a semicolon is printed for somebody to type.
            if not STATEMENT.match(body) or "insp." not in body or body.endswith(";"):
                continue
            if ";" in body:
                raise SystemExit(f"Sources/{name} sends several statements at once: {body}")
            if not HOLE.search(body):
                found.setdefault(module, set()).add(unescaped(body))
                continue
            if name not in FILLINGS or len(HOLE.findall(body)) != 1:
                raise SystemExit(f"Sources/{name} puts a statement together; say in Tests/Frozen/release.py of what: {body}")
            values = fillings(name, text)
            if not values:
                raise SystemExit(f"Sources/{name}: nothing was found that is put into: {body}")
            for value in values:
                found.setdefault(module, set()).add(unescaped(HOLE.sub(lambda _, value=value: value, body)))
    return {module: sorted(texts) for module, texts in sorted(found.items())}


def connect(url):
    connection = psycopg2.connect(url, application_name="freeze")
    connection.autocommit = True
    return connection


def rows(connection, sql, values=None):
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return cursor.fetchall() if cursor.description else []


def described(url, texts):
    """For each statement what it takes and gives, or the server's error."""
    connection = connect(url)
    takes = []
    for text in texts:
        try:
            rows(connection, "PREPARE asked AS " + text)
            takes.append(rows(connection, "SELECT parameter_types::text[] FROM pg_prepared_statements WHERE name = 'asked'")[0][0])
            rows(connection, "DEALLOCATE asked")
        except psycopg2.Error as error:
            takes.append(str(error).strip().split("\n")[0])
    connection.close()
    script = "\n".join(f"\\echo == {n}\n{text}\n\\gdesc" for n, text in enumerate(texts) if isinstance(takes[n], list))
    output = subprocess.run(
        ["psql", "-XqAt", "-F", " ", "-v", "ON_ERROR_STOP=1", url], input=script, text=True, stdout=subprocess.PIPE, check=True).stdout
    gives = {}
    for line in output.splitlines():
        if line.startswith("== "):
            current = gives.setdefault(int(line[3:]), [])
        elif line != "The command has no result, or the result has no columns.":
            current.append(line)
    return [(taken, gives[n]) if isinstance(taken, list) else taken for n, taken in enumerate(takes)]


def told(url, keys_url, root=ROOT):
    """The text of statements.sql: each statement with its database, its parameters and its columns."""
    blocks = []
    for module, texts in statements(root).items():
        for text, here, there in zip(texts, described(url, texts), described(keys_url, texts)):
            where, found = ("the key store", there) if isinstance(here, str) else ("the queue", here)
            if isinstance(found, str):
                raise SystemExit(f"a statement of {module} is none: {here}\n{text}")
            blocks.append("\n".join([
                f"-- {module}, {where}", f"-- takes: {', '.join(found[0])}".rstrip(), f"-- gives: {', '.join(found[1])}".rstrip(),
                text + ";"]))
    return "\n\n".join(blocks) + "\n"


def read_statements(folder):
    """Statements as told() wrote them: dictionaries with module, where, takes, gives, text."""
    with open(os.path.join(folder, "statements.sql"), encoding="utf-8") as file:
        blocks = file.read().strip().split("\n\n")
    found = []
    for block in blocks:
        head, takes, gives, text = block.split("\n", 3)
        module, where = head.removeprefix("-- ").split(", ")
        found.append({
            "module": module, "where": where, "takes": split(takes, "-- takes:"), "gives": split(gives, "-- gives:"),
            "text": text.removesuffix(";")})
    return found


def split(line, label):
    text = line.removeprefix(label).strip()
    # A type may hold a comma: numeric(10,2).
    return re.split(r", ", text) if text else []


# What others use of a database ----------------------------------------------------------------------------------------

FUNCTIONS = """
    SELECT p.proname, p.oid::regprocedure::text, p.pronargdefaults, p.proretset,
        coalesce(p.proargnames, '{}'), p.proargmodes::text[],
        ARRAY(SELECT format_type(t, NULL) FROM unnest(coalesce(p.proallargtypes, p.proargtypes::oid[])) WITH ORDINALITY AS a (t, n)
            ORDER BY n),
        format_type(p.prorettype, NULL),
        ARRAY(SELECT a.attname || ' ' || format_type(a.atttypid, a.atttypmod) FROM pg_type t JOIN pg_attribute a ON a.attrelid = t.typrelid
            WHERE t.oid = p.prorettype AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum),
        ARRAY(SELECT DISTINCT CASE x.grantee WHEN 0 THEN 'PUBLIC' ELSE x.grantee::regrole::text END AS role
            FROM aclexplode(p.proacl) x WHERE x.grantee <> p.proowner ORDER BY role)
    FROM pg_proc p WHERE p.pronamespace = 'insp'::regnamespace AND p.prorettype <> 'trigger'::regtype
        AND EXISTS (SELECT FROM aclexplode(p.proacl) x WHERE x.grantee <> p.proowner)"""
VIEWS = """
    SELECT c.relname,
        ARRAY(SELECT a.attname || ' ' || format_type(a.atttypid, a.atttypmod) FROM pg_attribute a
            WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum),
        ARRAY(SELECT DISTINCT CASE x.grantee WHEN 0 THEN 'PUBLIC' ELSE x.grantee::regrole::text END AS role
            FROM aclexplode(c.relacl) x WHERE x.grantee <> c.relowner ORDER BY role)
    FROM pg_class c WHERE c.relnamespace = 'insp'::regnamespace AND c.relkind = 'v'"""
# Rows within rows.
TYPES = """
    SELECT DISTINCT c.relname,
        ARRAY(SELECT a.attname || ' ' || format_type(a.atttypid, a.atttypmod) FROM pg_attribute a
            WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum)
    FROM pg_proc p, unnest(p.proallargtypes || p.prorettype) AS u (type) JOIN pg_type t ON t.oid = u.type
        JOIN pg_type e ON e.oid = CASE WHEN t.typelem <> 0 THEN t.typelem ELSE t.oid END JOIN pg_class c ON c.oid = e.typrelid
    WHERE p.pronamespace = 'insp'::regnamespace AND c.relnamespace = p.pronamespace
        AND EXISTS (SELECT FROM aclexplode(p.proacl) x WHERE x.grantee <> p.proowner)"""
CHANNELS = r"""
    SELECT DISTINCT m[1] FROM pg_proc p, regexp_matches(p.prosrc, $$pg_notify\(\s*'([^']+)'$$, 'g') AS m
    WHERE p.pronamespace = 'insp'::regnamespace"""
# Lists in which a column may hold one of a few values: of states, statuses, kinds.
VALUES = """
    SELECT c.conrelid::regclass::text || coalesce((SELECT '.' || string_agg(a.attname, ',' ORDER BY a.attnum) FROM pg_attribute a
            WHERE a.attrelid = c.conrelid AND a.attnum = ANY (c.conkey)), ''), pg_get_constraintdef(c.oid)
    FROM pg_constraint c WHERE c.connamespace = 'insp'::regnamespace AND c.contype = 'c' AND c.conislocal
        AND pg_get_constraintdef(c.oid) LIKE '%= ANY (%' AND c.conrelid::regclass::text !~ '_p[0-9]{6}'"""
# Codes, by their keys; what is not listed is prose, or an operator's to change.
LISTS = {
    "approval": ["action"], "country": ["code"], "duty": ["name"], "error_code": ["code", "sqlstate", "retryable", "http_status"],
    "error_contract": ["code", "mobile_code", "face_outcome", "payment_code"], "face_outcome": ["outcome", "status", "code"],
    "label": ["label", "capabilities", "is_objection", "is_given", "risk"],
    "part_kind": ["kind", "place", "source", "is_image", "is_many"], "reason": ["code", "labels", "parts", "contract_code", "mobile_code"],
    "reason_advice": ["code", "language"], "retention": ["what"], "scope": ["scope"],
    "workflow": ["name", "place", "definition_key", "capabilities", "stages", "takes", "needs_all", "needs_one", "face_event"],
}


def promises(connection, lists=True):
    """One dictionary for each thing that is promised."""
    found = []
    for name, signature, defaults, is_set, names, modes, types, result, attributes, roles in rows(connection, FUNCTIONS):
        modes = modes or ["i"] * len(types)
        names = names or [""] * len(types)
        arguments = [(f"{given} {kind}".strip(), mode) for given, mode, kind in zip(names, modes, types)]
        takes = [text for text, mode in arguments if mode in "ibv"]
        gives = [text for text, mode in arguments if mode in "bot"] or attributes or [result]
        first = len(takes) - defaults
        found.append({
            "function": name, "takes": [text + (" = default" if n >= first else "") for n, text in enumerate(takes)],
            "gives": gives, "isSet": is_set, "for": roles})
    for name, columns in rows(connection, TYPES):
        found.append({"type": name, "gives": columns})
    for name, columns, roles in rows(connection, VIEWS):
        found.append({"view": name, "gives": columns, "for": roles})
    for (channel,) in rows(connection, CHANNELS):
        found.append({"channel": channel})
    for place, definition in rows(connection, VALUES):
        values = [word or number for word, number in re.findall(r"'([^']*)'(?:::\w+)?|\b(\d+)\b", definition)]
        found.append({"values": place, "are": values})
    for table, columns in LISTS.items() if lists else ():
        if len(columns) == 1 or table == "reason_advice":
            words = rows(connection, f"SELECT concat_ws(' ', {', '.join(columns)}) FROM insp.{table} ORDER BY 1")
            found.append({"values": table, "are": [word for (word,) in words]})
            continue
        for row in rows(connection, f"SELECT to_jsonb(t) FROM (SELECT {', '.join(columns)} FROM insp.{table}) t"):
            found.append({"row": table, **row[0]})
    # Of a column, there may be several checks.
    return sorted(found, key=lambda promise: json.dumps(promise, ensure_ascii=False))


def lines(found):
    return "".join(json.dumps(promise, ensure_ascii=False) + "\n" for promise in found)


def read_promises(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def broken(frozen, today):
    """What today no longer keeps of the frozen promises, each in words."""
    found = []
    for promise in frozen:
        kind, name = next(iter(promise.items()))
        same = [other for other in today if other.get(kind) == name and next(iter(other)) == kind]
        if kind == "row":
            key = LISTS[name][0]
            same = [other for other in same if other[key] == promise[key]]
            name = f"{name} {promise[key]}"
        reasons = [differs(promise, other) for other in same]
        if not reasons:
            found.append(f"{kind} {name} is gone")
        elif all(reasons):
            found.append(f"{kind} {name} {min(reasons, key=len)}")
    return found


def differs(old, new):
    """Why a caller of the old one cannot use the new one; empty: it can."""
    if "function" in old:
        want, have = old["takes"], new["takes"]
        if [text.removesuffix(" = default") for text in have[:len(want)]] != [text.removesuffix(" = default") for text in want]:
            return f"takes ({', '.join(have)}), and took ({', '.join(want)})"
        if any(text.endswith("default") and not other.endswith("default") for text, other in zip(want, have)):
            return "lacks a default that it had"
        if not all(text.endswith(" = default") for text in have[len(want):]):
            return f"needs more than it took: {', '.join(have[len(want):])}"
        if old["isSet"] != new["isSet"]:
            return "gives one row for many, or many for one"
    if "gives" in old and new["gives"][:len(old["gives"])] != old["gives"]:
        return f"gives ({', '.join(new['gives'])}), and gave ({', '.join(old['gives'])})"
    if "for" in old and set(old["for"]) - set(new["for"]):
        return f"is no longer for {', '.join(sorted(set(old['for']) - set(new['for'])))}"
    if "are" in old and set(old["are"]) - set(new["are"]):
        return f"may no longer be {', '.join(sorted(set(old['are']) - set(new['are'])))}"
    if "row" in old:
        for key, value in old.items():
            if value != new.get(key) and not (isinstance(value, list) and set(value) <= set(new.get(key) or [])):
                return f"has {key} {json.dumps(new.get(key))}, and had {json.dumps(value)}"
    return ""
