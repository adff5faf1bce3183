"""Asks the product about the vectors of referees/wycheproof.

Usage: wycheproof.py FOLDER PROGRAM

A signature over a message becomes a signed message as a chip holds it, with the key in its signer's certificate; an encrypted
key, a content, a code and a callback's signature go to the functions that deal with each.
"""

import collections
import json
import sys
from pathlib import Path

import encoding
from judge import Case, KeyFiles, judge

EXPECTED = {"valid": "accept", "invalid": "refuse", "acceptable": "either"}
# By the types of files in the set's index.
FAMILIES = {
    "RsassaPkcs1Verify": "rsa-pkcs1", "RsassaPkcs1Generate": "rsa-pkcs1-generated", "RsassaPssVerify": "rsa-pss",
    "RsassaPssWithParametersVerify": "rsa-pss-parameters", "EcdsaVerify": "ecdsa-der", "EcdsaP1363Verify": "ecdsa-p1363",
    "RsaesOaepDecrypt": "rsa-oaep", "AeadTest": "aes-gcm", "MacTest": "hmac", "EddsaVerify": "ed25519",
    "JsonWebCrypto": "jose-mixed", "JsonWebEncryption": "jwe", "JsonWebKey": "jwk", "JsonWebSignature": "jws",
}
keys = KeyFiles()


def signed(test, group, algorithm, signer):
    message = encoding.signed_message(
        bytes.fromhex(test["msg"]), bytes.fromhex(test["sig"]), group["sha"], algorithm, signer)
    return {"check": "signed message", "message": message}


def algorithm(group):
    if "sLen" in group:
        return encoding.pss_algorithm(group["sha"], group["mgfSha"], group["sLen"])
    named = {"EcdsaVerify": encoding.ecdsa_algorithm, "EcdsaP1363Verify": encoding.plain_ecdsa_algorithm}
    return named.get(group["type"], encoding.rsa_algorithm)(group["sha"])


def public_key(group):
    if "publicKeyDer" in group:
        return bytes.fromhex(group["publicKeyDer"])
    key = group["privateKey"]
    return encoding.rsa_public_key(int(key["modulus"], 16), int(key["publicExponent"], 16))


def part(text, group):
    """A JWE as a part of a job, for a worker that has the group's key."""
    jwk = group["private"]
    key = keys.path(encoding.rsa_private_key(jwk), jwk["kid"]) if jwk.get("kty") == "RSA" else ""
    return {"check": "part", "key": key, "part": text.encode()}


def form(text):
    """What the head of a JWE says, as far as it can be read."""
    try:
        head = json.loads(encoding.from_base64url(text.split(".")[0]))
    except ValueError:
        return {"form": "compact" if text.startswith("ey") else "other", "algorithms": "none", "kid": "no"}
    return {
        "form": "compact", "algorithms": f"{head.get('alg')}+{head.get('enc')}", "kid": "yes" if "kid" in head else "no"}


def question(test, group, kind):
    """What the product is asked, if it has code for it; what must come of it; the facts that rules look at."""
    hexadecimal = {name: bytes.fromhex(test[name]) for name in ("msg", "ct", "iv", "aad", "tag", "key", "sig")
                   if isinstance(test.get(name), str)}
    if "signer" in group:
        return signed(test, group, algorithm(group), group["signer"]), None, {}
    if kind == "RsaesOaepDecrypt":
        path = keys.path(encoding.pem("PRIVATE KEY", bytes.fromhex(group["privateKeyPkcs8"])))
        facts = {"digests": f"{group['sha']}+{group['mgfSha']}", "label": "yes" if test["label"] else "no"}
        return {"check": "wrapped key", "key": path, "wrapped": hexadecimal["ct"]}, hexadecimal["msg"], facts
    if kind == "AeadTest":
        asked = {
            "check": "content", "secret": hexadecimal["key"], "nonce": hexadecimal["iv"],
            "associated": hexadecimal["aad"], "sealed": hexadecimal["ct"], "tag": hexadecimal["tag"]}
        return asked, hexadecimal["msg"], {"key": group["keySize"], "nonce": group["ivSize"]}
    if kind == "MacTest":
        asked = {"check": "code", "key": hexadecimal["key"], "message": hexadecimal["msg"], "code": hexadecimal["tag"]}
        return asked, None, {"bits": group["tagSize"]}
    if kind == "EddsaVerify":
        key = bytes.fromhex(group["publicKey"]["pk"])
        return {"check": "Ed25519", "key": key, "message": hexadecimal["msg"], "signature": hexadecimal["sig"]}, None, {}
    if "jwe" in test:
        text = test["jwe"] if isinstance(test["jwe"], str) else json.dumps(test["jwe"])
        return part(text, group), bytes.fromhex(test["pt"]) if "pt" in test else None, form(text)
    return None, None, {"form": "jws"}


def main():
    folder, program = Path(sys.argv[1]), sys.argv[2]
    index = json.loads((folder / "index.json").read_text())["files"]
    listed = {entry["file"] for entry in index}
    there = {path.name for path in folder.glob("*_test.json")}
    if listed != there:
        sys.exit(f"wycheproof: its index and its files differ: {sorted(listed ^ there)}")
    cases, counts = [], collections.Counter()
    for entry in index:
        counts[FAMILIES[entry["type"]]] += entry["tests"]
        outcomes = collections.Counter()
        for group in json.loads((folder / entry["file"]).read_text())["testGroups"]:
            if group["type"] != entry["type"]:
                sys.exit(f"{entry['file']}: a group of type {group['type']}, not {entry['type']}")
            if entry["type"] in ("RsassaPkcs1Verify", "RsassaPkcs1Generate", "RsassaPssVerify",
                                 "RsassaPssWithParametersVerify", "EcdsaVerify", "EcdsaP1363Verify"):
                group["signer"] = encoding.certificate(public_key(group))
            for test in group["tests"]:
                outcomes[test["result"]] += 1
                asked, made, facts = question(test, group, entry["type"])
                name = f"{entry['file'].removesuffix('_test.json')}/{test['tcId']}"
                cases.append(Case(
                    FAMILIES[entry["type"]], name, asked, EXPECTED[test["result"]], made, **facts))
        if any(outcomes[result] != entry[result] for result in EXPECTED):
            sys.exit(f"{entry['file']}: {dict(outcomes)}, not as the index says")
    missing = set(FAMILIES.values()) - {family for family, count in counts.items() if count}
    if missing:
        sys.exit(f"wycheproof: the index has no case for {sorted(missing)}")
    judge("wycheproof", program, cases, counts)


main()
