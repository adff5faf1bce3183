/// Finds rows by a sealed value: a keyed digest of it, which reveals nothing without the partner's key.
package struct BlindIndex: Sendable {
    let secret: SecretKey

    /// - Parameter key: The partner's.
    package init(_ key: CustodyKey) {
        precondition(key.kind == .partner)
        self.secret = HKDF.key(from: key.secret, label: "inspectd blind index 1")
    }

    /// The 32 bytes under which a value is found.
    ///
    /// - Parameters:
    ///   - use: The kind of value, such as `user` or `face`: the same text has a different index for each use.
    package func index(_ value: String, use: String) -> [UInt8] {
        HMACSHA256.code(of: AssociatedData.encode([use, value]), under: self.secret)
    }
}
