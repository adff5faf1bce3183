"""Asks the product about the examples of RFC 7520 section 5, referees/jose.

Usage: jose.py FOLDER PROGRAM

The product opens none of them: each uses another algorithm for the key than RSA-OAEP-256. Their keys are given to it, so that
it refuses for that alone. Where a content is encrypted by A256GCM under a key that is given, the content is opened. For the
public half of each asymmetric key the product encrypts the example's plain text, and jwcrypto opens it with the private half.
"""

import json
import sys
from pathlib import Path

import encoding
from judge import Case, KeyFiles, judge
from jwcrypto import jwe, jwk

COUNTS = {"part": 13, "content": 1, "result": 6}
PUBLIC = ("kty", "kid", "use", "crv", "n", "e", "x", "y")


class Result(Case):
    """A result that is encrypted for a public key: made is what its owner must read."""

    def __init__(self, name, key, plain):
        public = {member: key[member] for member in PUBLIC if member in key}
        super().__init__("result", name, {"check": "encrypt", "jwk": json.dumps(public).encode(), "content": plain}, "accept",
                         kty=key["kty"])
        self.key, self.plain = key, plain

    def take(self, answer):
        self.answered = answer["answer"]
        if self.answered != "accept":
            return
        try:
            token = jwe.JWE(algs=["RSA-OAEP-256", "ECDH-ES", "A256GCM"])
            token.deserialize(answer["text"], jwk.JWK(**{name: self.key[name] for name in self.key if name != "alg"}))
            if token.payload != self.plain:
                self.answered = "something-else"
        except jwe.InvalidJWEData:
            self.answered = "unreadable"


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
        for number, one in enumerate(key if isinstance(key, list) else [key or {}]):
            if one.get("kty") in ("RSA", "EC"):
                cases.append(Result(f"{name}/result/{number}", one, given["plaintext"].encode()))
        secret = encoding.from_base64url(example["generated"].get("cek", ""))
        if given["enc"] == "A256GCM" and secret:
            content = example["encrypting_content"]
            cases.append(Case("content", f"{name}/content", {
                "check": "content", "secret": secret, "nonce": encoding.from_base64url(example["generated"]["iv"]),
                "associated": content["protected_b64u"].encode(), "sealed": encoding.from_base64url(content["ciphertext"]),
                "tag": encoding.from_base64url(content["tag"])}, "accept", given["plaintext"].encode()))
    judge("jose", program, cases, COUNTS)


main()
