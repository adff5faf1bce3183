"""The values that the gateway's description shows: whether a run's have the same members, and their renewal. Imported by partner.py."""

import json
import pathlib

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "Sources/Gateway/OpenAPI/Examples"
WIDTH = 132
# Their names are data: models, steps and programs.
MAPS = ("versions", "models", "timingsMs")


def shape(value, path=""):
    """The paths of all members; the elements of a list have one path."""
    if isinstance(value, dict):
        found = set()
        for name, member in value.items():
            found |= {f"{path}.{name}"} if name in MAPS else shape(member, f"{path}.{name}")
        return found
    if isinstance(value, list):
        return set().union({path + "[]"}, *(shape(element, path + "[]") for element in value))
    return {path}


def lines(value, room=WIDTH):
    """A value as JSON; what fits on a line stands on one."""
    whole = json.dumps(value, ensure_ascii=False)
    if len(whole) <= room or not isinstance(value, (dict, list)):
        return [whole]
    inner = []
    for name, member in value.items() if isinstance(value, dict) else enumerate(value):
        made = lines(member, room - 4)
        if isinstance(value, dict):
            made[0] = f"{json.dumps(name)}: {made[0]}"
        made[-1] += ","
        inner += ["  " + line for line in made]
    inner[-1] = inner[-1][:-1]
    return ["{", *inner, "}"] if isinstance(value, dict) else ["[", *inner, "]"]


def write(name, value):
    """A value into its file."""
    (FOLDER / f"{name}.json").write_text("\n".join(lines(value)) + "\n", encoding="utf-8")


def ordered(value, schema):
    """A value with its members as its schema lists them."""
    return {name: value[name] for name in [*schema["properties"], *value] if name in value}


def judge(schemas, seen, is_renewal=False):
    """Compares the description's examples with what a run gave, or replaces them; returns what is wrong. `schemas` is a Schemas."""
    document, faults = schemas.document, []
    shown = document["components"]["examples"]
    for name, schema in uses(document):
        faults += [f"example {name}: {fault}" for fault in schemas.faults(shown[name]["value"], schema)]
        given = seen.get(name)
        if given is None:
            faults.append(f"no run gives the example {name}")
        elif is_renewal:
            write(name, ordered(given, document["components"]["schemas"][schema]))
        elif differing := shape(given) ^ shape(shown[name]["value"]):
            faults.append(f"the example {name} has other members than a run's: {', '.join(sorted(differing)[:6])}; "
                          "Tests/partner.sh --renew writes it again")
    unused = set(shown) - {name for name, _ in uses(document)}
    return faults + [f"the example {name} stands nowhere" for name in sorted(unused)]


def uses(document):
    """The examples of bodies, each with the name of the body's schema."""
    found = set()

    def walk(node):
        if isinstance(node, dict):
            if isinstance(node.get("examples"), dict) and "$ref" in node.get("schema", {}):
                found.update((entry["$ref"].rpartition("/")[2], node["schema"]["$ref"].rpartition("/")[2])
                             for entry in node["examples"].values())
            for child in node.values():
                walk(child)
        elif isinstance(node, list):
            for child in node:
                walk(child)

    walk({name: part for name, part in document.items() if name != "components"} | {"responses": document["components"]["responses"]})
    return sorted(found)
