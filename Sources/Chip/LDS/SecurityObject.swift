internal import InspectCore

/// EF.SOD: the hashes of the data groups, signed by the issuer (ICAO Doc 9303-10 §4.6.2).
package struct SecurityObject: Sendable {
    /// The signed data around the hashes.
    package var message: CMSSignedData
    /// 0, or 1 with the version of the LDS.
    package var version: Int
    /// `0108` of version 1.
    package var ldsVersion: String?
    /// The algorithm of ``hashes``.
    package var digestAlgorithm: DigestAlgorithm
    /// Number of a data group (1–16) to the hash of its whole file.
    package var hashes: [Int: [UInt8]]
    /// Deviations from the standard that were accepted.
    package var deviations: [String] = []

    /// id-icao-mrtd-security-ldsSecurityObject (Doc 9303-10 §4.6.2.3).
    package static let contentType = "2.23.136.1.1.1"

    /// Parses the file; no signature is verified.
    package init(file: ArraySlice<UInt8>) throws(LDSError) {
        let element = try TLV(first: file, tag: 0x77, "EF.SOD")
        let rest = file[element.encoded.endIndex...]
        guard rest.allSatisfy({ $0 == 0 }) else { throw .malformed("bytes follow EF.SOD") }
        if !rest.isEmpty { self.deviations.append("TRAILING_ZEROS") }

        self.message = try CMSSignedData(element.content)
        if self.message.contentType != Self.contentType {
            self.deviations.append("CONTENT_TYPE_\(self.message.contentType)")
        }
        var fields = try TLV(first: self.message.content[...], tag: TLV.Tag.sequence, "LDSSecurityObject")
            .children(most: 4)[...]
        guard fields.count >= 3 else { throw .malformed("LDSSecurityObject is incomplete") }
        self.version = try fields.removeFirst().integer()
        guard self.version <= 1 else { throw .unsupported("LDSSecurityObject of version \(self.version)") }
        self.digestAlgorithm = try AlgorithmIdentifier(fields.removeFirst()).digest
        let list = fields.removeFirst()
        guard list.tag == TLV.Tag.sequence else { throw .malformed("LDSSecurityObject has no hashes") }
        self.hashes = [:]
        // ub-DataGroups of Doc 9303-10 §4.6.2.3.
        for entry in try list.children(most: 16) {
            let pair = try entry.children(most: 2)
            guard pair.count == 2 else { throw .malformed("a hash is incomplete") }
            let number = try pair[0].integer()
            let hash = try pair[1].octets()
            guard (1...16).contains(number), hash.count == self.digestAlgorithm.length,
                self.hashes.updateValue(hash, forKey: number) == nil
            else { throw .malformed("a hash is wrong, or given twice") }
        }
        guard !self.hashes.isEmpty else { throw .malformed("LDSSecurityObject has no hashes") }
        if let info = fields.first {
            // LDSVersionInfo: ldsVersion and unicodeVersion, both PrintableString.
            guard let version = try info.children(most: 2).first, version.tag == TLV.Tag.printableString else {
                throw .malformed("the LDS has no version")
            }
            self.ldsVersion = String(decoding: version.content.prefix(8), as: UTF8.self)
        }
    }
}

/// A data group's file (ICAO Doc 9303-10 §4.7).
package enum DataGroup {
    /// Tags of DG1 to DG16 (Doc 9303-10 §4.1, Table 34: the files' template tags).
    private static let tags: [UInt32] = [
        0x61, 0x75, 0x63, 0x76, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6A, 0x6B, 0x6C, 0x6D, 0x6E, 0x6F, 0x70,
    ]

    /// The bytes of `file` that its hash covers: the whole element, without trailing zeros that a reader added.
    ///
    /// - Throws: If this is no file of data group `number`.
    package static func hashed(_ file: ArraySlice<UInt8>, number: Int) throws(LDSError) -> ArraySlice<UInt8> {
        guard (1...16).contains(number) else { throw .malformed("there is no data group \(number)") }
        let element = try TLV(first: file, tag: self.tags[number - 1], "DG\(number)")
        guard file[element.encoded.endIndex...].allSatisfy({ $0 == 0 }) else {
            throw .malformed("bytes follow DG\(number)")
        }
        return element.encoded
    }

    /// The MRZ of DG1 as lines (Doc 9303-10 §4.7.1).
    package static func mrzLines(dg1 file: ArraySlice<UInt8>) throws(LDSError) -> [String] {
        let element = try TLV(first: file, tag: 0x61, "DG1")
        let mrz = try TLV(first: element.content, tag: 0x5F1F, "the MRZ").content
        guard mrz.allSatisfy({ MRZText.isDigit($0) || MRZText.isLetter($0) || $0 == MRZText.filler }) else {
            throw .malformed("the MRZ holds other characters")
        }
        let lengths: [Int]
        switch mrz.count {
        case 90: lengths = [30, 30, 30]
        case 72: lengths = [36, 36]
        case 88: lengths = [44, 44]
        default: throw .malformed("the MRZ has \(mrz.count) characters")
        }
        var start = mrz.startIndex
        return lengths.map { length in
            defer { start += length }
            return MRZText.string(mrz[start..<start + length])
        }
    }
}
