/// CMS signed data of an EF.SOD or a master list (RFC 5652 §5), parsed but not verified.
package struct CMSSignedData: Sendable {
    /// A signer and its signature (RFC 5652 §5.3).
    package struct SignerInfo: Sendable {
        /// How the signer's certificate is identified.
        package enum Identifier: Sendable, Hashable {
            /// The issuer's name and the serial number, both as encoded.
            case issuerAndSerial(issuer: [UInt8], serial: [UInt8])
            case subjectKeyIdentifier([UInt8])
        }

        /// Finds the signer among the certificates.
        package var identifier: Identifier
        /// The digest of the content and of the attributes.
        package var digestAlgorithm: AlgorithmIdentifier
        /// The signed attributes as a SET, which is what is signed; `nil` when the content itself is.
        package var signedAttributes: [UInt8]?
        /// The digest of the content, an attribute that every signer with attributes must have.
        var messageDigest: [UInt8]?
        /// Content type that the attributes name.
        package var contentType: String?
        /// Signing time that the signer states, as UTCTime or GeneralizedTime; not proven by anything.
        var signingTime: String?
        /// With its parameters, as RSASSA-PSS needs them.
        package var signatureAlgorithm: AlgorithmIdentifier
        /// As encoded.
        package var signature: [UInt8]
    }

    /// The object identifier of the content, in dotted form.
    package var contentType: String
    /// The octets of the content, which are hashed.
    package var content: [UInt8]
    /// The enclosed certificates, as encoded.
    package var certificates: [[UInt8]]
    /// In the order in which they are enclosed.
    package var signers: [SignerInfo]

    /// Certificates that a security object may enclose: its signer's and, in some states, the issuer's.
    private static let mostCertificates = 64
    private static let mostSigners = 8

    /// Parses a ContentInfo.
    package init(_ contentInfo: ArraySlice<UInt8>) throws(LDSError) {
        let info = try TLV(first: contentInfo, tag: TLV.Tag.sequence, "ContentInfo").children(most: 2)
        guard info.count == 2, try info[0].objectIdentifier() == "1.2.840.113549.1.7.2", info[1].tag == 0xA0 else {
            throw .malformed("the message is not signed data")
        }
        var fields = try TLV(first: info[1].content, tag: TLV.Tag.sequence, "SignedData").children(most: 6)[...]
        guard let version = fields.popFirst(), (1...5).contains(try version.integer()) else {
            throw .malformed("signed data has no version")
        }
        guard fields.popFirst()?.tag == TLV.Tag.set, let encapsulated = fields.popFirst(),
            encapsulated.tag == TLV.Tag.sequence
        else { throw .malformed("signed data has no content") }
        let content = try encapsulated.children(most: 2)
        guard content.count == 2, content[1].tag == 0xA0 else { throw .malformed("signed data has no content") }
        self.contentType = try content[0].objectIdentifier()
        self.content = try TLV(first: content[1].content).octets()

        self.certificates = []
        if let set = fields.first, set.tag == 0xA0 {
            fields.removeFirst()
            // Other choices than Certificate (RFC 5652 §10.2.2) are attribute certificates: nothing is signed with them.
            self.certificates = try set.children(most: Self.mostCertificates).filter { $0.tag == TLV.Tag.sequence }
                .map { Array($0.encoded) }
        }
        if fields.first?.tag == 0xA1 { fields.removeFirst() }
        guard let signers = fields.popFirst(), signers.tag == TLV.Tag.set, fields.isEmpty else {
            throw .malformed("signed data has no signers")
        }
        self.signers = []
        for signer in try signers.children(most: Self.mostSigners) { self.signers.append(try SignerInfo(signer)) }
    }
}

extension CMSSignedData.SignerInfo {
    init(_ element: TLV) throws(LDSError) {
        guard element.tag == TLV.Tag.sequence else { throw .malformed("a signer is not a sequence") }
        var fields = try element.children(most: 7)[...]
        guard fields.count >= 5, try (1...3).contains(fields.removeFirst().integer()) else {
            throw .malformed("a signer is incomplete")
        }
        let name = fields.removeFirst()
        switch name.tag {
        case TLV.Tag.sequence:
            let pair = try name.children(most: 2)
            guard pair.count == 2, pair[0].tag == TLV.Tag.sequence, pair[1].tag == TLV.Tag.integer else {
                throw .malformed("a signer has no name")
            }
            self.identifier = .issuerAndSerial(issuer: Array(pair[0].encoded), serial: Array(pair[1].content))
        case 0x80: self.identifier = .subjectKeyIdentifier(Array(name.content))
        case 0xA0: self.identifier = .subjectKeyIdentifier(try TLV(first: name.content).octets())
        default: throw .malformed("a signer has no name")
        }
        self.digestAlgorithm = try AlgorithmIdentifier(fields.removeFirst())
        let attributes = fields.first?.tag == 0xA0 ? fields.removeFirst() : nil
        guard fields.count >= 2 else { throw .malformed("a signer is incomplete") }
        self.signatureAlgorithm = try AlgorithmIdentifier(fields.removeFirst())
        self.signature = try fields.removeFirst().octets()
        if let attributes {
            // RFC 5652 §5.4: what is signed carries the tag of a SET, and DER's length, instead of [0].
            self.signedAttributes = [0x31] + Self.length(attributes.content.count) + attributes.content
            try self.takeAttributes(attributes)
        }
    }

    private mutating func takeAttributes(_ attributes: TLV) throws(LDSError) {
        for attribute in try attributes.children() {
            let pair = try attribute.children(most: 2)
            guard pair.count == 2, pair[1].tag == TLV.Tag.set else { throw .malformed("an attribute has no value") }
            let values = try pair[1].children()
            switch try pair[0].objectIdentifier() {
            case "1.2.840.113549.1.9.3":
                guard values.count == 1, self.contentType == nil else { throw .malformed("two content types") }
                self.contentType = try values[0].objectIdentifier()
            case "1.2.840.113549.1.9.4":
                // With two digests, a signer could sign one content and show another.
                guard values.count == 1, self.messageDigest == nil else { throw .malformed("two message digests") }
                self.messageDigest = try values[0].octets()
            case "1.2.840.113549.1.9.5":
                self.signingTime = values.first.map { String(decoding: $0.content.prefix(32), as: UTF8.self) }
            default: continue
            }
        }
    }

    /// A definite length in the shortest form (ISO/IEC 8825-1 §10.1).
    static func length(_ count: Int) -> [UInt8] {
        if count < 0x80 { return [UInt8(count)] }
        var octets: [UInt8] = []
        var rest = count
        while rest > 0 {
            octets.insert(UInt8(rest & 0xFF), at: 0)
            rest >>= 8
        }
        return [0x80 | UInt8(octets.count)] + octets
    }
}
