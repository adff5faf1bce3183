internal import Foundation
internal import InspectCore

/// The parsed body of `POST /inspectionjob/create`: images as bytes, the rest in the form of `insp.enqueue`.
///
/// Images come as Base64 under the names that capture clients give them (`encodedFrontImage`, …), or in `parts` under the
/// names of parts, where URLs are also accepted, or as bytes in the fields of a form. The gateway does not inspect their content.
struct CreateRequest {
    var payload: Data
    var parts: [PartKind: [Data]]

    /// Names of the capture client's payload; an empty string means that no image was taken.
    private static let images: [(name: String, kind: PartKind)] = [
        ("encodedFrontImage", .front), ("encodedBackImage", .back), ("encodedFaceImage", .face),
    ]

    /// Members of a request for a job other than its images. The description has the same.
    static let members = [
        "workflow", "workflowDefinition", "documentFormat", "documentTypes", "countries", "customerInternalReference",
        "userReference", "reportingCriteria", "callbackUrl", "idempotencyKey", "digests", "parts", "region",
        "delaySeconds", "runAt", "expiresAt", "traceparent", "challenge", "consent", "review", "faceId", "threshold",
        "enrollmentMode",
    ]

    /// - Parameters:
    ///   - key: The header `Idempotency-Key`.
    ///   - fixed: Members that the path determines.
    ///   - picksWorkflow: Whether the parts decide on a workflow if the request names none.
    ///   - members: What the request may have in addition to its images; `nil`: the caller judges it.
    /// - Throws: ``InspectError``; the database refuses everything but invalid Base64.
    init(
        _ body: Data, idempotencyKey key: String?, fixed: [String: String] = [:], picksWorkflow: Bool = true,
        members known: [String]? = nil
    ) throws(InspectError) {
        let (members, texts) = try JSONBody.object(body)
        var object = members
        self.parts = [:]
        self.payload = Data()
        try self.takeImages(&object, texts)
        if let known {
            try Self.refuseUnknown(in: object, texts, known, all: Self.images.map(\.name) + known)
        }
        try self.finish(&object, texts, key, fixed, picksWorkflow)
    }

    /// Moves the images with the capture client's names out of the object.
    private mutating func takeImages(_ object: inout [String: Any], _ texts: LongTexts) throws(InspectError) {
        for (name, kind) in Self.images {
            guard let value = object.removeValue(forKey: name), !(value is NSNull) else { continue }
            guard let text = value as? String else {
                throw InspectError(.payloadInvalid, "\(name) is not a string", field: name)
            }
            if !text.isEmpty { self.parts[kind] = [try Self.bytes(text, name, texts)] }
        }
    }

    /// The fields of a form whose values are numbers in JSON.
    private static let numbers: Set<String> = ["delaySeconds", "threshold"]
    /// The field with further members, as a JSON object.
    static let rest = "request"

    /// - Parameters:
    ///   - form: Parts under their names, as bytes; `request`, a JSON object; any further member of that object as a text.
    ///   - key: The header `Idempotency-Key`.
    ///   - fixed: Members that the path determines.
    ///   - picksWorkflow: Whether the parts decide on a workflow if the request names none.
    ///   - known: What the request may have in addition to its images; `nil`: the caller judges it.
    init(
        _ form: FormData, idempotencyKey key: String?, fixed: [String: String] = [:], picksWorkflow: Bool = true,
        members known: [String]? = nil
    ) throws(InspectError) {
        let names = PartKind.allCases.map(\.rawValue) + [Self.rest] + (known ?? [])
        let rest = form.fields.filter { $0.name == Self.rest }
        guard rest.count <= 1 else { throw Self.twice(Self.rest) }
        let (members, texts) = try JSONBody.object(rest.first?.value ?? Data("{}".utf8))
        var object = members
        self.parts = [:]
        self.payload = Data()
        try self.takeImages(&object, texts)
        for field in form.fields where field.name != Self.rest {
            if let kind = PartKind(rawValue: field.name) {
                let count = self.parts[kind]?.count ?? 0
                guard count == 0 || kind.row.isMany else {
                    throw InspectError(.partUnexpected, "\(field.name): more than one", field: field.name)
                }
                guard field.value.count <= PartKind.byteLimit, count < PartKind.countLimit else {
                    throw InspectError(.partTooLarge, field.name, field: field.name)
                }
                self.parts[kind, default: []].append(field.value)
                continue
            }
            // If no member is long, the long value is a part with a wrong name.
            guard Self.isKnown(field.name, known) && (known != nil || field.value.count <= LongTexts.threshold) else {
                throw Self.unknown(field.name, names)
            }
            guard field.value.count <= LongTexts.threshold else {
                throw InspectError(.payloadTooLarge, field: String(field.name.prefix(40)))
            }
            guard let text = String(data: field.value, encoding: .utf8), !text.utf8.contains(0) else {
                throw InspectError(
                    .payloadInvalid, "'\(field.name.prefix(40))' is not a text in UTF-8",
                    field: String(field.name.prefix(40)))
            }
            guard object[field.name] == nil else { throw Self.twice(field.name) }
            guard Self.numbers.contains(field.name) else {
                object[field.name] = text
                continue
            }
            // As in JSON: a hexadecimal number is not a number.
            guard JSONGrammar.isNumber(text), let number = Double(text), number.isFinite else {
                throw InspectError(.payloadInvalid, "\(field.name) is not a number", field: field.name)
            }
            object[field.name] = number
        }
        if let known { try Self.refuseUnknown(in: object, texts, known, all: names) }
        try self.finish(&object, texts, key, fixed, picksWorkflow)
    }

    /// A misspelt name before its value's length: a caller who reads that the request is too large would send a smaller image.
    private static func refuseUnknown(
        in object: [String: Any], _ texts: LongTexts, _ known: [String], all names: [String]
    ) throws(InspectError) {
        // A name that is itself long is not repeated.
        let unknown = object.keys.filter { !Self.isKnown($0, known) && texts.count($0) <= LongTexts.threshold }
        if let name = unknown.min() { throw Self.unknown(name, names) }
    }

    /// The database refuses the two that the credential and the path determine.
    private static func isKnown(_ name: String, _ known: [String]?) -> Bool {
        known?.contains(name) != false || name == "partner" || name == "lane"
    }

    private static func unknown(_ name: String, _ known: [String]) -> InspectError {
        InspectError(
            .payloadInvalid, "unknown key '\(name.prefix(40))'", hint: "Keys are \(known.joined(separator: ", ")).",
            field: String(name.prefix(40)))
    }

    private static func twice(_ name: String) -> InspectError {
        InspectError(.payloadInvalid, "'\(name.prefix(40))' appears twice", field: String(name.prefix(40)))
    }

    private mutating func finish(
        _ object: inout [String: Any], _ texts: LongTexts, _ key: String?, _ fixed: [String: String],
        _ picksWorkflow: Bool
    ) throws(InspectError) {
        try self.takeParts(&object, texts)
        // Members that are not used here are dropped, but checked as well.
        if let definition = object[WorkflowDefinition.member] {
            _ = try JSONBody.data([WorkflowDefinition.member: definition], texts)
        }
        try WorkflowDefinition.unfold(&object)
        for (name, value) in fixed {
            guard (object[name] ?? value) as? String == value else {
                throw InspectError(.payloadInvalid, "\(name) differs from the one in the path", field: name)
            }
            object[name] = value
        }
        if let key {
            guard (object["idempotencyKey"] as? String ?? key) == key else {
                throw InspectError(
                    .payloadInvalid, "idempotencyKey is not that of the header", field: "idempotencyKey")
            }
            object["idempotencyKey"] = key
        }
        if picksWorkflow, object["workflow"] == nil {
            let byURL = (object["parts"] as? [String: Any] ?? [:]).keys.compactMap(PartKind.init)
            object["workflow"] = Workflow.usual(for: Set(self.parts.keys).union(byURL)).rawValue
        }
        self.payload = try JSONBody.data(object, texts)
    }

    /// Moves the parts given as bytes out of `parts`; parts by URL stay.
    private mutating func takeParts(_ object: inout [String: Any], _ texts: LongTexts) throws(InspectError) {
        guard let given = object["parts"] as? [String: Any] else { return }
        var remaining = given
        var digests = object["digests"] as? [String: Any] ?? [:]
        for (name, value) in given {
            let list = value as? [Any]
            guard (list ?? [value]).contains(where: Self.isInline) else { continue }
            guard let kind = PartKind(rawValue: name) else {
                throw InspectError(.partUnknown, "'\(name.prefix(40))'", field: "parts.\(name.prefix(40))")
            }
            guard self.parts[kind] == nil, kind.row.isMany || list == nil else {
                throw InspectError(.partUnexpected, "\(name): more than one", field: "parts.\(name)")
            }
            guard (list ?? []).count <= PartKind.countLimit else {
                throw InspectError(.partTooLarge, name, field: "parts.\(name)")
            }
            var sums: [Any] = []
            var contents: [Data] = []
            for item in list ?? [value] {
                guard Self.isInline(item) else {
                    throw InspectError(
                        .payloadInvalid, "parts.\(name) mixes bytes and URLs", field: "parts.\(name)")
                }
                let members = item as? [String: Any]
                guard let text = members?["content"] ?? item as? String, let text = text as? String,
                    Set((members ?? [:]).keys).isSubset(of: ["content", "sha256"])
                else {
                    throw InspectError(
                        .payloadInvalid, "parts.\(name) is not Base64 in content, with its sha256",
                        field: "parts.\(name)")
                }
                contents.append(try Self.bytes(text, "parts.\(name)", texts))
                if let sum = members?["sha256"] { sums.append(sum) }
            }
            guard sums.isEmpty || sums.count == contents.count else {
                throw InspectError(
                    .digestInvalid, "\(name): the number of digests differs from the number of frames",
                    hint: "Give one digest for each frame.",
                    field: "parts.\(name)")
            }
            if !sums.isEmpty { digests[name] = kind.row.isMany ? sums : sums[0] }
            self.parts[kind] = contents
            remaining[name] = nil
        }
        object["parts"] = remaining.isEmpty ? nil : remaining
        if !digests.isEmpty { object["digests"] = digests }
    }

    private static func isInline(_ value: Any) -> Bool {
        value is String || (value as? [String: Any])?["content"] != nil
    }

    /// Base64 of the largest part, with an eighth more for line breaks and their escapes.
    private static let longestText = PartKind.byteLimit / 3 * 4 * 9 / 8

    private static func bytes(_ text: String, _ name: String, _ texts: LongTexts) throws(InspectError) -> Data {
        // Checked by its length, before decoding.
        guard texts.count(text) <= Self.longestText else { throw InspectError(.partTooLarge, name, field: name) }
        guard let data = texts.bytes(text) else {
            throw InspectError(.payloadInvalid, "\(name) is not Base64", field: name)
        }
        return data
    }
}
