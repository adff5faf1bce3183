"""The gateway's description as a judge of what it answers. Imported by partner.py."""

import json

import jsonschema


class Schemas:
    """The description's schemas, as they are for partners and closed: what a test produces must not have a member that they lack."""

    def __init__(self, document):
        self.document = document
        self.closed = json.loads(json.dumps(document))
        for schema in self.closed["components"]["schemas"].values():
            self.close(schema)

    def close(self, node):
        if isinstance(node, dict):
            if "properties" in node and node.get("type") == "object":
                node.setdefault("additionalProperties", False)
            for child in node.values():
                self.close(child)
        elif isinstance(node, list):
            for child in node:
                self.close(child)

    def faults(self, value, name):
        """Where a value does not fit a schema: paths and keywords, never values."""
        validator = jsonschema.Draft202012Validator(
            {"$ref": f"#/components/schemas/{name}", "components": self.closed["components"]},
            format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER)
        return [f"{name}{error.json_path[1:]}: {error.validator} {str(error.validator_value)[:80]}" for error in validator.iter_errors(value)]
