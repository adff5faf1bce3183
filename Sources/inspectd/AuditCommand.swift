import Custody
import Foundation
import InspectCore
import JobQueue

extension Command {
    static let audit = Command(
        name: "audit",
        summary: "exports, follows and verifies the record of who did what, and signs checkpoints of it",
        synopsis: "export|follow [--from CHAIN:PLACE...] [--words]\n"
            + "       inspectd audit verify [FILE] [--public-key FILE...] [--since FILE] [--head CHAIN:PLACE:HASH...]\n"
            + "       inspectd audit sign [--audit-key FILE] [--state FILE] [--once]\n"
            + "       inspectd audit key [--audit-key FILE] [--new]",
        words: ["export", "follow", "verify", "sign", "key"],
        takesOperands: true,
        options: [
            .list("from", "CHAIN:PLACE", "export, follow: rows behind this place only; may be repeated"),
            .flag(
                "words", "export, follow: also texts of operators and reviewers, which an erasure removes here alone"),
            .value("seconds", "N", "follow, sign: ends after this time [runs until stopped]"),
            .list(
                "public-key", "FILE",
                "verify: PEM key that checkpoints are signed with; sign: a former one; may be repeated"),
            .value("since", "FILE", "verify: checkpoints that were kept elsewhere, as sign prints them"),
            .list("head", "CHAIN:PLACE:HASH", "verify: a row that was noted; may be repeated"),
            .value("audit-key", "FILE", "sign, key: PEM private key of Ed25519 [INSPECTD_AUDIT_KEY_FILE]"),
            .flag("new", "key: makes the file of the private key first"),
            .value("every", "SECONDS", "sign: time between two checkpoints [10]"),
            .value("state", "FILE", "sign: keeps the last checkpoint here, and continues from it alone"),
            .flag("once", "sign: signs one checkpoint and ends"),
        ] + Configuration.databaseOptions + Configuration.logOptions,
        body: { arguments in
            let configuration = try Configuration(arguments)
            let (word, rest) = (arguments.operands.first, arguments.operands.dropFirst())
            guard rest.isEmpty || word == "verify" && rest.count == 1 else {
                throw UsageError("audit takes one word, and verify one file")
            }
            let store = RecordStore(databaseURL: configuration.databaseURL)
            switch word {
            case "export": try await AuditExport(arguments, store).run()
            case "follow": try await AuditExport(arguments, store).follow()
            case "verify": try await AuditVerification(arguments, store).run(file: rest.first)
            case "sign": try await AuditSigning(arguments, configuration, store).run()
            case "key":
                let path = try AuditKeyFile.path(configuration)
                let key = try arguments.has("new") ? AuditKeyFile.make(path) : AuditKeyFile.read(path)
                Output.text(String(decoding: key.publicKey.pem, as: UTF8.self))
            default: throw UsageError("audit takes export, follow, verify, sign or key")
            }
            await store.close()
        }
    )
}

/// The file of the signing key.
enum AuditKeyFile {
    static func path(_ configuration: Configuration) throws(UsageError) -> String {
        guard let path = configuration.auditKey else {
            throw UsageError("--audit-key or INSPECTD_AUDIT_KEY_FILE is missing")
        }
        return path
    }

    static func read(_ path: String) throws -> Ed25519PrivateKey {
        let bytes = try InputFile.read(path, of: "--audit-key", limit: 1 << 16, isSetting: true)
        var status = stat()
        // A group may read it, as in a volume of secrets of Kubernetes.
        guard stat(path, &status) == 0, status.st_mode & 0o037 == 0 else {
            throw InputFile.Failure(description: "--audit-key: \(path) is not its owner's alone: chmod 600")
        }
        guard let key = Ed25519PrivateKey(pem: bytes) else {
            throw InputFile.Failure(description: "--audit-key: \(path) has no PEM private key of Ed25519")
        }
        return key
    }

    /// Never replaces a file: a lost key leaves its checkpoints without a signer.
    static func make(_ path: String) throws -> Ed25519PrivateKey {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw InputFile.Failure(
                description: "--audit-key: \(path) cannot be made: \(String(cString: strerror(errno)))")
        }
        let key = Ed25519PrivateKey()
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try handle.write(contentsOf: key.pem)
        try handle.synchronize()
        return key
    }

    static func readPublic(_ arguments: Arguments) throws -> [Ed25519PublicKey] {
        try arguments.all("public-key").map { path in
            let bytes = try InputFile.read(path, of: "--public-key", limit: 1 << 16, isSetting: true)
            guard let key = Ed25519PublicKey(pem: bytes) else {
                throw InputFile.Failure(description: "--public-key: \(path) has no PEM public key of Ed25519")
            }
            return key
        }
    }
}

extension RecordCheckpoint {
    /// Every checkpoint in a file of lines; other lines are left out, so that an earlier export serves as well.
    static func all(in bytes: Data) -> [RecordCheckpoint] {
        bytes.split(separator: 0x0A).compactMap { line in
            Data(line).withUnsafeBytes { RecordCheckpoint(line: $0) }
        }
    }
}
