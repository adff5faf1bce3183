package import Foundation
package import InspectCore

/// Seals and opens the data of one sealed job. deploy/SEALING.md lists the purposes and rows.
package struct JobSeal: Sendable {
    /// The job's key, or its person's.
    package let key: CustodyKey

    /// - Parameter partner: Whose job it is. The key's own partner proves nothing: any producer can replay another partner's sealed
    ///   bytes, key's name included.
    /// - Throws: ``InspectError`` with ``ErrorCode/sealBroken`` for another partner's key.
    package init(_ key: CustodyKey, partner: Int64) throws(InspectError) {
        guard key.partner == partner else { throw InspectError(.sealBroken) }
        self.key = key
    }

    private func context(_ purpose: SealContext.Purpose, _ row: [String] = []) -> SealContext {
        SealContext(partner: self.key.partner, purpose, row: row)
    }

    // MARK: What workers store

    /// Seals the result of a stage.
    package func seal(_ output: Data, of stage: JobStatus) -> Data {
        Seal.seal(output, under: self.key, for: self.context(.step, [String(stage.rawValue)]))
    }

    /// Opens the result of a stage. A sealed job has no results from before it was sealed.
    ///
    /// - Throws: ``InspectError`` with ``ErrorCode/sealBroken``.
    package func open(_ output: Data, of stage: JobStatus) throws(InspectError) -> Data {
        try Seal.open(output, under: self.key, for: self.context(.step, [String(stage.rawValue)]))
    }

    /// Seals the body of a job's result, decided or final: a review keeps the body.
    package func seal(result body: Data) -> Data { Seal.seal(body, under: self.key, for: self.context(.result)) }

    // MARK: What reviewers write

    private static let notePrefix = "sealed:"

    /// A note as a text for SQL, which stores and returns it like any other.
    package func seal(note: String) -> String {
        Self.notePrefix
            + Seal.seal(Data(note.utf8), under: self.key, for: self.context(.note)).base64EncodedString()
    }

    /// A note as it was written; plain notes are returned unchanged.
    ///
    /// - Throws: ``InspectError`` with ``ErrorCode/sealBroken``.
    package func open(note: String) throws(InspectError) -> String {
        guard note.hasPrefix(Self.notePrefix),
            let sealed = Data(base64Encoded: String(note.dropFirst(Self.notePrefix.count)))
        else { return note }
        return String(decoding: try Seal.open(sealed, under: self.key, for: self.context(.note)), as: UTF8.self)
    }

    // MARK: What clients send

    /// Seals the bytes of a part.
    package func seal(_ bytes: Data, part kind: PartKind, _ ordinal: Int) -> Data {
        Seal.seal(bytes, under: self.key, for: .part(kind, ordinal, of: self.key.partner))
    }

    /// Opens the bytes of a part.
    ///
    /// - Throws: ``InspectError`` with ``ErrorCode/sealBroken``.
    package func open(_ bytes: Data, part kind: PartKind, _ ordinal: Int) throws(InspectError) -> Data {
        try Seal.open(bytes, under: self.key, for: .part(kind, ordinal, of: self.key.partner))
    }

    /// The values that the pseudonyms in a request replace, by their keys.
    ///
    /// - Parameter sealed: The job's `sealed`.
    /// - Throws: ``InspectError`` with ``ErrorCode/sealBroken``.
    package func values(_ sealed: Data) throws(InspectError) -> SealedValues {
        let text = try self.request(sealed)
        guard let values = try? JSONDecoder().decode(SealedValues.self, from: text) else {
            throw InspectError(.sealBroken, "not the values of a request")
        }
        return values
    }

    /// The same in the sealed form: a JSON object.
    package func request(_ sealed: Data) throws(InspectError) -> Data {
        try Seal.open(sealed, under: self.key, for: self.context(.personal))
    }

    /// The whole result document of a job.
    ///
    /// - Parameters:
    ///   - document: What the database has in plain text, a JSON object.
    ///   - sealed: The job's `sealed`; `nil`: removed.
    ///   - body: The sealed body of its result; `nil`: there is none.
    package func document(_ document: Data, sealed: Data?, body: Data?) throws(InspectError) -> Data {
        var members: [Data] = []
        if let body { members.append(try Seal.open(body, under: self.key, for: self.context(.result))) }
        members.append(document)
        if let sealed { members.append(try self.values(sealed).references) }
        return Self.joined(members)
    }

    /// Joins objects without common keys into one, as text, so that every number stays as it was written.
    private static func joined(_ objects: [Data]) -> Data {
        var text = Data("{".utf8)
        for object in objects {
            let inner = object.trimmed.dropFirst().dropLast().trimmed
            if inner.isEmpty { continue }
            if text.count > 1 { text.append(UInt8(ascii: ",")) }
            text += inner
        }
        return text + Data("}".utf8)
    }
}

extension Data {
    /// Without white space at both ends.
    fileprivate var trimmed: Data {
        let isSpace: (UInt8) -> Bool = { [0x20, 0x09, 0x0A, 0x0D].contains($0) }
        guard let first = self.firstIndex(where: { !isSpace($0) }), let last = self.lastIndex(where: { !isSpace($0) })
        else { return Data() }
        return self[first...last]
    }
}

/// The values of a request that may identify a person, as far as a program needs them again.
package struct SealedValues: Codable, Sendable, Equatable {
    /// The partner's reference of the transaction (Jumio's field).
    package var customerInternalReference: String?
    /// The partner's reference of the person (Jumio's field).
    package var userReference: String?
    /// The partner's word for its reports (Jumio's field).
    package var reportingCriteria: String?
    /// The URL that the request gives for its callback (Jumio's field).
    package var callbackUrl: String?
    /// Parts by URL, by their kinds.
    package var parts: [String: Sources]?

    /// Where a part is fetched from.
    package struct Source: Codable, Sendable, Equatable {
        /// It may contain a secret, as a signed URL does.
        package var url: String
        /// Of the fetched bytes, in hexadecimal digits.
        package var sha256: String
    }

    /// One source, or those of frames.
    package enum Sources: Codable, Sendable, Equatable {
        case one(Source)
        case many([Source])

        package init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let one = try? container.decode(Source.self) {
                self = .one(one)
            } else {
                self = .many(try container.decode([Source].self))
            }
        }

        package func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .one(let source): try container.encode(source)
            case .many(let sources): try container.encode(sources)
            }
        }
    }

    /// The source of a part for which the database has a different one.
    ///
    /// - Parameter url: What the database has: a URL of the same origin.
    /// - Returns: `nil`: the request was sealed by a program that left the URL as it is.
    package func source(of kind: PartKind, _ ordinal: Int, inPlaceOf url: String) -> Source? {
        let source: Source? =
            switch self.parts?[kind.rawValue] {
            case nil: nil
            case .one(let source): ordinal == 0 ? source : nil
            case .many(let sources): sources.indices.contains(ordinal) ? sources[ordinal] : nil
            }
        guard let source, let origin = SealedURL.origin(source.url), origin == SealedURL.origin(url) else { return nil }
        return source
    }

    /// The members of a result document that are made from it, as a JSON object.
    var references: Data {
        var copy = self
        copy.callbackUrl = nil
        copy.parts = nil
        // Strings alone cannot fail.
        return (try? JSONEncoder.ordered.encode(copy)) ?? Data("{}".utf8)
    }

    /// The user's reference as a JSON string; `nil`: there is none.
    package var userReferenceJSON: String? {
        self.userReference.flatMap { reference in
            let encoder = JSONEncoder()
            encoder.outputFormatting = .withoutEscapingSlashes
            return (try? encoder.encode(reference)).map { String(decoding: $0, as: UTF8.self) }
        }
    }
}
