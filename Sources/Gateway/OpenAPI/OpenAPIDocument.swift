internal import InspectCore

/// The gateway's interface as OpenAPI 3.1, served at `/openapi.json`.
///
/// It describes the form of a request. `insp.enqueue` checks rules between members, such as the parts that a workflow
/// requires, and answers with its own codes.
enum OpenAPIDocument {
    /// - Parameter longestWaitSeconds: How long a client may wait in one request.
    static func text(longestWaitSeconds: Int) -> String {
        #"""
        {
          "openapi": "3.1.0",
          "info": {
            "title": "inspectd gateway",
            "version": "1",
            "description": "Accepts identity inspections and returns their status. Results are valid only at status 128."
          },
          "servers": [{ "url": "/" }],
          "security": [{ "token": [] }, { "basic": [] }, { "bearer": [] }],
          "paths": {
        \#(Self.paths)
          },
          "webhooks": {
        \#(Self.webhooks)
          },
          "components": {
            "securitySchemes": {
              "token": {
                "type": "oauth2",
                "description": "An access token from /oauth2/token",
                "flows": { "clientCredentials": { "tokenUrl": "/oauth2/token", "scopes": { \#(Self.scopes) } } }
              },
              "basic": { "type": "http", "scheme": "basic", "description": "Key id and secret. Deprecated except for /oauth2/token: answered until \#(Deprecation.credentialSecret.end)" },
              "bearer": { "type": "http", "scheme": "bearer", "description": "Key id, dot, secret of a credential. Deprecated: answered until \#(Deprecation.credentialSecret.end)" }
            },
            "parameters": {
              "id": { "name": "id", "in": "path", "required": true, "description": "A job's id", "schema": { "type": "string", "format": "uuid" } },
              "faceId": { "name": "faceId", "in": "path", "required": true, "description": "Your own name for a face", "schema": { "type": "string", "minLength": 1, "maxLength": 100, "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f]+$" } },
              "userReference": { "name": "userReference", "in": "path", "required": true, "description": "Your own name for a person", "schema": { "type": "string", "minLength": 1, "maxLength": 100, "pattern": "^[^\\u0000-\\u001f\\u007f]+$" } },
              "webhookId": { "name": "webhookId", "in": "path", "required": true, "schema": { "type": "string", "pattern": "^msg_[0-9a-z_]{1,60}$" } },
              "endpoint": { "name": "endpoint", "in": "path", "required": true, "schema": { "type": "integer", "minimum": 1, "maximum": 9007199254740991 } },
              "kind": { "name": "kind", "in": "path", "required": true, "schema": { "enum": [\#(Self.kinds)] } },
              "token": { "name": "token", "in": "path", "required": true, "description": "Of a capture link", "schema": { "type": "string", "pattern": "^[A-Za-z0-9_-]{43}$" } },
              "asset": { "name": "asset", "in": "path", "required": true, "schema": { "enum": [\#(CaptureAsset.all.map { "\"\($0.name)\"" }.joined(separator: ", "))] } },
              "after": { "name": "after", "in": "query", "description": "next from the previous page", "schema": { "type": "string", "format": "uuid" } },
              "idempotencyKey": { "name": "Idempotency-Key", "in": "header", "schema": { "type": "string", "minLength": 1, "maxLength": 100, "pattern": "^[!-~]+$" } },
              "wait": {
                "name": "wait",
                "in": "query",
                "description": "Seconds to wait for status 128 (the legacy synchronous call), or for an event",
                "schema": { "type": "integer", "minimum": 0, "maximum": \#(longestWaitSeconds) }
              }
            },
            "headers": {
              "RateLimit": { "description": "How many requests are left (r), and after how many seconds all of them are available again (t)", "schema": { "type": "string" } },
              "RateLimit-Policy": { "description": "How many requests may be sent at once (q), and the seconds in which as many become available again (w)", "schema": { "type": "string" } },
              "Deprecation": { "description": "Since when there has been a replacement for a feature that the request used, such as a token instead of the secret (RFC 9745)", "schema": { "type": "string" } },
              "Sunset": { "description": "The earliest date on which that feature may stop working (RFC 8594)", "schema": { "type": "string" } },
              "Link": { "description": "A description of the deprecation, as rel=deprecation (RFC 8288)", "schema": { "type": "string" } }
            },
            "responses": {
              "Problem": {
                "description": "Refused (RFC 9457)",
                "headers": { \#(Self.usual(isScoped: true)) },
                "content": { "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" }\#(OpenAPIExample.member([.refused])) } }
              },
              "Unauthorized": {
                "description": "No valid credential",
                "headers": { "WWW-Authenticate": { "required": true, "schema": { "type": "string" }, "description": "Basic and Bearer; only Bearer if the request had a token" } },
                "content": { "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } } }
              },
              "MethodNotAllowed": {
                "description": "The path does not take this method",
                "headers": { "Allow": { "required": true, "schema": { "type": "string" }, "description": "The methods that the path takes" } },
                "content": { "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } } }
              },
              "Later": {
                "description": "Not now: too many requests, no room for this one, or the database is unavailable",
                "headers": { "Retry-After": { "required": true, "schema": { "type": "integer" }, "description": "Seconds" }, \#(Self.usual(isScoped: true)) },
                "content": { "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } } }
              }
            },
            "examples": {
        \#(OpenAPIExample.components)
            },
            "schemas": {
        \#(Self.schemas.joined(separator: ",\n"))
            }
          }
        }

        """#
    }

    /// The headers that every answer to a known credential has.
    ///
    /// - Parameter isScoped: Whether the call has a scope, so that a secret in place of a token is deprecated.
    static func usual(isScoped: Bool) -> String {
        (["RateLimit", "RateLimit-Policy"] + (isScoped ? ["Deprecation", "Sunset", "Link"] : []))
            .map { ##""\##($0)": { "$ref": "#/components/headers/\##($0)" }"## }.joined(separator: ", ")
    }

    /// The schemas of requests and answers.
    private static var schemas: [String] {
        [
            self.requestSchemas, self.resultSchemas, self.capabilitySchemas, self.answerSchemas, self.personSchemas,
            self.callbackSchemas, self.eventSchemas, self.keySchemas, self.captureSchemas,
            #""Description": { "type": "object" }"#,
        ]
    }

    private static var kinds: String { PartKind.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ") }

    /// The scopes with their meaning.
    private static var scopes: String {
        GatewayCredential.Scope.allCases.map { #""\#($0.rawValue)": "\#($0.meaning)""# }.joined(separator: ", ")
    }

    /// The calls, each path once and in the table's order.
    private static var paths: String {
        var paths: [(path: String, calls: [String])] = []
        for route in GatewayRoute.all {
            if let index = paths.firstIndex(where: { $0.path == route.path }) {
                paths[index].calls.append(route.described)
            } else {
                paths.append((route.path, [route.described]))
            }
        }
        return paths.map { "    \"\($0.path)\": {\n      \($0.calls.joined(separator: ",\n      "))\n    }" }
            .joined(separator: ",\n")
    }

    /// The requests to endpoints (Standard Webhooks).
    private static var webhooks: String {
        [
            ("jobEvent", "JobEvent", "Something happened to a job", [OpenAPIExample.finished]),
            ("endpointEvent", "EndpointEvent", "Something happened to an endpoint", []),
        ]
        .map { name, schema, summary, examples in
            let headers = [
                ("webhook-id", "The same in every attempt"),
                ("webhook-timestamp", "Seconds since 1970, of this attempt"),
                ("webhook-signature", "One signature or more"),
            ].map { Operation.Parameter.header($0.0, $0.1).text }.joined(separator: ", ")
            return ##"""
                    "\##(name)": {
                      "post": {
                        "operationId": "\##(name)",
                        "summary": "\##(summary)",
                        "security": [],
                        "parameters": [\##(headers)],
                        "requestBody": {
                          "required": true,
                          "description": "If you have registered a public key, a JWE of the body",
                          "content": {
                            "application/json": { "schema": { "$ref": "#/components/schemas/\##(schema)" }\##(OpenAPIExample.member(examples)) },
                            "application/jose": { "schema": { "type": "string", "description": "A JWE in compact form, of the same JSON: verify the signature over it, then decrypt" } }
                          }
                        },
                        "responses": { "2XX": { "description": "Received; after any other status the callback is sent again" } }
                      }
                    }
                """##
        }.joined(separator: ",\n")
    }

    /// The response that refuses a request with this status.
    static func refusal(_ status: Int) -> String {
        let response =
            switch status {
            case 401: "Unauthorized"
            case 405: "MethodNotAllowed"
            case 429, 503: "Later"
            default: "Problem"
            }
        return ##""\##(status)": { "$ref": "#/components/responses/\##(response)" }"##
    }
}
