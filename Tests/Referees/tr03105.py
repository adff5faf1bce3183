"""Asks the product about the security objects that BSI TR-03105 part 5.1 describes (referees/tr03105).

Usage: tr03105.py FOLDER PROGRAM

The set says what is right or wrong about each object and what must come of it; the objects are issued here as it says. Its cases
without a stated result, and those of other files, are left out.
"""

import base64
import json
import sys
import time
from pathlib import Path

from encoding import NULL, identifier, integer, rsa_algorithm, sequence, tlv
from issuing import DIGITAL_SIGNATURE, GROUPS, KEY_ENCIPHERMENT, Issuer, digest, extension, name
from judge import Case, judge

COUNT = 60
SHAS = ["SHA-1", "SHA-224", "SHA-256", "SHA-384", "SHA-512"]


def entry(number, group):
    return sequence(*([] if number is None else [integer(number)]), tlv(4, digest("SHA-256", group)))


def declared_md5(public_key):
    """The same key under the identifier of RSA with MD5."""
    plain = sequence(identifier("1.2.840.113549.1.1.1"), NULL)
    assert plain in public_key
    inner = public_key[public_key.index(plain) + len(plain):]
    return sequence(sequence(identifier("1.2.840.113549.1.1.4"), NULL), inner)


def objects(issuer):
    """What is different in the object of each case; a faultless one is RSA with SHA-256. None: it compares EF.SOD with a file that is not read."""
    public_key = issuer.keys.public_key("signer", "RSA")
    made = {number: {"scheme": "RSA", "sha": sha} for number, sha in zip(("01", "04", "05", "06", "07"), SHAS)}
    made |= {number: {"scheme": "PSS", "sha": sha} for number, sha in zip(("02", "94", "03", "95", "96"), SHAS)}
    made |= {number: {"scheme": "ECDSA", "sha": sha} for number, sha in zip(("09", "70", "71", "72", "73"), SHAS)}
    made |= {number: {"scheme": "plain ECDSA", "sha": sha} for number, sha in zip(("10", "11", "12", "13", "14"), SHAS)}
    made |= {number: {"scheme": "plain RSA", "sha": sha} for number, sha in zip(("79", "80", "81", "82", "83"), SHAS)}
    made |= {number: {"scheme": "DSA", "sha": sha} for number, sha in zip(("97", "98"), ("SHA-224", "SHA-256"))}
    made |= {number: None for number in ("90", "91", "92", "93")}
    return made | {
        "15": {"encloses": False},
        "36": {"sha": "MD5", "by_sha": "SHA-256", "groups_sha": "SHA-256"},
        "45": {"listed": lambda good: [*good, entry(10, b"not there")]},
        "46": {"listed": lambda good: [entry(255, GROUPS[1]), good[1]]},
        "47": {"listed": lambda good: [entry(None, GROUPS[1]), good[1]]},
        "50": {"fields": {"serial": None}},
        "51": {"fields": {"algorithm": rsa_algorithm("SHA-512")}},
        "52": {"fields": {"algorithm": None}},
        "54": {"fields": {"issuer": name("CSCA Elsewhere")}},
        "55": {"fields": {"issuer": None}},
        "56": {"fields": {"validity": sequence(tlv(0x18, b"20200101000000Z"), tlv(0x18, b"20490101000000Z"))}},
        "57": {"fields": {"validity": None}},
        "58": {"fields": {"key": declared_md5(public_key)}},
        "59": {"fields": {"key": None}},
        "60": {"extensions": {"authority": extension(35, sequence())}},
        "61": {"extensions": {"authority": None}},
        "62": {"extensions": {"usage": extension(15, DIGITAL_SIGNATURE)}},
        "63": {"extensions": {"usage": extension(15, KEY_ENCIPHERMENT, critical=True)}},
        "64": {"extensions": {"usage": None}},
        "65": {"sha": "MD5", "groups_sha": "SHA-256"},
        "66": {"outer": b""},
        "69": {"listed": lambda good: [good[0], entry(2, b"another one")]},
        "74": {"groups_sha": "SHA-224"},
        "75": {"scheme": "ECDSA", "by": "RSA"},
        "76": {"by": "ECDSA"},
        "77": {"scheme": "PSS", "by": "RSA"},
        "78": {"by": "PSS"},
        "84": {"version": 3},
        "85": {"version": 1, "identified": "key"},
    }


def main():
    folder, program = Path(sys.argv[1]), sys.argv[2]
    stated = [case for case in json.loads((folder / "lds.json").read_text())["cases"]
              if case["object"] == "EF.SOD" and case["expected"]]
    issuer = Issuer()
    made = objects(issuer)
    cases = []
    for case in stated:
        number = case["id"].removeprefix("LDS_H_")
        different, asked = made.pop(number), None
        if different is not None:
            sod, files = issuer.chip(**different)
            asked = {
                "check": "chip", "object": sod, "time": int(time.time()), "files": " ".join(base64.b64encode(file).decode() for file in files)}
            asked |= {f"DG{group}": content for group, content in GROUPS.items()}
        cases.append(Case("EF.SOD", case["id"], asked, "accept" if case["expected"] == "pass" else "refuse", id=number))
    if made:
        sys.exit(f"tr03105: the set has no case of {', '.join(sorted(made))}")
    judge("tr03105", program, cases, {"EF.SOD": COUNT})


main()
