"""Tests of deploy/specimens.py: the printed data follow ICAO's and AAMVA's rules, and every file is what it claims."""

import json
import struct
import subprocess
import sys
import tempfile
import unittest
from datetime import date
from pathlib import Path

import numpy as np
from PIL import Image

DEPLOY = Path(__file__).resolve().parent.parent / "deploy"
sys.path.insert(0, str(DEPLOY))
sys.dont_write_bytecode = True

from specimen.holder import Holder, check_digit, transliterate  # noqa: E402


class MachineReadableZone(unittest.TestCase):
    """Against the specimens printed in ICAO Doc 9303, parts 4, 5 and 6, appendix B."""

    def test_td3_is_icaos(self):
        self.assertEqual(Holder().td3(), [
            "P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<", "L898902C36UTO7408122F1204159ZE184226B<<<<<10"])

    def test_td1_is_icaos(self):
        self.assertEqual(Holder(number="D23145890").td1(), [
            "I<UTOD231458907<<<<<<<<<<<<<<<", "7408122F1204159UTO<<<<<<<<<<<6", "ERIKSSON<<ANNA<MARIA<<<<<<<<<<"])

    def test_td2_is_icaos(self):
        self.assertEqual(Holder(number="D23145890").td2(), [
            "I<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<", "D231458907UTO7408122F1204159<<<<<<<6"])

    def test_check_digit_of_icaos_example(self):
        self.assertEqual(check_digit("520727"), "3")
        self.assertEqual(check_digit("AB2134<<<"), "5")

    def test_names_are_transliterated_and_cut(self):
        self.assertEqual(transliterate("Müller-Østergård"), "MUELLER<OESTERGAARD")
        self.assertEqual(transliterate("O'Connor Groß"), "OCONNOR<GROSS")
        long = Holder(surname="Papandropoulous" * 4, given_names="Jonathon")
        self.assertEqual([len(line) for line in long.td3() + long.td2() + long.td1()], [44] * 2 + [36] * 2 + [30] * 3)

    def test_empty_personal_number_has_a_filler_for_its_digit(self):
        self.assertEqual(Holder(personal_number="").td3()[1][28:43], "<" * 15)


class LicenceText(unittest.TestCase):
    def test_subfile_lies_where_the_header_says(self):
        text = Holder(number="T64235789").aamva()
        self.assertTrue(text.startswith("@\n\x1e\rANSI 636000"))
        self.assertEqual(text[21:23], "DL")
        offset, length = int(text[23:27]), int(text[27:31])
        self.assertEqual(text[offset : offset + 5], "DLDAQ")
        self.assertEqual(offset + length, len(text))


class Files(unittest.TestCase):
    """One rendering of everything, from a portrait drawn here, so that nothing need be fetched."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.out = Path(cls.folder.name, "out")
        cls.face = Path(cls.folder.name, "face.png")
        ramp = np.linspace(0, 255, 600, dtype=np.uint8)
        Image.fromarray(np.stack([np.tile(ramp, (800, 1))] * 3, axis=2)).save(cls.face)
        cls.render(cls.out)
        cls.entries = {e["file"]: e for e in json.loads((cls.out / "manifest.json").read_text())}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def render(cls, out, *more, status=0):
        command = [sys.executable, DEPLOY / "specimens.py", "--out", out, "--face", cls.face, *more]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == status, done.stderr
        return done.stderr

    def test_manifest_lists_exactly_the_files(self):
        files = {path.name for path in self.out.iterdir()} - {"manifest.json"}
        self.assertEqual(files, set(self.entries))

    def test_images_open_at_the_size_that_the_manifest_gives(self):
        for name, entry in self.entries.items():
            # Pillow reads neither HEIC nor PDF.
            if "width" in entry and name != "passport_sideways.jpg" and not name.endswith((".heic", ".pdf")):
                with Image.open(self.out / name) as image:
                    image.load()
                    self.assertEqual(image.size, (entry["width"], entry["height"]), name)

    def test_heic_files_are_as_phones_write_them(self):
        for name, bits, turn, orientation in (("passport.heic", 8, 3, 6), ("passport_10bit.heic", 10, 1, 8)):
            data = (self.out / name).read_bytes()
            self.assertEqual(data[4:12], b"ftypheic")
            # A grid of four rows and three columns, which lies on its side in the file.
            self.assertIn(struct.pack(">BBBBHH", 0, 0, 3, 2, 1200, 1600), data)
            self.assertIn(b"irot" + bytes([turn]), data)
            self.assertIn(b"pixi" + bytes([0, 0, 0, 0, 3, bits, bits, bits]), data)
            self.assertIn(struct.pack(">HHIHH", 0x112, 3, 1, orientation, 0), data)
            self.assertEqual(data.count(b"infe\2\0\0\1"), 12 + 1, "tiles and EXIF data are hidden")

    def test_sideways_image_is_upright_by_its_exif_orientation(self):
        with Image.open(self.out / "passport_sideways.jpg") as image:
            self.assertEqual(image.getexif()[0x0112], 6)
            self.assertEqual(image.size, (1200, 1600))

    def test_documents_lie_within_the_frame_except_the_cut_one(self):
        for name, entry in self.entries.items():
            if entry.get("document_quad"):
                inside = all(
                    0 <= x <= entry["width"] and 0 <= y <= entry["height"] for x, y in entry["document_quad"])
                self.assertEqual(inside, name != "cut_off.jpg", name)

    def test_faults_are_in_the_images(self):
        def grey(name):
            return np.asarray(Image.open(self.out / name).convert("L"), np.float32)

        def sharpness(name):
            image = grey(name)
            return float(np.var(image[1:-1, 1:-1] * 4 - image[:-2, 1:-1] - image[2:, 1:-1]
                                - image[1:-1, :-2] - image[1:-1, 2:]))

        self.assertLess(sharpness("blurred.jpg"), sharpness("passport.jpg") / 3)
        self.assertLess(grey("dark.jpg").mean(), 40)
        self.assertGreater((grey("glare.jpg") > 252).mean(), (grey("passport.jpg") > 252).mean() + 0.01)
        colour = np.asarray(Image.open(self.out / "black_white.jpg"), np.int16)
        self.assertLessEqual(np.ptp(colour, axis=2).max(), 2)

    def test_bombs_are_small_files_with_huge_headers(self):
        png = (self.out / "bomb.png").read_bytes()
        self.assertEqual(struct.unpack(">II", png[16:24]), (30_000, 30_000))
        self.assertLess(len(png), 1000)
        jpeg = (self.out / "bomb.jpg").read_bytes()
        frame = jpeg.index(b"\xff\xc0")
        self.assertEqual(struct.unpack(">HH", jpeg[frame + 5 : frame + 9]), (65_500, 65_500))
        self.assertIn(b"ispe" + struct.pack(">III", 0, 10_000, 10_000), (self.out / "bomb.heic").read_bytes())

    def test_torn_image_does_not_load(self):
        with Image.open(self.out / "torn.jpg") as image, self.assertRaises(OSError):
            image.load()
        self.assertEqual((self.out / "empty.jpg").read_bytes(), b"")

    def test_same_arguments_give_the_same_bytes_and_another_seed_others(self):
        again, other = Path(self.folder.name, "again"), Path(self.folder.name, "other")
        self.render(again, "--only", "id_back.jpg")
        self.render(other, "--only", "id_back.jpg", "--seed", "2")
        first = (self.out / "id_back.jpg").read_bytes()
        self.assertEqual((again / "id_back.jpg").read_bytes(), first)
        self.assertNotEqual((other / "id_back.jpg").read_bytes(), first)

    def test_holder_can_be_given(self):
        out = Path(self.folder.name, "holder")
        values = {"surname": "Sørensen", "birth": "1980-02-29", "number": "X1", "expiry": date(2031, 1, 2).isoformat()}
        self.render(out, "--only", "passport.jpg", "--holder", json.dumps(values))
        entry = json.loads((out / "manifest.json").read_text())[0]
        self.assertEqual(entry["mrz_lines"][0][:16], "P<UTOSOERENSEN<<")
        self.assertEqual(entry["expected_fields"]["dateOfBirth"], "1980-02-29")

    def test_wrong_arguments_are_refused(self):
        out = Path(self.folder.name, "refused")
        for more in (["--holder", "[]"], ["--holder", '{"surnam": "X"}'], ["--only", "nothing.jpg"],
                     ["--face-box", "0.1,0.2"], ["--face", "/nonexistent.jpg"]):
            self.assertIn("specimens: ", self.render(out, *more, status=2))
        self.assertFalse(out.exists())


if __name__ == "__main__":
    unittest.main()
