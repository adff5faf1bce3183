public import Foundation
public import InspectCore

/// What the gateway asks of the queue. Every call shows the digest of the credential's secret, and is checked again.
///
/// Errors are ``InspectError``; anything else is reported as INTERNAL_ERROR.
public protocol GatewayStore: Sendable {
    /// A credential that is valid now, if its secret has this SHA-256; nobody is told another's.
    func credential(keyID: String, secretSHA256: Data) async throws -> GatewayCredential?

    /// Accepts a job.
    ///
    /// - Parameter payload: A JSON object as `insp.enqueue` takes it, without partner and lane.
    func create(
        _ credential: GatewayCredential, _ scope: GatewayCredential.Scope, payload: Data, parts: [PartKind: [Data]],
        traceparent: String?
    ) async throws -> CreatedJob

    /// How far a job is, with its results once it is finished.
    func result(
        _ credential: GatewayCredential, _ scope: GatewayCredential.Scope, id: String
    ) async throws -> JobAnswer

    /// Which of these jobs are finished, or gone.
    func finished(_ numbers: [Int64]) async throws -> [Int64]
}

/// A job that was accepted.
public struct CreatedJob: Sendable {
    /// The id that callers know.
    public var id: String
    /// Internal number; never leaves the process.
    public var number: Int64

    public init(id: String, number: Int64) {
        self.id = id
        self.number = number
    }
}

/// A job as its partner sees it now.
public struct JobAnswer: Sendable {
    public var number: Int64
    public var isFinished: Bool
    /// The result document, JSON.
    public var document: Data

    public init(number: Int64, isFinished: Bool, document: Data) {
        self.number = number
        self.isFinished = isFinished
        self.document = document
    }
}
