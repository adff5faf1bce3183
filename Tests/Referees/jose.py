"""Asks the product about the examples of RFC 7520 section 5, referees/jose.

Usage: jose.py FOLDER PROGRAM

The product opens none of them: each uses another algorithm for the key than RSA-OAEP-256. Their keys are given to it, so that
it refuses for that alone. Where a content is encrypted by A256GCM under a key that is given, the content is opened.
"""

import json
import sys
from pathlib import Path

import encoding
from judge import Case, KeyFiles, judge

COUNTS = {"part": 13, "content": 1}


def main():
    folder, program = Path(sys.argv[1]), sys.argv[2]
    keys = KeyFiles()
    cases = []
    for path in sorted(folder.glob("*.json")):
        example = json.loads(path.read_text())
        name = path.name.split(".")[0]
        given, output = example["input"], example["output"]
        key = given.get("key")
        jwk = key[0] if isinstance(key, list) else key or {}
        file = keys.path(encoding.rsa_private_key(jwk), jwk["kid"]) if jwk.get("kty") == "RSA" else ""
        form = "compact" if "compact" in output else "json"
        part = output["compact"] if form == "compact" else json.dumps(output["json"])
        cases.append(Case("part", name, {"check": "part", "key": file, "part": part.encode()}, "refuse", form=form))
        secret = encoding.from_base64url(example["generated"].get("cek", ""))
        if given["enc"] == "A256GCM" and secret:
            content = example["encrypting_content"]
            cases.append(Case("content", f"{name}/content", {
                "check": "content", "secret": secret, "nonce": encoding.from_base64url(example["generated"]["iv"]),
                "associated": content["protected_b64u"].encode(), "sealed": encoding.from_base64url(content["ciphertext"]),
                "tag": encoding.from_base64url(content["tag"])}, "accept", given["plaintext"].encode()))
    judge("jose", program, cases, COUNTS)


main()
