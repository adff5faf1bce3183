import Chip
import Foundation
import InspectCore
import Testing

/// The folder of published chips.
private enum PublishedChips {
    static let folder = ProcessInfo.processInfo.environment["INSPECTD_TEST_CHIPS"].map { URL(fileURLWithPath: $0) }
}

/// Published chips and master lists of real issuers, in the folder that `INSPECTD_TEST_CHIPS` names; they are not part of
/// the repository, since their licences differ.
@Suite(.enabled(if: PublishedChips.folder != nil, "INSPECTD_TEST_CHIPS names no folder"))
struct PublishedChipsTests {
    private func chip(_ name: String, anchors: [String] = ["CSCA.cer"]) throws -> ChipFiles {
        try ChipFiles(try #require(PublishedChips.folder).appending(path: name), anchors: anchors)
    }

    private var names: [String] {
        get throws {
            try FileManager.default.contentsOfDirectory(atPath: try #require(PublishedChips.folder).path).sorted()
        }
    }

    @Test func `Every country's security object is signed by a signer that its CSCA certified`() throws {
        let countries = try self.names.filter { $0.hasPrefix("country_sod_") }
        #expect(!countries.isEmpty)
        for name in countries {
            let (facts, rules) = try self.chip(name).verify()
            #expect(facts.sodParse == true && facts.signatureOK == true && facts.chainOK == true, "\(name): \(facts)")
            #expect(facts.signer?.country == String(name.suffix(2)))
            #expect(facts.signer.map { $0.sha256 != facts.authority?.sha256 } == true)
            // No data groups were published with them.
            #expect(facts.hashesOK == nil && rules.status == .inconclusive)
        }
    }

    @Test func `Good chips are valid, and each bad one is invalid for its own reason`() throws {
        let reasons: [String: ChipReason] = [
            "dg1_tampered": .dataGroupHashMismatch, "signature_bit": .signatureInvalid, "rogue_ca": .chainInvalid,
            "dsc_expired": .expired,
        ]
        for name in try self.names where name.hasPrefix("syn_") {
            let (facts, rules) = try self.chip(name).verify()
            #expect((rules.status == .valid) == name.hasPrefix("syn_ok"), "\(name): \(facts)")
            for (part, reason) in reasons where name.contains(part) {
                #expect(rules.reasons == [reason], "\(name)")
            }
            let open = try self.chip(name, anchors: []).verify()
            #expect(open.facts.chainOK == nil)
            #expect(open.rules.reasons.contains(.anchorsMissing))
        }
    }

    @Test(
        .enabled(
            if: PublishedChips.folder.map { FileManager.default.fileExists(atPath: $0.path + "/bsi2008") } == true)
    )
    func `A reference chip of 2008 is consistent without its CSCA`() throws {
        var chip = try self.chip("bsi2008", anchors: [])
        let listed = [1, 2, 3, 14]
        let unlisted = chip.dataGroups.keys.filter { !listed.contains($0) }
        #expect(unlisted.sorted() == [4, 15])
        #expect(chip.verify().rules.reasons.first == .dataGroupNotListed)
        for number in unlisted { chip.dataGroups[number] = nil }
        let (facts, rules) = chip.verify()
        #expect(facts.dataGroups == [1: true, 2: true, 3: true, 14: true])
        #expect(facts.signatureOK == true && facts.chainOK == nil && rules.countryMatch == true)
        #expect(facts.signer?.hasExplicitParameters == true)
        #expect(rules.status == .inconclusive)
        #expect(chip.mrz?.surname == "MUSTERMANN")
        let portrait = try FacialRecord(dg2: try #require(chip.dataGroups[2])[...])
        #expect(portrait.image.prefix(8).elementsEqual([0, 0, 0, 0x0C, 0x6A, 0x50, 0x20, 0x20]))
    }

    @Test func `Master lists give their CSCA certificates, and links lead from an old key to a new one`() throws {
        let lists = try #require(PublishedChips.folder).appending(path: "masterlists")
        let files = try FileManager.default.contentsOfDirectory(atPath: lists.path).sorted()
        func read(_ name: String) throws -> [UInt8] { [UInt8](try Data(contentsOf: lists.appending(path: name))) }
        for (prefix, count) in [("DE_ML", 588), ("NL_ML", 411)] {
            let store = TrustStore([try read(try #require(files.first { $0.hasPrefix(prefix) }))])
            #expect(store.count == count, "\(store.notes)")
            #expect(store.notes.first?.hasSuffix("signature good, signer's authority known") == true, "\(store.notes)")
        }
        // The German list alone is enough for every country's security object.
        let german = try read(try #require(files.first { $0.hasPrefix("DE_ML") }))
        for name in try self.names where name.hasPrefix("country_sod_") {
            var chip = try self.chip(name, anchors: [])
            chip.anchors = [german]
            #expect(chip.verify().facts.chainOK == true, "\(name)")
        }
    }
}
