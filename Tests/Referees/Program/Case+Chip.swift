import Chip
import Foundation
import InspectCore

extension Case {
    /// CMS signed data, as in EF.SOD and master lists.
    func signedMessage() throws -> Answer {
        let bytes = try self.bytes("message")
        let message: CMSSignedData
        do throws(LDSError) { message = try CMSSignedData(bytes[...]) } catch { return .other("unread", error.detail) }
        let check = SignedMessage(message)
        switch check.isGood {
        case true: return .accept()
        case nil: return .other("undetermined", check.reason?.rawValue)
        case false where check.reason == .signatureInvalid: return .refuse()
        default: return .other("not-tried", check.reason?.rawValue)
        }
    }

    /// A document signer's certificate, which the security object encloses, before files of the operator. Whether it signed
    /// that object is another question.
    func signer() throws -> Answer {
        let facts = PassiveAuthentication.verify(
            dataGroups: [:], sod: try self.bytes("object"), anchors: TrustStore(try self.files()),
            at: Date(timeIntervalSince1970: Double(try self.number("time"))))
        let reasons = facts.reasons.map(\.rawValue).joined(separator: " ")
        if facts.chainOK == false || facts.periodOK == false || facts.reasons.contains(.signerMalformed) {
            return .refuse(reasons)
        }
        guard facts.chainOK == true, facts.periodOK == true else { return .other("undetermined", reasons) }
        let notes: Set = ["AUTHORITY_NAMED_OTHERWISE", "CSCA_EXPIRED", "CSCA_NOT_YET_VALID"]
        if let note = facts.deviations.first(where: notes.contains) { return .other("accept-with-\(note)") }
        return facts.revocation == "good" ? .accept() : .other(facts.revocation)
    }

    /// A data group: the MRZ of DG1, the portrait of DG2, the details of DG7, DG11 and DG12; the others are hashed whole.
    func file() throws -> Answer {
        let (number, bytes) = (try self.number("number"), try self.bytes("file"))
        do throws(LDSError) {
            switch number {
            case 1: return .accept(text: try DataGroup.mrzLines(dg1: bytes[...]).joined())
            case 2: return .accept(bytes: Data(try FacialRecord(dg2: bytes[...]).image))
            case 7:
                let images = try DataGroup.signatureImages(dg7: bytes[...])
                return .accept(facts: [
                    "images": String(images.count), "imageLength": images.first.map { String($0.count) } ?? "",
                ])
            case 11: return .accept(facts: Self.facts(try DataGroup.personalDetails(dg11: bytes[...])))
            case 12: return .accept(facts: Self.facts(try DataGroup.documentDetails(dg12: bytes[...])))
            default:
                _ = try DataGroup.hashed(bytes[...], number: number)
                return .accept()
            }
        } catch {
            if case .unsupported(let detail) = error { return .other("unsupported", detail) }
            return .refuse(error.detail)
        }
    }

    /// What was found, by names; lists with a bar between their elements.
    private static func facts(_ details: some Encodable) -> [String: String] {
        let data = (try? JSONEncoder().encode(details)) ?? Data()
        let members = (try? JSONSerialization.jsonObject(with: data)) as? [String: Any] ?? [:]
        return members.mapValues { ($0 as? [String])?.joined(separator: "|") ?? "\($0)" }
    }

    /// All of passive authentication, with the deviations that were accepted.
    func chip() throws -> Answer {
        let groups = try self.dataGroups()
        let facts = PassiveAuthentication.verify(
            dataGroups: groups, sod: try self.bytes("object"), anchors: TrustStore(try self.files()),
            at: Date(timeIntervalSince1970: Double(try self.number("time"))))
        let mrz = groups[1].flatMap { try? DataGroup.mrzLines(dg1: $0[...]) }.flatMap {
            MRZDocument(lines: $0, today: CalendarDate(Date()))
        }
        let rules = ChipRules(facts, mrz: mrz)
        let reasons = (rules.reasons.map(\.rawValue) + [facts.detail].compactMap { $0 }).joined(separator: " ")
        switch rules.status {
        case .valid where facts.deviations.isEmpty: return .accept()
        case .valid: return .other("accept-with-\(facts.deviations.joined(separator: "+"))")
        case .invalid: return .refuse(reasons)
        case .inconclusive: return .other("undetermined", reasons)
        }
    }

    private func dataGroups() throws -> [Int: [UInt8]] {
        var groups: [Int: [UInt8]] = [:]
        for name in self.fields.keys where name.hasPrefix("DG") {
            guard let number = Int(name.dropFirst(2)) else { throw Malformed(name: name) }
            groups[number] = try self.bytes(name)
        }
        return groups
    }

    /// EF.SOD with data groups (`DG1` and so on) and files of the operator.
    func securityObject() throws -> Answer {
        let groups = try self.dataGroups()
        let object = try self.bytes("object")
        let facts = PassiveAuthentication.verify(
            dataGroups: groups, sod: object, anchors: TrustStore(try self.files()),
            at: Date(timeIntervalSince1970: Double(try self.number("time"))))
        var found = ["country": facts.signer?.country ?? ""]
        for (name, check) in [("parse", facts.sodParse), ("signature", facts.signatureOK), ("chain", facts.chainOK)] {
            found[name] = check.map { $0 ? "yes" : "no" } ?? "open"
        }
        for (number, isListed) in facts.dataGroups { found["DG\(number)"] = isListed ? "yes" : "no" }
        for (number, hash) in (try? SecurityObject(file: object[...]))?.hashes ?? [:] {
            found["hash\(number)"] = hash.hexadecimal
        }
        var answer = Answer(facts.sodParse == true && facts.signatureOK == true)
        answer.detail = facts.detail
        answer.facts = found
        return answer
    }

    /// A master list alone, and beside its state's authority.
    func masterList() throws -> Answer {
        let list = try self.bytes("list")
        let note = TrustStore([try self.bytes("root"), list]).notes.joined(separator: "; ")
        var answer = Answer(note.hasSuffix("signature good, signer's authority known"))
        answer.detail = note
        answer.facts = ["certificates": String(TrustStore([list]).count)]
        return answer
    }

    private func files() throws -> [[UInt8]] {
        try self.text("files").split(separator: " ").map { file in
            guard let data = Data(base64Encoded: String(file)) else { throw Malformed(name: "files") }
            return [UInt8](data)
        }
    }
}
