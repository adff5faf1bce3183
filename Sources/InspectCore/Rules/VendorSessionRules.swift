/// Decides by a vendor's answer about a liveness session. Only a literal `true` counts.
enum VendorSessionRules {
    /// How far a vendor's answer can be trusted.
    package static let assurance = "certified-vendor"

    /// - Parameter isOpen: Whether the session was left before its end: then nothing passes.
    package static func decide(_ answer: VendorSessionFacts, isOpen: Bool = false) -> CapabilityDecision {
        guard answer.success else { return CapabilityDecision(type: .rejected, label: .livenessUndetermined) }
        switch (answer.livenessPassed, answer.matched) {
        case (true, false): return CapabilityDecision(type: .rejected, label: .noMatch)
        case (true, _) where !isOpen: return .passed
        case (false, _): return CapabilityDecision(type: .rejected, label: .livenessUndetermined)
        case (nil, _), (true, _): return CapabilityDecision(type: .warning, label: .livenessUndetermined)
        }
    }

    static func data(_ answer: VendorSessionFacts, isOpen: Bool = false) -> LivenessData {
        var scores: [String: Double] = [:]
        if let level = answer.matchLevel { scores["matchLevel"] = Double(level) }
        let isPassed = answer.success && answer.livenessPassed == true && !isOpen
        return LivenessData(
            method: "vendor", assurance: self.assurance, scores: scores, reason: answer.reason,
            resultCode: isPassed ? (answer.matched == false ? 6 : 1) : nil, vendor: answer)
    }
}

/// An answer of a vendor's server, in either of two spellings: that of FaceTec's 10.x server (`responseBlob`, `didError`,
/// `result.livenessProven`), and that of its migration guide (`sessionResponseBlob`, `livenessPassed` or `wasLivenessPassed`).
package struct VendorSessionAnswer: Sendable, Hashable {
    /// The content of the answer, in this program's terms.
    package var facts: VendorSessionFacts
    /// Whether a further blob may come. A 10.x client tries again after `livenessProven` false; the guide's answers are final.
    package var isOpen: Bool

    /// Parses the vendor's answer strictly: a field of an undocumented type makes the whole answer invalid.
    ///
    /// - Parameters:
    ///   - members: The JSON object's members by name.
    ///   - former: The answer to the session's previous blob, which stands until the server answers differently.
    ///   - scansDocument: Whether the client scans a document in the session. The server mentions a scan only once it has begun.
    /// - Throws: ``InspectError`` with ``ErrorCode/vendorResponseInvalid``, naming the field, or with ``ErrorCode/vendorRefused`` if
    ///   the server reports an error.
    package init(
        members: [String: VendorValue], after former: VendorSessionAnswer? = nil, scansDocument: Bool = false
    ) throws(InspectError) {
        let previous = former?.facts
        let answer = VendorMembers(members, in: "")
        let result = try answer.object("result")
        let scan = try answer.object("idScanResultsSoFar")
        guard let success = try answer.flag("success") else {
            throw InspectError(.vendorResponseInvalid, "success is missing")
        }
        if try answer.flag("didError") == true {
            guard !success else { throw InspectError(.vendorResponseInvalid, "didError contradicts success") }
            throw InspectError(.vendorRefused, "the server reports an error (didError)")
        }
        let blobs = try [answer.blob("responseBlob"), answer.blob("sessionResponseBlob")].compactMap { $0 }
        guard Set(blobs).count <= 1 else {
            throw InspectError(.vendorResponseInvalid, "responseBlob contradicts sessionResponseBlob")
        }
        guard !success || blobs.first?.isEmpty == false else {
            throw InspectError(.vendorResponseInvalid, "responseBlob is missing")
        }
        let said = try [
            answer.flag("livenessPassed"), answer.flag("wasLivenessPassed"), result?.flag("livenessProven"),
        ].compactMap { $0 }
        guard Set(said).count <= 1 else {
            throw InspectError(.vendorResponseInvalid, "livenessProven contradicts livenessPassed")
        }
        let levels = try [answer.level("matchLevel"), result?.level("matchLevel")].compactMap { $0 }
        guard Set(levels).count <= 1 else {
            throw InspectError(.vendorResponseInvalid, "result.matchLevel contradicts matchLevel")
        }
        // 4: the scan of the document is complete.
        let isScanning = try scan?.number("photoIDNextStepEnumInt", 0...5).map { $0 != 4 }
        let level = isScanning == false ? try scan?.level("matchLevel") ?? levels.first : levels.first
        let isMatch = try [answer.flag("matched"), answer.flag("isMatch")].compactMap { $0 }
        guard Set(isMatch).count <= 1 else {
            throw InspectError(.vendorResponseInvalid, "isMatch contradicts matched")
        }
        let livenessPassed = said.first ?? previous?.livenessPassed
        self.facts = VendorSessionFacts(
            sessionResponseBlob: blobs.first, success: success, livenessPassed: livenessPassed,
            // The vendor's level 0 is "no match"; the deployment decides which level is enough.
            matched: isMatch.first ?? (level == nil ? previous?.matched : level == 0 ? false : nil),
            matchLevel: level ?? previous?.matchLevel,
            reason: try answer.text("reason", limit: 1024).flatMap(VendorSessionFacts.word))
        let isOfServer = answer.has("responseBlob") || result != nil
        // Once begun, a scan must be completed, whatever happens in between.
        let wasScanning = former?.isOpen == true && previous?.livenessPassed == true
        self.isOpen = isScanning ?? (isOfServer && (livenessPassed != true || wasScanning || scansDocument))
    }

    package init(_ facts: VendorSessionFacts, isOpen: Bool) {
        self.facts = facts
        self.isOpen = isOpen
    }
}

/// The members of one object of an answer.
private struct VendorMembers {
    private let members: [String: VendorValue]
    /// The object's name and a dot; empty: it is the answer.
    private let place: String

    init(_ members: [String: VendorValue], in place: String) {
        self.members = members
        self.place = place
    }

    private func invalid(_ name: String, _ problem: String) -> InspectError {
        InspectError(.vendorResponseInvalid, "\(self.place)\(name) \(problem)")
    }

    func has(_ name: String) -> Bool { self.members[name] != nil }

    func flag(_ name: String) throws(InspectError) -> Bool? {
        switch self.members[name] {
        case nil, .null: return nil
        case .bool(let value): return value
        default: throw self.invalid(name, "is not a boolean")
        }
    }

    func text(_ name: String, limit: Int) throws(InspectError) -> String? {
        switch self.members[name] {
        case nil, .null: return nil
        case .text(let value) where value.utf8.count <= limit: return value
        default: throw self.invalid(name, "is not a text of at most \(limit) bytes")
        }
    }

    func number(_ name: String, _ range: ClosedRange<Int>) throws(InspectError) -> Int? {
        switch self.members[name] {
        case nil, .null: return nil
        case .number(let value)
        where value == value.rounded() && (Double(range.lowerBound)...Double(range.upperBound)).contains(value):
            return Int(value)
        default: throw self.invalid(name, "is not a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
    }

    func blob(_ name: String) throws(InspectError) -> String? {
        try self.text(name, limit: VendorSessionFacts.blobLimit)
    }

    func level(_ name: String) throws(InspectError) -> Int? { try self.number(name, 0...15) }

    func object(_ name: String) throws(InspectError) -> VendorMembers? {
        switch self.members[name] {
        case nil, .null: return nil
        case .object(let members): return VendorMembers(members, in: name + ".")
        default: throw self.invalid(name, "is not an object")
        }
    }
}

extension VendorSessionFacts {
    /// Largest blob, in bytes.
    package static let blobLimit = 8 << 20
    /// Largest answer, in bytes: its blob, and an image of the audit trail, which is dropped.
    package static let answerLimit = 2 * blobLimit

    /// Free text from the vendor could contain anything.
    static func word(_ text: String) -> String? {
        let isPlain = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: " "), UInt8(ascii: "_"), UInt8(ascii: "."),
                UInt8(ascii: "-"):
                true
            default: false
            }
        }
        return isPlain && (1...64).contains(text.utf8.count) ? text : nil
    }
}

/// One member of a JSON object, by its type: `1` is not `true`.
package indirect enum VendorValue: Decodable, Sendable, Hashable {
    case null
    case bool(Bool)
    case number(Double)
    case text(String)
    case object([String: VendorValue])
    /// An array.
    case other

    package init(from decoder: any Decoder) throws {
        guard let container = try? decoder.singleValueContainer() else {
            self = .other
            return
        }
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .text(value)
        } else if let members = try? container.decode([String: VendorValue].self) {
            self = .object(members)
        } else {
            self = .other
        }
    }
}
