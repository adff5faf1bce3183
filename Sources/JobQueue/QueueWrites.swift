package import Foundation
internal import Glibc
package import InspectCore

/// One write for a claimed job.
///
/// A class, since it moves from list to list and never changes.
package final class QueueWrite: Sendable {
    package enum Kind: Sendable {
        /// The result of a stage.
        case step(JobStatus, Data)
        /// The job's result: 128.
        case finish(StorableResult)
        /// The job's result, decided but awaiting review: 64.
        case holdForReview(StorableResult)
        case deadLetter(InspectError)
        case retry(InspectError, after: Duration)
        /// Back to the queue, with the attempt refunded.
        case release
    }

    package let kind: Kind
    package let job: ClaimedJob
    /// When the job was claimed, for its duration.
    package let claimedAt: ContinuousClock.Instant
    /// The job's stage before this write; `nil`: as it was claimed.
    package let stage: JobStatus?

    package init(kind: Kind, job: ClaimedJob, claimedAt: ContinuousClock.Instant, stage: JobStatus? = nil) {
        self.kind = kind
        self.job = job
        self.claimedAt = claimedAt
        self.stage = stage
    }

    /// The job as named in reports about the write.
    package var reference: JobReference {
        if case .finish = self.kind { return self.job.reference(at: .finished) }
        if case .holdForReview = self.kind { return self.job.reference(at: .decided) }
        return self.job.reference(at: self.stage ?? self.job.status)
    }

    /// Removes writes of lost claims from a batch: a job has one lease, so a later claim shows that the earlier one is over.
    /// Statements return jobs, not fences, so one batch must not contain two claims of one job.
    package static func split(_ batch: [QueueWrite]) -> (current: [QueueWrite], superseded: [QueueWrite]) {
        var newest: [Int64: Int64] = [:]
        newest.reserveCapacity(batch.count)
        var isMixed = false
        for write in batch {
            let (job, fence) = (write.job.id, write.job.fence)
            if let known = newest[job] {
                if known == fence { continue }
                isMixed = true
                newest[job] = max(known, fence)
            } else {
                newest[job] = fence
            }
        }
        guard isMixed else { return (batch, []) }
        return (
            batch.filter { newest[$0.job.id] == $0.job.fence }, batch.filter { newest[$0.job.id] != $0.job.fence }
        )
    }

    /// Whether it has the job's result.
    var hasResult: Bool {
        switch self.kind {
        case .finish, .holdForReview: true
        case .step, .deadLetter, .retry, .release: false
        }
    }

    /// What the database did instead: the job's row or result cannot be processed.
    var deadLetteredAsDamaged: QueueWrite {
        QueueWrite(
            kind: .deadLetter(InspectError(.internalError, "the job's row or result cannot be processed")),
            job: self.job, claimedAt: self.claimedAt, stage: self.stage)
    }

    /// Whether the lease ends with this write.
    package var endsLease: Bool {
        if case .step = self.kind { return false }
        return true
    }
}

/// A job's result as PostgreSQL can hold it.
package struct StorableResult: Sendable {
    package var summary: String
    package var body: Data
}

/// Text that PostgreSQL can store as `jsonb`.
package enum StorableJSON {
    /// - Returns: `nil` if it is no JSON.
    package static func checked(_ data: Data) -> Data? {
        let data = Data(self.text(data).utf8)
        guard (try? JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed)) != nil else { return nil }
        return data
    }

    /// Decodes as UTF-8 with damaged sequences replaced by U+FFFD, and removes U+0000, which `jsonb` cannot hold, as a byte and as
    /// the escape `\u0000`.
    package static func text(_ data: Data) -> String {
        let hasNUL = data.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return false }
            if memchr(start, 0, bytes.count) != nil { return true }
            var place = 0
            while let found = memchr(start + place, CInt(UInt8(ascii: "\\")), bytes.count - place) {
                place = found - UnsafeMutableRawPointer(mutating: start)
                if bytes[place...].starts(with: #"\u0000"#.utf8) { return true }
                place += 1
            }
            return false
        }
        guard hasNUL else { return String(decoding: data, as: UTF8.self) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(data.count)
        let replacement = Array(#"\ufffd"#.utf8)
        let input = [UInt8](data)
        var index = 0
        while index < input.count {
            if input[index] == UInt8(ascii: "\\"), index + 1 < input.count {
                // A backslash is copied with the next character, so that an escaped backslash before u0000 is left alone.
                if input[index...].starts(with: #"\u0000"#.utf8) {
                    bytes += replacement
                    index += 6
                } else {
                    bytes += input[index...(index + 1)]
                    index += 2
                }
            } else {
                if input[index] != 0 { bytes.append(input[index]) }
                index += 1
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
