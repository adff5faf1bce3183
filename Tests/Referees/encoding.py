"""Converts others' keys and signatures to the forms that the product takes: DER, PEM, CMS."""

import base64

SHA = {
    "SHA-1": "1.3.14.3.2.26", "SHA-224": "2.16.840.1.101.3.4.2.4", "SHA-256": "2.16.840.1.101.3.4.2.1",
    "SHA-384": "2.16.840.1.101.3.4.2.2", "SHA-512": "2.16.840.1.101.3.4.2.3",
}
RSA_WITH = {
    "SHA-1": "1.2.840.113549.1.1.5", "SHA-224": "1.2.840.113549.1.1.14", "SHA-256": "1.2.840.113549.1.1.11",
    "SHA-384": "1.2.840.113549.1.1.12", "SHA-512": "1.2.840.113549.1.1.13",
}
ECDSA_WITH = {
    "SHA-224": "1.2.840.10045.4.3.1", "SHA-256": "1.2.840.10045.4.3.2", "SHA-384": "1.2.840.10045.4.3.3",
    "SHA-512": "1.2.840.10045.4.3.4",
}


def tlv(tag, *contents):
    content = b"".join(contents)
    size = len(content)
    if size < 128:
        return bytes([tag, size]) + content
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(length)]) + length + content


def sequence(*contents):
    return tlv(0x30, *contents)


def integer(number):
    return tlv(2, number.to_bytes(number.bit_length() // 8 + 1, "big"))


def identifier(text):
    arcs = [int(arc) for arc in text.split(".")]
    octets = b""
    for arc in [40 * arcs[0] + arcs[1]] + arcs[2:]:
        piece = bytes([arc & 127])
        while arc := arc >> 7:
            piece = bytes([arc & 127 | 128]) + piece
        octets += piece
    return tlv(6, octets)


NULL = tlv(5)


def digest_algorithm(sha):
    return sequence(identifier(SHA[sha]), NULL)


def rsa_algorithm(sha):
    """RFC 4055 section 5."""
    return sequence(identifier(RSA_WITH[sha]), NULL)


def pss_algorithm(sha, mask, salt):
    """RFC 4055 section 3.1."""
    generator = sequence(identifier("1.2.840.113549.1.1.8"), digest_algorithm(mask))
    return sequence(identifier("1.2.840.113549.1.1.10"), sequence(
        tlv(0xA0, digest_algorithm(sha)), tlv(0xA1, generator), tlv(0xA2, integer(salt))))


def ecdsa_algorithm(sha):
    """RFC 5758 section 3.2."""
    return sequence(identifier(ECDSA_WITH[sha]))


def plain_ecdsa_algorithm(sha):
    """BSI TR-03111 section 5.2.1: `r` and `s` side by side."""
    return sequence(identifier(f"0.4.0.127.0.7.1.1.4.1.{list(SHA).index(sha) + 1}"))


def rsa_public_key(modulus, exponent):
    """SubjectPublicKeyInfo of RFC 3279 section 2.3.1."""
    key = sequence(integer(modulus), integer(exponent))
    return sequence(sequence(identifier("1.2.840.113549.1.1.1"), NULL), tlv(3, b"\0", key))


NAME = sequence(tlv(0x31, sequence(identifier("2.5.4.6"), tlv(0x13, b"XX"))))
SERIAL = integer(1)


def certificate(public_key):
    """A certificate with this key. Its own signature is none: a message is verified with the key alone."""
    algorithm = rsa_algorithm("SHA-256")
    validity = sequence(tlv(0x17, b"200101000000Z"), tlv(0x17, b"400101000000Z"))
    signed = sequence(tlv(0xA0, integer(2)), SERIAL, algorithm, NAME, validity, NAME, public_key)
    return sequence(signed, algorithm, tlv(3, b"\0\0"))


def signed_message(message, signature, sha, algorithm, signer):
    """SignedData of RFC 5652 section 5 without signed attributes, so that the signature covers the content itself."""
    info = sequence(integer(1), sequence(NAME, SERIAL), digest_algorithm(sha), algorithm, tlv(4, signature))
    content = sequence(identifier("2.23.136.1.1.1"), tlv(0xA0, tlv(4, message)))
    data = sequence(integer(3), tlv(0x31, digest_algorithm(sha)), content, tlv(0xA0, signer), tlv(0x31, info))
    return sequence(identifier("1.2.840.113549.1.7.2"), tlv(0xA0, data))


def security_object(signer):
    """EF.SOD of ICAO Doc 9303-10 section 4.6.2 with this certificate, whose signature is none."""
    hashes = sequence(sequence(integer(1), tlv(4, bytes(32))))
    content = sequence(integer(0), digest_algorithm("SHA-256"), hashes)
    return tlv(0x77, signed_message(content, b"\0", "SHA-256", rsa_algorithm("SHA-256"), signer))


def pem(name, der):
    text = base64.b64encode(der).decode()
    lines = [text[at:at + 64] for at in range(0, len(text), 64)]
    return "\n".join([f"-----BEGIN {name}-----", *lines, f"-----END {name}-----", ""])


def from_base64url(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def rsa_private_key(jwk):
    """RSAPrivateKey of RFC 8017 appendix A.1.2, of a key as in RFC 7518 section 6.3."""
    numbers = [int.from_bytes(from_base64url(jwk[name]), "big") for name in ("n", "e", "d", "p", "q", "dp", "dq", "qi")]
    return pem("RSA PRIVATE KEY", sequence(integer(0), *map(integer, numbers)))
