import Custody
import Foundation
import InspectCore

/// `inspectd keys restore`.
extension Command {
    static func restore(_ configuration: Configuration, _ arguments: Arguments) async throws {
        guard let escrow = arguments["escrow"], let key = arguments["private-key"], let name = arguments["to"] else {
            throw UsageError("'keys restore' needs --escrow, --private-key and --to")
        }
        let opener = try KeyEscrow.Opener(pem: try InputFile.read(key, of: "--private-key", isSetting: true))
        let lines = try InputFile.read(escrow, of: "--escrow", isSetting: true).split(separator: 0x0A)
        // A damaged line costs only its own key.
        let entries = lines.compactMap { try? JSONDecoder().decode(KeyEscrow.Entry.self, from: $0) }
        // Of a key store without partners it is empty.
        guard lines.isEmpty || !entries.isEmpty else { throw UsageError("--escrow \(escrow) contains no escrow") }
        let store = try Self.keyStore(configuration)
        try await store.checkPair(try await Self.noted(configuration))
        // Before anything is changed.
        try await Self.record("restore_begin", nil, configuration)
        let outcome = try await store.restore(entries, with: opener, to: name)
        try await Self.record("restore", outcome.rewrapped, configuration)
        try await Self.finish(outcome, store, configuration, damagedLines: lines.count - entries.count)
    }
}
