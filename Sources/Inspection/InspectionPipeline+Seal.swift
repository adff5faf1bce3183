internal import Custody
internal import Foundation
internal import InspectCore
internal import JobQueue

extension InspectionPipeline {
    /// What opens and seals the job; `nil`: it is not sealed.
    ///
    /// It waits for the key store as long as it would for the parts, a minute at most. Then others get the slot.
    ///
    /// - Throws: ``InspectError`` with one of the codes after which an attempt does not count (``ErrorCode/isUncounted``).
    func seal(of job: ClaimedJob) async throws -> JobSeal? {
        guard let id = job.key else { return nil }
        guard let keys else { throw InspectError(.keyMissing) }
        let end = ContinuousClock.now + min(self.fetchDeadline, .seconds(60))
        while true {
            do throws(InspectError) {
                return try JobSeal(try await keys.key(id), partner: job.partner)
            } catch {
                guard error.code == .keysUnavailable, ContinuousClock.now < end else { throw error }
            }
            try await Task.sleep(for: .seconds(1))
        }
    }

    /// Parts with the URLs and digests that the request had: of sealed ones the database has the origin alone.
    static func located(_ parts: [JobPart], _ context: JobContext, _ seal: JobSeal?) async throws -> [JobPart] {
        guard let seal, parts.contains(where: { if case .url = $0.source { true } else { false } }),
            let values = try await context.sealedValues().map({ sealed throws(InspectError) in try seal.values(sealed) }
            )
        else { return parts }
        return try parts.map { part in
            guard case .url(var remote) = part.source,
                let source = values.source(of: part.kind, part.ordinal, inPlaceOf: remote.url)
            else { return part }
            guard let sum = [UInt8](hexadecimal: source.sha256.lowercased()), sum.count == 32 else {
                throw InspectError(.sealBroken, part.kind.rawValue)
            }
            var part = part
            remote.url = source.url
            part.source = .url(remote)
            part.sha256 = Data(sum)
            return part
        }
    }

    /// A part's bytes as they were before they were sealed.
    static func unseal(_ bytes: Data, of part: JobPart, _ seal: JobSeal?) throws(InspectError) -> Data {
        // A part of a job without a key was not stored by `insp.enqueue_parts`.
        guard let seal else { throw InspectError(.sealBroken, part.kind.rawValue) }
        do { return try seal.open(bytes, part: part.kind, part.ordinal) } catch {
            throw InspectError(error.code, part.kind.rawValue)
        }
    }
}
