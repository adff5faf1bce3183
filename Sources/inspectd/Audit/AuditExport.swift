import Custody
import Foundation
import InspectCore
import JobQueue

/// Prints the record as JSON lines: one with the start of each chain, then checkpoints and rows, and one with the end of each chain.
struct AuditExport {
    private let store: RecordStore
    private let words: Bool
    private let seconds: Int?
    private let from: [(chain: String, seq: Int64)]

    init(_ arguments: Arguments, _ store: RecordStore) throws(UsageError) {
        self.store = store
        self.words = arguments.has("words")
        self.seconds = try arguments.integer("seconds", in: 1...1_000_000_000)
        var from: [(chain: String, seq: Int64)] = []
        for text in arguments.all("from") {
            let pieces = text.split(separator: ":")
            guard pieces.count == 2, let seq = Int64(pieces[1]), seq >= 0 else {
                throw UsageError("--from takes a chain and a position, such as operator:17")
            }
            from.append((String(pieces[0]), seq))
        }
        self.from = from
    }

    func run() async throws {
        let heads = try await self.store.heads().heads
        let starts = try await self.starts(heads.chains.mapValues(\.anchor))
        Output.line(try Self.header(starts, isPartial: !self.from.isEmpty))
        // They come first, so that a reader can compare rows as they arrive.
        let (checkpoints, _) = try await self.checkpoints(after: 0, upTo: try await self.store.lastCheckpoint())
        var ends = starts
        var rows = 0
        for name in starts.keys.sorted() {
            guard let start = starts[name], let end = heads.chains[name]?.head else { continue }
            ends[name] = end.seq > start.seq ? end : start
            rows += try await self.rows(of: name, after: start.seq, upTo: end.seq)
        }
        Output.line(try Self.end(ends, rows: rows, checkpoints: checkpoints))
    }

    /// Prints new rows and checkpoints as they arrive.
    func follow() async throws {
        let deadline = self.seconds.map { ContinuousClock.now + .seconds($0) }
        let stop = StopFlag()
        defer { stop.signals.cancel() }
        var places = try await self.starts(try await self.store.heads().heads.chains.mapValues(\.head))
        // Checkpoints that cover none of the following rows were printed before, or not requested.
        var number = self.from.isEmpty ? try await self.store.lastCheckpoint() : 0
        Output.line(try Self.header(places, isPartial: true))
        var (rows, checkpoints) = (0, 0)
        while true {
            let isLast = stop.isSet || deadline.map { .now >= $0 } ?? false
            // The number is read first: the rows that a checkpoint covers are printed before it.
            let newest = try await self.store.lastCheckpoint()
            let heads = try await self.store.heads().heads
            for name in places.keys.sorted() {
                guard let place = places[name], let end = heads.chains[name]?.head, end.seq > place.seq else {
                    continue
                }
                rows += try await self.rows(of: name, after: place.seq, upTo: end.seq)
                places[name] = end
            }
            let printed = try await self.checkpoints(after: number, upTo: newest)
            checkpoints += printed.count
            number = printed.last
            guard !isLast else { break }
            try await Task.sleep(for: .milliseconds(500))
        }
        Output.line(try Self.end(places, rows: rows, checkpoints: checkpoints))
    }

    /// Where each chain begins: at the requested place, otherwise at these places.
    private func starts(_ others: [String: RecordPlace]) async throws -> [String: RecordPlace] {
        var starts = others
        for (chain, seq) in self.from {
            guard starts[chain] != nil else {
                throw UsageError("--from: chains are \(starts.keys.sorted().joined(separator: ", "))")
            }
            guard let place = try await self.store.place(seq, in: chain) else {
                throw InspectError(.parameterInvalid, "chain \(chain) has no row \(seq), or retention removed it")
            }
            starts[chain] = place
        }
        return starts
    }

    private func rows(of chain: String, after start: Int64, upTo end: Int64) async throws -> Int {
        var (place, count) = (start, 0)
        while place < end {
            let lines = try await self.store.rows(of: chain, after: place, words: self.words)
                .filter { $0.number <= end }
            guard let first = lines.first, let last = lines.last else { break }
            if first.number > place + 1,
                let anchor = try await self.store.heads().heads.chains[chain]?.anchor, anchor.seq > place
            {
                throw InspectError(.internalError, "retention removed rows during the export: export again")
            }
            self.print(lines)
            count += lines.count
            place = last.number
        }
        return count
    }

    private func checkpoints(after start: Int64, upTo end: Int64) async throws -> (count: Int, last: Int64) {
        var (number, count) = (start, 0)
        while number < end {
            let lines = try await self.store.checkpoints(after: number).filter { $0.number <= end }
            guard let last = lines.last else { break }
            self.print(lines)
            count += lines.count
            number = last.number
        }
        return (count, number)
    }

    /// One write for a page.
    private func print(_ lines: [RecordLine]) {
        var page = Data()
        page.reserveCapacity(lines.reduce(0) { $0 + $1.text.count + 1 })
        for line in lines {
            if !page.isEmpty { page.append(0x0A) }
            page.append(line.text)
        }
        Output.line(page)
    }

    private static func header(_ starts: [String: RecordPlace], isPartial: Bool) throws -> Data {
        try Self.json([
            "record": "inspectd", "version": 1, "partial": isPartial, "chains": Self.list(starts),
            "at": Int64(Date().timeIntervalSince1970 * 1_000_000),
        ])
    }

    private static func end(_ ends: [String: RecordPlace], rows: Int, checkpoints: Int) throws -> Data {
        try Self.json(["end": Self.list(ends), "rows": rows, "checkpoints": checkpoints])
    }

    private static func list(_ places: [String: RecordPlace]) -> [String: [Any]] {
        places.mapValues { [$0.seq, $0.hash.hexadecimal] }
    }

    private static func json(_ object: [String: Any]) throws -> Data {
        try JSONSerialization.data(withJSONObject: object, options: [.sortedKeys])
    }
}
