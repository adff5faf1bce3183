internal import Foundation
internal import InspectCore

/// The query of `GET /inspectionjob`.
struct JobSearch: Sendable {
    /// References to look for, by their names in payloads; a job has all of them.
    var references: [Reference: String] = [:]
    var status: Int?
    /// The last job of the page before.
    var after: String?
    var limit: Int

    /// A reference by which jobs are found, from the one that fewest jobs share. `insp.job_reference.kind` has the same values.
    enum Reference: String, Sendable, CaseIterable {
        case customer = "customer"
        case user = "user"
        case criteria = "criteria"

        /// The parameter, named as the member of a payload.
        var parameter: String {
            switch self {
            case .customer: "customerInternalReference"
            case .user: "userReference"
            case .criteria: "reportingCriteria"
            }
        }
    }

    /// - Throws: ``ErrorCode/parameterInvalid``: every page is found by an index, so at least one reference is needed.
    init(_ call: GatewayCall) throws(InspectError) {
        for reference in Reference.allCases {
            guard let text = call.request.query[reference.parameter] else { continue }
            guard (1...100).contains(text.unicodeScalars.count) else {
                throw InspectError(
                    .parameterInvalid, "\(reference.parameter) is not 1 to 100 characters",
                    field: reference.parameter)
            }
            self.references[reference] = text
        }
        guard !self.references.isEmpty else {
            throw InspectError(
                .parameterInvalid, "no reference",
                hint: "Give customerInternalReference, userReference or reportingCriteria.", field: "userReference")
        }
        self.status = try call.number("status", 1...128)
        guard self.status.map({ JobStatus(rawValue: Int16($0)) != nil }) != false else {
            throw InspectError(
                .parameterInvalid, "status", hint: "A status is 1, 2, 4, 8, 16, 32, 64 or 128.", field: "status")
        }
        self.after = try call.after()
        self.limit = try call.number("limit", 1...100) ?? 50
    }
}

/// A page of jobs, newest first.
struct JobPage: Encodable, Sendable {
    struct Job: Encodable, Sendable {
        var id: String
        var status: Int
        var workflow: String
        var createdAt: String
        var completedAt: String?
        /// Present and true if it is a test.
        var test: Bool?
    }

    var jobs: [Job]
    /// The value to send as `after`; absent on the last page.
    var next: String?
}
