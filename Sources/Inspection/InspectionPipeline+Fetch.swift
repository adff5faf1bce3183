internal import Foundation
internal import InspectCore
internal import JobQueue
internal import ObjectStore

extension InspectionPipeline {
    /// Fetches what is not in the database, outside the slot: parts by URL, and sealed ones from the object store. They share the job's
    /// permit, its memory and its time.
    ///
    /// - Returns: The bytes by the part's place.
    func fetch(_ parts: [JobPart], _ context: JobContext) async throws -> [Int: Data] {
        var size = 0
        var pieces: [(place: Int, piece: ObjectStore.Piece)] = []
        var sources: [(place: Int, source: PartFetcher.Source)] = []
        for (place, part) in parts.enumerated() {
            switch part.source {
            case .bytes(let bytes): size += bytes.count
            case .object(let piece): pieces.append((place, piece))
            case .url(let remote):
                sources.append(
                    (
                        place,
                        PartFetcher.Source(
                            name: part.kind.rawValue, url: remote.url,
                            expectedSHA256: part.sha256.hexadecimal,
                            allowHTTP: remote.allowHTTP, allowPrivate: remote.allowPrivate, networks: remote.networks)
                    ))
            }
        }
        try context.leaveSlot(holding: size)
        let bounds = PartFetcher.Bounds(limit: PartKind.byteLimit, within: self.fetchDeadline) { context.hold($0) }
        var fetched: [Int: Data] = [:]
        if !pieces.isEmpty {
            // Their sizes are known, so the room is found before the first byte.
            let stored = pieces.reduce(0) { $0 + $1.piece.size }
            guard context.hold(stored) else { throw NoPermit() }
            size += stored
            for (place, data) in zip(
                pieces, try await self.stored(pieces.map(\.piece), until: bounds.deadline, context))
            {
                fetched[place.place] = data
            }
        }
        guard !sources.isEmpty else { return fetched }
        let reference = context.job.reference(at: context.job.status)
        do {
            let found = try await self.fetcher.fetch(sources.map(\.source), bounds, total: JobPart.limit - size) {
                self.onFetchFailure(reference, $0, $1)
            }
            for (source, data) in zip(sources, found) { fetched[source.place] = data }
        } catch is PartFetcher.NotAdmitted {
            throw NoPermit()
        }
        return fetched
    }

    /// - Throws: ``InspectError`` with ``ErrorCode/objectMissing``, ``ErrorCode/digestMismatch``, or ``ErrorCode/objectStoreUnavailable``,
    ///   with which the job is delayed.
    private func stored(
        _ pieces: [ObjectStore.Piece], until deadline: ContinuousClock.Instant, _ context: JobContext
    ) async throws -> [Data] {
        guard let objects else {
            throw InspectError(.objectStoreUnavailable, "this worker has no object store")
        }
        return try await objects.get(pieces, until: deadline)
    }
}
