"""Who a specimen document belongs to, and the machine-readable text that follows from it."""

from dataclasses import dataclass, replace
from datetime import date
import re
import unicodedata

# ICAO Doc 9303-3 section 4.9: digits keep their value, A-Z are 10-35, the filler is 0; weights 7, 3, 1 repeat.
_WEIGHTS = (7, 3, 1)
# ICAO Doc 9303-3 section 6.A: the recommended transliterations that differ from dropping the diacritic.
_TRANSLITERATION = {
    "Ä": "AE", "Å": "AA", "Æ": "AE", "Ð": "D", "Ĳ": "IJ", "Ö": "OE", "Ø": "OE", "Œ": "OE", "ẞ": "SS",
    "Þ": "TH", "Ü": "UE", "Ł": "L", "Đ": "D",
}


def check_digit(text: str) -> str:
    """The check digit of a field of an MRZ."""
    total = sum((0 if c == "<" else int(c, 36)) * _WEIGHTS[i % 3] for i, c in enumerate(text))
    return str(total % 10)


def transliterate(name: str) -> str:
    """A name as the MRZ spells it, words separated by one filler."""
    upper = name.upper().replace("ß", "SS").replace("'", "").replace("’", "")
    plain = "".join(_TRANSLITERATION.get(c, c) for c in upper)
    ascii_only = unicodedata.normalize("NFKD", plain).encode("ascii", "ignore").decode()
    return "<".join(re.findall(r"[A-Z]+", ascii_only))


@dataclass(frozen=True)
class Holder:
    """The data of one document. The defaults are the specimen of ICAO Doc 9303-4, appendix B."""

    surname: str = "Eriksson"
    given_names: str = "Anna Maria"
    issuer: str = "UTO"
    nationality: str = "UTO"
    birth: date = date(1974, 8, 12)
    sex: str = "F"
    number: str = "L898902C3"
    issued: date = date(2007, 4, 16)
    expiry: date = date(2012, 4, 15)
    personal_number: str = "ZE184226B"
    birthplace: str = "Zenith"
    authority: str = "Passport Office"

    @classmethod
    def of(cls, values: dict) -> "Holder":
        """A holder from JSON values; absent ones keep their default."""
        dates = {k: date.fromisoformat(v) for k, v in values.items() if k in ("birth", "issued", "expiry")}
        return replace(cls(), **{**values, **dates})

    def _name_field(self, length: int) -> str:
        field = transliterate(self.surname) + "<<" + transliterate(self.given_names)
        return field[:length].ljust(length, "<")

    @property
    def _sex(self) -> str:
        return self.sex if self.sex in ("M", "F") else "<"

    def td3(self) -> list[str]:
        """Two lines of 44 (ICAO Doc 9303-4 section 4.2)."""
        number, birth, expiry = self.number.ljust(9, "<"), f"{self.birth:%y%m%d}", f"{self.expiry:%y%m%d}"
        personal = self.personal_number.ljust(14, "<")
        head = number + check_digit(number)
        dates = birth + check_digit(birth) + self._sex + expiry + check_digit(expiry)
        tail = personal + ("<" if not self.personal_number else check_digit(personal))
        composite = head + birth + check_digit(birth) + expiry + check_digit(expiry) + tail
        return [
            "P<" + self.issuer.ljust(3, "<") + self._name_field(39),
            head + self.nationality.ljust(3, "<") + dates + tail + check_digit(composite),
        ]

    def td2(self) -> list[str]:
        """Two lines of 36 (ICAO Doc 9303-6 section 4.2)."""
        number, birth, expiry = self.number.ljust(9, "<"), f"{self.birth:%y%m%d}", f"{self.expiry:%y%m%d}"
        head, optional = number + check_digit(number), "<" * 7
        dates = birth + check_digit(birth) + self._sex + expiry + check_digit(expiry)
        composite = head + birth + check_digit(birth) + expiry + check_digit(expiry) + optional
        return [
            "I<" + self.issuer.ljust(3, "<") + self._name_field(31),
            head + self.nationality.ljust(3, "<") + dates + optional + check_digit(composite),
        ]

    def td1(self) -> list[str]:
        """Three lines of 30 (ICAO Doc 9303-5 section 4.2)."""
        number, birth, expiry = self.number.ljust(9, "<"), f"{self.birth:%y%m%d}", f"{self.expiry:%y%m%d}"
        head, optional1, optional2 = number + check_digit(number), "<" * 15, "<" * 11
        birth_part, expiry_part = birth + check_digit(birth), expiry + check_digit(expiry)
        composite = head + optional1 + birth_part + expiry_part + optional2
        return [
            "I<" + self.issuer.ljust(3, "<") + head + optional1,
            birth_part + self._sex + expiry_part + self.nationality.ljust(3, "<") + optional2
            + check_digit(composite),
            self._name_field(30),
        ]

    def aamva(self) -> str:
        """The PDF417 text of a licence (AAMVA DL/ID Card Design Standard 2020, annex D: version 10)."""
        names = transliterate(self.given_names).split("<")
        elements = [
            f"DAQ{self.number}", f"DCS{transliterate(self.surname).replace('<', ' ')}", "DDEN",
            f"DAC{names[0]}", "DDFN", f"DAD{' '.join(names[1:]) or 'NONE'}", "DDGN", "DCAD", "DCBNONE",
            "DCDNONE", f"DBD{self.issued:%m%d%Y}", f"DBB{self.birth:%m%d%Y}", f"DBA{self.expiry:%m%d%Y}",
            f"DBC{ {'M': 1, 'F': 2}.get(self.sex, 9)}",
            "DAU068 in", "DAYBRO", "DAG100 ZENITH AVENUE", "DAIRICHMOND", "DAJVA", "DAK232200000  ",
            f"DCF{self.number}0001", "DCGUSA", "DDAF", f"DDB{date(2020, 6, 1):%m%d%Y}",
        ]
        body = "DL" + "\n".join(elements) + "\n\r"
        # 21 bytes of header and one subfile designator of 10: the subfile starts at byte 31.
        return f"@\n\x1e\rANSI 636000100001DL0031{len(body):04d}" + body

    def fields(self) -> dict:
        """What a reader of the MRZ should report."""
        return {
            "issuingCountry": self.issuer, "nationality": self.nationality, "documentNumber": self.number,
            "lastName": transliterate(self.surname).replace("<", " "),
            "firstName": transliterate(self.given_names).replace("<", " "),
            "dateOfBirth": self.birth.isoformat(), "expiryDate": self.expiry.isoformat(), "gender": self.sex,
        }
