"""Random MRZs: well-formed ones of every format, and plain character noise.

Half of what the reader learns from is noise, so that it reads what is printed and not what usually stands there.
"""

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789<"
LETTERS, DIGITS = ALPHABET[:26], ALPHABET[26:36]
VOWELS, CONSONANTS = "AEIOUY", "BCDFGHJKLMNPQRSTVWXZ"
#: Rows and columns of the formats; the last two are card backs of single countries.
SHAPES = [(3, 30), (2, 36), (2, 44), (3, 30), (2, 44), (2, 44), (2, 36), (1, 30)]


def check_digit(text):
    """Doc 9303-3 section 4.9: weights 7, 3, 1; A-Z count 10-35; the filler counts 0."""
    total = 0
    for i, c in enumerate(text):
        value = 0 if c == "<" else ord(c) - 48 if c.isdigit() else ord(c) - 55
        total += value * (7, 3, 1)[i % 3]
    return str(total % 10)


def pick(rng, letters, n):
    return "".join(letters[i] for i in rng.integers(0, len(letters), n))


def word(rng):
    if rng.random() < 0.15:
        return pick(rng, LETTERS, int(rng.integers(1, 14)))
    return "".join(
        CONSONANTS[rng.integers(20)] + VOWELS[rng.integers(6)] + (CONSONANTS[rng.integers(20)] if rng.random() < 0.4 else "")
        for _ in range(int(rng.integers(1, 5)))
    )


def names(rng, width):
    text = "<".join(word(rng) for _ in range(int(rng.integers(1, 3)))) + "<<"
    text += "<".join(word(rng) for _ in range(int(rng.integers(0, 4))))
    return text[:width].ljust(width, "<")


def date(rng):
    return f"{rng.integers(100):02d}{rng.integers(1, 13):02d}{rng.integers(1, 32):02d}"


def number(rng, width):
    letters = DIGITS if rng.random() < 0.5 else ALPHABET[:36]
    return pick(rng, letters, int(rng.integers(1, width + 1))).ljust(width, "<")


def mrz_lines(rng):
    """The lines of one well-formed MRZ."""
    rows, width = SHAPES[rng.integers(len(SHAPES))]
    state = pick(rng, LETTERS, 3) if rng.random() < 0.9 else pick(rng, LETTERS, int(rng.integers(1, 3))).ljust(3, "<")
    code = "PIVACD"[rng.integers(6)] + ("<" if rng.random() < 0.6 else LETTERS[rng.integers(26)])
    doc, birth, expiry = number(rng, 9), date(rng), date(rng)
    doc += check_digit(doc)
    birth, expiry = birth + check_digit(birth), expiry + check_digit(expiry)
    sex = "MF<"[rng.integers(3)]
    if rows == 1:
        return [(code + state + doc + number(rng, 15))[:width - 1] + pick(rng, DIGITS, 1)]
    if rows == 3:
        first = code + state + doc + (number(rng, 15) if rng.random() < 0.4 else "<" * 15)
        second = birth + sex + expiry + state + (number(rng, 11) if rng.random() < 0.3 else "<" * 11)
        total = check_digit(first[5:] + second[:7] + second[8:15] + second[18:])
        return [first, second + total, names(rng, width)]
    first = code + state + names(rng, width - 5)
    optional = width - 29
    rest = number(rng, optional) if rng.random() < 0.5 else "<" * optional
    second = doc + state + birth + sex + expiry + rest
    return [first, second + pick(rng, DIGITS, 1)]


def line(rng):
    """One line: half the time well formed, else noise with runs of fillers."""
    if rng.random() < 0.5:
        rows = mrz_lines(rng)
        return rows[rng.integers(len(rows))]
    letters = (ALPHABET, ALPHABET, DIGITS + "OIBSZGDQ", LETTERS + "<<<<<<")[rng.integers(4)]
    return pick(rng, letters, (30, 36, 44)[rng.integers(3)])
