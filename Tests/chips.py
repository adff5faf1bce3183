"""Issues chips for the tests with its own authority: good ones, and one of each kind that must not pass.

Usage: Tests/chips.py DIR [--portrait JPEG]
Each folder of DIR is a chip: EF_DG1.bin, EF_DG2.bin, EF_SOD.bin and the folder `anchors`; manifest.json states the truth about each.
Needs the openssl program and Python's standard library.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys

CONFIGURATION = """
[req]
distinguished_name = name
[name]
[authority]
basicConstraints = critical, CA:TRUE, pathlen:0
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[linking]
basicConstraints = critical, CA:TRUE, pathlen:1
keyUsage = critical, keyCertSign
[partial]
issuingDistributionPoint = critical, @scope
[scope]
onlyuser = TRUE
[signer]
keyUsage = critical, digitalSignature
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
[encipherer]
keyUsage = critical, keyEncipherment
[listsigner]
keyUsage = critical, digitalSignature
extendedKeyUsage = critical, 2.23.136.1.1.3
subjectKeyIdentifier = hash
[ca]
default_ca = revoking
[revoking]
database = index.txt
crlnumber = crlnumber
default_md = sha256
default_crl_days = 30
"""

# An MRZ whose check digits hold (ICAO Doc 9303-4's specimen, with a later expiry).
MRZ = "P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<L898902C36UTO7408122F3404159ZE184226B<<<<<16"

OIDS = {
    "sha1": "06052b0e03021a", "sha224": "0609608648016503040204", "sha256": "0609608648016503040201",
    "sha384": "0609608648016503040202", "sha512": "0609608648016503040203",
}


def tlv(tag, *values):
    content = b"".join(values)
    size = len(content)
    length = bytes([size]) if size < 128 else bytes([0x80 | (size.bit_length() + 7) // 8]) + size.to_bytes(
        (size.bit_length() + 7) // 8, "big")
    return bytes.fromhex(tag) + length + content


def dg1(mrz):
    return tlv("61", tlv("5f1f", mrz.encode()))


def dg2(image):
    information = bytes(14) + b"\x01\x00" + (240).to_bytes(2, "big") + (320).to_bytes(2, "big") + bytes(6)
    block = (6 + len(information) + len(image)).to_bytes(4, "big") + bytes(2) + information + image
    record = b"FAC\x00010\x00" + (14 + len(block)).to_bytes(4, "big") + (1).to_bytes(2, "big") + block
    header = tlv("a1", tlv("80", b"\x01\x01"), tlv("81", b"\x02"), tlv("87", b"\x01\x01"), tlv("88", b"\x00\x08"))
    return tlv("75", tlv("7f61", tlv("02", b"\x01"), tlv("7f60", header, tlv("5f2e", record))))


def dg7(image):
    return tlv("67", tlv("02", b"\x01"), tlv("5f43", image))


def details(tag, fields):
    """DG11 or DG12 (ICAO Doc 9303-10 §4.7.11, §4.7.12): the list of tags, then an element each."""
    return tlv(tag, tlv("5c", *[bytes.fromhex(name) for name in fields]),
               *[tlv(name, value.encode()) for name, value in fields.items()])


DG11 = {"5f0e": "ERIKSSON<<ÅNNA<MARIA", "5f10": "ZE184226B", "5f2b": "19740812", "5f11": "ZENITH<UTOPIA",
        "5f42": "12 SEAVIEW RD<ZENITH", "5f13": "TRAVEL<AGENT"}
DG12 = {"5f19": "ZENITH PASSPORT OFFICE", "5f26": "20240415", "5f1b": "NONE"}


def security_object(groups, digest, version=0):
    """LDSSecurityObject of ICAO Doc 9303-10 §4.6.2.3; the algorithm's parameters are left out or NULL by turns."""
    hashes = [tlv("30", tlv("02", bytes([number])), tlv("04", hashlib.new(digest, file).digest()))
              for number, file in sorted(groups.items())]
    algorithm = tlv("30", bytes.fromhex(OIDS[digest]), b"" if version else b"\x05\x00")
    info = [tlv("30", tlv("13", b"0108"), tlv("13", b"040000"))] if version else []
    return tlv("30", tlv("02", bytes([version])), algorithm, tlv("30", *hashes), *info)


class Office:
    """A folder with keys and certificates, and what openssl does there."""

    def __init__(self, folder):
        self.folder = folder
        os.makedirs(folder)
        for name, text in [("openssl.cnf", CONFIGURATION), ("index.txt", ""), ("crlnumber", "01\n")]:
            with open(os.path.join(folder, name), "w") as file:
                file.write(text)

    def run(self, *arguments):
        done = subprocess.run(["openssl", *arguments], cwd=self.folder, capture_output=True)
        if done.returncode:
            raise SystemExit(f"openssl {' '.join(arguments)}: {done.stderr.decode()}")
        return done.stdout

    def read(self, name):
        with open(os.path.join(self.folder, name), "rb") as file:
            return file.read()

    def key(self, name, kind):
        if kind == "dsa":
            self.run("genpkey", "-genparam", "-algorithm", "DSA", "-pkeyopt", "dsa_paramgen_bits:1024", "-out", f"{name}.par")
        options = {
            "dsa": ["-paramfile", f"{name}.par"],
            "rsa": ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"],
            "p256": ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
            "explicit": ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:brainpoolP256r1",
                         "-pkeyopt", "ec_param_enc:explicit"],
        }[kind]
        self.run("genpkey", *options, "-out", f"{name}.key")

    def authority(self, name, kind="rsa", subject="/C=UT/O=Utopia/CN=CSCA Utopia", options=()):
        self.key(name, kind)
        self.run("req", "-x509", "-new", "-key", f"{name}.key", "-subj", subject, "-days", "5400", "-config",
                 "openssl.cnf", "-extensions", "authority", *options, "-out", f"{name}.pem")

    def certify(self, name, issuer, extensions="signer", subject="/C=UT/O=Utopia/CN=DS 1", options=()):
        self.run("req", "-new", "-key", f"{name}.key", "-subj", subject, "-config", "openssl.cnf", "-out", f"{name}.csr")
        self.run("x509", "-req", "-in", f"{name}.csr", "-CA", f"{issuer}.pem", "-CAkey", f"{issuer}.key",
                 "-set_serial", str(int(hashlib.sha256(name.encode()).hexdigest()[:12], 16)), "-days", "4000",
                 "-extfile", "openssl.cnf", "-extensions", extensions, *options, "-out", f"{name}.pem")

    def signer(self, name, issuer, kind="rsa", **more):
        self.key(name, kind)
        self.certify(name, issuer, **more)

    def der(self, name):
        return self.run("x509", "-in", f"{name}.pem", "-outform", "DER")

    def sign(self, name, content, digest="sha256", kind="2.23.136.1.1.1", options=()):
        with open(os.path.join(self.folder, "content"), "wb") as file:
            file.write(content)
        return self.run("cms", "-sign", "-binary", "-nodetach", "-nosmimecap", "-md", digest, "-econtent_type", kind,
                        "-signer", f"{name}.pem", "-inkey", f"{name}.key", "-outform", "DER", "-in", "content", *options)


PSS = ["-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:32", "-sha256"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--portrait")
    options = parser.parse_args()
    shutil.rmtree(options.folder, ignore_errors=True)
    os.makedirs(options.folder)
    image = b"\xff\xd8\xff\xe0" + bytes(64)
    if options.portrait:
        with open(options.portrait, "rb") as file:
            image = file.read()
    groups = {1: dg1(MRZ), 2: dg2(image)}
    office = Office(os.path.join(options.folder, ".office"))
    manifest = []

    def chip(name, sod, anchors, files=None, **expected):
        folder = os.path.join(options.folder, name)
        os.makedirs(os.path.join(folder, "anchors"))
        written = {f"EF_DG{number}.bin": content for number, content in (files or groups).items()}
        written["EF_SOD.bin"] = tlv("77", sod)
        written.update({f"anchors/{name}": content for name, content in anchors.items()})
        for file, content in written.items():
            with open(os.path.join(folder, file), "wb") as output:
                output.write(content)
        checks = {check: expected.pop(check, True) for check in (
            "sod_parse", "dg_hashes_ok", "sod_signature_ok", "dsc_chain_ok", "dsc_valid_period", "country_match")}
        manifest.append({"chip": name, "checks": checks, "status": expected.pop("status", "valid"), **expected})

    office.authority("csca")
    office.signer("ds", "csca")
    anchors = {"csca.cer": office.der("csca")}
    plain = security_object(groups, "sha256")

    for digest in OIDS:
        version = 1 if digest in ("sha384", "sha512") else 0
        chip(f"good_rsa_{digest}", office.sign("ds", security_object(groups, digest, version), digest), anchors)
    chip("good_key_identifier", office.sign("ds", plain, options=["-keyid"]), anchors)
    chip("good_pem", office.sign("ds", plain), {"all.pem": office.read("csca.pem")})
    chip("good_without_attributes", office.sign("ds", plain, options=["-noattr"]), anchors)
    chip("good_other_content_type", office.sign("ds", plain, kind="1.3.27.1.1.1"), anchors)
    chip("good_trailing_zeros", office.sign("ds", plain), anchors, files={n: f + bytes(7) for n, f in groups.items()})

    office.authority("csca-pss", options=PSS, subject="/C=UT/O=Utopia/CN=CSCA PSS")
    office.signer("ds-pss", "csca-pss", options=PSS)
    chip("good_pss", office.sign("ds-pss", plain, options=["-keyopt", "rsa_padding_mode:pss"]),
         {"csca.cer": office.der("csca-pss")})
    for kind in ("p256", "explicit"):
        office.authority(f"csca-{kind}", kind, subject=f"/C=UT/O=Utopia/CN=CSCA {kind}")
        office.signer(f"ds-{kind}", f"csca-{kind}", kind)
        chip(f"good_ecdsa_{kind}", office.sign(f"ds-{kind}", plain), {"csca.cer": office.der(f"csca-{kind}")})

    # Signers of some states, until 2014.
    office.signer("ds-dsa", "csca", "dsa")
    chip("good_dsa", office.sign("ds-dsa", plain), anchors)
    more = {**groups, 7: dg7(image), 11: details("6b", DG11), 12: details("6c", DG12)}
    chip("good_details", office.sign("ds", security_object(more, "sha256")), anchors, files=more)
    changed = {**more, 12: details("6c", {**DG12, "5f19": "ANOTHER OFFICE"})}
    chip("bad_dg12_changed", office.sign("ds", security_object(more, "sha256")), anchors, files=changed,
         dg_hashes_ok=False, status="invalid", reason="DG_HASH_MISMATCH")

    # The authority changes its key: the new one is known through a certificate by the old one alone.
    office.key("csca2", "rsa")
    office.certify("csca2", "csca", "authority", "/C=UT/O=Utopia/CN=CSCA Utopia 2")
    office.signer("ds2", "csca2")
    linked = office.sign("ds2", plain)
    chip("good_link", linked, {**anchors, "link.cer": office.der("csca2")})
    # Without the old key, the operator's word makes an anchor of the certificate of the new one.
    chip("good_link_without_old_key", linked, {"link.cer": office.der("csca2")})

    # The second change: the first link has no room for another authority, but one that says so has.
    for first, name in (("csca2", "csca3"), ("csca4", "csca5")):
        if first == "csca4":
            office.key(first, "rsa")
            office.certify(first, "csca", "linking", f"/C=UT/O=Utopia/CN={first}")
        office.key(name, "rsa")
        office.certify(name, first, "authority", f"/C=UT/O=Utopia/CN={name}")
        office.signer(f"ds-{name}", name)
    chip("bad_path_length", office.sign("ds-csca3", plain),
         {**anchors, "first.cer": office.der("csca2"), "second.cer": office.der("csca3")}, dsc_chain_ok=False,
         status="invalid", reason="DSC_NOT_TRUSTED")
    chip("good_two_links", office.sign("ds-csca5", plain),
         {**anchors, "first.cer": office.der("csca4"), "second.cer": office.der("csca5")})

    certificates = sorted([office.der("csca"), office.der("csca2")])
    office.signer("listsigner", "csca", extensions="listsigner", subject="/C=UT/O=Utopia/CN=Master List Signer")
    masters = office.sign("listsigner", tlv("30", tlv("02", b"\0"), tlv("31", *certificates)), kind="2.23.136.1.1.2")
    chip("good_master_list", linked, {"masters.ml": masters})
    broken = bytearray(masters)
    broken[-1] ^= 1
    chip("open_master_list_changed", linked, {"masters.ml": bytes(broken)},
         dsc_chain_ok=None, status="inconclusive", reason="NO_TRUST_ANCHORS")

    chip("open_no_anchors", office.sign("ds", plain), {}, dsc_chain_ok=None, status="inconclusive",
         reason="NO_TRUST_ANCHORS")
    office.authority("foreign", subject="/C=XA/O=Elsewhere/CN=CSCA Elsewhere")
    chip("open_foreign_anchor", office.sign("ds", plain), {"csca.cer": office.der("foreign")}, dsc_chain_ok=None,
         status="inconclusive", reason="NO_TRUST_ANCHOR_OF_COUNTRY")

    tampered = {**groups, 1: dg1(MRZ.replace("ANNA<MARIA", "ANNA<MARIO"))}
    chip("bad_dg1_changed", office.sign("ds", plain), anchors, files=tampered, dg_hashes_ok=False, status="invalid",
         reason="DG_HASH_MISMATCH")
    alone = security_object({1: groups[1]}, "sha256")
    chip("bad_dg2_not_listed", office.sign("ds", alone), anchors, dg_hashes_ok=False, status="invalid",
         reason="DG_NOT_LISTED")
    signature = bytearray(office.sign("ds", plain))
    signature[-1] ^= 1
    chip("bad_signature", bytes(signature), anchors, sod_signature_ok=False, status="invalid",
         reason="SOD_SIGNATURE_INVALID")
    content = office.sign("ds", plain).replace(hashlib.sha256(groups[1]).digest(),
                                              hashlib.sha256(tampered[1]).digest())
    chip("bad_content_changed", content, anchors, files=tampered, sod_signature_ok=False, status="invalid",
         reason="SOD_DIGEST_MISMATCH")
    office.authority("rogue")
    office.signer("ds-rogue", "rogue")
    chip("bad_rogue_authority", office.sign("ds-rogue", plain), anchors, dsc_chain_ok=False, status="invalid",
         reason="DSC_NOT_TRUSTED")
    office.signer("ds-wrong", "csca", extensions="encipherer")
    chip("bad_key_usage", office.sign("ds-wrong", plain), anchors, dsc_chain_ok=False, status="invalid",
         reason="DSC_UNFIT")
    office.signer("ds-abroad", "foreign", subject="/C=XA/O=Elsewhere/CN=DS 1")
    chip("bad_country", office.sign("ds-abroad", plain), {"csca.cer": office.der("foreign")}, country_match=False,
         status="invalid", reason="COUNTRY_MISMATCH")
    # A signer must not certify another one: the path is one certificate long.
    office.signer("ds-below", "ds")
    chip("bad_signer_by_signer", office.sign("ds-below", plain), {**anchors, "ds.cer": office.der("ds")},
         dsc_chain_ok=False, status="invalid", reason="DSC_NOT_TRUSTED")

    crl = ["-config", "openssl.cnf", "-keyfile", "csca.key", "-cert", "csca.pem"]
    before = office.run("crl", "-outform", "DER", "-in", office_file(office, "ca", "-gencrl", *crl, "-out", "0.crl"))
    office.signer("ds-revoked", "csca")
    office.run("ca", *crl, "-revoke", "ds-revoked.pem")
    after = office.run("crl", "-outform", "DER", "-in", office_file(office, "ca", "-gencrl", *crl, "-out", "1.crl"))
    chip("good_not_revoked", office.sign("ds", plain), {**anchors, "list.crl": after}, revocation="good")
    chip("bad_revoked", office.sign("ds-revoked", plain), {**anchors, "list.crl": after}, dsc_chain_ok=False,
         status="invalid", reason="DSC_REVOKED", revocation="revoked")
    chip("good_before_revocation", office.sign("ds-revoked", plain), {**anchors, "list.crl": before}, revocation="good")
    # A list of some certificates revokes, and proves no other one good.
    partial = office.run("crl", "-outform", "DER", "-in", office_file(
        office, "ca", "-gencrl", *crl, "-crlexts", "partial", "-out", "2.crl"))
    chip("good_partial_list", office.sign("ds", plain), {**anchors, "list.crl": partial}, revocation="notChecked")
    chip("bad_revoked_on_partial_list", office.sign("ds-revoked", plain), {**anchors, "list.crl": partial},
         dsc_chain_ok=False, status="invalid", reason="DSC_REVOKED", revocation="revoked")
    office.run("ca", *crl, "-revoke", "csca2.pem")
    link = office.run("crl", "-outform", "DER", "-in", office_file(office, "ca", "-gencrl", *crl, "-out", "3.crl"))
    chip("bad_revoked_link", linked, {**anchors, "link.cer": office.der("csca2"), "list.crl": link},
         dsc_chain_ok=False, status="invalid", reason="DSC_NOT_TRUSTED")

    with open(os.path.join(options.folder, "manifest.json"), "w") as file:
        json.dump(manifest, file, indent=1)


def office_file(office, *arguments):
    """Runs openssl, whose last argument is the file that it writes."""
    office.run(*arguments)
    return arguments[-1]


if __name__ == "__main__":
    sys.exit(main())
