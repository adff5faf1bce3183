"""A liveness vendor's server and sessions for it, which only it can read: what a session says, and what the server answers, has a mark."""

import os
import subprocess


def serve(trial):
    """Starts the server, and names it to workers that start later."""
    key, certificate = trial.path("vendor.key"), trial.path("vendor.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                    "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    trial.device_key = os.urandom(24).hex()
    # Its log is none of the programs' whose logs are searched.
    trial.processes.append(subprocess.Popen(
        ["/usr/bin/python3", "Tests/vendor-server.py", "--certificate", certificate, "--key", key, "--device-key", trial.device_key,
         "--port-file", trial.path("vendor.port"), "--log", trial.path("vendor.received"), "--seconds", "14400"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    port, pin = trial.await_file("vendor.port").split()
    trial.environment.update(
        INSPECTD_VENDOR_URL="https://localhost:" + port, INSPECTD_VENDOR_KEY=trial.device_key, INSPECTD_VENDOR_PINS=pin,
        INSPECTD_VENDOR_CA=certificate, INSPECTD_VENDOR_PRIVATE="yes")


def blob(trial, number):
    """A file with the session of a living person."""
    return trial.write(f"blob{number}", f"live.{trial.marks_of(number)['session']}")


def answered(trial, number, document):
    """Whether a result has what the server answered."""
    return f"answer-to-live.{trial.marks_of(number)['session']}" in str(document)
