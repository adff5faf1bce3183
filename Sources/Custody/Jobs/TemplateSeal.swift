internal import Foundation
package import InspectCore

/// Seals enrolled faces, each under its own key: they outlive the job that made them, and are deleted one by one. A sealed one has the
/// sealed bytes' digits instead of its own.
package enum TemplateSeal {
    private static func context(_ template: FaceEmbedding, _ partner: Int64) -> SealContext {
        SealContext(partner: partner, .template, row: [template.engine])
    }

    /// Seals a template's bytes; its engine stays legible, since templates of two engines are not compared.
    package static func seal(_ template: FaceEmbedding, under key: CustodyKey) -> FaceEmbedding {
        var sealed = template
        let bytes = Seal.seal(
            Data(self.bytes(template.hex) ?? []), under: key, for: self.context(template, key.partner))
        sealed.hex = [UInt8](bytes).hexadecimal
        return sealed
    }

    /// The key that opens a template; `nil`: it is not sealed.
    package static func keyID(of template: FaceEmbedding) -> KeyID? {
        // Plain ones have 512 bytes; only the length distinguishes the two.
        guard template.hex.utf8.count == 2 * (512 + Seal.overhead), let bytes = self.bytes(template.hex) else {
            return nil
        }
        return try? Seal.keyID(of: Data(bytes))
    }

    /// - Throws: ``InspectError`` with ``ErrorCode/sealBroken``.
    package static func open(_ template: FaceEmbedding, under key: CustodyKey) throws(InspectError) -> FaceEmbedding {
        var opened = template
        let bytes = Data(self.bytes(template.hex) ?? [])
        opened.hex = [UInt8](try Seal.open(bytes, under: key, for: self.context(template, key.partner))).hexadecimal
        return opened
    }

    private static func bytes(_ hex: String) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(hex.utf8.count / 2)
        var high: UInt8?
        for digit in hex {
            guard let value = digit.hexDigitValue.map(UInt8.init) else { return nil }
            if let first = high {
                bytes.append(first << 4 | value)
                high = nil
            } else {
                high = value
            }
        }
        return high == nil ? bytes : nil
    }
}

extension KeyStore {
    /// A new key for a template that a job makes, under its person's, or its face's.
    ///
    /// - Throws: ``InspectError`` with ``ErrorCode/keyUnknown`` or ``ErrorCode/keysUnavailable``.
    package func templateKey(of seal: JobSeal) async throws(InspectError) -> CustodyKey {
        if seal.key.kind == .person { return try await self.templateKey(under: seal.key) }
        guard let parent = seal.key.parent else { throw InspectError(.keyUnknown) }
        return try await self.templateKey(under: try await self.key(parent))
    }

    /// Templates as they were before they were sealed; plain ones stay as they are.
    ///
    /// - Parameter partner: Whose they are: another partner's open nothing here.
    package func open(_ templates: [FaceEmbedding], of partner: Int64) async throws(InspectError) -> [FaceEmbedding] {
        let ids = Set(templates.compactMap { TemplateSeal.keyID(of: $0) })
        if ids.isEmpty { return templates }
        let keys = try await self.keys(Array(ids))
        var opened: [FaceEmbedding] = []
        for template in templates {
            guard let id = TemplateSeal.keyID(of: template) else {
                opened.append(template)
                continue
            }
            guard let key = keys[id] else { throw InspectError(.keyUnknown) }
            let opener = try key.get()
            guard opener.partner == partner else { throw InspectError(.sealBroken) }
            opened.append(try TemplateSeal.open(template, under: opener))
        }
        return opened
    }
}
