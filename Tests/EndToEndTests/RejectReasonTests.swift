import Foundation
import Glibc
import Postgres
import TestSupport
import Testing

/// Every reject reason, reached by images through the whole program.
@Suite struct RejectReasonTests {
    private struct Fault: Sendable {
        var code: Int
        var front: String
        var back: String?
        /// The capability that finds it.
        var capability = "usability"
        /// Names of measurements, one of which at least must be beyond its limit; none where the reason is what was
        /// found on two sides, which no number shows.
        var measurements: Set<String>
    }

    /// Images of one identity card that `Tests/derive-documents.py` spoils, by label; other faults are whole scenes.
    private static let faults = [
        Fault(code: 102, front: "BLACK_WHITE", measurements: ["chroma"]),
        Fault(code: 103, front: "COLOR_PHOTOCOPY", measurements: ["halftone"]),
        Fault(code: 104, front: "DIGITAL_COPY", capability: "imageChecks", measurements: ["moire"]),
        Fault(code: 200, front: "BAD_QUALITY_IMAGE", measurements: ["documentWidth", "brightness", "contrast"]),
        Fault(
            code: 201, front: "landscape.jpg",
            measurements: ["outlineAspectRatio", "frameAspectRatio", "printShare", "chromaOfPrint"]),
        Fault(code: 206, front: "id_front.jpg", back: "id_front.jpg", measurements: []),
        Fault(code: 214, front: "id_back.jpg", back: "id_back.jpg", measurements: []),
        Fault(code: 214, front: "id_back.jpg", back: "id_front.jpg", measurements: []),
        Fault(code: 214, front: "licence_back.jpg", measurements: []),
        Fault(code: 2001, front: "BLURRED", measurements: ["blur", "coherence", "laplacianVariance"]),
        Fault(
            code: 2003, front: "PART_OF_DOCUMENT_MISSING",
            measurements: ["aspectRatio", "cardAspectRatio", "cornerOutside", "cornersOutside"]),
        Fault(code: 2004, front: "PART_OF_DOCUMENT_HIDDEN", measurements: ["occlusion"]),
        Fault(code: 2005, front: "DAMAGED_DOCUMENT", measurements: ["missingCorner"]),
        Fault(code: 2006, front: "GLARE", measurements: ["glareShare"]),
    ]

    @Test(.timeLimit(.minutes(5)))
    func `Every reject reason is reached, with the measurement and the limit that it rests on`() async throws {
        let derived = FileManager.default.temporaryDirectory.appending(path: "faults-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: derived) }
        let inputs = try await TestInputs.folder
        let labels = Self.faults.map(\.front).filter { !$0.hasSuffix(".jpg") }
        let process = try ChildProcess.spawn(
            "/usr/bin/python3",
            [
                "\(ScratchDatabase.root)/Tests/derive-documents.py", "make", "--out", derived.path, "--face",
                inputs.appending(path: "faces/obama.jpg").path, "--documents", "td1_0", "--count", "\(labels.count)",
                "--labels", labels.joined(separator: ","), "--seed", "3",
            ])
        try #require(try await process.exitStatus() == 0)
        let files = try FileManager.default.contentsOfDirectory(atPath: derived.path)
        func path(_ name: String) -> String {
            guard let file = files.first(where: { $0.dropFirst(5).hasPrefix("\(name)_td1") }) else {
                return inputs.appending(path: "specimens/\(name)").path
            }
            return derived.appending(path: file).path
        }
        let requests = try Self.faults.map { fault in
            var request = ["id": "\(fault.code)", "front": path(fault.front), "workflow": "id"]
            request["back"] = fault.back.map(path)
            return try JSONSerialization.data(withJSONObject: request)
        }
        let done = try await Program.run(["inspect", "--batch", "-"], input: Data(requests.joined(separator: [0x0A])))
        #expect(done.status == 0, "\(done.errors)")
        let answers = try done.output.split(separator: 0x0A).map { try members($0) }
        try #require(answers.count == Self.faults.count)
        let database = try await ScratchDatabase.migrated().connect()
        for (fault, answer) in zip(Self.faults, answers) {
            let reasons = answer["rejectReasons"] as? [[String: Any]] ?? []
            for reason in reasons { #expect(try await Self.isKnown(reason, to: database), "\(reason)") }
            let told = try await database.query(
                "SELECT labels FROM insp.reasons() WHERE contract_code = $1", [.int(Int64(fault.code))])[0].textArray(0)
            let records = answer.at("capabilities.\(fault.capability)") as? [[String: Any]] ?? []
            #expect(
                records.contains { told.contains($0.at("decision.details.label") as? String ?? "") }, "\(fault.code)")
            #expect(reasons.first?["code"] as? Int == fault.code, "\(fault.code): \(reasons)")
            #expect(answer.at("decision.type") as? String == "REJECTED")
            let failed = Self.failedMeasurements(answer, fault.capability)
            #expect(
                failed.isEmpty == fault.measurements.isEmpty
                    && (failed.isEmpty || !fault.measurements.isDisjoint(with: failed)), "\(fault.code): \(failed)")
        }
    }

    /// Whether the table has a reason under this number, by this name, of this part.
    private static func isKnown(_ reason: [String: Any], to database: PostgresConnection) async throws -> Bool {
        let row = try await database.query(
            "SELECT count(*) FROM insp.reasons() WHERE contract_code = $1 AND code = $2 AND $3 = ANY (parts)",
            [
                .int(Int64(reason["code"] as? Int ?? 0)), .text(reason["message"] as? String ?? ""),
                .text(reason["part"] as? String ?? ""),
            ])
        return try row[0].int(0) == 1
    }

    /// The names of a capability's failed measurements whose values are beyond the limits beside them.
    private static func failedMeasurements(_ answer: [String: Any], _ capability: String) -> Set<String> {
        let records = answer.at("capabilities.\(capability)") as? [[String: Any]] ?? []
        let rows = records.flatMap { $0.at("data.failedMeasurements") as? [[String: Any]] ?? [] }
        return Set(
            rows.compactMap { row in
                guard let name = row["name"] as? String, let value = row["value"] as? Double else { return nil }
                let limits: [(String, (Double) -> Bool)] = [
                    ("atMost", { value > $0 }), ("atLeast", { value < $0 }), ("below", { value >= $0 }),
                    ("above", { value <= $0 }),
                ]
                let isBeyond = limits.contains { key, passes in (row[key] as? Double).map(passes) ?? false }
                return isBeyond ? name : nil
            })
    }
}
