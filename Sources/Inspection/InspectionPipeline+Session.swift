internal import Custody
internal import Foundation
internal import InspectCore
internal import JobQueue

extension InspectionPipeline {
    /// The vendor server's answers about a session, as the liveness stage's facts. Each access is recorded before and after it happens.
    ///
    /// - Parameters:
    ///   - former: The stage's output as far as the session had come.
    /// - Throws: ``SessionPaused`` if the session waits for its next blob.
    func ask(
        about blobs: [Data], after former: Data?, _ request: InspectionRequest, _ context: JobContext, _ seal: JobSeal?
    ) async throws -> Data {
        var output = former
        var facts = LivenessStageFacts(passive: nil)
        if let former { facts = try JSONDecoder().decode(LivenessStageFacts.self, from: former) }
        let answered = former == nil ? 0 : facts.session?.answered ?? blobs.count
        guard let vendor else { throw InspectError(.vendorNotConfigured) }
        if answered < blobs.count {
            let session = try await context.sessionVendor()
            let server = try vendor.server(of: session)
            let reference = try await self.userReference(session, context, seal)
            for (place, blob) in blobs.enumerated().dropFirst(answered) {
                // A rerun has all the blobs of a session that may end earlier this time.
                guard place == 0 || facts.session?.isOpen == true else { break }
                try VendorSessionClient.check(blob)
                try await context.beginSession(blob: place)
                do {
                    let known = facts.vendor.map { VendorSessionAnswer($0, isOpen: facts.session?.isOpen == true) }
                    let (answer, status) = try await vendor.process(
                        blob, of: reference, at: server, after: known, scansDocument: request.scansDocument)
                    facts.vendor = answer.facts
                    facts.session = VendorSession(answered: place + 1, isOpen: answer.isOpen)
                    let made = try JSONEncoder().encode(facts)
                    try await context.endSession(
                        blob: place, outcome: "answered", status: status, output: made, seal: seal)
                    output = made
                } catch let failure as VendorSessionClient.Failure {
                    try await context.endSession(blob: place, outcome: failure.outcome, status: failure.status)
                    throw failure.error
                }
            }
        }
        if request.isSession, facts.session?.isOpen == true, try await context.pauseSession(for: vendor.patience) {
            throw SessionPaused()
        }
        guard let output else { throw InspectError(.partMissing, PartKind.sessionBlob.rawValue) }
        return output
    }

    /// The user whom the session is about, as the vendor's server knows persons.
    private func userReference(
        _ session: SessionVendor, _ context: JobContext, _ seal: JobSeal?
    ) async throws -> String? {
        guard let seal else { return session.userReference }
        guard let sealed = try await context.sealedValues() else { return nil }
        return try seal.values(sealed).userReference
    }
}
