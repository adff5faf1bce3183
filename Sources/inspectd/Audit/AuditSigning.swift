import Custody
import Foundation
import InspectCore
import JobQueue

/// Signs checkpoints of the record until it is stopped, and prints each: a checkpoint that is kept elsewhere proves what the record contained.
struct AuditSigning {
    private let log: Log
    private let store: RecordStore
    private let signer: RecordSigner
    private let every: Duration
    private let deadline: ContinuousClock.Instant?
    private let once: Bool
    private let state: String?

    init(_ arguments: Arguments, _ configuration: Configuration, _ store: RecordStore) throws {
        self.log = configuration.log
        self.store = store
        self.every = .seconds(try arguments.integer("every", in: 1...3600) ?? 10)
        self.deadline = try arguments.integer("seconds", in: 1...1_000_000_000).map { .now + .seconds($0) }
        self.once = arguments.has("once")
        self.state = arguments["state"]
        let key = try AuditKeyFile.read(try AuditKeyFile.path(configuration))
        let former = try AuditKeyFile.readPublic(arguments)
        self.signer = RecordSigner(
            store, key: key, former: former, last: try Self.last(self.state, [key.publicKey] + former))
    }

    /// The last checkpoint of the state file; none: the file does not exist yet.
    private static func last(_ path: String?, _ keys: [Ed25519PublicKey]) throws -> RecordCheckpoint? {
        guard let path, access(path, F_OK) == 0 else { return nil }
        let all = RecordCheckpoint.all(in: try InputFile.read(path, of: "--state", isSetting: true))
        guard let last = all.last, keys.contains(where: { last.isSigned(by: $0) }) else {
            throw InputFile.Failure(description: "--state: \(path) has no checkpoint that is signed by a known key")
        }
        return last
    }

    func run() async throws {
        let stop = StopFlag()
        defer { stop.signals.cancel() }
        var stranger: Int64?
        var stalled: [String] = []
        while true {
            do {
                let checkpoint = try await self.signer.sign()
                if let number = self.signer.stranger, number != stranger {
                    stranger = number
                    self.log.warning("checkpoint of a stranger", ["number": .integer(number)])
                }
                if let checkpoint {
                    Output.line(checkpoint.line)
                    try self.keep(checkpoint)
                    self.log.info(
                        "checkpoint signed",
                        [
                            "number": .integer(checkpoint.number), "key": .string(checkpoint.keyID),
                            "signature": .string(checkpoint.signature.hexadecimal),
                        ])
                }
                // No checkpoint covers them.
                let waiting = try await self.store.stalledChains()
                if waiting != stalled {
                    stalled = waiting
                    if !waiting.isEmpty {
                        self.log.warning(
                            "rows wait for their position", ["chains": .string(waiting.joined(separator: " "))])
                    }
                }
            } catch let refusal as RecordSigner.Refusal {
                self.log.error("checkpoint refused", ["reason": .string(refusal.description)])
                throw refusal
            } catch let error as InspectError where error.code == .databaseUnavailable && !self.once {
                self.log.warning("database unavailable", ["reason": .string(error.description)])
            }
            let next = ContinuousClock.now + self.every
            if self.once || deadline.map({ next > $0 }) ?? false { return }
            while .now < next {
                guard !stop.isSet else { return }
                try await Task.sleep(for: .milliseconds(100))
            }
        }
    }

    private func keep(_ checkpoint: RecordCheckpoint) throws {
        guard let state else { return }
        // Renamed when it is complete: half a line would stop the next start.
        let draft = state + ".new"
        guard
            FileManager.default.createFile(
                atPath: draft, contents: Data((checkpoint.line + "\n").utf8), attributes: [.posixPermissions: 0o600]),
            rename(draft, state) == 0
        else { throw InputFile.Failure(description: "--state: \(state) cannot be written") }
    }
}
