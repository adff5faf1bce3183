"""Scores every field of IDResult against what specimens bear (Tests/Truth/viz.json). Imported by score.py.

A field counts once for each image that bears it, under the source that has it: the VIZ, where it is printed there, else the
MRZ or the barcode. The values compared are those of the result's own fields, not of `viz` beside them.

right     the same characters, case, spaces and diacritics (line breaks are spaces); days, codes and numbers in the form of the
          contract. Where a field is printed in two languages or differs between VIZ and MRZ, either is right.
spelt     not right, but the same once case, spaces, punctuation and diacritics are folded (Ü to U or UE, as MRZs spell it); never
          said of codes, days and lines of the MRZ
wrong     another value, given as certain: a field is certain unless the result lists it as uncertain
unsure    another value, listed as uncertain
missed    left out; `beside` counts those of them that `viz` has rightly
"""

import hashlib
import json
import os
import re
import unicodedata

TRUTH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "Truth", "viz.json")

#: Fields of IDResult, and those that the project adds; address.line1 is IDResult's `address`.
FIELDS = (
    "type", "issuingCountry", "firstName", "lastName", "dateOfBirth", "issuingDate", "expiryDate", "documentNumber",
    "personalNumber", "gender", "nationality", "placeOfBirth", "address.line1", "address.city", "address.subdivision",
    "address.postalCode", "address.country", "issuingAuthority", "categories", "mrzLine1", "mrzLine2", "mrzLine3",
    "rawBarcodeData",
)
VERDICTS = ("right", "spelt", "wrong", "unsure", "missed")

#: Codes, days and lines: no other spelling of them is right.
EXACT = {"type", "issuingCountry", "dateOfBirth", "issuingDate", "expiryDate", "gender", "nationality", "mrzLine1", "mrzLine2",
         "mrzLine3"}

#: Fields of the manifest's truth about MRZs.
MRZ_FIELDS = {
    "document_number": "documentNumber", "surname": "lastName", "given_names": "firstName", "birth_date": "dateOfBirth",
    "expiry_date": "expiryDate", "personal_number": "personalNumber", "nationality": "nationality", "sex": "gender",
}
#: Codes that states print in place of ISO 3166-1's.
CODES = {"D": ["DEU"], "SI": ["SVN", "SI"]}
#: AAMVA elements.
ELEMENTS = {
    "DCS": "lastName", "DAC": "firstName", "DCT": "firstName", "DBB": "dateOfBirth", "DBD": "issuingDate",
    "DBA": "expiryDate", "DAQ": "documentNumber", "DBC": "gender", "DAG": "address.line1", "DAI": "address.city",
    "DAJ": "address.subdivision", "DAK": "address.postalCode",
}

#: Letters that are no letter with a mark, and ICAO Doc 9303-3 §6.A's spellings that differ from dropping the mark.
SINGLE = str.maketrans({
    "Ə": "E", "Ł": "L", "Đ": "D", "Ð": "D", "Ø": "O", "Æ": "AE", "Œ": "OE", "ß": "SS", "ẞ": "SS", "Þ": "TH", "İ": "I",
})
DOUBLE = str.maketrans({"Ä": "AE", "Å": "AA", "Ö": "OE", "Ø": "OE", "Ü": "UE", "Ñ": "N"})


def spellings(text):
    """The ways in which an MRZ may spell `text`."""
    upper = unicodedata.normalize("NFC", text).replace("ı", "I").upper()
    found = set()
    for letters in (upper, upper.translate(DOUBLE)):
        plain = unicodedata.normalize("NFKD", letters.translate(SINGLE))
        found.add("".join(c for c in plain if c.isalnum()))
    return found


def plain(text):
    return " ".join(unicodedata.normalize("NFC", text).split())


def listed(value):
    return value if isinstance(value, list) else [value]


def load(manifest):
    """The facts by file, checked: they name images of the manifest, and what is held out is what the rule says."""
    with open(TRUTH) as file:
        facts = {entry["file"]: entry for entry in json.load(file)["specimens"]}
    known = {entry["file"] for entry in manifest}
    for name, entry in facts.items():
        rule = int(hashlib.sha256(entry["specimen"].encode()).hexdigest(), 16) % 3 == 0
        if entry["heldOut"] != rule:
            raise SystemExit(f"{TRUTH}: {name}: heldOut is not what the rule says")
        if entry["specimen"] not in facts:
            raise SystemExit(f"{TRUTH}: {name}: no image is named {entry['specimen']}")
        unknown = [f for part in ("printed", "value", "mrzValue", "optional") for f in entry.get(part, {})
                   if f not in FIELDS and f != "address"]
        if unknown:
            raise SystemExit(f"{TRUTH}: {name}: no field is named {', '.join(unknown)}")
    return {name: entry for name, entry in facts.items() if name in known}


def from_mrz(entry):
    """What the MRZ bears by the manifest, in the contract's form; days in both centuries."""
    found = {f"mrzLine{number}": [line] for number, line in enumerate(entry.get("mrz_lines") or [], start=1)}
    for field, value in (entry.get("expected_fields") or {}).items():
        name = MRZ_FIELDS.get(field)
        if name in ("dateOfBirth", "expiryDate") and re.fullmatch("[0-9]{6}", value):
            found[name] = [f"{century}{value[:2]}-{value[2:4]}-{value[4:]}" for century in ("19", "20")]
        elif name == "gender":
            found[name] = [value if value in ("M", "F") else "X"]
        elif name and value:
            found[name] = CODES.get(value, [value]) if name == "nationality" else [value]
    return found


def from_barcode(entry):
    """What an AAMVA barcode bears; nothing where the text is no card's."""
    text = entry.get("barcode_text")
    if not isinstance(text, str):
        return {}
    found = {"rawBarcodeData": [text, text.lstrip("\ufeff"), "?" + text.lstrip("\ufeff")]}
    if "ANSI " not in text:
        return found
    elements = {}
    for line in re.split("[\n\r]", text):
        # The first element stands behind the header and the name of the subfile.
        first = re.match("ANSI .*?DL(D[A-Z]{2}.*)", line)
        element = first.group(1) if first else line
        if element[3:].strip() not in ("", "NONE"):
            elements.setdefault(element[:3], element[3:].strip())
    for code, name in ELEMENTS.items():
        if code not in elements:
            continue
        value = elements[code]
        if name in ("dateOfBirth", "issuingDate", "expiryDate"):
            found[name] = [f"{value[4:]}-{value[:2]}-{value[2:4]}"]
        elif name == "gender":
            found[name] = [{"1": "M", "2": "F"}.get(value, "X")]
        elif name == "address.postalCode":
            found[name] = [value, f"{value[:5]}-{value[5:]}"] + ([value[:5]] if value.endswith("0000") else [])
        elif name == "firstName":
            found[name] = [f"{value} {elements['DAD']}", value] if "DAD" in elements else [value]
        else:
            found[name] = [value]
    return found


def truth(facts, entry):
    """The fields that an image bears, each with its source and every value that is right."""
    bears = {}
    machine = from_mrz(entry) | {name: listed(v) for name, v in facts.get("mrzValue", {}).items()}
    for name, values in from_barcode(entry).items():
        machine.setdefault(name, values)
    is_machine = facts["mrz"] or facts["barcode"]
    bears["type"] = ("machine" if is_machine else "viz", listed(facts["type"]))
    bears["issuingCountry"] = ("machine" if is_machine else "viz", listed(facts["country"]))
    bears |= {name: ("machine", values) for name, values in machine.items()}
    for name, prints in facts["printed"].items():
        values = listed(facts.get("value", {}).get(name, prints))
        # A misprinted MRZ is reported as printed too.
        values = values + [v for v in machine.get(name, []) if any(m["field"] == name for m in facts.get("misprints", []))]
        bears[name] = ("viz", values)
    bears.pop("address", None)
    return bears


def given(data):
    """The values of a result by field."""
    address = data.get("address") if isinstance(data.get("address"), dict) else {}
    values = {name: data.get(name) for name in FIELDS if "." not in name}
    values |= {f"address.{key}": address.get(key) for key in ("line1", "city", "subdivision", "postalCode", "country")}
    values["address.line1"] = values["address.line1"] or address.get("address")
    for number, line in enumerate((data.get("mrz") or {}).get("lines") or [], start=1):
        values[f"mrzLine{number}"] = values.get(f"mrzLine{number}") or line
    values["rawBarcodeData"] = values["rawBarcodeData"] or (data.get("barcode") or {}).get("text")
    return {name: ", ".join(v) if isinstance(v, list) else v for name, v in values.items() if v}


def judge(name, found, wanted, uncertain):
    if found is None:
        return "missed"
    if name == "rawBarcodeData":
        # The contract cuts it at 50 characters.
        return "right" if any(found in (text, text[:50]) for text in wanted) else "wrong"
    if plain(found) in [plain(value) for value in wanted]:
        return "right"
    if name in EXACT:
        # A result lists fields, not lines: any of them may be why a line differs.
        return "unsure" if name in uncertain or uncertain and name.startswith("mrzLine") else "wrong"
    if any(spellings(found) & spellings(value) for value in wanted):
        return "spelt"
    return "unsure" if name in uncertain or name.split(".")[0] in uncertain else "wrong"


class Count:
    """Verdicts of one field, or of all."""

    def __init__(self):
        self.verdicts = dict.fromkeys(VERDICTS, 0)
        self.beside = 0

    def add(self, verdict, is_beside):
        self.verdicts[verdict] += 1
        self.beside += is_beside

    @property
    def total(self):
        return sum(self.verdicts.values())

    def rates(self):
        return self.verdicts | {"beside": self.beside, "total": self.total}


def score(manifest, answers, figures, mistakes):
    """Judges the answers to every image of the manifest; keys are set, source and field."""
    facts = load(manifest)
    counts, zones, misprints = {}, {}, {"reported": 0, "total": 0}
    for entry, data in zip(manifest, answers):
        base = f"images/{entry['base']}" if entry.get("base") else entry["file"]
        own = facts.get(base)
        if own is None or entry["kind"] == "derived_quality" and entry.get("quality_labels") != ["OK"]:
            continue
        group = ("derived, " if base != entry["file"] else "") + ("held out" if own["heldOut"] else "tuned on")
        # A derived image has its MRZ's lines only; the rest of the truth is that of the image it was made from.
        source = next(e for e in manifest if e["file"] == base)
        bears, values = truth(own, source), given(data)
        uncertain = set((data.get("mrz") or {}).get("uncertain") or []) | set(data.get("uncertain") or [])
        viz = {f["name"]: f for f in (data.get("viz") or {}).get("fields", [])}
        for name in FIELDS:
            found = values.get(name)
            if name in bears:
                kind, wanted = bears[name]
                verdict = judge(name, found, wanted, uncertain)
                printed = viz.get(name, {}).get("value")
                is_beside = verdict == "missed" and printed is not None and judge(name, printed, wanted, ()) != "wrong"
                counts.setdefault((group, kind, name), Count()).add(verdict, is_beside)
                if verdict != "right":
                    mistakes.append((f"field {verdict}, {group}", entry["file"], f"{name}: {found!r} for {wanted}"))
            elif found and name not in own["unreadable"] and (not own["barcode"] or source.get("barcode_text")):
                # Nothing on the document says so; what it implies is right. What a barcode bears may be unknown.
                implied = own.get("optional", {}).get(name, [])
                if judge(name, found, listed(implied), uncertain) == "wrong" and name not in (
                        "address.country", "rawBarcodeData", "mrzLine1", "mrzLine2", "mrzLine3"):
                    counts.setdefault((group, "invented", name), Count()).add("wrong", False)
                    mistakes.append((f"field invented, {group}", entry["file"], f"{name}: {found!r}"))
        lines = [name for name in bears if name.startswith("mrzLine")]
        if lines:
            row = zones.setdefault(group, {"right": 0, "total": 0})
            row["total"] += 1
            row["right"] += all(judge(name, values.get(name), bears[name][1], ()) == "right" for name in lines)
        for misprint in own.get("misprints", []):
            if misprint["field"] in FIELDS and misprint["field"] != "type":
                misprints["total"] += 1
                misprints["reported"] += viz.get(misprint["field"], {}).get("comparison") == "contradicts"
    figures["idResult"] = {
        "groups": {}, "mrz": zones, "misprints": misprints,
        "images": len(facts), "held_out": sum(f["heldOut"] for f in facts.values()),
    }
    for (group, kind, name), count in counts.items():
        figures["idResult"]["groups"].setdefault(group, {}).setdefault(kind, {})[name] = count.rates()


def total(rows):
    return {key: sum(row[key] for row in rows.values()) for key in (*VERDICTS, "beside", "total")}


def show(figures):
    """The table: a row for each field and source, the sets side by side."""
    groups = figures["idResult"]["groups"]
    if not groups:
        return
    heads = ("n", *VERDICTS, "beside")
    line = ("{:24}" + "{:>7}" * len(heads) + " |" + "{:>7}" * len(heads)).format

    def cells(row):
        return ["-"] * len(heads) if row is None else [row["total"], *(row[v] for v in VERDICTS), row["beside"]]

    for kind, title in (("viz", "printed in the VIZ"), ("machine", "only in MRZ or barcode")):
        sets = [groups.get(group, {}).get(kind, {}) for group in ("tuned on", "held out")]
        print(f"\nIDResult, {title}: tuned on | held out")
        print(line("field", *heads, *heads))
        for name in FIELDS:
            if any(name in rows for rows in sets):
                print(line(name, *cells(sets[0].get(name)), *cells(sets[1].get(name))))
        print(line("all", *cells(total(sets[0])), *cells(total(sets[1]))))
    print()
    for group, kinds in sorted(groups.items()):
        for kind, title in (("viz", "printed in the VIZ"), ("machine", "only machine-readable")):
            if kind not in kinds:
                continue
            rows = total(kinds[kind])
            share = [100 * rows[v] / rows["total"] for v in ("right", "spelt", "wrong")]
            print(f"{group + ', ' + title:46} {rows['total']:4} fields: right {share[0]:5.1f} %, "
                  f"right but for spelling {share[0] + share[1]:5.1f} %, wrong with certainty {share[2]:4.1f} %")
        if group in figures["idResult"]["mrz"]:
            row = figures["idResult"]["mrz"][group]
            print(f"{group + ', MRZ with every line exact':46} {row['right']:4} of {row['total']}")
        invented = total(kinds.get("invented", {}))["total"]
        print(f"{group + ', given though nothing says so':46} {invented:4}")
    misprints = figures["idResult"]["misprints"]
    print(f"{'misprints, reported as contradictions':46} {misprints['reported']:4} of {misprints['total']}")
