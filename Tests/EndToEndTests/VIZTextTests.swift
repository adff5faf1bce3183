import Foundation
import TestSupport
import Testing

/// VIZ text, read by the real recogniser in a confined analyzer.
@Suite struct VIZTextTests {
    private func inspect(_ arguments: [String]) async throws -> [String: Any] {
        let folder = try await TestInputs.folder.appendingPathComponent("specimens").path
        let done = try await Program.run(
            ["inspect", "--workflow", "id"] + arguments.map { $0.hasPrefix("--") ? $0 : "\(folder)/\($0)" })
        #expect(done.status == 0, "\(done.errors)")
        return try members(done.output)
    }

    private func comparisons(_ answer: [String: Any]) -> [String: String] {
        let fields = answer.at("capabilities.extraction.0.data.viz.fields") as? [[String: Any]] ?? []
        return Dictionary(
            fields.compactMap { field in
                (field["name"] as? String).map { ($0, field["comparison"] as? String ?? "none") }
            }
        ) { $1 }
    }

    @Test(.timeLimit(.minutes(5)), arguments: ["passport.jpg", "passport_upside_down.jpg", "td2.jpg"])
    func `A genuine document's VIZ text agrees with its MRZ`(file: String) async throws {
        let answer = try await self.inspect(["--front", file])
        let comparisons = self.comparisons(answer)
        #expect(comparisons.values.count { $0 == "agrees" } >= 4, "\(comparisons)")
        #expect(!comparisons.values.contains("contradicts"), "\(comparisons)")
        #expect(answer.at("capabilities.dataChecks.0.decision.type") as? String == "PASSED")
        #expect(answer.at("capabilities.extraction.0.data.viz.cpuMs") is Double)
    }

    @Test(
        .timeLimit(.minutes(5)),
        arguments: [
            ("altered_number.jpg", "documentNumber"), ("altered_name.jpg", "lastName"),
            ("altered_birth.jpg", "dateOfBirth"),
        ])
    func `Changed VIZ text is detected`(file: String, field: String) async throws {
        let answer = try await self.inspect(["--front", file])
        #expect(self.comparisons(answer)[field] == "contradicts")
        #expect(answer.at("capabilities.dataChecks.0.decision.type") as? String == "REJECTED")
        #expect(
            answer.at("capabilities.dataChecks.0.decision.details.label") as? String == "MISMATCH_HRZ_MRZ_DATA")
    }

    @Test(.timeLimit(.minutes(5)))
    func `A front's VIZ text is compared with the back's MRZ or barcode`() async throws {
        for (front, back) in [("id_front.jpg", "id_back.jpg"), ("licence_front.jpg", "licence_back.jpg")] {
            let answer = try await self.inspect(["--front", front, "--back", back])
            #expect(answer.at("capabilities.extraction.0.data.viz.comparedWith") as? String == "BACK")
            let comparisons = self.comparisons(answer)
            #expect(comparisons.values.count { $0 == "agrees" } >= 3, "\(comparisons)")
            let sides = (answer.at("capabilities.imageChecks") as? [[String: Any]] ?? []).last
            #expect(sides?["parts"] as? [String] == ["FRONT", "BACK"])
            #expect(sides?.at("decision.type") as? String == "PASSED", "\(sides ?? [:])")
        }
    }

    @Test(.timeLimit(.minutes(5)))
    func `A licence without its back gives the fields of its VIZ text, marked as such`() async throws {
        let answer = try await self.inspect(["--front", "licence_front.jpg"])
        let data = answer.at("capabilities.extraction.0.data") as? [String: Any] ?? [:]
        #expect(data["extractionMethod"] as? String == "OCR")
        #expect(data["lastName"] as? String == "ERIKSSON")
        // Nothing was there to check it against.
        #expect(answer.at("capabilities.dataChecks.0.decision.type") as? String == "NOT_EXECUTED")
        #expect(answer.at("decision.type") as? String == "WARNING")
    }
}
