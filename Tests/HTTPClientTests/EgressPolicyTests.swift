import Testing

@testable import HTTPClient

struct EgressPolicyTests {
    @Test(arguments: [
        "1.1.1.1", "8.8.8.8", "172.15.255.255", "172.32.0.1", "100.63.255.255", "100.128.0.1", "198.17.255.255",
        "223.255.255.255", "2606:4700::1111", "2a00:1450::1", "2001:200::1",
    ])
    func `A public address is always allowed`(_ text: String) throws {
        let address = try #require(IPAddress(text))
        #expect(EgressPolicy.publicOnly.allows(address))
        #expect(EgressPolicy.privateAllowed.allows(address))
    }

    @Test(arguments: [
        "127.0.0.1", "127.255.255.255", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1",
        "100.127.255.255", "198.18.0.1", "::1", "fc00::1", "fdff::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1",
        "::ffff:8.8.8.8", "64:ff9b::7f00:1", "64:ff9b::808:808", "64:ff9b:1::a00:1", "2002:7f00:1::", "2002:808:808::1",
    ])
    func `A private address needs permission`(_ text: String) throws {
        let address = try #require(IPAddress(text))
        #expect(!EgressPolicy.publicOnly.allows(address))
        #expect(EgressPolicy.privateAllowed.allows(address))
    }

    @Test(arguments: [
        "169.254.169.254", "169.254.0.1", "168.63.129.16", "100.100.100.200", "192.0.0.192", "fd00:ec2::254",
        "fd20:ce::254", "0.0.0.0", "0.1.2.3", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
        "192.0.2.1", "198.51.100.1", "203.0.113.1", "192.88.99.1", "::", "fe80::1", "fec0::1", "ff02::1", "2001::1",
        "2001:db8::1", "3fff::1", "100::1", "5f00::1", "::8.8.8.8", "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1", "4000::1",
    ])
    func `A forbidden address is never allowed`(_ text: String) throws {
        let address = try #require(IPAddress(text))
        #expect(!EgressPolicy.publicOnly.allows(address))
        #expect(!EgressPolicy.privateAllowed.allows(address))
    }

    @Test func `One address alone is allowed where a policy names it`() throws {
        let metadata = try #require(IPAddress("169.254.169.254"))
        let policy = EgressPolicy(.only(metadata))
        #expect(policy.allows(metadata))
        for text in ["169.254.169.253", "127.0.0.1", "10.0.0.1", "8.8.8.8", "fd00:ec2::254", "::ffff:169.254.169.254"] {
            let address = try #require(IPAddress(text))
            #expect(!policy.allows(address), "\(text)")
        }
    }
}
