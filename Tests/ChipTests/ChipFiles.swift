import Chip
import Foundation
import InspectCore

/// A chip's files in a folder.
struct ChipFiles {
    var dataGroups: [Int: [UInt8]] = [:]
    var sod: [UInt8]?
    var anchors: [[UInt8]] = []

    /// - Parameter anchors: Files of the folder, or folders in it, that hold certificates.
    init(_ folder: URL, anchors names: [String]) throws {
        let files = FileManager.default
        for name in try files.contentsOfDirectory(atPath: folder.path) where name.hasPrefix("EF_DG") {
            guard let number = Int(name.dropFirst(5).dropLast(4)) else { continue }
            self.dataGroups[number] = try Self.read(folder, name)
        }
        self.sod = try? Self.read(folder, "EF_SOD.bin")
        for name in names {
            let path = folder.appending(path: name).path
            if let inside = try? files.contentsOfDirectory(atPath: path) {
                for file in inside.sorted() { self.anchors.append(try Self.read(folder, "\(name)/\(file)")) }
            } else if files.fileExists(atPath: path) {
                self.anchors.append(try Self.read(folder, name))
            }
        }
    }

    private static func read(_ folder: URL, _ name: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: folder.appending(path: name)))
    }

    var mrz: MRZDocument? {
        self.dataGroups[1].flatMap { try? DataGroup.mrzLines(dg1: $0[...]) }.flatMap {
            MRZDocument(lines: $0, today: CalendarDate(Date()))
        }
    }

    func verify(at time: Date = Date()) -> (facts: PassiveAuthenticationFacts, rules: ChipRules) {
        let facts = PassiveAuthentication.verify(
            dataGroups: self.dataGroups, sod: self.sod, anchors: TrustStore(self.anchors), at: time)
        return (facts, ChipRules(facts, mrz: self.mrz))
    }
}

extension ChipRules {
    /// The six checks by the names of the result document.
    func checks(_ facts: PassiveAuthenticationFacts) -> [String: Bool?] {
        [
            "sod_parse": facts.sodParse, "dg_hashes_ok": facts.hashesOK, "sod_signature_ok": facts.signatureOK,
            "dsc_chain_ok": facts.chainOK, "dsc_valid_period": facts.periodOK, "country_match": self.countryMatch,
        ]
    }
}
