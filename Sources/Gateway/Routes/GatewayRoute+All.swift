extension GatewayRoute {
    /// Every call, in the order in which the description lists them.
    static let all: [GatewayRoute] =
        jobs + [report, usability] + sessions + capture + faces + persons + callbacks + events + keys + contract
}
