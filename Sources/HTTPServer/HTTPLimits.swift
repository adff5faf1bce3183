/// Limits of one client and of all clients together.
package struct HTTPLimits: Sendable {
    /// Connections at once. A further one closes the connection that has been silent longest, of the address with the most
    /// connections. Chosen: with more, a client can use more descriptors and memory; with fewer, fewer clients are served at once.
    package var connections: UInt32 = 2000
    /// Connections of one address, or of one IPv6 network of 64 bits. Never more than are left for others.
    /// Chosen as half of all: a partner's proxy has one address, and no address may take the places of all others.
    package var connectionsPerAddress: UInt32 = 1000
    /// Seconds from the connection to the first byte of its first request, TLS included.
    var firstByteSeconds = 5.0
    /// Seconds without traffic after which a connection is closed.
    var idleSeconds: UInt32 = 15
    /// Seconds for the head of a request, however steadily it arrives.
    var headSeconds = 20.0
    /// Seconds for a body, unless its request was accepted with an ``HTTPPace``: 64 MiB at 1 MiB a second.
    var bodySeconds = 64.0
    /// Seconds in which the client must have taken the answer.
    var answerSeconds = 60.0
    /// Seconds for which a connection that is being closed is still read, so that its client gets the answer.
    var lingerSeconds = 2.0
    /// Bytes for the head of a request.
    var headBytes = 32 * 1024
    /// Bytes of one body.
    package var bodyBytes = 64 * 1024 * 1024
    /// Bytes of all bodies and unread answers held at once. One share has one body, or at most as much as is left for
    /// others.
    package var heldBytes = 1024 * 1024 * 1024

    package init() {}
}
