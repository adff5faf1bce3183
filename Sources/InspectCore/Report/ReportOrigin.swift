package import Foundation

/// Where a report's inspection comes from. What is not known is left out.
package struct ReportOrigin: Sendable {
    package var job: String?
    package var partner: String?
    /// The names of the files, by the part that they are.
    package var files: [PartKind: String]
    package var decidedAt: Date?

    package init(
        job: String? = nil, partner: String? = nil, files: [PartKind: String] = [:], decidedAt: Date? = nil
    ) {
        self.job = job
        self.partner = partner
        self.files = files
        self.decidedAt = decidedAt
    }

    /// Names and values, in a fixed order.
    var rows: [(String, String)] {
        var rows: [(String, String)] = []
        if let job { rows.append(("job", job)) }
        if let partner { rows.append(("partner", partner)) }
        if let decidedAt { rows.append(("decided at", decidedAt.formatted(.iso8601))) }
        for kind in PartKind.allCases {
            if let file = self.files[kind] { rows.append(("file of \(kind.rawValue)", file)) }
        }
        return rows
    }
}
