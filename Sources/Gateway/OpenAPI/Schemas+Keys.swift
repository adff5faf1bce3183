extension OpenAPIDocument {
    /// Public keys.
    static let keySchemas = ##"""
              "PublicKey": {
                "type": "object",
                "description": "A JWK (RFC 7517) without private members: RSA of 2048 to 4096 bits, or EC",
                "required": ["kty"],
                "properties": {
                  "kty": { "enum": ["RSA", "EC"] },
                  "use": { "enum": ["enc"] },
                  "alg": { "enum": ["RSA-OAEP-256", "ECDH-ES"] },
                  "kid": { "type": "string", "minLength": 1, "maxLength": 100, "pattern": "^[!-~]+$", "description": "The key's name; without it, its thumbprint (RFC 7638)" },
                  "n": { "type": "string", "pattern": "^[A-Za-z0-9_-]+$" },
                  "e": { "type": "string", "pattern": "^[A-Za-z0-9_-]+$" },
                  "crv": { "enum": ["P-256", "P-384", "P-521"] },
                  "x": { "type": "string", "pattern": "^[A-Za-z0-9_-]+$" },
                  "y": { "type": "string", "pattern": "^[A-Za-z0-9_-]+$" }
                }
              },
              "KeySet": {
                "type": "object",
                "required": ["keys"],
                "properties": { "keys": { "type": "array", "items": { "$ref": "#/components/schemas/PublicKey" } } }
              }
        """##
}
