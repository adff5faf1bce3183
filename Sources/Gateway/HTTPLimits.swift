/// What one client, and all of them together, may take of a server.
public struct HTTPLimits: Sendable {
    /// Connections at once. For one more the one that has been silent longest is closed, of the address with most of them.
    public var connections: UInt32 = 2000
    /// Connections of one address, or of one IPv6 network of 64 bits. Never more than places that are left to others.
    public var connectionsPerAddress: UInt32 = 1000
    /// Seconds from the connection to the first byte of its first request, TLS included.
    public var firstByteSeconds = 5.0
    /// A connection on which nothing moves for so many seconds is closed.
    public var idleSeconds: UInt32 = 15
    /// Seconds for the head of a request, however steadily it drips in.
    public var headSeconds = 20.0
    /// Seconds for a body: 64 MiB at 1 MiB a second, which a phone's uplink carries.
    public var bodySeconds = 64.0
    /// Seconds in which the client must have taken the answer.
    public var answerSeconds = 60.0
    /// Seconds for which a connection that is being closed is still read, so that its client gets the answer.
    public var lingerSeconds = 2.0
    /// Bytes for the head of a request.
    public var headBytes = 32 * 1024
    /// Bytes of one body.
    public var bodyBytes = 64 * 1024 * 1024
    /// Bytes of all bodies, and of all answers that wait for their clients, that are held at once. One share has no more of
    /// them than are left to others, but one body.
    public var heldBytes = 1024 * 1024 * 1024

    public init() {}
}
