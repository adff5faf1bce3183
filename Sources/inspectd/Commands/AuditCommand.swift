import Custody
import Foundation
import InspectCore
import JobQueue

extension Command {
    static let audit = Command(
        name: "audit",
        summary: "exports, follows and verifies the record of who did what, and signs checkpoints and deletions",
        synopsis: "export|follow [--from CHAIN:POSITION...] [--words]\n"
            + "       inspectd audit verify [FILE] [--public-key FILE...] [--since FILE] [--head CHAIN:POSITION:HASH...]\n"
            + "       inspectd audit sign [--audit-key FILE] [--state FILE] [--once]\n"
            + "       inspectd audit deletions --partner NAME [--begin TIME] [--until TIME] [--audit-key FILE]\n"
            + "       inspectd audit verify --deletions FILE --public-key FILE... [EXPORT]\n"
            + "       inspectd audit key [--audit-key FILE] [--new]",
        words: ["export", "follow", "verify", "sign", "deletions", "key"],
        takesOperands: true,
        options: [
            .list("from", "CHAIN:POSITION", "only rows after this position; may be repeated").of("export", "follow"),
            .flag(
                "words",
                "also exports notes of operators and reviewers, which an erasure then removes only from the database"
            )
            .of("export", "follow"),
            .value("seconds", "N", "ends after this time [runs until stopped]").of("follow", "sign"),
            .list("public-key", "FILE", "PEM public key of checkpoints; sign: a former one; may be repeated")
                .of("verify", "sign"),
            .value("since", "FILE", "checkpoints that were kept elsewhere, as sign prints them").of("verify"),
            .list("head", "CHAIN:POSITION:HASH", "a row that you noted; may be repeated").of("verify"),
            .value("deletions", "FILE", "a report of audit deletions, instead of checkpoints").of("verify"),
            .value("audit-key", "FILE", "PEM file with an Ed25519 private key [INSPECTD_AUDIT_KEY_FILE]")
                .of("sign", "deletions", "key"),
            .value("partner", "NAME", "the partner").of("deletions"),
            .value("begin", "TIME", "a day or a time in UTC [the record's]").of("deletions"),
            .value("until", "TIME", "the end of the period, exclusive [now]").of("deletions"),
            .flag("new", "first creates the file with the private key").of("key"),
            .value("every", "SECONDS", "time between two checkpoints [10]").of("sign"),
            .value("state", "FILE", "keeps the last checkpoint here, and continues only from it").of("sign"),
            .flag("once", "signs one checkpoint and ends").of("sign"),
        ] + Configuration.databaseOptions + Configuration.logOptions,
        excluded: ["deletions": ["since", "head"]],
        body: { arguments in
            let configuration = try Configuration(arguments)
            let (word, rest) = (arguments.operands.first, arguments.operands.dropFirst())
            guard rest.isEmpty || word == "verify" && rest.count == 1 else {
                throw UsageError("'audit' takes one subcommand; only 'audit verify' also takes a file")
            }
            let store = RecordStore(databaseURL: configuration.databaseURL)
            switch word {
            case "export": try await AuditExport(arguments, store).run()
            case "follow": try await AuditExport(arguments, store).follow()
            case "verify":
                if let report = arguments["deletions"] {
                    try AuditDeletions(arguments).verify(report, export: rest.first)
                } else {
                    try await AuditVerification(arguments, store).run(file: rest.first)
                }
            case "deletions": try await AuditDeletions(arguments).sign(configuration, store)
            case "sign": try await AuditSigning(arguments, configuration, store).run()
            case "key":
                let path = try AuditKeyFile.path(configuration)
                let key = try arguments.has("new") ? AuditKeyFile.make(path) : AuditKeyFile.read(path)
                Output.text(String(decoding: key.publicKey.pem, as: UTF8.self))
            default: throw UsageError("'audit' needs export, follow, verify, sign, deletions or key")
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
        // A group may read it, as in a Kubernetes volume of secrets.
        guard stat(path, &status) == 0, status.st_mode & 0o037 == 0 else {
            throw InputFile.Failure(description: "--audit-key: \(path) must be readable by its owner only: chmod 600")
        }
        guard let key = Ed25519PrivateKey(pem: bytes) else {
            throw InputFile.Failure(description: "--audit-key: \(path) contains no Ed25519 private key in PEM")
        }
        return key
    }

    /// Never replaces a file: a lost key leaves its checkpoints without a signer.
    static func make(_ path: String) throws -> Ed25519PrivateKey {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw InputFile.Failure(
                description: "--audit-key: \(path) cannot be created: \(String(cString: strerror(errno)))")
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
                throw InputFile.Failure(description: "--public-key: \(path) contains no Ed25519 public key in PEM")
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
