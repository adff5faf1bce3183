"""The inputs of the sealed jobs of Tests/custody.py: all workflows, on images, frames, a chip's files and sessions of a vendor; and how
they are erased."""

import base64
import json
import os
import shutil
import subprocess
import sys

from Custody import vendor

# Each kind of job: its workflow and its parts. An odd number of kinds: each is then submitted by the gateway and by the command line.
# The vendor's server takes each session once, so each job has its own file.
KINDS = (
    ("id", {"front": "specimens/passport.jpg"}),
    ("id_identity", {"front": "specimens/id_front.jpg", "back": "specimens/id_back.jpg", "face": "faces/obama2.jpg"}),
    ("similarity", {"front": "specimens/passport.jpg", "face": "faces/obama2.jpg"}),
    ("liveness", {"face": "faces/obama2.jpg"}),
    ("enrollment", {"face": "faces/obama.jpg"}),
    ("id", {"front": "specimens/passport.jpg", "dg1": "chip/EF_DG1.bin", "dg2": "chip/EF_DG2.bin", "sod": "chip/EF_SOD.bin"}),
    ("liveness", {"frames": "frames"}),
    ("liveness", {"session": None}),
    ("authentication", {"face": "faces/obama2.jpg"}),
)


def prepare(inputs, folder):
    """A folder with the inputs, a chip of a test authority and frames of a capture."""
    made = os.path.join(folder, "inputs")
    os.makedirs(os.path.join(made, "frames"))
    for name in ("faces", "specimens"):
        os.symlink(os.path.join(inputs, name), os.path.join(made, name))
    # Two photographs of one person: no real capture, but frames like those of one.
    for number, name in enumerate(("obama.jpg", "obama2.jpg")):
        shutil.copy(os.path.join(inputs, "faces", name), os.path.join(made, "frames", f"{number}.jpg"))
    chips = os.path.join(folder, "chips")
    subprocess.run([sys.executable, "Tests/chips.py", chips, "--portrait", os.path.join(inputs, "faces", "obama.jpg")],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.rename(os.path.join(chips, "good_rsa_sha256"), os.path.join(made, "chip"))
    shutil.rmtree(chips)
    return made


def own(trial, number, parts):
    """The parts of job `number`."""
    return {kind: name or vendor.blob(trial, number) for kind, name in parts.items()}


def enrol(trial):
    """Enrols the faces that are authenticated later, without a person: their jobs are none of those that are erased."""
    for number in range(trial.options.jobs):
        if KINDS[number % len(KINDS)][0] == "authentication":
            trial.by_gateway({"workflow": "enrollment", "faceId": trial.marks_of(number)["faceId"]}, {"face": "faces/obama.jpg"})
    trial.wait("SELECT count(*) FROM insp.job WHERE status < 128", "enrolments do not end")


def executed(trial, number, document):
    """What needs a vendor's server or an enrolled face had them."""
    workflow, parts = KINDS[number % len(KINDS)]
    trial.expect("session" not in parts or vendor.answered(trial, number, document), f"the session of job {number} lacks its answer")
    if workflow == "authentication":
        made = document["capabilities"].get("authentication")
        trial.expect(made and made[0]["decision"]["details"]["label"] == "MATCH", f"job {number} has no match: {made}")


def content(path):
    """A part as the gateway takes it; frames are the files of a folder."""
    if os.path.isdir(path):
        return [content(os.path.join(path, name)) for name in sorted(os.listdir(path))]
    with open(path, "rb") as file:
        return {"content": base64.b64encode(file.read()).decode()}


def names():
    """The files of all parts."""
    files = {name for _, parts in KINDS for name in parts.values()} - {"frames", None}
    return sorted(files | {"frames/0.jpg", "frames/1.jpg"})


def places(data):
    """Where marks are taken from a file: behind the beginning of the scan, since what is before it other images of the same encoder
    may have as well, and in the middle."""
    scan = data.find(b"\xff\xda")
    return [place for place in ({scan + 16} if scan >= 0 else set()) | {len(data) // 2} if place + 24 <= len(data)]


def judged(trial):
    """Images that the gateway judges at once, without a job."""
    body = {"parts": {"FRONT": content(trial.input("specimens/passport.jpg"))}}
    status, document = trial.ask("POST", "/usability", json.dumps(body))
    trial.expect(status == 200 and document.get("usability"), f"/usability answers {status}: {document}")


def late(trial):
    """Two jobs after the base backup, which only the archive of WAL has. Returns the time before the erasure."""
    for number in range(len(trial.jobs), len(trial.jobs) + 2):
        request = trial.request(number, "liveness")
        trial.jobs.append((trial.by_gateway(request, dict(KINDS)["enrollment"]), request))
    trial.wait("SELECT count(*) FROM insp.job WHERE status < 128", "late jobs do not end")
    return trial.main.query("SELECT clock_timestamp()::text")[0][0]


def erase(trial, way, job, person):
    """Erases a job by its id, or its person at the command line, or as the partner does at the gateway."""
    if way == 0:
        trial.main.query("SELECT insp.erase(%s)", job)
    elif way == 1:
        erased = json.loads(trial.command("person", "erase", "--partner", "bank", "--reference", person).stdout)
        trial.expect(erased["jobs"] == 1 and erased["keyDestroyed"], f"a person is not erased: {erased}")
    else:
        status, erased = trial.ask("DELETE", "/persons/" + person)
        trial.expect(status == 200 and erased.get("jobs") == 1, f"a person is not erased: {status} {erased}")
