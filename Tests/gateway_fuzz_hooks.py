"""What gateway-fuzz.sh adds to schemathesis: names and blobs that exist, and what passes under load.

One 5xx may pass: a 503 whose code says that a queue was full. That it is described and has Retry-After is checked as of any answer.
Each 5xx is a line of the file FUZZ_FAULTS: status, code, method and path of the description.
"""

import json
import os
import uuid

import schemathesis

FULL = {"GATEWAY_OVERLOADED"}
# What vendor-server.py takes. Neither those that are tried again nor those that hang: a worker would do nothing else.
BLOBS = ("start", "live", "match7", "match0", "spoof", "front", "scan7", "scan0", "guide", "guidespoof", "error", "text", "list", "both",
         "quarrel", "level", "mute", "step", "two", "html", "broken", "bad", "torn", "drop", "deep")
# Of checks that a full queue cannot pass. Those of the description stay.
EXCUSED = {"not_a_server_error", "negative_data_rejection", "missing_required_header", "unsupported_method"}


def code(response):
    try:
        return json.loads(response.content).get("code")
    except (ValueError, AttributeError):
        return None


def is_full(response):
    return response.status_code == 503 and code(response) in FULL


@schemathesis.hook
def map_body(context, body):
    """A blob that the vendor's server can read, where one is given; each is a session of its own."""
    if context.operation is None or context.operation.path != "/facetec/session" or not isinstance(body, dict):
        return body
    blob = body.get("sessionRequestBlob")
    if not isinstance(blob, str) or not blob:
        return body
    kind = BLOBS[sum(blob.encode("utf-8", "surrogatepass")) % len(BLOBS)]
    return {**body, "sessionRequestBlob": f"{kind}.{uuid.uuid5(uuid.NAMESPACE_OID, repr(sorted(body.items(), key=repr)))}"}


@schemathesis.hook
def map_path_parameters(context, path_parameters):
    """Every other endpoint is the one that exists."""
    number = path_parameters.get("endpoint") if isinstance(path_parameters, dict) else None
    # What the description refuses stays: it must be refused.
    if isinstance(number, int) and not isinstance(number, bool) and 1 <= number < 2**53 and number % 2:
        return {**path_parameters, "endpoint": int(os.environ["FUZZ_ENDPOINT"])}
    return path_parameters


@schemathesis.hook
def after_call(context, case, response):
    if response.status_code >= 500:
        with open(os.environ["FUZZ_FAULTS"], "a") as faults:
            faults.write(f"{response.status_code} {code(response)} {case.operation.method.upper()} {case.operation.path}\n")


@schemathesis.hook
def filter_failure(context, failure, case, response):
    return not (is_full(response) and EXCUSED & set(failure.checks))
