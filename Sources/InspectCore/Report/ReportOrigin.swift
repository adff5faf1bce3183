package import Foundation

/// The origin of a report's inspection. Unknown values are left out.
package struct ReportOrigin: Sendable {
    /// The id that callers know.
    package var job: String?
    /// The partner's name.
    package var partner: String?
    /// The names of the files, with the part or image that each is.
    package var files: [(part: String, name: String)]
    /// When the job finished.
    package var decidedAt: Date?
    /// Whether the outcome was fixed beforehand, and nothing was inspected.
    package var isTest: Bool

    package init(
        job: String? = nil, partner: String? = nil, files: [(part: String, name: String)] = [], decidedAt: Date? = nil,
        isTest: Bool = false
    ) {
        self.job = job
        self.partner = partner
        self.files = files
        self.decidedAt = decidedAt
        self.isTest = isTest
    }

    /// Names and values, in a fixed order.
    private var rows: [(String, String)] {
        var rows: [(String, String)] = []
        if self.isTest { rows.append(("test", "the outcome is that of a specimen; nothing was inspected")) }
        if let job { rows.append(("job", job)) }
        if let partner { rows.append(("partner", partner)) }
        if let decidedAt { rows.append(("decided at", decidedAt.formatted(.iso8601))) }
        rows += self.files.map { ("file of \($0.part)", $0.name) }
        return rows
    }

    /// The section of a report; empty if nothing is known.
    var markup: [Markup] {
        self.rows.isEmpty ? [] : [ReportPage.section("Origin", [ReportTables.pairs(["what", "value"], self.rows)])]
    }
}
