"""Issues security objects of chips with a fault in one place, for the suites beside this file. Needs the openssl program.

Data groups are those of Tests/chips.py. Certificates and messages are assembled here, since openssl makes no invalid ones.
"""

import hashlib
import importlib.util
import subprocess
import tempfile
from pathlib import Path

from encoding import NULL, SHA, identifier, integer, pss_algorithm, sequence, tlv

_spec = importlib.util.spec_from_file_location("issuer", Path(__file__).parent.parent / "chips.py")
issuer = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(issuer)

GROUPS = {1: issuer.dg1(issuer.MRZ), 2: issuer.dg2(b"\xff\xd8\xff\xe0" + bytes(64))}
MD5 = "1.2.840.113549.2.5"
# Object identifiers of signatures by hash function; `plain RSA` names none.
SIGNATURES = {
    "RSA": {"MD5": "1.2.840.113549.1.1.4", "SHA-1": "1.2.840.113549.1.1.5", "SHA-224": "1.2.840.113549.1.1.14",
            "SHA-256": "1.2.840.113549.1.1.11", "SHA-384": "1.2.840.113549.1.1.12", "SHA-512": "1.2.840.113549.1.1.13"},
    "plain RSA": dict.fromkeys(SHA, "1.2.840.113549.1.1.1"),
    "ECDSA": {"SHA-1": "1.2.840.10045.4.1", "SHA-224": "1.2.840.10045.4.3.1", "SHA-256": "1.2.840.10045.4.3.2",
              "SHA-384": "1.2.840.10045.4.3.3", "SHA-512": "1.2.840.10045.4.3.4"},
    "plain ECDSA": {sha: f"0.4.0.127.0.7.1.1.4.1.{number}" for number, sha in enumerate(SHA, 1)},
    "DSA": {"SHA-224": "2.16.840.1.101.3.4.3.1", "SHA-256": "2.16.840.1.101.3.4.3.2"},
}


def algorithm(scheme, sha):
    if scheme == "PSS":
        return pss_algorithm(sha, sha, hashlib.new(sha.replace("-", "")).digest_size)
    return sequence(identifier(SIGNATURES[scheme][sha]), *([NULL] if "RSA" in scheme else []))


def digest_algorithm(sha):
    return sequence(identifier(MD5 if sha == "MD5" else SHA[sha]), NULL)


def digest(sha, content):
    return hashlib.new(sha.replace("-", ""), content).digest()


class Keys:
    """Private keys in a folder, one of each kind for an authority and for a signer."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="inspectd-issuing")
        self.public = {}

    def run(self, *arguments, content=None):
        done = subprocess.run(["openssl", *arguments], cwd=self.folder.name, input=content, capture_output=True, check=False, timeout=120)
        if done.returncode:
            raise SystemExit(f"openssl {' '.join(arguments)}: {done.stderr.decode()}")
        return done.stdout

    def key(self, owner, scheme):
        """The key's file, made at its first use."""
        kind = "RSA" if "RSA" in scheme or scheme == "PSS" else scheme.removeprefix("plain ")
        name = f"{owner}-{kind}.key"
        if name not in self.public:
            if kind == "DSA":
                self.run("genpkey", "-genparam", "-algorithm", "DSA", "-pkeyopt", "dsa_paramgen_bits:2048",
                         "-pkeyopt", "dsa_paramgen_q_bits:256", "-out", f"{name}.parameters")
                self.run("genpkey", "-paramfile", f"{name}.parameters", "-out", name)
            else:
                option = "rsa_keygen_bits:2048" if kind == "RSA" else "ec_paramgen_curve:P-256"
                self.run("genpkey", "-algorithm", "RSA" if kind == "RSA" else "EC", "-pkeyopt", option, "-out", name)
            self.public[name] = self.run("pkey", "-in", name, "-pubout", "-outform", "DER")
        return name

    def public_key(self, owner, scheme):
        """SubjectPublicKeyInfo."""
        return self.public[self.key(owner, scheme)]

    def sign(self, owner, scheme, sha, content):
        options = []
        if scheme == "PSS":
            options = ["-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:digest"]
        signature = self.run("dgst", f"-{sha.replace('-', '').lower()}", *options, "-sign", self.key(owner, scheme), content=content)
        return side_by_side(signature, 32) if scheme == "plain ECDSA" else signature


def side_by_side(signature, size):
    """`r` and `s` of Ecdsa-Sig-Value with `size` octets each (BSI TR-03111 section 5.2.1.1)."""
    numbers, rest = b"", signature[2:]
    while rest:
        numbers += int.from_bytes(rest[2:2 + rest[1]], "big").to_bytes(size, "big")
        rest = rest[2 + rest[1]:]
    return numbers


def name(common):
    return sequence(
        tlv(0x31, sequence(identifier("2.5.4.6"), tlv(0x13, b"UT"))), tlv(0x31, sequence(identifier("2.5.4.10"), tlv(0x0C, b"Utopia"))),
        tlv(0x31, sequence(identifier("2.5.4.3"), tlv(0x0C, common.encode()))))


def extension(number, value, critical=False):
    return sequence(identifier(f"2.5.29.{number}"), *([tlv(1, b"\xff")] if critical else []), tlv(4, value))


AUTHORITY, SIGNER = name("CSCA Utopia"), name("DS 1")
DIGITAL_SIGNATURE, KEY_ENCIPHERMENT, CERTIFY = tlv(3, b"\x07\x80"), tlv(3, b"\x05\x20"), tlv(3, b"\x01\x06")


def key_identifier(public_key):
    return hashlib.sha1(public_key).digest()


class Issuer:
    """Authorities and signers by scheme, as often as needed."""

    def __init__(self):
        self.keys = Keys()

    def certificate(self, scheme, sha, fields, outer=None):
        """Fields of TBSCertificate (RFC 5280 section 4.1) in their order; None leaves one out. `outer`: the algorithm beside the signature."""
        signed = sequence(*[field for field in fields.values() if field is not None])
        signature = self.keys.sign("authority", scheme, sha, signed)
        beside = algorithm(scheme, sha) if outer is None else outer
        return sequence(signed, beside, tlv(3, b"\0", signature))

    def fields(self, owner, scheme, signed_by, sha):
        """A faultless certificate's."""
        public_key = self.keys.public_key(owner, scheme)
        usage = extension(15, CERTIFY if owner == "authority" else DIGITAL_SIGNATURE, critical=True)
        extensions = {"usage": usage}
        if owner == "authority":
            extensions["constraints"] = extension(19, sequence(tlv(1, b"\xff"), integer(0)), critical=True)
            extensions["key"] = extension(14, tlv(4, key_identifier(public_key)))
        else:
            above = key_identifier(self.keys.public_key("authority", signed_by))
            extensions["authority"] = extension(35, sequence(tlv(0x80, above)))
            extensions["key"] = extension(14, tlv(4, key_identifier(public_key)))
        return {
            "version": tlv(0xA0, integer(2)), "serial": integer(1 if owner == "authority" else 2), "algorithm": algorithm(signed_by, sha),
            "issuer": AUTHORITY, "validity": sequence(tlv(0x17, b"200101000000Z"), tlv(0x17, b"490101000000Z")),
            "subject": AUTHORITY if owner == "authority" else SIGNER, "key": public_key, "extensions": extensions}

    def sealed(self, fields):
        """With the extensions encoded."""
        extensions = [value for value in fields["extensions"].values() if value is not None]
        return fields | {"extensions": tlv(0xA3, sequence(*extensions)) if extensions else None}

    def chip(self, scheme="RSA", sha="SHA-256", by=None, by_sha=None, groups_sha=None, fields=None, extensions=None, outer=None,
             listed=None, version=1, identified="name", encloses=True):
        """EF.SOD, and the operator's files.

        scheme, sha           of the object's signature; by, by_sha of its signer's certificate, if they are others
        groups_sha            hash function of the data groups
        fields, extensions    what is different in the signer's certificate; outer: the algorithm beside its signature
        listed                entries of the object, given the good ones
        version, identified   SignerInfo's version, and whether it identifies the certificate by `name` or `key`
        encloses              whether the certificate is in the object; otherwise it is a file of the operator
        """
        # A certificate cannot leave out its hash function.
        by = by or ("RSA" if scheme == "plain RSA" else scheme)
        by_sha, groups_sha = by_sha or sha, groups_sha or sha
        root = self.certificate(by, by_sha, self.sealed(self.fields("authority", by, by, by_sha)))
        own = self.fields("signer", scheme, by, by_sha)
        own["extensions"] = own["extensions"] | (extensions or {})
        signer = self.certificate(by, by_sha, self.sealed(own | (fields or {})), outer)

        entries = [sequence(integer(number), tlv(4, digest(groups_sha, group))) for number, group in GROUPS.items()]
        content = sequence(integer(0), digest_algorithm(groups_sha), sequence(*(listed(entries) if listed else entries)))
        attributes = sorted([
            sequence(identifier("1.2.840.113549.1.9.3"), tlv(0x31, identifier("2.23.136.1.1.1"))),
            sequence(identifier("1.2.840.113549.1.9.4"), tlv(0x31, tlv(4, digest(sha, content))))])
        signature = self.keys.sign("signer", scheme, sha, tlv(0x31, *attributes))
        # As the certificate has it, so that nothing else differs.
        named = sequence((fields or {}).get("issuer") or AUTHORITY, integer(2))
        if identified == "key":
            named = tlv(0x80, key_identifier(self.keys.public_key("signer", scheme)))
        info = sequence(integer(version), named, digest_algorithm(sha), tlv(0xA0, *attributes), algorithm(scheme, sha), tlv(4, signature))
        enclosed = sequence(identifier("2.23.136.1.1.1"), tlv(0xA0, tlv(4, content)))
        data = sequence(integer(3), tlv(0x31, digest_algorithm(sha)), enclosed, *([tlv(0xA0, signer)] if encloses else []), tlv(0x31, info))
        message = sequence(identifier("1.2.840.113549.1.7.2"), tlv(0xA0, data))
        return tlv(0x77, message), [root] if encloses else [root, signer]
