internal import Custody
internal import Foundation
internal import InspectCore
internal import JobQueue

extension InspectionPipeline {
    /// How long an attempt waits for the key store in its slot, before others get that.
    private static let patience = Duration.seconds(60)

    /// What opens and seals the job; `nil`: it is not sealed.
    ///
    /// - Throws: ``InspectError`` with one of the codes after which an attempt does not count (``ErrorCode/isUncounted``).
    func seal(of job: ClaimedJob) async throws -> JobSeal? {
        guard let id = job.key else { return nil }
        guard let keys else { throw InspectError(.keyMissing) }
        let end = ContinuousClock.now + Self.patience
        while true {
            do throws(InspectError) {
                return try JobSeal(try await keys.key(id), partner: job.partner)
            } catch {
                guard error.code == .keysUnavailable, ContinuousClock.now < end else { throw error }
            }
            try await Task.sleep(for: .seconds(1))
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
