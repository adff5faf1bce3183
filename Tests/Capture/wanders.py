"""People who do the unexpected: they reload, go back, open a link twice, and choose files of other kinds. Imported by Tests/capture.py."""

import os
import subprocess

# Prepares files with Debian's python3-pil: a photo as stored by a phone held upright, and one of 30 megapixels.
FILES = """
import sys
from PIL import Image
image = Image.open(sys.argv[1]).convert("RGB")
exif = Image.Exif()
exif[0x0112] = 6
image.transpose(Image.ROTATE_90).save(sys.argv[2], quality=92, exif=exif)
image.resize((6400, round(6400 * image.height / image.width))).save(sys.argv[3], quality=90)
"""


class Wanders:
    def __init__(self, capture):
        self.capture = capture

    def look(self, play):
        self.tabs(play)
        self.files(play)

    def tabs(self, play):
        """Two tabs in which one person agrees, a page that is left and loaded again, and an end in the tab that comes second."""
        capture = self.capture
        link = capture.link(workflow="id", documentFormat="TD3")
        context = capture.browser(play, documents=["passport.jpg"], last="passport.jpg")
        first, second = capture.open(context, link), capture.open(context, link)
        for page in (first, second):
            capture.agree(page)
            page.wait_for_selector(".finder video")
        first.reload()
        first.wait_for_selector(".finder video")
        first.goto("about:blank")
        first.go_back()
        first.wait_for_selector(".finder video")
        capture.expect(capture.within(first, 20, lambda: first.evaluate("document.querySelector('video').videoWidth > 0")),
                       "after the way back, the camera shows nothing")
        for page in (first, second):
            capture.photograph(page, "document")
        capture.press(first, "use")
        capture.outcome(first)
        # The job is there: the second tab shows the same end.
        capture.press(second, "use")
        capture.expect("will tell you" in capture.outcome(second), "a second tab does not end as the first one")
        capture.expect(capture.psql("SELECT count(*) FROM insp.job j JOIN insp.capture_session s ON s.job_id = j.public_id"
                                    f" WHERE s.id = '{link['id']}'") == "1", "two tabs have no job, or two")
        context.close()

    def files(self, play):
        """A photo of 30 megapixels, a HEIC that the browser cannot show, and a photo that EXIF turns, whose edges are changed."""
        capture = self.capture
        specimens = os.path.join(capture.options.inputs, "specimens")
        turned, large = capture.path("turned.jpg"), capture.path("large.jpg")
        subprocess.run(["/usr/bin/python3", "-c", FILES, os.path.join(specimens, "passport.jpg"), turned, large], check=True)
        context = capture.browser(play, refused=True)
        page = capture.open(context, capture.link(workflow="id", documentFormat="TD3"))
        capture.agree(page)

        def choose(file):
            page.wait_for_selector("#file", state="attached")
            page.set_input_files("#file", file)
            page.wait_for_selector('[data-choice="again"]', timeout=60000)
            return page.locator(".advice, .good").all_inner_texts()

        size = "[document.images[0].naturalWidth, document.images[0].naturalHeight]"
        said = choose(large)
        width, height = page.evaluate(size)
        capture.expect(width * height > 30e6 and said == [], f"of {width} by {height} pixels the page says {said}")
        capture.press(page, "again")
        said = choose(os.path.join(specimens, "passport.heic"))
        capture.expect(said == ["This browser cannot show the file. It is sent as it is."], f"of a HEIC the page says {said}")
        capture.expect([page.locator(f'[data-choice="{name}"]').count() for name in ("use", "crop")] == [1, 0], "what can be done with a HEIC")
        capture.picture(page, "file-unseen")
        capture.press(page, "again")
        choose(turned)
        capture.expect(page.locator('[data-choice="use"]').count() == 1, "a photo that EXIF turns is refused")
        width, height = page.evaluate(size)
        capture.expect(width > height, f"a photo that EXIF turns is shown with {width} by {height} pixels")
        self.halved(page)
        cut = page.evaluate(size)
        capture.expect(abs(cut[0] - width * 0.5) <= 1 + width * 0.01 and cut[1] == height, f"of {width} by {height} pixels it cuts {cut}")
        capture.press(page, "use")
        capture.outcome(page)
        context.close()

    def halved(self, page):
        """The left edge goes to the middle, by the arrow keys."""
        self.capture.press(page, "crop")
        page.wait_for_selector(".corner")
        page.keyboard.press("Tab")
        for _ in range(5):
            page.keyboard.press("Shift+ArrowRight")
        self.capture.press(page, "crop-use")
        page.wait_for_selector('[data-choice="again"]', timeout=60000)
