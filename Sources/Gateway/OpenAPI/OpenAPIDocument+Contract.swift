extension OpenAPIDocument {
    /// What everyone may call.
    static var contract: String {
        #"""
            "/oauth2/token": {
              "post": {
                "operationId": "getToken",
                "summary": "An access token for a credential (RFC 6749, section 4.4)",
                "description": "The credential comes by HTTP Basic, or as client_id and client_secret.",
                "security": [{ "basic": [] }, {}],
                "requestBody": {
                  "required": true,
                  "content": { "application/x-www-form-urlencoded": { "schema": { "$ref": "#/components/schemas/TokenRequest" } } }
                },
                "responses": {
                  "200": {
                    "description": "The token",
                    "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Token" } } }
                  },
                  "400": {
                    "description": "Refused",
                    "content": {
                      "application/json": { "schema": { "$ref": "#/components/schemas/TokenRefusal" } },
                      "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } }
                    }
                  },
                  "401": {
                    "description": "No credential, or a wrong one",
                    "content": { "application/json": { "schema": { "$ref": "#/components/schemas/TokenRefusal" } } }
                  },
                  \#(Self.refusals(405, 413, 415, 429, 503))
                }
              }
            },
            "/errors": {
              "get": {
                "operationId": "listErrors",
                "summary": "Every error code",
                "security": [],
                "responses": {
                  "200": { "description": "The table", "content": { "application/json": { "schema": { "$ref": "#/components/schemas/ErrorTable" } } } },
                  \#(Self.refusals(400, 405, 429))
                }
              }
            },
            "/openapi.json": {
              "get": {
                "operationId": "getDescription",
                "summary": "This document",
                "security": [],
                "responses": {
                  "200": { "description": "OpenAPI 3.1", "content": { "application/json": { "schema": { "type": "object" } } } },
                  \#(Self.refusals(400, 405, 429))
                }
              }
            }
        """#
    }
}
