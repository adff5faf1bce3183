/// Decides by a vendor's answer about a liveness session. Only a literal `true` counts.
enum VendorSessionRules {
    /// How far a vendor's answer can be trusted.
    package static let assurance = "certified-vendor"

    package static func decide(_ answer: VendorSessionFacts) -> CapabilityDecision {
        guard answer.success else { return CapabilityDecision(type: .rejected, label: .livenessUndetermined) }
        switch (answer.livenessPassed, answer.matched) {
        case (true, false): return CapabilityDecision(type: .rejected, label: .noMatch)
        case (true, _): return .passed
        case (false, _): return CapabilityDecision(type: .rejected, label: .livenessUndetermined)
        case (nil, _): return CapabilityDecision(type: .warning, label: .livenessUndetermined)
        }
    }

    static func data(_ answer: VendorSessionFacts) -> LivenessData {
        var scores: [String: Double] = [:]
        if let level = answer.matchLevel { scores["matchLevel"] = Double(level) }
        return LivenessData(
            method: "vendor", assurance: self.assurance, scores: scores, reason: answer.reason,
            resultCode: answer.success && answer.livenessPassed == true ? (answer.matched == false ? 6 : 1) : nil,
            vendor: answer)
    }
}

extension VendorSessionFacts {
    /// Parses the vendor's answer strictly: a field of an undocumented type makes the whole answer invalid.
    ///
    /// - Parameter members: The JSON object's members by name.
    /// - Throws: ``InspectError`` with ``ErrorCode/vendorResponseInvalid``, naming the field.
    package init(members: [String: VendorValue]) throws(InspectError) {
        func flag(_ names: String...) throws(InspectError) -> Bool? {
            var found: Bool?
            for name in names {
                switch members[name] {
                case nil, .null: continue
                case .bool(let value):
                    // Two names for one thing must agree.
                    if let found, found != value { throw InspectError(.vendorResponseInvalid, "\(name) contradicts") }
                    found = value
                default: throw InspectError(.vendorResponseInvalid, "\(name) is no boolean")
                }
            }
            return found
        }
        func text(_ name: String, limit: Int) throws(InspectError) -> String? {
            switch members[name] {
            case nil, .null: return nil
            case .text(let value) where value.utf8.count <= limit: return value
            default: throw InspectError(.vendorResponseInvalid, "\(name) is no text of at most \(limit) bytes")
            }
        }
        guard let success = try flag("success") else {
            throw InspectError(.vendorResponseInvalid, "success is missing")
        }
        // 10.x names it responseBlob on the wire of its own server, and sessionResponseBlob towards clients.
        var blob = try text("sessionResponseBlob", limit: Self.blobLimit)
        if blob == nil { blob = try text("responseBlob", limit: Self.blobLimit) }
        let reason = try text("reason", limit: 1024)
        var level: Int?
        switch members["matchLevel"] {
        case nil, .null: break
        case .number(let value) where (0...15).contains(value) && value == value.rounded(): level = Int(value)
        default: throw InspectError(.vendorResponseInvalid, "matchLevel is no whole number from 0 to 15")
        }
        self.init(
            sessionResponseBlob: blob, success: success,
            livenessPassed: try flag("livenessPassed", "wasLivenessPassed"), matched: try flag("matched", "isMatch"),
            matchLevel: level, reason: reason.flatMap(Self.word))
        guard !success || blob != nil else {
            throw InspectError(.vendorResponseInvalid, "sessionResponseBlob is missing")
        }
    }

    /// Bytes of a blob at most.
    package static let blobLimit = 8 << 20

    /// A free text of the vendor's could hold anything.
    private static func word(_ text: String) -> String? {
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
package enum VendorValue: Decodable, Sendable, Hashable {
    case null
    case bool(Bool)
    case number(Double)
    case text(String)
    /// An array or an object.
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
        } else {
            self = .other
        }
    }
}
