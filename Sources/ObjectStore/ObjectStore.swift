internal import Custody
package import Foundation
internal import HTTPClient
package import InspectCore

/// An S3-compatible object store. What it holds is sealed: the store and eavesdroppers learn sizes and times alone.
///
/// A call ends within its deadline in any case, with ``ErrorCode/objectStoreUnavailable`` unless the store says plainly that
/// it has no such object.
package final class ObjectStore: Sendable {
    /// A kind of call; the raw values are a metric's labels.
    package enum Operation: String, Sendable, CaseIterable {
        case put = "put"
        case get = "get"
        case delete = "delete"
        case list = "list"
    }

    /// Bucket, prefix and endpoint of the store.
    package let address: ObjectStoreAddress
    private let credentials: ObjectStoreCredentials
    private let client: HTTPClient
    private let timeout: Duration
    private let report: @Sendable (Operation, InspectError) -> Void

    /// Bytes of one request for a part of an object.
    private let pieceBytes: Int
    /// Bytes of a page of a listing: a thousand keys.
    private static let pageLimit = 4 << 20
    /// Bytes of an error's description.
    private static let errorLimit = 65_536
    /// Requests that a call may send in vain.
    private static let failureLimit = 3
    /// Ranges of one job that are fetched at once.
    private static let parallel = 4

    /// - Parameters:
    ///   - timeout: For one request.
    ///   - pieceBytes: Larger ranges are fetched in pieces of this size, so that a torn connection costs one.
    ///   - report: Called with the failure of each call.
    package init(
        _ address: ObjectStoreAddress, timeout: Duration = .seconds(30), pieceBytes: Int = 8 << 20,
        report: @escaping @Sendable (Operation, InspectError) -> Void = { _, _ in }
    ) {
        self.address = address
        self.credentials = ObjectStoreCredentials(address.credentials)
        self.client = HTTPClient(certificateAuthorities: address.certificateAuthorities)
        self.timeout = timeout
        self.pieceBytes = pieceBytes
        self.report = report
    }

    // MARK: Operations

    /// Stores an object.
    ///
    /// - Throws: ``InspectError`` with ``ErrorCode/objectStoreUnavailable``; `CancellationError`. Likewise all calls here.
    package func put(_ bytes: [UInt8], at object: String) async throws {
        _ = try await self.reporting(.put) {
            try await self.send(
                Order(.put(body: bytes), try self.address.url(of: object)), until: .now + self.timeout)
        }
    }

    /// Bytes of an object.
    package struct Piece: Sendable {
        /// Where the bytes begin.
        package var location: ObjectLocation
        /// In bytes.
        package var size: Int
        fileprivate var end: Int { self.location.offset + self.size }

        package init(_ location: ObjectLocation, size: Int) {
            self.location = location
            self.size = size
        }
    }

    /// Fetches pieces; those that lie one after another in an object, together.
    ///
    /// - Returns: Each piece's bytes, in their order. They may share memory.
    /// - Throws: ``InspectError`` with ``ErrorCode/objectMissing``, or ``ErrorCode/digestMismatch`` for an object that ends earlier.
    package func get(_ pieces: [Piece], until deadline: ContinuousClock.Instant) async throws -> [Data] {
        let runs = Self.runs(of: pieces)
        return try await self.reporting(.get) {
            try await withThrowingTaskGroup(of: [(Int, Data)].self) { group in
                var rest = runs.makeIterator()
                func start() {
                    guard let run = rest.next() else { return }
                    group.addTask {
                        let first = pieces[run[0]]
                        let range = first.location.offset..<pieces[run[run.count - 1]].end
                        let data = try await self.get(first.location.object, range, until: deadline)
                        return run.map { index in
                            let start = pieces[index].location.offset - range.lowerBound
                            return (index, data[start..<start + pieces[index].size])
                        }
                    }
                }
                for _ in 0..<Self.parallel { start() }
                var found = [Data](repeating: Data(), count: pieces.count)
                while let run = try await group.next() {
                    for (index, data) in run { found[index] = data }
                    start()
                }
                return found
            }
        }
    }

    /// The places of pieces that lie one after another: what lies between others is not fetched.
    private static func runs(of pieces: [Piece]) -> [[Int]] {
        let order = pieces.indices.sorted {
            (pieces[$0].location.object, pieces[$0].location.offset, $0)
                < (pieces[$1].location.object, pieces[$1].location.offset, $1)
        }
        var runs: [[Int]] = []
        for index in order {
            if let last = runs.last?.last, pieces[last].location.object == pieces[index].location.object,
                pieces[last].end == pieces[index].location.offset
            {
                runs[runs.count - 1].append(index)
            } else {
                runs.append([index])
            }
        }
        return runs
    }

    /// Fetches a range; after a failure, from where it broke off.
    private func get(_ object: String, _ range: Range<Int>, until deadline: ContinuousClock.Instant) async throws
        -> Data
    {
        let url = try self.address.url(of: object)
        var data = Data(capacity: range.count)
        var failures = 0
        while data.count < range.count {
            let start = range.lowerBound + data.count
            let piece = start..<min(range.upperBound, start + self.pieceBytes)
            do {
                let response = try await self.send(Order(.get, url, range: piece), until: deadline, attempts: 1)
                guard let total = Self.total(response, from: piece.lowerBound), response.body.count <= piece.count,
                    response.bodyFailure?.code != .responseTooLarge
                else {
                    throw InspectError(.objectStoreUnavailable, "the answer is not the requested range")
                }
                guard total >= range.upperBound else {
                    throw InspectError(.digestMismatch, "the object has \(total) bytes")
                }
                data.append(contentsOf: response.body)
                if response.body.count == piece.count { continue }
                throw Retryable(
                    InspectError(.objectStoreUnavailable, response.bodyFailure?.description ?? "too few bytes"))
            } catch let failure as Retryable {
                failures += 1
                guard failures < Self.failureLimit else { throw failure.error }
                try await Self.pause(after: failures, until: deadline)
            }
        }
        return data
    }

    /// The object's bytes by `Content-Range: bytes FIRST-LAST/TOTAL` (RFC 9110 section 14.4); `nil`: it is not this range.
    private static func total(_ response: HTTPResponse, from start: Int) -> Int? {
        guard response.status == 206, let text = response.header("content-range"), text.hasPrefix("bytes \(start)-"),
            let slash = text.lastIndex(of: "/")
        else { return nil }
        return Int(text[text.index(after: slash)...])
    }

    /// Removes an object. One that does not exist is no failure.
    ///
    /// - Parameter isPatient: Whether to try again if the store is busy.
    package func delete(_ object: String, isPatient: Bool = true) async throws {
        try await self.reporting(.delete) {
            do {
                _ = try await self.send(
                    Order(.delete, try self.address.url(of: object)),
                    until: .now + (isPatient ? self.timeout : .seconds(5)), attempts: isPatient ? Self.failureLimit : 1)
            } catch let error as InspectError where error.code == .objectMissing {}
        }
    }

    /// A page of a listing.
    package struct Page: Sendable {
        /// Keys relative to the prefix, in order.
        package var keys: [String]
        /// Whether nothing follows.
        package var isLast: Bool
    }

    /// Up to a thousand keys behind one, in order.
    ///
    /// - Parameter key: Relative to the prefix.
    package func list(after key: String?) async throws -> Page {
        try await self.reporting(.list) {
            let response = try await self.send(
                Order(.get, self.address.listing(after: key), limit: Self.pageLimit), until: .now + self.timeout)
            guard response.bodyFailure == nil else {
                throw InspectError(.objectStoreUnavailable, "the listing is incomplete")
            }
            // Read as text: keys of ours need no escape, and no parser meets what a strange server sends.
            let text = String(decoding: response.body, as: UTF8.self)
            let keys = text.components(separatedBy: "<Key>").dropFirst().compactMap { piece in
                piece.range(of: "</Key>").flatMap { self.address.relative(piece[..<$0.lowerBound]) }
            }
            let isLast = !text.contains("<IsTruncated>true</IsTruncated>")
            guard text.contains("<ListBucketResult"), isLast || !keys.isEmpty,
                zip([key ?? ""] + keys, keys).allSatisfy({ $0.utf8.lexicographicallyPrecedes($1.utf8) })
            else { throw InspectError(.objectStoreUnavailable, "the answer is not a listing, or is out of order") }
            return Page(keys: keys, isLast: isLast)
        }
    }

    /// Whether the bucket keeps former versions of objects, so that a deleted one is still there.
    package func keepsVersions() async throws -> Bool {
        let response = try await self.reporting(.list) {
            try await self.send(Order(.get, self.address.versioning), until: .now + self.timeout)
        }
        return String(decoding: response.body, as: UTF8.self).contains("<Status>Enabled</Status>")
    }

    private func reporting<Result>(_ operation: Operation, _ body: () async throws -> Result) async throws -> Result {
        do { return try await body() } catch let error as Retryable {
            self.report(operation, error.error)
            throw error.error
        } catch let error as InspectError {
            self.report(operation, error)
            throw error
        }
    }

    // MARK: Requests

    /// A request before it is signed.
    private struct Order {
        var method: HTTPRequest.Method
        var url: String
        var range: Range<Int>?
        var limit: Int

        init(_ method: HTTPRequest.Method, _ url: String, range: Range<Int>? = nil, limit: Int = 0) {
            self.method = method
            self.url = url
            self.range = range
            self.limit = max(range?.count ?? limit, ObjectStore.errorLimit)
        }
    }

    /// The same request may succeed later.
    private struct Retryable: Error {
        var error: InspectError
        init(_ error: InspectError) { self.error = error }
    }

    /// - Returns: An answer with a status of success, whose body may be incomplete.
    /// - Throws: ``Retryable`` after the last attempt.
    private func send(
        _ order: Order, until deadline: ContinuousClock.Instant, attempts: Int = ObjectStore.failureLimit
    ) async throws -> HTTPResponse {
        var made = 0
        while true {
            made += 1
            do {
                return try Self.judge(try await self.sendOnce(order, until: deadline))
            } catch let failure as Retryable {
                guard made < attempts else { throw failure }
                try await Self.pause(after: made, until: deadline)
            }
        }
    }

    private static func pause(after failures: Int, until deadline: ContinuousClock.Instant) async throws {
        let pause = Duration.milliseconds(100 << (2 * (failures - 1))) * Double.random(in: 0.8...1.2)
        guard ContinuousClock.now + pause < deadline else {
            throw Retryable(InspectError(.objectStoreUnavailable, "no time is left"))
        }
        try await Task.sleep(for: pause)
    }

    private func sendOnce(
        _ order: Order, until deadline: ContinuousClock.Instant
    ) async throws -> Result<HTTPResponse, HTTPError> {
        let keys = try await self.credentials.read()
        let milliseconds = Int(min(deadline - .now, self.timeout) / .milliseconds(1))
        guard milliseconds > 0 else { throw Retryable(InspectError(.objectStoreUnavailable, "no time is left")) }
        let body = if case .put(let bytes) = order.method { bytes } else { [UInt8]() }
        var headers: [HTTPRequest.Header] = [
            .init(name: "Content-Type", value: "application/octet-stream"),
            .init(name: "X-Amz-Content-Sha256", value: SHA256.digest(body).hexadecimal),
        ]
        if let token = keys.token { headers.append(.init(name: "X-Amz-Security-Token", value: token)) }
        if let range = order.range {
            headers.append(.init(name: "Range", value: "bytes=\(range.lowerBound)-\(range.upperBound - 1)"))
        }
        var transport = HTTPRequest.Transport()
        transport.signing = .init(
            accessKey: keys.access, secretKey: keys.secret, region: self.address.region, service: "s3")
        let request = HTTPRequest(
            method: order.method, url: order.url, headers: headers,
            // Less than 1 KiB/s for ten seconds ends a request long before its total.
            limits: .init(
                totalMilliseconds: milliseconds, bodyBytes: order.limit, lowSpeedBytes: 1_024, lowSpeedSeconds: 10),
            allowsHTTP: order.url.hasPrefix("http:"), transport: transport)
        return await self.exchange(request)
    }

    // Swift 6.3's optimiser crashes on typed errors that are caught in an asynchronous function with more in it than this.
    private func exchange(_ request: HTTPRequest) async -> Result<HTTPResponse, HTTPError> {
        do throws(HTTPError) {
            // The operator named the server, so it may be in a private network.
            return .success(try await self.client.send(request, policy: .privateAllowed))
        } catch {
            return .failure(error)
        }
    }

    private static func judge(_ result: Result<HTTPResponse, HTTPError>) throws -> HTTPResponse {
        let response: HTTPResponse
        switch result {
        case .success(let answer): response = answer
        case .failure(let error):
            let failure = InspectError(.objectStoreUnavailable, error.description)
            switch error.code {
            case .cancelled: throw CancellationError()
            case .connectionFailed, .nameNotResolved, .resolverSilent, .timedOut, .responseBroken, .tlsFailed:
                throw Retryable(failure)
            default: throw failure
            }
        }
        let code = self.code(of: response.body)
        let failure = InspectError(
            .objectStoreUnavailable,
            ["HTTP status \(response.status)", code].filter { !$0.isEmpty }.joined(separator: " "))
        switch response.status {
        case 200..<300: return response
        // A proxy, or a bucket that is gone, says nothing about an object.
        case 404 where code == "NoSuchKey": throw InspectError(.objectMissing)
        case 416: throw InspectError(.digestMismatch, "the object ends too early")
        case 408, 429, 500, 502, 503, 504: throw Retryable(failure)
        default: throw failure
        }
    }

    /// The code of an error, as S3 describes it in XML; empty: there is none.
    private static func code(of body: [UInt8]) -> String {
        let text = String(decoding: body.prefix(4_096), as: UTF8.self)
        guard let start = text.range(of: "<Code>"), let end = text.range(of: "</Code>"),
            start.upperBound < end.lowerBound
        else { return "" }
        let code = text[start.upperBound..<end.lowerBound]
        let isWord = code.utf8.count <= 64 && code.utf8.allSatisfy { isalnum(CInt($0)) != 0 }
        return isWord ? String(code) : ""
    }
}
