import Chip
import Foundation
import InspectCore
import TestSupport
import Testing

/// Chips of a CSCA that the test creates with the openssl program, an independent implementation.
@Suite struct PassiveAuthenticationTests {
    private func files(_ chip: String) async throws -> ChipFiles {
        try ChipFiles(await TestChips.folder.appending(path: chip), anchors: ["anchors"])
    }

    @Test func `Every chip gets its status, each check its result, and a reason`() async throws {
        let manifest = try await TestChips.manifest
        #expect(manifest.count == 38)
        for chip in manifest {
            let (facts, rules) = try await self.files(chip.chip).verify()
            #expect(rules.checks(facts) == chip.checks, "\(chip): \(facts)")
            #expect(rules.status.rawValue == chip.status, "\(chip): \(facts)")
            #expect(rules.reasons.first?.rawValue == chip.reason, "\(chip): \(rules.reasons)")
            if let revocation = chip.revocation { #expect(facts.revocation == revocation, "\(chip)") }
            #expect(rules.isExpiredOnly == false)
        }
    }

    @Test func `The report on a valid chip has its own data`() async throws {
        let (facts, _) = try await self.files("good_rsa_sha512").verify()
        #expect(facts.digestAlgorithm == "SHA-512")
        #expect(facts.ldsVersion == "0108")
        #expect(facts.signatureAlgorithm == "RSASSA-PKCS1-v1_5 SHA-512")
        #expect(facts.dataGroups == [1: true, 2: true])
        #expect(facts.signer?.country == "UT")
        #expect(facts.signer?.key == "RSA 2048")
        #expect(facts.signedOn == CalendarDate(Date()).iso8601)
        #expect(facts.authority?.sha256 != facts.signer?.sha256)
        #expect(facts.anchors == 1)

        let explicit = try await self.files("good_ecdsa_explicit").verify().facts
        #expect(explicit.signer?.key == "brainpoolP256r1")
        #expect(explicit.signer?.hasExplicitParameters == true)
        #expect(explicit.deviations.contains("EXPLICIT_CURVE_PARAMETERS"))
        #expect(try await self.files("good_pss").verify().facts.signatureAlgorithm == "RSASSA-PSS SHA-256")
        #expect(try await self.files("good_ecdsa_p256").verify().facts.signer?.hasExplicitParameters == false)
        let dsa = try await self.files("good_dsa").verify().facts
        #expect(dsa.signer?.key == "DSA 1024" && dsa.signatureAlgorithm == "DSA SHA-256")
        let link = try await self.files("good_link_without_old_key").verify().facts
        #expect(link.anchorNotes == ["LINK_CERTIFICATE UT: an anchor itself, since its issuer is not given"])
        #expect(try await self.files("good_link").verify().facts.anchorNotes.isEmpty)
        let list = try await self.files("good_master_list").verify().facts
        #expect(list.anchorNotes == ["MASTER_LIST UT: 2 certificates, signature good, signer's authority known"])
    }

    @Test func `An expired certificate is a warning, one that is not yet valid proves nothing`() async throws {
        let chip = try await self.files("good_pss")
        let late = chip.verify(at: Date(timeIntervalSinceNow: 20 * 365 * 86_400))
        #expect(late.facts.periodOK == false)
        #expect(late.rules.status == .inconclusive)
        #expect(late.rules.reasons == [.expired])
        #expect(late.rules.isExpiredOnly)
        let early = chip.verify(at: Date(timeIntervalSinceNow: -5 * 365 * 86_400))
        #expect(early.rules.reasons == [.notYetValid])
        #expect(early.facts.deviations.contains("CSCA_NOT_YET_VALID"))
        #expect(early.rules.status == .inconclusive)
    }

    @Test func `An outdated revocation list still revokes, but proves no certificate good`() async throws {
        let later = Date(timeIntervalSinceNow: 90 * 86_400)
        #expect(try await self.files("good_not_revoked").verify(at: later).facts.revocation == "outdated")
        let revoked = try await self.files("bad_revoked").verify(at: later)
        #expect(revoked.facts.revocation == "revoked")
        #expect(revoked.rules.status == .invalid)
    }

    @Test func `Without a security object or data groups, nothing is proven`() async throws {
        var chip = try await self.files("good_pss")
        chip.dataGroups = [:]
        let empty = chip.verify()
        #expect(empty.rules.status == .inconclusive)
        #expect(empty.facts.signatureOK == true && empty.facts.chainOK == true && empty.facts.hashesOK == nil)
        #expect(empty.rules.reasons == [.dataGroupsMissing, .countryUnknown])
        chip = try await self.files("good_pss")
        chip.sod = nil
        #expect(chip.verify().rules.reasons == [.sodMissing])
        #expect(chip.verify().rules.status == .inconclusive)
    }

    @Test func `A damaged certificate file is not trusted, and the fault is reported`() async throws {
        var chip = try await self.files("good_pss")
        let good = chip.anchors
        for damaged: [UInt8] in [[], [0x30], Array(good[0].dropLast()), good[0] + [1], Array("hello".utf8)] {
            chip.anchors = [damaged]
            let (facts, rules) = chip.verify()
            #expect(rules.status == .inconclusive)
            #expect(rules.reasons == [.anchorsMissing])
            #expect(facts.anchorNotes.count == 1)
            #expect(facts.anchorNotes.first?.hasPrefix("FILE_NOT_USED") == true)
        }
    }
}
