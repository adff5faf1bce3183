"""Asks the product about the certification paths of referees/pkits.

Usage: pkits.py FOLDER PROGRAM

A target stands for a document signer, whose certificate a security object encloses; the anchor, the certificates between and the
revocation lists are files of the operator.
"""

import base64
import calendar
import json
import sys
import time
from pathlib import Path

import encoding
from judge import Case, judge

COUNTS = {"path": 84}


def main():
    folder, program = Path(sys.argv[1]), sys.argv[2]
    whole = json.loads((folder / "tests.json").read_text())
    now = calendar.timegm(time.strptime(whole["timeOfCheck"], "%Y-%m-%dT%H:%M:%SZ"))
    cases = []
    for test in whole["tests"]:
        files = [folder / "certs" / f"{name}.crt" for name in (test["anchor"], *test["others"])]
        files += [folder / "crls" / f"{name}.crl" for name in test["crls"]]
        target = (folder / "certs" / f"{test['target']}.crt").read_bytes()
        asked = {
            "check": "signer", "object": encoding.security_object(target), "time": now,
            "files": " ".join(base64.b64encode(file.read_bytes()).decode() for file in files)}
        cases.append(Case(
            "path", test["id"], asked, "accept" if test["expected"] == "valid" else "refuse", id=test["id"],
            about=test["check"], at=test["at"], optional="yes" if test.get("onlyIfRevocationIsRequired") else "no"))
    judge("pkits", program, cases, COUNTS)


main()
