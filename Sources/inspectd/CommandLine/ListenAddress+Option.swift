import HTTPServer

extension ListenAddress {
    /// - Parameter option: The option's name, for the error.
    init(_ text: String, option: String) throws(UsageError) {
        guard let address = Self(text) else {
            throw UsageError("--\(option) takes a port, or a numeric address and a port, not \(text)")
        }
        self = address
    }
}

extension Configuration {
    /// - Returns: `nil` if nothing is to be served.
    func healthAddress() throws(UsageError) -> ListenAddress? {
        try self.health.map { text throws(UsageError) in try ListenAddress(text, option: "health") }
    }
}
