import Foundation
import InspectCore
import TestSupport
import Testing

/// Faces enrolled, verified and deleted: real images, real analyzers, a real queue.
@Suite struct EnrollmentTests {
    private struct Faces {
        var service: Service

        func submit(_ workflow: String, _ image: String, as face: String, _ more: [String: Any] = [:]) async throws
            -> String
        {
            try await self.service.enqueue(
                ["workflow": workflow, "faceId": face].merging(more) { $1 }, face: TestInputs.face(image))
        }

        func run(_ workflow: String, _ image: String, as face: String, _ more: [String: Any] = [:]) async throws
            -> [String: Any]
        {
            try await self.service.result(of: self.submit(workflow, image, as: face, more))
        }

        func event(_ id: String) async throws -> [String: Any] {
            try members(
                try await self.service.connection.query("SELECT insp.face_event($1)", [.text(id)])[0].data(0))
        }

        func templates(_ face: String) async throws -> [String] {
            try await self.service.connection.query(
                "SELECT feature FROM insp.face_features('bank', $1, 'export')", [.text(face)]
            ).map { try $0.string(0) }
        }

        /// Rows of any table of any schema of ours in which a text occurs, as text or as the bytes that its digits stand for.
        func traces(of hex: [String], bytes: [Data]) async throws -> [String] {
            let tables = try await self.service.connection.query(
                """
                SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                WHERE c.relkind IN ('r', 'm') AND n.nspname = 'insp' ORDER BY 1
                """
            ).map { try $0.string(0) }
            #expect(tables.count > 20)
            var found: [String] = []
            for table in tables {
                for needle in hex + bytes.map(\.hexadecimal) {
                    // bytea prints as hex, so one search finds both forms.
                    let count = try await self.service.connection.query(
                        "SELECT count(*) FROM \(table) t WHERE position($1 IN lower(t::text)) > 0", [.text(needle)])[0]
                        .int(0)
                    if count > 0 { found.append("\(table): \(count)") }
                }
            }
            return found
        }
    }

    @Test(.timeLimit(.minutes(5)))
    func `A face is enrolled, verified and deleted, and not a byte of embedding or image is left`() async throws {
        let faces = Faces(service: try await Service.start())
        let worker = try faces.service.worker(["--slots", "1"])
        defer { worker.send(SIGKILL) }

        // Nobody is enrolled yet.
        let early = try await faces.run("authentication", "obama2.jpg", as: "user_123")
        #expect(early.at("error.code") as? String == "FACE_NOT_ENROLLED")
        #expect(try await faces.event(early["id"] as! String)["error"] as? String == "INVALID_ARGS")

        let enrolled = try await faces.run("enrollment", "obama.jpg", as: "user_123")
        #expect(enrolled.at("capabilities.enrollment.0.decision.details.label") as? String == "ENROLLED")
        #expect(enrolled.at("capabilities.enrollment.0.data.featureLength") as? Int == 1024)
        #expect(enrolled.at("faceSdk.type") as? String == "enrollment" && enrolled.at("faceSdk.code") as? Int == 1)
        // Liveness cannot be proven from one image.
        #expect(enrolled.at("decision.type") as? String == "WARNING")
        let embedding = try #require(try await faces.templates("user_123").first)
        #expect(embedding.count == 1024)

        let same = try await faces.run("authentication", "obama2.jpg", as: "user_123")
        #expect(same.at("capabilities.authentication.0.decision.details.label") as? String == "MATCH")
        #expect(same.at("capabilities.authentication.0.data.result") as? String == "Verify")
        #expect(same.at("capabilities.authentication.0.data.fmrAtThreshold") is Double)
        #expect(same.at("faceSdk.result") as? String == "Verify")
        let other = try await faces.run("authentication", "biden.jpg", as: "user_123")
        #expect(other.at("capabilities.authentication.0.decision.details.label") as? String == "NO_MATCH")
        #expect(other.at("decision.type") as? String == "REJECTED" && other.at("faceSdk.code") as? Int == 6)
        #expect(other.at("faceSdk.result") as? String == "Not Verify")
        // The person's own similarity is below the requested threshold.
        let strict = try await faces.run("authentication", "obama2.jpg", as: "user_123", ["threshold": 0.999])
        #expect(strict.at("capabilities.authentication.0.data.threshold") as? Double == 0.999)

        // A stranger cannot be added to another person's face id; the same person can, and a replacement removes all others.
        let intruder = try await faces.run("enrollment", "biden.jpg", as: "user_123")
        #expect(intruder.at("capabilities.enrollment.0.data.reasons.0") as? String == "NO_MATCH")
        #expect(try await faces.templates("user_123") == [embedding])
        _ = try await faces.run("enrollment", "obama2.jpg", as: "user_123")
        #expect(try await faces.templates("user_123").count == 2)
        let changed = try await faces.run("enrollment", "biden.jpg", as: "user_123", ["enrollmentMode": "replace"])
        #expect(changed.at("capabilities.enrollment.0.data.mode") as? String == "replace")
        let replaced = try await faces.templates("user_123")
        #expect(replaced.count == 1 && replaced != [embedding])

        // Temporary data was removed with each job, not by the deletion.
        let images = [try await TestInputs.face("obama.jpg"), try await TestInputs.face("biden.jpg")]
            .map { $0.subdata(in: 2000..<2064) }
        #expect(
            try await faces.traces(of: [embedding], bytes: images).isEmpty, "the first template was replaced")
        #expect(try await faces.traces(of: replaced, bytes: []) == ["insp.face_template: 1"])
        let deleted = try members(
            try await faces.service.connection.query("SELECT insp.face_delete('bank', 'user_123')")[0].data(0))
        #expect(deleted["templates"] as? Int == 1)
        #expect(try await faces.traces(of: replaced + [embedding], bytes: images).isEmpty)
        let gone = try await faces.run("authentication", "biden.jpg", as: "user_123")
        #expect(gone.at("error.code") as? String == "FACE_NOT_ENROLLED")
        // The face id is personal data: neither logs nor the record of the deletion contain it.
        #expect(!worker.standardError.contains("user_123"))
        let records = try await faces.service.connection.query(
            "SELECT action, r::text FROM insp.record r WHERE action = 'face_delete'")
        #expect(try records.count == 1 && !records[0].string(1).contains("user_123"))
    }

    @Test(.timeLimit(.minutes(5)))
    func `The command line enrols, lists, verifies and deletes`() async throws {
        let service = try await Service.start()
        let worker = try service.worker(["--slots", "1"])
        defer { worker.send(SIGKILL) }
        let folder = try await TestInputs.folder.appendingPathComponent("faces").path
        func inspectd(_ words: String...) async throws -> [String: Any] {
            let done = try await Program.run(words, environment: service.environment)
            #expect(done.status == 0, "\(done.errors)")
            return try members(done.output)
        }
        let enrolled = try await inspectd(
            "enqueue", "--partner", "bank", "--workflow", "enrollment", "--face", "\(folder)/obama.jpg", "--face-id",
            "u 1", "--wait")
        #expect(enrolled.at("faceSdk.status") as? String == "success")
        let verified = try await inspectd(
            "enqueue", "--partner", "bank", "--workflow", "authentication", "--face", "\(folder)/obama2.jpg",
            "--face-id", "u 1", "--threshold", "0.9", "--wait")
        #expect(verified.at("faceSdk.result") as? String == "Verify")
        #expect(verified.at("capabilities.authentication.0.data.threshold") as? Double == 0.9)
        let list = try await Program.run(
            ["face", "list", "--partner", "bank", "--face-id", "u 1"], environment: service.environment)
        let templates = try #require(try JSONSerialization.jsonObject(with: list.output) as? [[String: Any]])
        #expect(templates.count == 1 && templates[0]["job"] as? String == enrolled["id"] as? String)
        #expect(templates[0]["feature"] == nil)
        #expect(
            try await inspectd("face", "delete", "--partner", "bank", "--face-id", "u 1")["templates"] as? Int == 1)
    }
}
