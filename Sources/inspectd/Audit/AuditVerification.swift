import Custody
import Foundation
import InspectCore
import JobQueue

/// Verifies an export without a database, or the record in the database.
struct AuditVerification {
    private let store: RecordStore
    private let keys: [Ed25519PublicKey]
    private let kept: [RecordCheckpoint]
    private let noted: [(chain: String, place: RecordPlace)]

    init(_ arguments: Arguments, _ store: RecordStore) throws {
        self.store = store
        self.keys = try AuditKeyFile.readPublic(arguments)
        self.kept =
            try arguments["since"].map { path in
                let all = RecordCheckpoint.all(in: try InputFile.read(path, of: "--since", isSetting: true))
                guard !all.isEmpty else {
                    throw InputFile.Failure(description: "--since: \(path) has no checkpoint")
                }
                return all
            } ?? []
        var noted: [(chain: String, place: RecordPlace)] = []
        for text in arguments.all("head") {
            let pieces = text.split(separator: ":")
            guard pieces.count == 3, let seq = Int64(pieces[1]),
                let place = RecordPlace(seq: seq, hash: String(pieces[2]))
            else {
                throw UsageError("--head takes a chain, a position and a hash of 64 digits, such as operator:17:0f…")
            }
            noted.append((String(pieces[0]), place))
        }
        self.noted = noted
    }

    /// - Parameter file: An export; `-` is standard input; `nil`: the database.
    func run(file: String?) async throws {
        let start = ContinuousClock.now
        let verdict: RecordVerdict
        if let file {
            verdict = try self.verify(file)
        } else {
            verdict = try await self.verifyDatabase()
        }
        let report = Report(verdict, hasKeys: !self.keys.isEmpty, seconds: (ContinuousClock.now - start).seconds)
        Output.line(ResultEnvelope.json(report))
        switch verdict.outcome {
        case .whole: break
        case .broken: throw Failure()
        case .inconclusive: throw Failure(status: 3)
        }
    }

    private func verifier() -> RecordVerifier {
        var verifier = RecordVerifier(keys: self.keys)
        for checkpoint in self.kept { verifier.expect(checkpoint) }
        for (chain, place) in self.noted { verifier.expect(place, in: chain) }
        return verifier
    }

    private func verify(_ path: String) throws -> RecordVerdict {
        var verifier = self.verifier()
        try LineFile(path: path).forEach { verifier.take($0) }
        return verifier.finish()
    }

    private func verifyDatabase() async throws -> RecordVerdict {
        var rounds = 0
        while true {
            let heads = try await self.store.heads().heads
            let last = try await self.store.lastCheckpoint()
            var verifier = self.verifier()
            verifier.begin(heads.chains.mapValues(\.anchor), isPartial: false)
            for (name, ends) in heads.chains.sorted(by: { $0.key < $1.key }) {
                var place = ends.anchor.seq
                while place < ends.head.seq {
                    let lines = try await self.store.rows(of: name, after: place, words: true)
                    guard let end = lines.last else { break }
                    for line in lines where line.number <= ends.head.seq {
                        line.text.withUnsafeBytes { verifier.take($0) }
                    }
                    place = end.number
                }
                verifier.end(name, at: ends.head)
            }
            var number: Int64 = 0
            while number < last {
                let lines = try await self.store.checkpoints(after: number)
                guard let end = lines.last else { break }
                // A newer one covers rows that were not read.
                for line in lines where line.number <= last { line.text.withUnsafeBytes { verifier.take($0) } }
                number = end.number
            }
            verifier.end()
            var verdict = verifier.finish()
            for name in try await self.store.stalledChains() {
                verdict.doubts.append(
                    RecordFault(
                        kind: .waiting, chain: name, seq: nil,
                        message: "chain \(name): rows wait for their position, and can be removed unnoticed"))
            }
            for (name, seq) in try await self.store.strays() {
                verdict.faults.append(
                    RecordFault(
                        kind: .inserted, chain: name, seq: seq,
                        message: "chain \(name): a row was written past the chain, which does not reach it"))
            }
            rounds += 1
            // Retention may have removed rows that were to be read, and an erasure may have removed words whose row of the record was not read.
            let now = try await self.store.heads().heads
            let hasMoved = now.chains.contains { $1.anchor != heads.chains[$0]?.anchor }
            let hasErased = verdict.doubts.contains { $0.kind == .erased } && now != heads
            guard verdict.outcome != .whole, hasMoved || hasErased, rounds < 5 else { return verdict }
        }
    }

    private struct Report: Encodable {
        struct Fault: Encodable {
            var kind: String
            var chain: String?
            var place: Int64?
            var message: String
        }
        struct Chain: Encodable {
            var first: Int64?
            var last: Int64?
            var hash: String
            var rows: Int64
            var erased: Int64
            var unsigned: Int64
        }
        struct Checkpoints: Encodable {
            var count: Int
            var verified: Int
            var last: Int64?
            var at: String?
        }

        var outcome: String
        var faults: [Fault]
        var doubts: [Fault]
        var rows: Int64
        var chains: [String: Chain]
        var checkpoints: Checkpoints
        var signatures: String
        var partial: Bool
        var seconds: Double

        init(_ verdict: RecordVerdict, hasKeys: Bool, seconds: Double) {
            self.outcome = verdict.outcome.rawValue
            func list(_ found: [RecordFault]) -> [Fault] {
                found.map { Fault(kind: $0.kind.rawValue, chain: $0.chain, place: $0.seq, message: $0.message) }
            }
            self.faults = list(verdict.faults)
            self.doubts = list(verdict.doubts)
            self.chains = verdict.chains.mapValues {
                Chain(
                    first: $0.first, last: $0.last, hash: $0.hash, rows: $0.rows, erased: $0.erased,
                    unsigned: $0.unsigned)
            }
            self.rows = verdict.chains.values.reduce(0) { $0 + $1.rows }
            self.checkpoints = Checkpoints(
                count: verdict.checkpoints, verified: verdict.signed, last: verdict.lastCheckpoint?.number,
                at: verdict.lastCheckpoint.map {
                    Date(timeIntervalSince1970: Double($0.atMicroseconds) / 1_000_000)
                        .formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
                })
            self.signatures = hasKeys ? "verified" : "not verified: no --public-key was given"
            self.partial = verdict.isPartial
            self.seconds = (seconds * 1000).rounded() / 1000
        }
    }
}
