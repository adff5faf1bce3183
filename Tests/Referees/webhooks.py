"""Asks the product about the cases of referees/webhooks: signing and verifying callbacks, reading secrets.

Usage: webhooks.py FOLDER PROGRAM
"""

import json
import sys
from pathlib import Path

from judge import Case, judge

COUNTS = {"sign": 6, "verify": 34, "secret": 8, "signing-key": 4}
EXPECTED = {"accept": "accept", "accepted": "accept", "refuse": "refuse", "refused": "refuse"}


def is_whole(timestamp):
    return isinstance(timestamp, int) or timestamp.removeprefix("-").isdecimal()


def question(case):
    """What the product is asked, and what rules look at."""
    kind = case["kind"]
    if kind in ("secret", "signing-key"):
        return {"check": kind.replace("-", " "), "secret": case["secret"]}, {}
    if kind == "sign":
        timestamp = "whole" if is_whole(case["timestamp"]) else "other"
        asked = {
            "check": "sign", "secret": case["secret"], "id": case["msgId"], "timestamp": case["timestamp"],
            "body": case["payload"].encode()}
        # A number of seconds is what the function takes; nothing else can be given to it.
        return asked if timestamp == "whole" else None, {"timestamp": timestamp}
    headers = case["headers"]
    asked = {
        "check": "verify", "secret": case["secret"], "id": headers.get("webhook-id", ""),
        "timestamp": headers.get("webhook-timestamp", ""), "signature": headers.get("webhook-signature", ""),
        "body": case["payload"].encode(), "now": case["now"]}
    secret = case["secret"].removeprefix("whsec_")
    is_padded = secret.startswith("whpk_") or len(secret) % 4 == 0
    return asked, {"padding": "whole" if is_padded else "lacking"}


def main():
    folder, program = Path(sys.argv[1]), sys.argv[2]
    cases = []
    for case in json.loads((folder / "cases.json").read_text())["cases"]:
        asked, facts = question(case)
        expected = EXPECTED[case.get("expected", "accept")]
        cases.append(Case(case["kind"], case["id"], asked, expected, case.get("signature"), **facts))
    judge("webhooks", program, cases, COUNTS)


main()
