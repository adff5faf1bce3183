"""Texts as VIZs show them: names with diacritics, dates, numbers, places, captions in many languages. No corpus: syllables, and
words that every document prints."""

import unicodedata

import numpy as np

#: Letters without their marks, then those that no mark makes, digits and signs.
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyzÆæØøŒœĐđðŁłÞþßıƏəĦħŦŧŊŋ"
BASES = LETTERS + "0123456789" + " .,-/'():;#&+*<>=?!\"%°@_|"
#: A letter of another script: Cyrillic or Greek.
FOREIGN = len(BASES)
BLANK = FOREIGN + 1
CLASSES = BLANK + 1
#: Combining marks by class; the first class is none.
MARKS = "\0\u0300\u0301\u0302\u0303\u0308\u030A\u0327\u030C\u0304\u0306\u0328\u0307\u030B"
#: What stands for the same letter here: the comma below is a cedilla, Ð looks like Đ.
SAME = {0x0326: 0x0327, ord("Ð"): ord("Đ"), ord("ẞ"): ord("ß"), ord("’"): ord("'"), ord("–"): ord("-"), ord("º"): ord("°")}

#: ICAO Doc 9303-3 §6.A by language, so that marks stand where languages put them.
MARKED = (
    "ÀÂÆÇÉÈÊËÎÏÔŒÙÛÜŸ ÄÖÜß ÁÉÍÓÚÜÑ ÁČĎÉĚÍŇÓŘŠŤÚŮÝŽ ÁÄČĎÉÍĹĽŇÓÔŔŠŤÚÝŽ ĄĆĘŁŃÓŚŹŻ ÁÉÍÓÖŐÚÜŰ ĂÂÎŞŢ ÇĞİÖŞÜ ČĆĐŠŽ ĀČĒĢĪĶĻŅŠŪŽ "
    "ĄČĘĖĮŠŲŪŽ ÄÕÖÜŠŽ ÅÄÖ ÆØÅ ÁÐÉÍÓÚÝÞÆÖ ÃÕÁÀÂÇÉÊÍÓÔÚ ÀÈÉÌÒÙ ĊĠĦŻ ƏÇĞİÖŞÜ ĈĜĤĴŜŬ ŴŶÂÊÎÔÛ ÁÉÍÓÚ ĐĂÂÊÔ ŊŦŽČĐŠÁ ĨŨỸ".split())
MARKED = [unicodedata.normalize("NFC", letters) for letters in MARKED]
ALL_MARKED = sorted(set("".join(MARKED)) | set("ÌÒĔĒĚĖĘĬŎŌŖŔŲŮŰŸÄÅÅĽŇŅŃĶĻĹŤŢÝŹŻŽ") - {"Ỹ"})

CAPTIONS = """Surname|Name|Nom|Given names|Prénoms|Given name|Prénom(s)|Vornamen|Vorname|Apellidos|Nombre|Nombres|Cognome|Nome|Nazwisko
Imiona|Imię|Příjmení|Jméno|Priezvisko|Meno|Prezime|Ime|Priimek|Perekonnanimi|Eesnimed|Uzvārds|Vārdi|Pavardė|Vardas|Családi név|Utónév|Numele
Prenumele|Soyadı|Adı|Mbiemri|Emri|Sukunimi|Etunimet|Efternamn|Förnamn|Etternavn|Fornavn|Achternaam|Voornamen|Apelidos|Eftirnafn|Eiginnöfn
Passport No.|Passeport No|Document No.|N° du document|Reisepass-Nr.|Pasaporte N.º|Passaporto N.|Číslo pasu|Nr paszportu|Útlevél száma|Card No.
Date of birth|Date de naissance|Geburtsdatum|Geburtstag|Fecha de nacimiento|Data di nascita|Data urodzenia|Datum narození|Dátum narodenia
Datum rođenja|Datum rojstva|Sünniaeg|Dzimšanas datums|Gimimo data|Születési idő|Data nașterii|Doğum tarihi|Datëlindja|Syntymäaika|Födelsedatum
Fødselsdato|Geboortedatum|Data de nascimento|Fæðingardagur|Date of expiry|Date d'expiration|Gültig bis|Fecha de caducidad|Data di scadenza
Data ważności|Platnost do|Vrijedi do|Veljavnost|Kehtiv kuni|Derīgs līdz|Galioja iki|Érvényes|Valabil până la|Son geçerlilik tarihi|Voimassa
Giltigt till|Utløpsdato|Geldig tot|Válido até|Gildir til|Date of issue|Date de délivrance|Ausstellungsdatum|Fecha de expedición|Data di rilascio
Data wydania|Datum vydání|Datum izdavanja|Izdošanas datums|Kiállítás dátuma|Data eliberării|Veriliş tarihi|Myönnetty|Utfärdat|Utstedt
Datum van afgifte|Data de emissão|Authority|Autorité|Behörde|Autoridad|Autorità|Organ wydający|Vydal|Izdano od|Väljaandja|Išdavė|Kiállító hatóság
Viranomainen|Myndighet|Autoriteit|Place of birth|Lieu de naissance|Geburtsort|Lugar de nacimiento|Luogo di nascita|Miejsce urodzenia
Místo narození|Miesto narodenia|Mjesto rođenja|Kraj rojstva|Sünnikoht|Dzimšanas vieta|Gimimo vieta|Születési hely|Locul nașterii|Doğum yeri
Syntymäpaikka|Födelseort|Fødested|Geboorteplaats|Local de nascimento|Nationality|Nationalité|Staatsangehörigkeit|Nacionalidad|Cittadinanza
Obywatelstwo|Státní občanství|Štátna príslušnosť|Državljanstvo|Kodakondsus|Pilsonība|Pilietybė|Állampolgárság|Cetățenia|Uyruğu|Kansalaisuus
Medborgarskap|Statsborgerskap|Nationaliteit|Nacionalidade|Sex|Sexe|Geschlecht|Sexo|Sesso|Płeć|Pohlaví|Spol|Sugu|Dzimums|Lytis|Nem|Cinsiyeti
Sukupuoli|Kön|Kjønn|Geslacht|Personal No.|Personal code|Rodné číslo|PESEL|OIB|JMBG|Isikukood|Personas kods|Asmens kodas|Henkilötunnus|Personnummer
Height|Taille|Größe|Estatura|Statura|Wzrost|Colour of eyes|Couleur des yeux|Augenfarbe|Signature of bearer|Signature du titulaire|Unterschrift
Firma|Podpis|Allekirjoitus|Holder's signature|Type|Code of issuing State|Code du pays|Country code|Remarks|Address|Anschrift|Adresse|Domicilio
Residenza|Adres|Morada|DOB|EXP|ISS|DL|DLN|CLASS|SEX|HGT|WGT|EYES|HAIR|DONOR|DD|REST|END|NONE|BRO|BLK|LN|FN|ID|Class|Restrictions|Endorsements
PASSPORT|PASSEPORT|REISEPASS|PASAPORTE|PASSAPORTO|IDENTITY CARD|CARTE D'IDENTITÉ|PERSONALAUSWEIS|DRIVING LICENCE|PERMIS DE CONDUIRE|FÜHRERSCHEIN
DRIVER LICENSE|RESIDENCE PERMIT|TITRE DE SÉJOUR|AUFENTHALTSTITEL|VISA|SPECIMEN|MUSTER|VZOR|UTOPIA|EUROPEAN UNION|UNION EUROPÉENNE
REPUBLIC OF|RÉPUBLIQUE|REPÚBLICA|REPUBLIKA|REPUBBLICA|BUNDESREPUBLIK DEUTSCHLAND|KINGDOM OF|KONINKRIJK|UNITED STATES OF AMERICA|USA
Ministry of Foreign Affairs|Ministère de l'Intérieur|Police|Prefecture|Préfecture|Poliisi|Polisen|PASSPORT OFFICE|DEPARTMENT OF STATE|MINISTRY OF
INTERIOR|Stadt|City of|Bürgermeister|Landratsamt|MINISTERSTVO VNITRA|MAGISTRAT|Embassy|Consulate General|Director General|DMV|DVLA"""
CAPTIONS = [caption for line in CAPTIONS.split("\n") for caption in line.split("|")]

MONTHS = """JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC|January February March April May June July August September October November December
janvier février mars avril mai juin juillet août septembre octobre novembre décembre|JANV FÉVR MARS AVR MAI JUIN JUIL AOÛT SEPT OCT NOV DÉC
Januar Februar März April Mai Juni Juli August September Oktober November Dezember|ENE FEB MAR ABR MAY JUN JUL AGO SEP OCT NOV DIC
STY LUT MAR KWI MAJ CZE LIP SIE WRZ PAŹ LIS GRU|JAN FEB MÁR ÁPR MÁJ JÚN JÚL AUG SZE OKT NOV DEC|GEN FEB MAR APR MAG GIU LUG AGO SET OTT NOV DIC
Oca Şub Mar Nis May Haz Tem Ağu Eyl Eki Kas Ara|jaan veebr märts apr mai juuni juuli aug sept okt nov dets""".replace("\n", "|").split("|")
MONTHS = [months.split() for months in MONTHS]

CITIES = """London Paris Berlin Madrid Roma Wien Bern Zürich Praha Brno Bratislava Warszawa Łódź Kraków Gdańsk Budapest Győr București Iași Sofia
Zagreb Ljubljana Maribor Beograd Niš Sarajevo Skopje Tirana Athens Istanbul Ankara İzmir Tallinn Tartu Rīga Vilnius Kaunas Šiauliai Helsinki Turku
Stockholm Göteborg Malmö Oslo Tromsø København Århus Reykjavík Dublin Amsterdam Utrecht Brussels Antwerpen Liège Luxembourg Lisboa Porto Sevilla
Málaga Köln München Düsseldorf Hamburg Lyon Marseille Orléans Nîmes Besançon Genève Torino Milano Napoli Toronto Montréal Québec Ottawa Boston
Seattle Chicago Dallas Phoenix Denver Sydney Canberra Wellington Auckland Lagos Nairobi Accra Tunis Cairo Baku Bakı Gəncə Tbilisi Yerevan Tehran
Mumbai Delhi Dhaka Jakarta Manila Tokyo Osaka Seoul Taipei Bangkok Hanoi Lima Bogotá Quito Cuzco Asunción Brasília São Maceió Santiago Havana""".split()

COUNTRIES = """UTO GBR USA D DEU FRA ESP ITA POL CZE SVK HUN ROU BGR HRV SVN SRB EST LVA LTU FIN SWE NOR DNK ISL IRL NLD BEL LUX PRT GRC TUR CHE AUT
CAN AUS NZL IND PAK CHN JPN KOR BRA MEX ARG COL PER ZAF NGA KEN EGY RUS UKR BLR GEO ARM AZE KAZ""".split()
PEOPLES = """BRITISH CITIZEN|FRANÇAISE|DEUTSCH|ESPAÑOLA|ITALIANA|POLSKIE / POLISH|ČESKÁ REPUBLIKA|SLOVENSKÁ REPUBLIKA|MAGYAR/HUNGARIAN|ROMÂNĂ/ROMANIAN
HRVATSKO/CROATIAN|SLOVENSKO|EESTI/EST|LATVIJAS/LVA|LIETUVOS|Suomi Finland|SVENSK/SWEDISH|NORSK/NORWEGIAN|DANSK/DANISH|ÍSLENSKUR|NEDERLANDSE
BELGE|LUXEMBOURGEOISE|PORTUGUESA|T.C./TUR|SCHWEIZ|ÖSTERREICH|CANADIAN/CANADIENNE|AUSTRALIAN|UTOPIAN|Indian|MEXICANA|BRASILEIRO(A)|PERUANA
UNITED STATES OF AMERICA|REPUBLIC OF CHINA|AZƏRBAYCAN/AZE|Éireannach/Irish""".replace("\n", "|").split("|")

CYRILLIC = "АБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯЁЂЄІЇЈЉЊЋЎЏҐ"
GREEK = "ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩΆΈΉΊΌΎΏ"
DIGITS = "0123456789"
CAPITALS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
HEADS = "B C D F G H J K L M N P R S T V W Z Br Bl Ch Cr Dr Fr Gr Kr Kw Pl Pr Qu Rz Sch Sh Sk Sl St Str Sv Sz Tr Ts X Y".split()
VOWELS = "a e i o u y a e i o u ai au ei ie oo ou".split()
TAILS = ["", "", "", "", "", "n", "r", "s", "l", "m", "k", "t", "nd", "rt", "ck", "ll", "nn", "ss", "x", "w"]


def pick(rng, items):
    return items[int(rng.integers(len(items)))]


def many(rng, items, count):
    return "".join(items[i] for i in rng.integers(0, len(items), count))


def name(rng, letters):
    """A word of one to four syllables, some of its letters replaced by marked ones of one language."""
    word = ""
    for _ in range(int(rng.integers(1, 4)) + (rng.random() < 0.6)):
        word += pick(rng, HEADS).lower() + pick(rng, VOWELS) + pick(rng, TAILS)
    if rng.random() < 0.2:
        word = word[1:]
    if letters and rng.random() < 0.75:
        for _ in range(int(rng.integers(1, 4))):
            letter = pick(rng, letters).lower().replace("i̇", "i")
            plain = unicodedata.normalize("NFD", letter)[0]
            places = [i for i, c in enumerate(word) if c == plain]
            at = pick(rng, places) if places else int(rng.integers(len(word)))
            word = word[:at] + letter + word[at + 1:]
    return cased(rng, word)


def upper(text):
    return text.upper().replace("ẞ", "ß") if "ß" in text else text.upper()


def cased(rng, text):
    dice = rng.random()
    return upper(text) if dice < 0.62 else text[:1].upper() + text[1:] if dice < 0.95 else text


def names(rng):
    letters = pick(rng, MARKED) if rng.random() < 0.6 else ""
    capitals = rng.random() < 0.65
    words = [name(rng, letters) for _ in range(pick(rng, [1, 1, 1, 2, 2, 3]))]
    words = [upper(word) if capitals else word for word in words]
    text = pick(rng, [" ", " ", " ", " ", "-", ", ", "'"]).join(words)
    if rng.random() < 0.05:
        text += pick(rng, [" JR", " Jr.", " II", " III", ".", ",", " " + many(rng, CAPITALS, 1) + "."])
    return text


def date(rng):
    day, month, year = int(rng.integers(1, 32)), int(rng.integers(1, 13)), int(rng.integers(1920, 2042))
    dice = rng.random()
    if dice < 0.55:
        separator = pick(rng, [".", ".", ".", "/", "/", "-", " ", ". ", " . ", " / ", ""])
        d, m, y = f"{day:02}", f"{month:02}", str(year) if rng.random() < 0.8 else f"{year % 100:02}"
        order = pick(rng, [(d, m, y), (d, m, y), (d, m, y), (m, d, y), (y, m, d)])
        return separator.join(order)
    first, second = pick(rng, MONTHS), pick(rng, MONTHS)
    word = first[month - 1]
    if rng.random() < 0.4:
        word += pick(rng, ["/", "/", " /", " / "]) + second[month - 1]
    if rng.random() < 0.5:
        word = upper(word)
    separator = pick(rng, [" ", " ", " ", "", ". ", "-"])
    if rng.random() < 0.1:
        return f"{word} {day}, {year}"
    return f"{day:02}{separator}{word}{separator}{year if rng.random() < 0.7 else f'{year % 100:02}'}"


def number(rng):
    dice = rng.random()
    count = int(rng.integers(4, 12))
    if dice < 0.3:
        return many(rng, DIGITS, count)
    if dice < 0.5:
        return many(rng, CAPITALS, int(rng.integers(1, 3))) + pick(rng, ["", " "]) + many(rng, DIGITS, count)
    if dice < 0.75:
        return many(rng, CAPITALS + DIGITS, count + 1)
    parts = [many(rng, DIGITS, int(rng.integers(1, 6))) for _ in range(int(rng.integers(2, 4)))]
    return pick(rng, ["-", " ", "/", ".", "-", "<"]).join(parts)


def place(rng):
    city = pick(rng, CITIES) if rng.random() < 0.5 else name(rng, pick(rng, MARKED))
    if rng.random() < 0.65:
        city = upper(city)
    dice = rng.random()
    if dice < 0.5:
        return city
    if dice < 0.6:
        return city + pick(rng, [" ", ", ", " / ", "/"]) + pick(rng, COUNTRIES)
    if dice < 0.7:
        return f"{many(rng, DIGITS, int(rng.integers(4, 6)))} {city}"
    if dice < 0.8:
        return f"{city} {int(rng.integers(1, 30))}"
    street = name(rng, pick(rng, MARKED))
    kind = pick(rng, ["STREET", "ST", "ROAD", "AVE", "straße", "STRASSE", "str.", "ulica", "ul.", "rue", "C/", "VIA", "gatan", "vägen", "laan", "utca"])
    if rng.random() < 0.4:
        return f"{int(rng.integers(1, 999))} {street} {kind}"
    return f"{street} {kind} {int(rng.integers(1, 200))}" + pick(rng, ["", "", "A", f", {city}"])


def caption(rng):
    text = pick(rng, CAPTIONS)
    while rng.random() < 0.45 and len(text) < 40:
        text += pick(rng, ["/", "/", " / ", " · ".replace("·", "-"), " "]) + pick(rng, CAPTIONS)
    dice = rng.random()
    text = upper(text) if dice < 0.25 else text.lower() if dice < 0.3 else text
    if rng.random() < 0.15:
        text = f"{int(rng.integers(1, 20))}{pick(rng, ['.', '.', ')', ' ', 'a.', 'b.', 'd'])} {text}"
    return text + pick(rng, ["", "", "", "", ":", " :", "."])


def licence(rng):
    start = pick(rng, ["1.", "2.", "3.", "4a.", "4b.", "4c.", "4d.", "5.", "7.", "8.", "9.", "1", "2", "3", "4a", "4b", "4d", "5", "8", "15", "16", "12"])
    word = pick(rng, ["", "", "DOB ", "EXP ", "ISS ", "DL ", "SEX ", "HGT ", "CLASS ", "DD "])
    value = pick(rng, [names, date, number, place, short])(rng)
    return f"{start} {word}{value}"


def short(rng):
    return pick(rng, [
        "F", "M", "M/M", "F/F", "K/F", "W", "X", "AM", "B1", "AM/B/L", "C1E", "1,75 m", "175 cm", "170", "5'-09\"", "5-04", "180 lb", "BLU", "BRO", "GRN",
        "P", "ID", "PM", "PL", "P<", "V", "D", "B", "m", "f", "Ž/F", "M / H", "WSPD", "SPECIMEN", "BLAU/BLUE", "01", "Y", "N", "MULT", "90"] + COUNTRIES)


def mixed(rng):
    """Any characters: the reader must not learn which words there are."""
    kind = rng.random()
    letters = CAPITALS if kind < 0.3 else CAPITALS.lower() if kind < 0.45 else "".join(ALL_MARKED) if kind < 0.6 else "".join(
        ALL_MARKED).lower().replace("i̇", "i") if kind < 0.7 else LETTERS if kind < 0.85 else BASES
    other = pick(rng, [CAPITALS, CAPITALS + DIGITS, CAPITALS.lower(), LETTERS])
    return " ".join(many(rng, letters if rng.random() < 0.6 else other, int(rng.integers(1, 10))) for _ in range(int(rng.integers(1, 4))))


def foreign(rng):
    alphabet = CYRILLIC if rng.random() < 0.7 else GREEK
    word = many(rng, alphabet, int(rng.integers(3, 11)))
    if rng.random() < 0.4:
        word = word[0] + word[1:].lower()
    return word


KINDS = [(names, 0.24), (date, 0.14), (number, 0.12), (place, 0.09), (caption, 0.22), (licence, 0.06), (short, 0.03), (mixed, 0.07), (foreign, 0.03)]
WEIGHTS = np.cumsum([weight for _, weight in KINDS])


def text(rng, most):
    """One line; where a part is Cyrillic or Greek, all of that word's letters are FOREIGN."""
    parts = [KINDS[int(np.searchsorted(WEIGHTS, rng.random() * WEIGHTS[-1], side="right"))][0](rng)]
    if parts[0] and rng.random() < 0.12:
        parts.append(pick(rng, [names, date, number, place, caption, short, foreign])(rng))
    if rng.random() < 0.03:
        parts.append(pick(rng, PEOPLES))
    line = pick(rng, [" ", " ", "/", " / ", "  "]).join(parts)
    if len(line) > most:
        start = int(rng.integers(0, len(line) - most + 1))
        line = line[start:start + most]
    return unicodedata.normalize("NFC", " ".join(line.split()))


def labels(line):
    """Base and mark of each character; None where the alphabet lacks one."""
    found = []
    for character in line:
        if character in CYRILLIC or character in GREEK or character.upper() in CYRILLIC or character.upper() in GREEK or character in "ςΐΰ":
            found.append((FOREIGN, 0))
            continue
        character = chr(SAME.get(ord(character), ord(character)))
        if character in BASES:
            found.append((BASES.index(character), 0))
            continue
        parts = [chr(SAME.get(ord(part), ord(part))) for part in unicodedata.normalize("NFD", character)]
        if len(parts) != 2 or parts[0] not in BASES or parts[1] not in MARKS:
            return None
        found.append((BASES.index(parts[0]), MARKS.index(parts[1])))
    return found


def written(base, mark):
    """The character of two classes; None where there is none such."""
    if base == FOREIGN:
        return "\uFFFD"
    made = unicodedata.normalize("NFC", BASES[base] + (MARKS[mark] if mark else ""))
    return made if len(made) == 1 else None
