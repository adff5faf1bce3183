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
          "security": [{ "token": [] }, { "basic": [] }, { "bearer": [] }],
          "paths": {
        \#(Self.jobs),
        \#(Self.sessions),
        \#(Self.persons),
        \#(Self.contract)
          },
          "components": {
            "securitySchemes": {
              "token": {
                "type": "oauth2",
                "description": "An access token from /oauth2/token",
                "flows": { "clientCredentials": { "tokenUrl": "/oauth2/token", "scopes": { \#(Self.scopes) } } }
              },
              "basic": { "type": "http", "scheme": "basic", "description": "Key id and secret. Deprecated but for /oauth2/token" },
              "bearer": { "type": "http", "scheme": "bearer", "description": "Key id, point, secret of a credential. Deprecated" }
            },
            "parameters": {
              "id": { "name": "id", "in": "path", "required": true, "description": "A job's id", "schema": { "type": "string", "format": "uuid" } },
              "faceId": { "name": "faceId", "in": "path", "required": true, "description": "Your own name for a face", "schema": { "type": "string", "minLength": 1, "maxLength": 100, "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f]+$" } },
              "userReference": { "name": "userReference", "in": "path", "required": true, "description": "Your own name for a person", "schema": { "type": "string", "minLength": 1, "maxLength": 100, "pattern": "^[^\\u0000-\\u001f\\u007f]+$" } },
              "idempotencyKey": { "name": "Idempotency-Key", "in": "header", "schema": { "type": "string", "minLength": 1, "maxLength": 100, "pattern": "^[!-~]+$" } },
              "wait": {
                "name": "wait",
                "in": "query",
                "description": "Seconds to wait for status 128 (the legacy synchronous call)",
                "schema": { "type": "integer", "minimum": 0, "maximum": \#(longestWaitSeconds) }
              }
            },
            "responses": {
              "Problem": {
                "description": "Refused (RFC 9457)",
                "content": { "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } } }
              },
              "Unauthorized": {
                "description": "No valid credential",
                "headers": { "WWW-Authenticate": { "required": true, "schema": { "type": "string" } } },
                "content": { "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } } }
              },
              "MethodNotAllowed": {
                "description": "The path takes another method",
                "headers": { "Allow": { "required": true, "schema": { "type": "string" } } },
                "content": { "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } } }
              },
              "Later": {
                "description": "Not now: too many requests, or no database",
                "headers": { "Retry-After": { "required": true, "schema": { "type": "integer" } } },
                "content": { "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } } }
              }
            },
            "schemas": {
        \#(Self.schemas),
        \#(Self.personSchemas)
            }
          }
        }

        """#
    }

    /// The scopes with their meaning.
    private static var scopes: String {
        GatewayCredential.Scope.allCases.map { #""\#($0.rawValue)": "\#($0.meaning)""# }.joined(separator: ", ")
    }

    /// The security of a call that needs a scope.
    static func security(_ scope: GatewayCredential.Scope) -> String {
        #""security": [{ "token": ["\#(scope.rawValue)"] }, { "basic": [] }, { "bearer": [] }]"#
    }

    /// The responses of an operation that refuse a request.
    static func refusals(_ statuses: Int...) -> String {
        statuses.map { status in
            let response =
                switch status {
                case 401: "Unauthorized"
                case 405: "MethodNotAllowed"
                case 429, 503: "Later"
                default: "Problem"
                }
            return ##""\##(status)": { "$ref": "#/components/responses/\##(response)" }"##
        }.joined(separator: ",\n" + String(repeating: " ", count: 10))
    }
}
