import Callbacks
import Foundation
import InspectCore

extension Command {
    static let verify = Command(
        name: "verify",
        summary:
            "checks that a callback is authentic and recent, as its receiver must (Standard Webhooks v1 and v1a)",
        synopsis: "--id ID --timestamp T --signature S [--secret-file FILE] [--public-key whpk_…] [--body FILE]",
        options: [
            .value("id", "ID", "header webhook-id"),
            .value("timestamp", "SECONDS", "header webhook-timestamp"),
            .value("signature", "LIST", "header webhook-signature"),
            .list("secret-file", "FILE", "a file with a secret (whsec_…); may be repeated"),
            .list("public-key", "KEY", "a public key (whpk_…) for v1a; may be repeated"),
            .value("body", "FILE", "the body as received [standard input]"),
            .value("now", "SECONDS", "the receiver's clock, for tests [the system's]"),
            .flag("new-key", "prints a new key pair for v1a instead: {\"private\", \"public\"}"),
        ],
        excluded: ["new-key": ["id", "timestamp", "signature", "secret-file", "public-key", "body", "now"]],
        body: { arguments in
            if arguments.has("new-key") {
                let key = WebhookSigningKey.generate()
                return Output.line(ResultEnvelope.json(["private": key.text, "public": key.publicKey.text]))
            }
            let now = try arguments.integer("now", in: 0...Int(Int32.max)).map {
                Date(timeIntervalSince1970: Double($0))
            }
            let verifier = try Command.verifier(arguments)
            let body =
                try arguments["body"].map { try InputFile.read($0, of: "--body") }
                ?? FileHandle.standardInput.readToEnd() ?? Data()
            do throws(WebhookVerifier.Refusal) {
                try verifier.verify(
                    id: arguments["id"] ?? "", timestamp: arguments["timestamp"] ?? "",
                    signature: arguments["signature"] ?? "", body: [UInt8](body), now: now ?? Date())
            } catch {
                Output.line(ResultEnvelope.json(["verified": "no", "refusal": error.rawValue]))
                throw Failure()
            }
            Output.line(ResultEnvelope.json(["verified": "yes"]))
        }
    )

    /// Secrets come from files: every process on the machine can read `argv`.
    private static func verifier(_ arguments: Arguments) throws -> WebhookVerifier {
        let secrets = try arguments.all("secret-file").map { path in
            let text = try InputFile.read(path, of: "--secret-file", isSetting: true)
            guard
                let secret = WebhookSecret(
                    String(decoding: text, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines))
            else {
                throw UsageError("--secret-file: the file contains no Standard Webhooks secret")
            }
            return secret
        }
        let keys = try arguments.all("public-key").map { text in
            guard let key = WebhookPublicKey(text) else {
                throw UsageError("--public-key takes whpk_ and the base64 of 32 bytes")
            }
            return key
        }
        guard !secrets.isEmpty || !keys.isEmpty else { throw UsageError("'verify' needs a secret or a public key") }
        return WebhookVerifier(secrets: secrets, publicKeys: keys)
    }
}
