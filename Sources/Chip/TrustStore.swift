internal import COpenSSL
internal import Foundation
internal import InspectCore

/// The CSCA certificates that verify document signers, from files of the operator or the caller.
///
/// None is built in. Not `Sendable`: a store belongs to one process or request.
package final class TrustStore {
    /// One certificate and how far it is trusted.
    private final class Entry {
        enum Trust {
            case unknown, pending, refused
            /// How many authorities of other names may follow.
            case trusted(room: Int)
        }

        let certificate: Certificate
        var trust: Trust

        init(_ certificate: Certificate, trust: Trust) {
            self.certificate = certificate
            self.trust = trust
        }
    }

    private var entries: [Entry] = []
    private var lists: [RevocationList] = []
    private var seen: Set<[UInt8]> = []
    /// The signers of master lists, by the place of the note on their list.
    private var listSigners: [Int: Certificate] = [:]
    /// Notes on the files: the contents of master lists, unusable files.
    package private(set) var notes: [String] = []

    /// Number of CSCA certificates.
    package var count: Int { self.entries.count }

    /// Certificates of one master list; Germany's holds 588.
    private static let mostInList = 5000
    /// Links from a key to its successor that are followed.
    private static let longestChain = 8

    /// Loads the files of one source.
    ///
    /// A file is a certificate, a list of revoked certificates (both DER or PEM, also several in one file) or a master list
    /// (Doc 9303-12 §8, CMS). Its content decides, not its name.
    package init(_ files: [[UInt8]]) {
        for file in files { self.add(file) }
        self.trustFirstLinks()
        for (place, signer) in self.listSigners {
            self.notes[place] +=
                self.issuer(of: signer)?.isVouched == true
                ? ", signer's authority known" : ", signer's authority not known"
        }
    }

    private func add(_ file: [UInt8]) {
        let blocks = PEMFile.blocks(file)
        for block in blocks.isEmpty ? [file] : blocks {
            do throws(LDSError) { try self.addBlock(block) } catch {
                self.notes.append("FILE_NOT_USED: \(error.detail)")
            }
        }
    }

    private func addBlock(_ block: [UInt8]) throws(LDSError) {
        let element = try TLV(first: block[...], tag: TLV.Tag.sequence, "a file of certificates")
        guard block[element.encoded.endIndex...].allSatisfy({ $0 == 0 }) else {
            throw .malformed("bytes follow the file's end")
        }
        let bytes = Array(element.encoded)
        guard let first = try element.children(most: 3).first else { throw .malformed("a file is empty") }
        if first.tag == TLV.Tag.objectIdentifier { return try self.addMasterList(CMSSignedData(bytes[...])) }
        // A certificate and a list look alike outside; inside, only the list begins with small numbers and a sequence.
        var listProblem: LDSError?
        do throws(LDSError) {
            self.addCertificate(try Certificate(bytes), vouched: false)
            return
        } catch {
            listProblem = error
        }
        guard let list = try? RevocationList(bytes) else {
            throw listProblem ?? .malformed("a file is not a certificate")
        }
        self.lists.append(list)
    }

    private func addCertificate(_ certificate: Certificate, vouched: Bool) {
        guard self.seen.insert(certificate.encoded).inserted else {
            // A master list also vouches for certificates from other files.
            let known = vouched ? self.entries.first { $0.certificate.encoded == certificate.encoded } : nil
            known?.trust = .trusted(room: .max)
            return
        }
        // A certificate that its own key signed is an anchor because the operator says so: its signature proves nothing, and
        // no path length binds it (RFC 5280 §6.1.1 d). Any other certificate must be linked to an anchor, or be the first link.
        let isAnchor = vouched || certificate.isSelfIssued && certificate.isSigned(by: certificate) != false
        self.entries.append(Entry(certificate, trust: isAnchor ? .trusted(room: .max) : .unknown))
    }

    /// Makes an anchor of each authority whose own issuer is not among the files: a link certificate states the new key, and an
    /// operator who configures it without the old key trusts it deliberately.
    private func trustFirstLinks() {
        for entry in self.entries {
            guard case .unknown = entry.trust, entry.certificate.mayCertify, !self.hasIssuer(entry.certificate) else {
                continue
            }
            entry.trust = .trusted(room: .max)
            self.notes.append(
                "LINK_CERTIFICATE \(entry.certificate.country ?? "??"): an anchor itself, since its issuer is not given"
            )
        }
    }

    /// Whether a file contains a possible issuer, whatever that may sign.
    private func hasIssuer(_ certificate: Certificate) -> Bool {
        self.entries.contains { other in
            guard other.certificate !== certificate else { return false }
            if let identifier = certificate.authorityKeyIdentifier,
                let key = other.certificate.subjectKeyIdentifier
            {
                return identifier == key
            }
            return certificate.issuer == other.certificate.subject
        }
    }

    /// CscaMasterList (Doc 9303-12 §8.2): a version and a set of certificates, signed by a master list signer.
    private func addMasterList(_ message: CMSSignedData) throws(LDSError) {
        guard message.contentType == "2.23.136.1.1.2" else {
            throw .unsupported("signed data of type \(message.contentType)")
        }
        let check = SignedMessage(message)
        // A modified list is worthless; for one with an unknown algorithm, the operator vouches.
        guard check.isGood != false else { throw .malformed("the master list's signature does not hold") }
        let fields = try TLV(first: message.content[...], tag: TLV.Tag.sequence, "a master list").children(most: 2)
        guard fields.count == 2, try fields[0].integer() == 0, fields[1].tag == TLV.Tag.set else {
            throw .malformed("the master list is incomplete")
        }
        var added = 0
        var unreadable = 0
        for element in try fields[1].children(most: Self.mostInList) {
            if let certificate = try? Certificate(Array(element.encoded)) {
                self.addCertificate(certificate, vouched: true)
                added += 1
            } else {
                unreadable += 1
            }
        }
        var note = "MASTER_LIST \(check.signer?.country ?? "??"): \(added) certificates"
        if unreadable > 0 { note += ", \(unreadable) unreadable" }
        note += check.isGood == true ? ", signature good" : ", signature not checked"
        // The signer's certificate is issued by its state's authority, which may be on the list itself or in a later file.
        if let signer = check.signer {
            self.listSigners[self.notes.count] = signer
        } else {
            note += ", signer's authority not known"
        }
        self.notes.append(note)
    }

    func authorities(of country: String?) -> [Certificate] {
        self.entries.filter { $0.certificate.country == country && self.isTrusted($0) && $0.certificate.mayCertify }
            .map(\.certificate)
    }

    /// Every certificate of the store, whatever its purpose: files may also contain document signers.
    var certificates: [Certificate] { self.entries.map(\.certificate) }

    /// The trusted CSCA certificate that issued a certificate.
    ///
    /// - Returns: `nil` if there is none; `isVouched` is `nil` if the algorithm of the named one is unknown.
    func issuer(of certificate: Certificate) -> (authority: Certificate, isVouched: Bool?, isNamed: Bool)? {
        var open: Certificate?
        let named = self.entries.filter { $0.certificate.subject == certificate.issuer }
        let identified = self.entries.filter { entry in
            certificate.authorityKeyIdentifier.map { $0 == entry.certificate.subjectKeyIdentifier } ?? false
        }
        // Issuers write names carelessly: where names do not match, each key of the country is tried.
        let others = self.entries.filter { $0.certificate.country == certificate.country }
        for (index, group) in [named, identified, others].enumerated() {
            for entry in group where entry.certificate.mayCertify && self.isTrusted(entry) {
                switch certificate.isSigned(by: entry.certificate) {
                case true: return (entry.certificate, true, index == 0)
                case nil: open = open ?? entry.certificate
                default: continue
                }
            }
        }
        return open.map { ($0, nil, true) }
    }

    private func isTrusted(_ entry: Entry, depth: Int = 0) -> Bool { self.room(under: entry, depth: depth) != nil }

    /// Follows link certificates back to an anchor (Doc 9303-12 §7.1.1): the new key is signed with the old one.
    ///
    /// libcrypto's own path validation finds issuers by their names, which states write in different ways, and refuses the
    /// explicit curve parameters that Doc 9303-12 §4.1.6.3 requires.
    ///
    /// - Returns: How many authorities of other names may follow (RFC 5280 §6.1.4 l, m), or `nil` if it is not trusted.
    private func room(under entry: Entry, depth: Int) -> Int? {
        switch entry.trust {
        case .trusted(let room): return room
        case .refused, .pending: return nil
        case .unknown: break
        }
        let certificate = entry.certificate
        guard depth < Self.longestChain else { return nil }
        // Ends the search if two certificates certify each other.
        entry.trust = .pending
        // A certificate that names itself as issuer does not count: it is the same authority with another key. Nor does one that
        // certifies nobody, but signs revocation lists.
        let taken = certificate.isSelfIssued || !certificate.mayCertify ? 0 : 1
        var room: Int?
        for other in self.entries
        where other !== entry && other.certificate.subject == certificate.issuer && other.certificate.mayCertify {
            guard let before = self.room(under: other, depth: depth + 1), before >= taken,
                certificate.isSigned(by: other.certificate) == true
            else { continue }
            room = max(room ?? 0, min(before - taken, certificate.pathLength ?? .max))
        }
        if room != nil, self.lists(on: certificate, depth: depth + 1).contains(where: { $0.revokes(certificate) }) {
            room = nil
        }
        // Cached only at the top level: deeper down, a certificate on the current path counts as refused.
        entry.trust = room.map { .trusted(room: $0) } ?? (depth == 0 ? .refused : .unknown)
        return room
    }

    /// The lists of a certificate's issuer, as far as trusted authorities signed them.
    private func lists(on certificate: Certificate, depth: Int = 0) -> [RevocationList] {
        self.lists.filter { list in
            list.issuer == certificate.issuer
                && self.entries.contains {
                    $0.certificate.subject == list.issuer && self.isTrusted($0, depth: depth)
                        && list.isSigned(by: $0.certificate)
                }
        }
    }

    /// Revocation state of a certificate: `notChecked`, `good`, `revoked` or `outdated`.
    func revocation(of certificate: Certificate, at time: Date) -> String {
        let mine = self.lists(on: certificate)
        // A revocation counts on any list, however old; its absence counts only on a complete and current one.
        if mine.contains(where: { $0.revokes(certificate) }) { return "revoked" }
        let whole = mine.filter(\.isWhole)
        guard !whole.isEmpty else { return "notChecked" }
        return whole.contains { ($0.nextUpdate ?? .distantFuture) >= time } ? "good" : "outdated"
    }

    /// Initialises libcrypto early, since an analyzer cannot open files later.
    package static func prepare() {
        // No configuration file: it could load other providers.
        OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_LOAD_CONFIG) | UInt64(OPENSSL_INIT_LOAD_CRYPTO_STRINGS), nil)
        for digest in DigestAlgorithm.allCases { _ = digest.digest([]) }
    }
}

/// Text files with certificates between lines of dashes (RFC 7468).
enum PEMFile {
    static let mostBlocks = 5000

    /// The blocks' bytes; empty if this is not a PEM file.
    static func blocks(_ file: [UInt8]) -> [[UInt8]] {
        guard file.first != 0x30, let text = String(validating: file, as: UTF8.self), text.contains("-----BEGIN ")
        else {
            return []
        }
        var blocks: [[UInt8]] = []
        var base64: String?
        for line in text.split(whereSeparator: \.isNewline) where blocks.count < Self.mostBlocks {
            if line.hasPrefix("-----BEGIN ") {
                base64 = ""
            } else if line.hasPrefix("-----END ") {
                if let base64, let data = Data(base64Encoded: base64) { blocks.append([UInt8](data)) }
                base64 = nil
            } else if base64 != nil {
                base64! += line.filter { !$0.isWhitespace }
            }
        }
        return blocks
    }
}
