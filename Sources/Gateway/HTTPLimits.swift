/// What one client, and all of them together, may take of a server.
public struct HTTPLimits: Sendable {
    /// Connections at once; more wait in the kernel's queue.
    public var connections: UInt32 = 2000
    /// Connections of one address at once.
    public var connectionsPerAddress: UInt32 = 1000
    /// A connection on which nothing moves for so many seconds is closed.
    public var idleSeconds: UInt32 = 15
    /// Seconds for the head of a request, however steadily it drips in; also how long a connection is kept for the next one.
    public var headSeconds = 20.0
    /// Seconds for a body: 64 MiB at 1 MiB a second, which a phone's uplink carries.
    public var bodySeconds = 64.0
    /// Seconds in which the client must have taken the answer.
    public var answerSeconds = 60.0
    /// Bytes for the head of a request.
    public var headBytes = 32 * 1024
    /// Bytes of one body.
    public var bodyBytes = 64 * 1024 * 1024
    /// Bytes of all bodies that are held at once.
    public var heldBytes = 1024 * 1024 * 1024

    public init() {}
}
