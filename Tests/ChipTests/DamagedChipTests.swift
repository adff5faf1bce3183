import Chip
import Foundation
import InspectCore
import TestSupport
import Testing

/// Chips are untrusted: no byte may do more than fail a check.
@Suite struct DamagedChipTests {
    private func files(_ chip: String) async throws -> ChipFiles {
        try ChipFiles(await TestChips.folder.appending(path: chip), anchors: ["anchors"])
    }

    @Test func `A security object that is cut off anywhere does not parse`() async throws {
        let chip = try await self.files("good_ecdsa_p256")
        let store = TrustStore(chip.anchors)
        let sod = try #require(chip.sod)
        for count in 0..<sod.count {
            let facts = PassiveAuthentication.verify(
                dataGroups: chip.dataGroups, sod: Array(sod.prefix(count)), anchors: store, at: Date())
            #expect(facts.sodParse == false, "cut at \(count)")
            #expect(facts.signatureOK == nil)
        }
    }

    @Test func `A security object with a wrong signed bit is never valid`() async throws {
        var chip = try await self.files("good_ecdsa_p256")
        // A smaller portrait: it is hashed each time.
        chip.dataGroups[2] = nil
        let store = TrustStore(chip.anchors)
        let sod = try #require(chip.sod)
        let mrz = chip.mrz
        var survivors: [Int] = []
        // Two bits of every byte, apart.
        for (position, shift) in sod.indices.flatMap({ [($0, $0 % 8), ($0, ($0 + 5) % 8)] }) {
            var damaged = sod
            damaged[position] ^= 1 << shift
            let facts = PassiveAuthentication.verify(
                dataGroups: chip.dataGroups, sod: damaged, anchors: store, at: Date())
            if ChipRules(facts, mrz: mrz).status == .valid { survivors.append(position) }
        }
        // Bytes outside both signatures may change: the set of hash functions, versions, and the signer's name, which the
        // key replaces. The signatures cover everything that the result depends on.
        let covered = try self.covered(sod)
        #expect(survivors.allSatisfy { !covered.contains($0) }, "\(survivors)")
        #expect(survivors.count < sod.count)
    }

    /// Positions of the signed content, the signed attributes, the signature, and the signer's certificate.
    private func covered(_ sod: [UInt8]) throws -> Set<Int> {
        let message = try SecurityObject(file: sod[...]).message
        let info = try #require(message.signers.first)
        let attributes = try #require(info.signedAttributes)
        var positions: Set<Int> = []
        for piece in [message.content, message.certificates[0], Array(attributes.dropFirst(3)), info.signature] {
            let start = try #require(sod.indices.first { sod[$0...].starts(with: piece) })
            positions.formUnion(start..<start + piece.count)
        }
        return positions
    }

    @Test func `Truncated or damaged data groups fail their hash and nothing else`() async throws {
        let chip = try await self.files("good_ecdsa_p256")
        let store = TrustStore(chip.anchors)
        let dg1 = try #require(chip.dataGroups[1])
        for count in 0..<dg1.count {
            let facts = PassiveAuthentication.verify(
                dataGroups: [1: Array(dg1.prefix(count))], sod: chip.sod, anchors: store, at: Date())
            #expect(facts.hashesOK == false && facts.signatureOK == true)
            #expect((try? DataGroup.mrzLines(dg1: dg1.prefix(count))) == nil)
        }
        for bit in 0..<dg1.count * 8 {
            var damaged = dg1
            damaged[bit / 8] ^= 1 << (bit % 8)
            let facts = PassiveAuthentication.verify(
                dataGroups: [1: damaged], sod: chip.sod, anchors: store, at: Date())
            #expect(facts.hashesOK == false)
            _ = try? DataGroup.mrzLines(dg1: damaged[...])
        }
    }

    @Test func `A portrait that is cut off or damaged is refused or shortened, never read past its end`() async throws {
        let whole = try #require(try await self.files("good_ecdsa_p256").dataGroups[2])
        for count in 0..<600 { #expect((try? FacialRecord(dg2: whole.prefix(count))) == nil) }
        var read = 0
        for bit in 0..<120 * 8 {
            var damaged = whole
            damaged[bit / 8] ^= 1 << (bit % 8)
            guard let record = try? FacialRecord(dg2: damaged[...]) else { continue }
            read += 1
            #expect(record.image.endIndex <= damaged.endIndex)
        }
        // The description of the person and the camera may change.
        #expect(read > 0 && read < 120 * 8)
    }

    @Test func `Master lists and certificates that are damaged never crash`() async throws {
        let chip = try await self.files("good_master_list")
        let list = chip.anchors[0]
        for position in stride(from: 0, to: list.count, by: 7) {
            var damaged = list
            damaged[position] ^= UInt8(1 << (position % 8))
            _ = TrustStore([damaged, Array(list.prefix(position))])
        }
        let certificate = try await self.files("good_pss").anchors[0]
        for position in certificate.indices {
            var damaged = certificate
            damaged[position] ^= UInt8(1 << (position % 8))
            #expect(TrustStore([Array(certificate.prefix(position))]).count == 0)
            _ = TrustStore([damaged])
        }
    }
}
