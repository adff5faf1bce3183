import Foundation
import Gateway
import HTTPServer
import JobQueue
import Postgres
import TestSupport
import Testing

@testable import InspectCore

/// The words of the contract stand in tables, and wherever else they are written out, they are the same.
@Suite struct LookupTests {
    private static func payload(_ workflow: String, _ more: String = "") -> Data {
        Data(#"{"partner":"acme","workflow":"\#(workflow)"\#(more)}"#.utf8)
    }

    private static func part(_ kind: PartKind) -> String {
        let one = #"{"url":"https://img.example.com/a","sha256":"\#(QueueFixture.digest)"}"#
        return #""\#(kind.rawValue)":"# + (kind.row.isMany ? "[\(one)]" : one)
    }

    /// What a job of workflow `id` is refused with.
    private static func refusal(_ fixture: QueueFixture, _ parts: [PartKind: [Data]]) async throws -> ErrorCode? {
        do {
            _ = try await fixture.client.enqueue(payload: Self.payload("id"), parts: parts)
            return nil
        } catch let error as InspectError {
            return error.code
        }
    }

    // MARK: Parts and workflows

    @Test func `The program knows the kinds of part of the table`() async throws {
        let fixture = try await QueueFixture()
        let rows = try await fixture.admin.query("SELECT * FROM insp.part_kind ORDER BY place")
        #expect(try rows.map { try $0.string("kind") } == PartKind.allCases.map(\.rawValue))
        for (row, kind) in zip(rows, PartKind.allCases) {
            #expect(try row.bool("is_image") == kind.row.isImage)
            #expect(try row.bool("is_many") == kind.row.isMany)
            #expect(try row.string("source") == kind.row.source.rawValue)
        }
        #expect(Set(PartKind.allCases.map(\.row.option)).count == PartKind.allCases.count)
    }

    @Test func `The limits on bytes and number of parts are those of the program`() async throws {
        let fixture = try await QueueFixture()
        for (size, code) in [(PartKind.byteLimit, nil), (PartKind.byteLimit + 1, ErrorCode.partTooLarge)] {
            #expect(try await Self.refusal(fixture, [.front: [Data(count: size)]]) == code)
        }
        for (count, code) in [(PartKind.countLimit, nil), (PartKind.countLimit + 1, ErrorCode.partTooLarge)] {
            let frames = Array(repeating: Data("x".utf8), count: count)
            #expect(try await Self.refusal(fixture, [.front: [Data("x".utf8)], .frames: frames]) == code)
        }
    }

    @Test func `Parts are stored in their order, whatever order they are given in`() async throws {
        let fixture = try await QueueFixture()
        let payload = #"{"partner":"acme","workflow":"id","idempotencyKey":"k"}"#
        var jobs: Set<String> = []
        for (kinds, contents) in [
            ("{FRAMES,SOD,FRONT,FRAMES}", "{1,s,f,2}"), ("{FRONT,FRAMES,FRAMES,SOD}", "{f,1,2,s}"),
        ] {
            jobs.insert(
                try await fixture.admin.query(
                    "SELECT insp.enqueue_parts($1, '\(kinds)', '\(contents)')", [.text(payload)])[0].string(0))
        }
        let named = "SELECT insp.enqueue($1, frames => '{1,2}', sod => 's', front => 'f')"
        jobs.insert(try await fixture.admin.query(named, [.text(payload)])[0].string(0))
        // All are one request.
        #expect(jobs.count == 1)
        let stored = try await fixture.admin.query(
            """
            SELECT string_agg(concat_ws(' ', p.kind, p.ordinal, p.size, convert_from(c.bytes, 'UTF8'), p.sha256 = sha256(c.bytes)), ', '
                ORDER BY p.kind, p.ordinal)
            FROM insp.part p JOIN insp.content c ON (c.id, c.kind, c.ordinal) = (p.content_id, p.kind, p.ordinal)
            """)[0].string(0)
        #expect(stored == "FRAMES 0 1 1 t, FRAMES 1 1 2 t, FRONT 0 1 f t, SOD 0 1 s t")
    }

    @Test(arguments: [
        ("'{FRONT}'", "'{}'", ErrorCode.parameterInvalid), ("'{{FRONT}}'", "'{{f}}'", .parameterInvalid),
        ("'[0:0]={FRONT}'", "'{f}'", .parameterInvalid), ("NULL", "'{f}'", .parameterInvalid),
        ("'{LEFT}'", "'{f}'", .partUnknown), ("'{NULL}'", "'{f}'", .partUnknown), ("'{FRONT}'", "'{NULL}'", .partEmpty),
        ("'{FRONT,FRONT}'", "'{f,g}'", .partUnexpected), ("NULL", "NULL", .partMissing),
    ])
    func `Invalid parts are refused`(kinds: String, contents: String, code: ErrorCode) async throws {
        let fixture = try await QueueFixture()
        let error = await #expect(throws: PostgresError.self) {
            try await fixture.admin.query(
                "SELECT insp.enqueue_parts('{\"partner\":\"acme\",\"workflow\":\"id\"}', \(kinds), \(contents))")
        }
        #expect(error?.sqlState == code.sqlState)
    }

    @Test func `Each kind of part is stored, as bytes and by URL, alone and in a batch`() async throws {
        let fixture = try await QueueFixture()
        let everything = PartKind.allCases.map(Self.part).joined(separator: ",")
        let request = Self.payload("id", #","parts":{\#(everything)}"#)
        let given = Dictionary(uniqueKeysWithValues: PartKind.allCases.map { ($0, [Data($0.rawValue.utf8)]) })
        var jobs = [
            try await fixture.client.enqueue(payload: Self.payload("id"), parts: given),
            try await fixture.client.enqueue(payload: request),
        ]
        jobs += try await fixture.enqueue(many: [request, request])
        for job in jobs {
            let stored = try await fixture.admin.query(
                """
                SELECT p.kind FROM insp.part p JOIN insp.job j ON j.id = p.job_id JOIN insp.part_kind k USING (kind)
                WHERE j.public_id = $1 ORDER BY k.place
                """, [.text(job)])
            #expect(try stored.map { try $0.string(0) } == PartKind.allCases.map(\.rawValue))
        }
    }

    @Test func `The program knows the workflows of the table`() async throws {
        let fixture = try await QueueFixture()
        let rows = try await fixture.admin.query(
            """
            SELECT w.*, insp.definition_key(w.name) AS written_out, insp.names_face(w.name), array_to_string(w.stages, ',') AS statuses
            FROM insp.workflow w ORDER BY w.place
            """)
        #expect(try rows.map { try $0.string("name") } == Workflow.allCases.map(\.rawValue))
        for row in rows {
            let workflow = try #require(Workflow(rawValue: try row.string("name")))
            #expect(try row.string("definition_key") == workflow.row.definitionKey)
            #expect(try row.string("written_out") == workflow.row.definitionKey)
            #expect(try row.bool("names_face") == workflow.namesFace)
            #expect(try row.textArray("capabilities") == workflow.capabilities.map(\.rawValue))
            #expect(
                try row.string("statuses") == workflow.stages.map { String($0.rawValue) }.joined(separator: ","))
            #expect(try row.textArray("captures").isEmpty == !workflow.row.isCaptured)
            #expect(try row.optionalString("face_event") == workflow.row.faceEvent?.rawValue)
        }
        let captured = try Set(rows.flatMap { try $0.textArray("captures") })
        #expect(captured == Set(PartKind.captured.map(\.rawValue)))
    }

    @Test func `A job needs and takes the parts that its workflow's row says`() async throws {
        let fixture = try await QueueFixture()
        func refusal(_ workflow: Workflow, _ kinds: [PartKind]) async throws -> ErrorCode? {
            let face = workflow.namesFace ? #","faceId":"\#(UUID().uuidString)""# : ""
            let parts = Dictionary(uniqueKeysWithValues: kinds.map { ($0, [Data("x".utf8)]) })
            do {
                _ = try await fixture.client.enqueue(payload: Self.payload(workflow.rawValue, face), parts: parts)
                return nil
            } catch let error as InspectError {
                return error.code
            }
        }
        for workflow in Workflow.allCases {
            let row = try await fixture.admin.query(
                "SELECT takes, needs_all, needs_one FROM insp.workflow WHERE name = $1", [.text(workflow.rawValue)])[0]
            let takes = try row.textArray("takes")
            let all = try row.textArray("needs_all").compactMap { PartKind(rawValue: $0) }
            let one = try row.textArray("needs_one").compactMap { PartKind(rawValue: $0) }
            #expect(try await refusal(workflow, workflow.row.fewest) == nil)
            let needed = all + one.prefix(1)
            #expect(try await refusal(workflow, needed) == nil)
            for missing in needed {
                // Something that every workflow takes and none needs.
                let others = needed.filter { $0 != missing } + (needed.contains(.face) ? [] : [.face])
                guard !one.contains(.face) || missing != .face else { continue }
                #expect(try await refusal(workflow, others) == .partMissing, "\(workflow) without \(missing)")
            }
            for alternative in one { #expect(try await refusal(workflow, all + [alternative]) == nil) }
            for kind in PartKind.allCases where !needed.contains(kind) && kind != .back {
                let expected: ErrorCode? = takes.contains(kind.rawValue) ? nil : .partUnexpected
                #expect(try await refusal(workflow, needed + [kind]) == expected, "\(workflow) with \(kind)")
            }
        }
    }

    @Test func `A plainly valid request has the parts that its workflow's row prescribes`() async throws {
        let fixture = try await QueueFixture()
        var plain: Set<String> = []
        for workflow in Workflow.allCases {
            for kinds in [[.front], [.face], [.front, .back], [.front, .face], [.front, .back, .face]] as [[PartKind]] {
                let parts = kinds.map(Self.part).joined(separator: ",")
                let request = String(decoding: Self.payload(workflow.rawValue, #","parts":{\#(parts)}"#), as: UTF8.self)
                let isPlain = try await fixture.admin.query(
                    "SELECT is_plain FROM insp.plain_requests($1)", [.jsonbs([request])])[0].bool(0)
                guard isPlain else { continue }
                plain.insert(workflow.rawValue)
                _ = try await fixture.admin.query(
                    "SELECT insp.check_kinds(NULL, w, $2) FROM insp.workflow w WHERE w.name = $1",
                    [.text(workflow.rawValue), .textArray(kinds.map(\.rawValue))])
            }
        }
        #expect(plain.isSuperset(of: ["id", "id_identity", "similarity"]))
    }

    // MARK: Labels and reasons

    @Test func `The program gives the labels of the table`() async throws {
        let fixture = try await QueueFixture()
        let rows = try await fixture.admin.query("SELECT * FROM insp.label")
        let whole = Set(DecisionType.allCases.map(\.rawValue))
        #expect(
            try Set(rows.map { try $0.string("label") }) == Set(DecisionLabel.allCases.map(\.rawValue)).union(whole))
        let capabilities = Set(Capability.allCases.map(\.rawValue))
        for row in rows {
            let label = try row.string("label")
            #expect(try row.textArray("capabilities").isEmpty == whole.contains(label), "\(label)")
            #expect(try capabilities.isSuperset(of: row.textArray("capabilities")), "\(label)")
            #expect(try row.bool("is_given") == (DecisionLabel(rawValue: label)?.isGiven ?? true), "\(label)")
            #expect(try row.int("risk") == Int64(DecisionLabel(rawValue: label)?.risk ?? 0), "\(label)")
        }
    }

    @Test func `The program's reject reasons are those of the table, under their numbers`() async throws {
        let fixture = try await QueueFixture()
        let rows = try await fixture.admin.query(
            "SELECT code, contract_code FROM insp.reasons() WHERE contract_code IS NOT NULL")
        let table = try Dictionary(
            uniqueKeysWithValues: rows.map { (Int(try $0.int("contract_code")), try $0.string("code")) })
        let known = RejectReason.Known.allCases.map { ($0.rawValue, $0.message) }
        #expect(table == Dictionary(uniqueKeysWithValues: known))
        let reasons = try await fixture.admin.query("SELECT code, labels, parts, advice FROM insp.reasons()")
        #expect(Set(try reasons.map { try $0.string("code") }) == Set(Reason.allCases.map(\.rawValue)))
        for row in reasons {
            let reason = try #require(Reason(rawValue: try row.string("code"))).row
            #expect(try row.textArray("labels") == reason.labels.map(\.rawValue))
            #expect(try row.textArray("parts") == reason.parts.map(\.rawValue))
            #expect(try row.string("advice") == reason.advice)
        }
    }

    @Test func `Each objection has a reason, and each reason advice in every language`() async throws {
        let fixture = try await QueueFixture()
        let faults = try await fixture.admin.query(
            """
            SELECT 'no reason behind ' || l.label FROM insp.label l
            WHERE l.is_objection AND l.is_given AND NOT EXISTS (SELECT FROM insp.reason r WHERE l.label = ANY (r.labels))
            UNION ALL
            SELECT format('%s stands behind %s, which is no objection', r.code, x) FROM insp.reason r, unnest(r.labels) x
            WHERE r.parts <> '{}' AND x <> 'PRECONDITION_NOT_FULFILLED'
                AND NOT EXISTS (SELECT FROM insp.label l WHERE l.label = x AND l.is_objection)
            UNION ALL
            SELECT format('%s concerns %s, which is no part', r.code, x) FROM insp.reason r, unnest(r.parts) x
            WHERE NOT EXISTS (SELECT FROM insp.part_kind k WHERE k.kind = x)
            UNION ALL
            -- Which of two it is, only a number in the result can say, or the facts behind a label: why a capability did not
            -- run, and whether a chip is wrong or merely unproven.
            SELECT format('%s and %s stand behind %s of %s', r.code, o.code, l, p)
            FROM insp.reason r JOIN insp.reason o ON o.code > r.code, unnest(r.labels) l, unnest(r.parts) p
            WHERE l = ANY (o.labels) AND p = ANY (o.parts) AND (r.contract_code IS NULL OR o.contract_code IS NULL)
                AND l NOT IN ('PRECONDITION_NOT_FULFILLED', 'NFC_CERTIFICATE')
            UNION ALL
            SELECT format('%s has no advice in %s', r.code, n.language)
            FROM insp.reason r, (SELECT DISTINCT a.language FROM insp.reason_advice a) n
            WHERE NOT EXISTS (SELECT FROM insp.reason_advice a WHERE a.code = r.code AND a.language = n.language)
            """)
        #expect(try faults.map { try $0.string(0) } == [])
        #expect(try await fixture.count("insp.reason") == fixture.count("insp.reasons('de')"))
    }

    @Test func `Reasons are told in a language, or else in English`() async throws {
        let fixture = try await QueueFixture()
        func advice(_ language: String) async throws -> String {
            try await fixture.admin.query(
                "SELECT advice FROM insp.reasons($1) WHERE code = 'GLARE'", [.text(language)])[0].string(0)
        }
        let (english, german) = (try await advice("en"), try await advice("de"))
        #expect(english == "Tilt the document until no light reflects on it.")
        #expect(german != english)
        #expect(try await advice("de-AT") == german)
        #expect(try await advice("xx") == english)
        for role in ["insp_gateway", "insp_producer", "insp_operator"] {
            try await fixture.admin.execute("SET ROLE \(role)")
            #expect(try await advice("de") == german)
            try await fixture.admin.execute("RESET ROLE")
        }
    }

    @Test func `The guide to results has every status, and every decision with its risk`() throws {
        let guide = try String(contentsOfFile: "\(ScratchDatabase.root)/deploy/RESULTS.md", encoding: .utf8)
        func rows(_ heading: String) throws -> [String] {
            let section = try #require(guide.components(separatedBy: "\n## \(heading)\n").dropFirst().first)
            let table = section.components(separatedBy: "\n").drop { !$0.hasPrefix("|--") }.dropFirst()
            return table.prefix { $0.hasPrefix("|") }.map {
                $0.components(separatedBy: "|").dropFirst().prefix(2).map { $0.trimmingCharacters(in: .whitespaces) }
                    .joined(separator: " ")
            }
        }
        #expect(try rows("Statuses") == JobStatus.allCases.map { "\($0.rawValue) \($0.name)" })
        let bands = DecisionType.allCases.map { type in
            let band = type.riskBand
            let end = band.count == 1 ? "" : "–\(band.upperBound)"
            return "\(type.rawValue) \(band.lowerBound)\(end)"
        }
        #expect(try rows("Decisions") == bands)
        let circumstances = RiskRules.Circumstance.allCases.map { "`\($0.rawValue)` \($0.weight)" }
        #expect(try rows("Risk") == circumstances)
    }

    @Test func `The guide to results says of each label what reports say`() throws {
        let guide = try String(contentsOfFile: "\(ScratchDatabase.root)/deploy/RESULTS.md", encoding: .utf8)
        let section = try #require(guide.components(separatedBy: "\n## Labels\n").dropFirst().first)
        let cells = section.components(separatedBy: "\n## ")[0].components(separatedBy: "\n").map { line in
            line.components(separatedBy: "|").map {
                $0.trimmingCharacters(in: .whitespaces).replacingOccurrences(of: "`", with: "")
            }
        }
        let meanings = Dictionary(cells.filter { $0.count == 6 }.map { ($0[1], $0[4]) }) { first, _ in first }
        for label in DecisionLabel.allCases { #expect(meanings[label.rawValue] == label.meaning, "\(label)") }
    }

    @Test func `Each error has its codes of the apps' contracts, as the program knows them`() async throws {
        let fixture = try await QueueFixture()
        let rows = try await fixture.admin.query(
            "SELECT v.*, (insp.failure_summary(v.code, '') #> '{error,contractCodes}')::text AS told FROM insp.v_error v"
        )
        #expect(try Set(rows.map { try $0.string("code") }) == Set(ErrorCode.allCases.map(\.rawValue)))
        for row in rows {
            let code = try #require(ErrorCode(rawValue: try row.string("code")))
            #expect(try row.string("mobile_code") == code.row.jumio, "\(code)")
            #expect(try row.string("face_code") == code.row.faceSDK, "\(code)")
            #expect(try row.optionalInt("payment_code").map { Int($0) } == code.row.iZettle, "\(code)")
            // Results say them, whichever side composes the error.
            let told = try JSONDecoder().decode(ContractCodes.self, from: Data(try row.string("told").utf8))
            #expect(told == code.contractCodes && ErrorRecord(InspectError(code)).contractCodes == told, "\(code)")
            // So do problem documents.
            struct Problem: Decodable { var contractCodes: ContractCodes }
            let problem = HTTPResponse.problem(InspectError(code)).body
            #expect(try JSONDecoder().decode(Problem.self, from: problem).contractCodes == told, "\(code)")
        }
    }

    @Test func `Each letter of the mobile SDK has its codes, or a reason why it has none`() async throws {
        let fixture = try await QueueFixture()
        let used = try await fixture.admin.query(
            """
            SELECT DISTINCT left(c, 1) AS letter, c AS code
            FROM (SELECT mobile_code AS c FROM insp.v_error UNION SELECT mobile_code FROM insp.reasons() WHERE mobile_code IS NOT NULL) x
            ORDER BY 2
            """)
        var codes: [String: [String]] = [:]
        for row in used { codes[try row.string("letter"), default: []].append(try row.string("code")) }
        let guide = try String(contentsOfFile: "\(ScratchDatabase.root)/deploy/RESULTS.md", encoding: .utf8)
        let section = try #require(guide.components(separatedBy: "\n## Letters of the mobile SDK\n").dropFirst().first)
        let rows = section.components(separatedBy: "\n## ")[0].components(separatedBy: "\n")
            .drop { !$0.hasPrefix("|--") }.dropFirst().filter { $0.hasPrefix("|") }
            .map { $0.components(separatedBy: "|").map { $0.trimmingCharacters(in: .whitespaces) } }
        #expect(rows.map { $0[1] } == ["A", "B", "C", "E", "F", "G", "H", "I", "J", "N", "Y", "Z"])
        for row in rows {
            #expect(row[2] == codes[row[1]]?.joined(separator: ", ") ?? "–" && !row[3].isEmpty, "\(row[1])")
        }
        #expect(Set(codes.keys).isSubset(of: rows.map { $0[1] }))
        #expect(Set(Reason.allCases.compactMap(\.mobileCode)) == Set(codes["Z"] ?? []))
    }

    @Test func `A face's job that ends with an error ends as the table says`() async throws {
        let fixture = try await QueueFixture()
        let codes: [ErrorCode] = [.corruptImage, .partNotFound, .vendorRefused, .decryptionFailed]
        var configuration = fixture.configuration(slots: 1)
        configuration.drains = true
        for code in codes {
            let id = try await fixture.client.enqueue(
                payload: Self.payload("liveness"), parts: [.face: [Data("x".utf8)]])
            try await JobWorker(configuration, handler: ClosureHandler { _, _ in throw InspectError(code) }).run()
            let event = try await fixture.admin.query(
                """
                SELECT e ->> 'outcome', e ->> 'outcome' = c.face_outcome, e ->> 'type'
                FROM insp.face_event($1) e, insp.error_contract c WHERE c.code = $2
                """, [.text(id), .text(code.rawValue)])[0]
            let outcome = try event.string(0)
            #expect(try event.bool(1), "\(code): \(outcome)")
            #expect(try event.string(2) == "liveness")
        }
    }

    // MARK: Scopes

    @Test func `A credential has scopes of the table, which the gateway knows`() async throws {
        let fixture = try await QueueFixture()
        let rows = try await fixture.admin.query("SELECT scope, meaning FROM insp.scope")
        let scopes = try rows.map { try $0.string(0) }
        let meanings = Dictionary(
            uniqueKeysWithValues: GatewayCredential.Scope.allCases.map { ($0.rawValue, $0.meaning) })
        #expect(try Dictionary(uniqueKeysWithValues: rows.map { (try $0.string(0), try $0.string(1)) }) == meanings)
        _ = try await fixture.admin.query("SELECT insp.create_credential('acme', $1)", [.textArray(scopes)])
        for wrong in ["'{create,admin}'", "ARRAY['read', NULL]"] {
            let error = await #expect(throws: PostgresError.self) {
                try await fixture.admin.query("SELECT insp.create_credential('acme', \(wrong))")
            }
            #expect(error?.sqlState == ErrorCode.parameterInvalid.sqlState, "\(wrong)")
        }
        let error = await #expect(throws: PostgresError.self) {
            try await fixture.admin.query("SELECT insp.create_credential('acme', '{}')")
        }
        #expect(error?.sqlState == "IN113")
    }
}
