import Foundation
import Postgres
import TestSupport
import Testing

/// Chips through the program: alone and with images, from the command line and through the queue.
@Suite struct ChipTests {
    private func request(_ chip: TestChips.Chip, in folder: URL) throws -> Data {
        let path = folder.appending(path: chip.chip).path
        var request: [String: Any] = ["id": chip.chip, "sod": "\(path)/EF_SOD.bin", "csca": ["\(path)/anchors"]]
        for group in [1, 2, 7, 11, 12] {
            let file = "\(path)/EF_DG\(group).bin"
            if FileManager.default.fileExists(atPath: file) { request["dg\(group)"] = file }
        }
        return try JSONSerialization.data(withJSONObject: request) + [0x0A]
    }

    @Test(.timeLimit(.minutes(5)))
    func `A batch verifies each chip against the authorities of its line`() async throws {
        let folder = try await TestChips.folder
        let chips = try await TestChips.manifest
        let lines = try chips.map { try self.request($0, in: folder) }.reduce(Data(), +)
        let done = try await Program.run(["inspect", "--batch", "-", "--analyzers", "1"], input: lines)
        #expect(done.status == 0)
        let answers = try done.output.split(separator: 0x0A).map { try members($0) }
        #expect(answers.count == chips.count)
        for (chip, answer) in zip(chips, answers) {
            let found = answer.at("capabilities.extraction.0.data.chip.passiveAuthentication") as? [String: Any] ?? [:]
            #expect(found["status"] as? String == chip.status, "\(chip): \(found)")
            #expect(found["reason"] as? String == chip.reason, "\(chip): \(found)")
            for (check, expected) in chip.checks {
                let value = found.at("checks.\(check)")
                #expect(value as? Bool == expected, "\(chip): \(check)")
                #expect(expected != nil || value is NSNull, "\(chip): \(check) is left out")
            }
            let label = answer.at("capabilities.dataChecks.0.decision.details.label") as? String
            #expect((label == "NFC_CERTIFICATE") == (chip.status != "valid"), "\(chip): \(label ?? "none")")
            #expect((answer.at("decision.type") as? String == "REJECTED") == (chip.status == "invalid"), "\(chip)")
            #expect(answer.at("capabilities.extraction.0.data.lastName") is String)
            #expect(answer.at("faces.0.part") as? String == "DG2", "\(chip)")
        }
        let place = try #require(chips.firstIndex { $0.chip == "good_details" })
        let data = answers[place].at("capabilities.extraction.0.data") as? [String: Any] ?? [:]
        #expect(data["placeOfBirth"] as? String == "ZENITH, UTOPIA" && data["issuingDate"] as? String == "2024-04-15")
        #expect(data["issuingAuthority"] as? String == "ZENITH PASSPORT OFFICE")
        #expect(data.at("address.line1") as? String == "12 SEAVIEW RD, ZENITH")
        #expect(
            data.at("chip.dg7.count") as? Int == 1 && data.at("chip.dg11.fullName") as? String == "ERIKSSON, ÅNNA MARIA"
        )
        #expect(data.at("chip.dg12.endorsements") as? String == "NONE")
        let forged = try #require(chips.firstIndex { $0.chip == "bad_dg12_changed" })
        #expect(answers[forged].at("capabilities.extraction.0.data.issuingAuthority") == nil)
        #expect(
            answers[forged].at("capabilities.extraction.0.data.chip.dg12.issuingAuthority") as? String
                == "ANOTHER OFFICE")
    }

    @Test(.timeLimit(.minutes(5)))
    func `Authorities come from the command line, a folder or a file, and a missing path is an error`()
        async throws
    {
        let chip = try await TestChips.folder.appending(path: "good_pss").path
        let files = ["inspect", "--dg1", "\(chip)/EF_DG1.bin", "--sod", "\(chip)/EF_SOD.bin"]
        func status(_ arguments: [String], _ environment: [String: String] = [:]) async throws -> String? {
            let done = try await Program.run(files + arguments, environment: environment)
            return try members(done.output).at("capabilities.extraction.0.data.chip.passiveAuthentication.status")
                as? String
        }
        #expect(try await status([]) == "inconclusive")
        #expect(try await status(["--csca", "\(chip)/anchors"]) == "valid")
        #expect(try await status(["--csca", "\(chip)/EF_DG1.bin", "\(chip)/anchors/csca.cer"]) == "valid")
        #expect(try await status([], ["INSPECTD_CSCA": "\(chip)/anchors/csca.cer"]) == "valid")
        let missing = try await Program.run(files + ["--csca", "/nonexistent"])
        #expect(missing.status == 1)
        #expect(missing.errors == "inspectd: --csca: /nonexistent does not exist\n")
    }

    @Test(.timeLimit(.minutes(5)))
    func `A chip without an image is a job, and ends as valid, invalid or inconclusive`() async throws {
        let service = try await Service.start()
        let anchors = try await TestChips.folder.appending(path: "good_rsa_sha256/anchors").path
        let worker = try service.worker(["--slots", "1", "--csca", anchors])
        defer { worker.send(SIGKILL) }
        func enqueue(_ chip: String, dg1: Bool = true, sod: Bool = true) async throws -> String {
            let row = try await service.connection.query(
                "SELECT insp.enqueue($1, dg1 => $2, sod => $3)",
                [
                    .text(#"{"partner":"bank","workflow":"id"}"#),
                    .optional(dg1 ? TestChips.file(chip, "EF_DG1.bin") : nil),
                    .optional(sod ? TestChips.file(chip, "EF_SOD.bin") : nil),
                ])[0]
            return try row.string(0)
        }
        let jobs = [
            ("valid", try await enqueue("good_rsa_sha256")), ("invalid", try await enqueue("bad_signature")),
            ("inconclusive", try await enqueue("good_rsa_sha256", dg1: false)),
        ]
        for (status, job) in jobs {
            let result = try await service.result(of: job)
            let found = result.at("capabilities.extraction.0.data.chip.passiveAuthentication") as? [String: Any]
            #expect(found?["status"] as? String == status, "\(result)")
            #expect((result.at("decision.type") as? String == "REJECTED") == (status == "invalid"), "\(result)")
            #expect((result.at("capabilities.usability") as? [Any])?.isEmpty == true, "no image was judged")
        }
        // Data without authentication are no document.
        let error = await #expect(throws: PostgresError.self) {
            _ = try await enqueue("good_rsa_sha256", sod: false)
        }
        #expect(error?.sqlState == "IN006", "PART_MISSING")
    }

    @Test(.timeLimit(.minutes(5)))
    func `A worker verifies chips against its authorities, and VIZ and face against the chip`() async throws {
        let service = try await Service.start()
        let anchors = try await TestChips.folder.appending(path: "good_rsa_sha256/anchors").path
        let worker = try service.worker(["--slots", "1", "--csca", anchors])
        defer { worker.send(SIGKILL) }
        func enqueue(_ chip: String, front: String, face: String) async throws -> String {
            let row = try await service.connection.query(
                "SELECT insp.enqueue($1, front => $2, face => $3, dg1 => $4, dg2 => $5, sod => $6)",
                [
                    .text(#"{"partner":"bank","workflow":"id_identity"}"#), .optional(TestInputs.specimen(front)),
                    .optional(TestInputs.face(face)), .optional(TestChips.file(chip, "EF_DG1.bin")),
                    .optional(TestChips.file(chip, "EF_DG2.bin")), .optional(TestChips.file(chip, "EF_SOD.bin")),
                ])[0]
            return try row.string(0)
        }
        let good = try await enqueue("good_rsa_sha256", front: "passport.jpg", face: "obama2.jpg")
        let other = try await enqueue("good_rsa_sha256", front: "passport_icao.jpg", face: "biden.jpg")
        let forged = try await enqueue("bad_signature", front: "passport.jpg", face: "obama2.jpg")

        let first = try await service.result(of: good)
        #expect(
            first.at("capabilities.extraction.0.data.chip.passiveAuthentication.status") as? String == "valid",
            "\(first)")
        #expect(first.at("capabilities.extraction.0.data.extractionMethod") as? String == "CHIP")
        #expect(first.at("capabilities.dataChecks.0.decision.details.label") as? String == "OK")
        #expect((first.at("capabilities.similarity") as? [Any])?.count == 3)
        for (index, parts) in [["FRONT", "FACE"], ["DG2", "FACE"], ["FRONT", "DG2"]].enumerated() {
            #expect(first.at("capabilities.similarity.\(index).parts") as? [String] == parts)
            #expect(first.at("capabilities.similarity.\(index).decision.details.label") as? String == "MATCH")
            #expect(first.at("capabilities.similarity.\(index).data.similarity") is Double)
        }
        let second = try await service.result(of: other)
        #expect(
            second.at("capabilities.dataChecks.0.decision.details.label") as? String == "MISMATCHING_DATAPOINTS",
            "\(second.at("capabilities.dataChecks.0") ?? "")")
        #expect(second.at("capabilities.similarity.1.decision.details.label") as? String == "NO_MATCH")
        let third = try await service.result(of: forged)
        #expect(third.at("capabilities.dataChecks.0.decision.details.label") as? String == "NFC_CERTIFICATE")
        #expect(third.at("decision.type") as? String == "REJECTED")
    }

    @Test(.timeLimit(.minutes(5)))
    func `An invalid chip file is a finding, and the job finishes`() async throws {
        let noise = FileManager.default.temporaryDirectory.appending(path: "noise-\(UUID().uuidString)")
        try Data((0..<5000).map { UInt8(truncatingIfNeeded: $0 &* 197 >> 3) }).write(to: noise)
        defer { try? FileManager.default.removeItem(at: noise) }
        let done = try await Program.run(
            ["inspect", "--dg1", noise.path, "--dg2", noise.path, "--sod", noise.path, "--csca", noise.path])
        #expect(done.status == 0)
        let chip = try members(done.output).at("capabilities.extraction.0.data.chip") as? [String: Any] ?? [:]
        #expect(chip.at("passiveAuthentication.reason") as? String == "SOD_MALFORMED")
        #expect((chip.at("dg1.reason") as? String)?.hasPrefix("DG1_UNREADABLE") == true)
        #expect((chip.at("dg2.reason") as? String)?.hasPrefix("DG2_UNREADABLE") == true)
    }
}
