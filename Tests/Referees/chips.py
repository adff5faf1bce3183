"""Asks the product about the files of referees/chips.

Usage: chips.py FOLDER PROGRAM

A biometric data block gets the templates of DG2 around it. Security objects are verified with their country's authority, at a time
at which their signer is valid.
"""

import base64
import collections
import datetime
import email.utils
import json
import sys
from pathlib import Path

import encoding
from judge import Case, judge

# Data groups beyond the MRZ and the portrait that are read, and what the product calls their members.
READ = (7, 11, 12)
NAMES = {"nameOfHolder": "fullName", "personalizedOn": "personalizedAt"}
WORDS = {True: "yes", False: "no", "valid": "yes", "invalid": "no"}


def template(tag, *contents):
    """An element with a tag of one or more octets."""
    return tag[:-1] + encoding.tlv(tag[-1], *contents)


def dg2(block, is_encoded):
    """ICAO Doc 9303-10 section 4.7.2: the number of templates, then one; 7F2E for a block that is itself made of elements."""
    header = encoding.tlv(0xA1, encoding.tlv(0x80, b"\1\1"), encoding.tlv(0x81, b"\2"))
    data = template(b"\x7f\x2e" if is_encoded else b"\x5f\x2e", block)
    return encoding.tlv(0x75, template(b"\x7f\x61", encoding.tlv(2, b"\1"), template(b"\x7f\x60", header, data)))


def details(expected):
    """What must be found in DG7, DG11 or DG12, by the product's names."""
    found = {name: "|".join(value) if isinstance(value, list) else str(value) for name, value in expected.items()}
    found = {NAMES.get(name, name): value for name, value in found.items() if name not in ("parses", "why")}
    if "personalizedAt" in found:
        found["personalizedAt"] = datetime.datetime.strptime(found["personalizedAt"], "%Y%m%d%H%M%S").isoformat()
    return found


def lds_file(folder, case, name):
    """One data group, and what must come of it."""
    expected = case["expected"]
    outcome = "accept" if expected["parses"] else "refuse"
    if not name.startswith("EF_DG"):
        return None, outcome, None, {"group": name.removesuffix(".bin")}
    number = int(name[5:-4])
    made = expected.get("mrz") if number == 1 else None
    if number == 2 and "image" in expected:
        made = (folder / expected["image"]).read_bytes()
    if number in READ:
        made = details(expected)
    facts = {"group": number if number in (1, 2, *READ) else "hashed", "encoding": expected.get("encoding", "none").removeprefix("ISO "), "id": case["id"]}
    return {"check": "file", "number": number, "file": (folder / name).read_bytes()}, outcome, made, facts


def block(folder, case):
    expected = case["expected"]
    is_encoded = case["id"].startswith("face_39794")
    file = dg2((folder / "block.bin").read_bytes(), is_encoded)
    made = (folder / expected["image"]).read_bytes() if "image" in expected else None
    facts = {"encoding": "39794-5" if is_encoded else "19794-5", "id": case["id"]}
    return {"check": "file", "number": 2, "file": file}, "accept" if expected["parses"] else "refuse", made, facts


def security_object(folder, case):
    expected = case["expected"]
    authority = folder / "CSCA.cer"
    signer = expected.get("documentSigner")
    # Without a period of the signer, nothing is expected of it.
    time = int(email.utils.mktime_tz(email.utils.parsedate_tz(
        "{1} {0} {3} {2} {4}".format(*signer["notBefore"].split())))) + 86400 if signer else 1_700_000_000
    asked = {
        "check": "security object", "object": (folder / "EF_SOD.bin").read_bytes(), "time": time,
        "files": base64.b64encode(authority.read_bytes()).decode() if authority.exists() else ""}
    asked |= {file[3:-4]: (folder / file).read_bytes() for file in case["files"] if file.startswith("EF_DG")}
    found = {f"DG{number}": WORDS[value] for number, value in expected.get("dataGroups", {}).items()}
    found |= {f"hash{number}": value for number, value in expected.get("dataGroupHashes", {}).items()}
    for name, key in (("parse", "sodParses"), ("signature", "sodSignature"), ("chain", "chainToCSCA")):
        if expected.get(key) in WORDS:
            found[name] = WORDS[expected[key]]
    if "country" in expected:
        found["country"] = expected["country"]
    outcome = "accept" if expected.get("sodSignature") == "valid" else "refuse"
    return asked, outcome, found, {"id": case["id"]}


def main():
    folder, program = Path(sys.argv[1]), sys.argv[2]
    cases = []
    index = json.loads((folder / "index.json").read_text())
    for entry in index:
        inside = folder / entry["id"]
        case = json.loads((inside / "case.json").read_text())
        asked, expected, made, facts = None, "accept", None, {}
        if case["kind"] == "lds-file":
            asked, expected, made, facts = lds_file(inside, case, case["files"][0])
        elif case["kind"] == "biometric-data-block":
            asked, expected, made, facts = block(inside, case)
        elif case["kind"] == "security-object":
            asked, expected, made, facts = security_object(inside, case)
        elif case["kind"] == "master-list":
            asked = {"check": "master list", "list": (inside / "list.ml").read_bytes(), "root": (inside / "root.cer").read_bytes()}
            made = {"certificates": str(case["expected"]["distinctCertificates"])}
        cases.append(Case(case["kind"], case["id"], asked, expected, made, **facts))
    kinds = {"lds-file", "security-object", "master-list", "biometric-data-block", "active-authentication",
             "active-authentication-representative", "chip-authentication"}
    counts = collections.Counter(entry["kind"] for entry in index)
    if kinds - set(counts):
        sys.exit(f"chips: the index has no case of {sorted(kinds - set(counts))}")
    judge("chips", program, cases, counts)


main()
