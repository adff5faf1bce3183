package import Foundation

/// The rows of one statement, copied out of libpq's result: one buffer for all values.
final class ResultSet: Sendable {
    let names: [String]
    /// Object ids of the columns' types (`pg_type.oid`).
    let types: [UInt32]
    let bytes: [UInt8]
    /// The position of each value in `bytes`, row by row; `nil` is NULL.
    let values: [Range<Int>?]

    init(names: [String], types: [UInt32], bytes: [UInt8], values: [Range<Int>?]) {
        self.names = names
        self.types = types
        self.bytes = bytes
        self.values = values
    }
}

/// One row of a result. Columns are accessed by position or by name.
package struct PostgresRow: Sendable {
    let set: ResultSet
    let index: Int

    /// Whether the value is NULL.
    package func isNull(_ column: some PostgresColumn) throws(PostgresError) -> Bool {
        try self.isNull(self.place(column))
    }

    /// A column's position, for callers that read it from many rows.
    package func position(of name: String) throws(PostgresError) -> Int { try self.place(name) }

    /// A `smallint`, `integer`, `bigint` or `xid8`.
    package func int(_ column: some PostgresColumn) throws(PostgresError) -> Int64 {
        try self.int(self.place(column))
    }

    /// A `real` or `double precision`, or a whole number.
    package func double(_ column: some PostgresColumn) throws(PostgresError) -> Double {
        try self.double(self.place(column))
    }

    /// - Throws: ``PostgresError`` if the column is unknown, NULL or no `boolean`; the other readers do the same.
    package func bool(_ column: some PostgresColumn) throws(PostgresError) -> Bool {
        try self.bool(self.place(column))
    }

    /// A `text`, `json`, `jsonb` or `uuid`.
    package func string(_ column: some PostgresColumn) throws(PostgresError) -> String {
        try self.string(self.place(column))
    }

    /// The bytes of a `bytea`, or the UTF-8 of a `text`, `json` or `jsonb`.
    package func data(_ column: some PostgresColumn) throws(PostgresError) -> Data {
        try self.required(self.optionalData(column), column)
    }

    /// A `timestamptz`.
    package func date(_ column: some PostgresColumn) throws(PostgresError) -> Date {
        try self.date(self.place(column))
    }

    /// Of a `timestamptz`; `nil`: NULL.
    package func optionalDate(_ column: some PostgresColumn) throws(PostgresError) -> Date? {
        let column = try self.place(column)
        return try self.isNull(column) ? nil : self.date(column)
    }

    /// `nil`: NULL.
    package func optionalBool(_ column: some PostgresColumn) throws(PostgresError) -> Bool? {
        try self.isNull(column) ? nil : self.bool(column)
    }

    /// Of `smallint`, `integer`, `bigint`, `oid` or `xid8`; `nil`: NULL.
    package func optionalInt(_ column: some PostgresColumn) throws(PostgresError) -> Int64? {
        guard let value = try self.bytes(column) else { return nil }
        guard Self.isWhole(self.type(column)) else { throw self.mismatch(column, "not a whole number") }
        return Self.integer(value)
    }

    /// Of a floating-point type or an integer; `nil`: NULL.
    package func optionalDouble(_ column: some PostgresColumn) throws(PostgresError) -> Double? {
        let column = try self.place(column)
        return try self.isNull(column) ? nil : self.double(column)
    }

    /// Of a text type or `uuid`; `nil`: NULL.
    package func optionalString(_ column: some PostgresColumn) throws(PostgresError) -> String? {
        try self.optionalString(self.place(column))
    }

    /// The value's bytes, of `bytea` or text; `nil`: NULL.
    package func optionalData(_ column: some PostgresColumn) throws(PostgresError) -> Data? {
        try self.optionalData(self.place(column))
    }

    /// An array of whole numbers; NULL elements are an error.
    package func intArray(_ column: some PostgresColumn) throws(PostgresError) -> [Int64] {
        try self.array(column, of: [20, 21, 23, 26]).map(Self.integer)
    }

    /// An array of texts; NULL elements are an error.
    package func textArray(_ column: some PostgresColumn) throws(PostgresError) -> [String] {
        try self.array(column, of: [25, 1043, 19]).map { String(decoding: $0, as: UTF8.self) }
    }

    /// An array of bytes.
    package func dataArray(_ column: some PostgresColumn) throws(PostgresError) -> [Data?] {
        try self.nullableArray(column, of: [17]).map { $0.map { Data($0) } }
    }

    /// The elements of an array of a composite type, each as a row with these column names; none for NULL.
    package func records(_ column: some PostgresColumn, _ names: String...) throws(PostgresError) -> [PostgresRow] {
        guard try !self.isNull(column) else { return [] }
        let records = try self.array(column, of: nil)
        var types: [UInt32] = []
        var values: [Range<Int>?] = []
        values.reserveCapacity(records.count * names.count)
        for record in records {
            // The number of fields; for each its type, its length (-1: NULL) and its bytes (`record_send` of the server).
            var rest = BinaryReader(record)
            guard rest.int32() == names.count else { throw self.mismatch(column, "another record") }
            types.removeAll(keepingCapacity: true)
            for _ in names {
                guard let type = rest.int32(), let length = rest.int32() else {
                    throw self.mismatch(column, "not a record")
                }
                types.append(UInt32(truncatingIfNeeded: type))
                guard length >= 0 else {
                    values.append(nil)
                    continue
                }
                guard let value = rest.bytes(length) else { throw self.mismatch(column, "not a record") }
                values.append(value.indices)
            }
        }
        let set = ResultSet(names: names, types: types, bytes: self.set.bytes, values: values)
        return records.indices.map { PostgresRow(set: set, index: $0) }
    }
}

/// A column's position or name.
package protocol PostgresColumn {
    func position(in names: [String]) -> Int?
}

extension Int: PostgresColumn {
    /// By position.
    package func position(in names: [String]) -> Int? { names.indices.contains(self) ? self : nil }
}

extension String: PostgresColumn {
    /// The first column of this name.
    package func position(in names: [String]) -> Int? { names.firstIndex(of: self) }
}

/// Readers by position, which are not generic: a claim reads thirty values of each callback.
extension PostgresRow {
    /// Whether the value is NULL.
    package func isNull(_ column: Int) throws(PostgresError) -> Bool {
        guard self.set.names.indices.contains(column) else { throw Self.unknown(column) }
        return self.set.values[self.index * self.set.names.count + column] == nil
    }

    /// A `smallint`, `integer`, `bigint` or `xid8`.
    package func int(_ column: Int) throws(PostgresError) -> Int64 {
        guard let value = try self.bytes(at: column) else { throw self.mismatch(column, "NULL") }
        guard Self.isWhole(self.set.types[column]) else { throw self.mismatch(column, "not a whole number") }
        return Self.integer(value)
    }

    /// - Throws: ``PostgresError`` if the column is unknown, NULL or no `boolean`.
    package func bool(_ column: Int) throws(PostgresError) -> Bool {
        guard let value = try self.bytes(at: column) else { throw self.mismatch(column, "NULL") }
        guard self.set.types[column] == 16, value.count == 1 else { throw self.mismatch(column, "not a boolean") }
        return value[value.startIndex] != 0
    }

    /// A `text`, `json`, `jsonb` or `uuid`.
    package func string(_ column: Int) throws(PostgresError) -> String {
        guard let value = try self.optionalString(column) else { throw self.mismatch(column, "NULL") }
        return value
    }

    /// Of a text type or `uuid`; `nil`: NULL.
    package func optionalString(_ column: Int) throws(PostgresError) -> String? {
        guard let value = try self.bytes(at: column) else { return nil }
        switch self.set.types[column] {
        case 2950: return Self.uuid(value)
        case 3802: return String(decoding: value.dropFirst(), as: UTF8.self)
        default: return String(decoding: value, as: UTF8.self)
        }
    }

    /// A `real` or `double precision`, or a whole number.
    package func double(_ column: Int) throws(PostgresError) -> Double {
        guard let value = try self.bytes(at: column) else { throw self.mismatch(column, "NULL") }
        switch self.set.types[column] {
        case 700: return Double(Float(bitPattern: UInt32(truncatingIfNeeded: Self.integer(value))))
        case 701: return Double(bitPattern: UInt64(bitPattern: Self.integer(value)))
        case 20, 21, 23: return Double(Self.integer(value))
        default: throw self.mismatch(column, "not a number")
        }
    }

    /// A `timestamptz`.
    package func date(_ column: Int) throws(PostgresError) -> Date {
        guard let value = try self.bytes(at: column) else { throw self.mismatch(column, "NULL") }
        let type = self.set.types[column]
        guard type == 1184 || type == 1114 else { throw self.mismatch(column, "not a timestamp") }
        // Microseconds since 2000-01-01 UTC.
        return Date(timeIntervalSince1970: 946_684_800 + Double(Self.integer(value)) / 1_000_000)
    }

    /// The value's bytes, of `bytea` or text; `nil`: NULL.
    package func optionalData(_ column: Int) throws(PostgresError) -> Data? {
        try self.optionalBytes(column).map { Data($0) }
    }

    /// The value's bytes, of `bytea` or text, where they are; `nil`: NULL.
    package func optionalBytes(_ column: Int) throws(PostgresError) -> ArraySlice<UInt8>? {
        guard let value = try self.bytes(at: column) else { return nil }
        // `jsonb` has a version byte in front.
        return self.set.types[column] == 3802 ? value.dropFirst() : value
    }

    private func place(_ column: some PostgresColumn) throws(PostgresError) -> Int {
        guard let position = column.position(in: self.set.names) else { throw Self.unknown(column) }
        return position
    }

    private func bytes(at column: Int) throws(PostgresError) -> ArraySlice<UInt8>? {
        guard self.set.names.indices.contains(column) else { throw Self.unknown(column) }
        guard let range = self.set.values[self.index * self.set.names.count + column] else { return nil }
        return self.set.bytes[range]
    }

    private static func isWhole(_ type: UInt32) -> Bool {
        switch type {
        case 20, 21, 23, 26, 5069: true
        default: false
        }
    }

    private static func unknown(_ column: some PostgresColumn) -> PostgresError {
        PostgresError(.decoding, "the result has no column \(column)")
    }
}

extension PostgresRow {
    private func bytes(_ column: some PostgresColumn) throws(PostgresError) -> ArraySlice<UInt8>? {
        try self.bytes(at: self.place(column))
    }

    private func type(_ column: some PostgresColumn) -> UInt32 {
        column.position(in: self.set.names).map { self.set.types[$0] } ?? 0
    }

    /// Names the column also if it is read by position, for most readers by name find the position first.
    private func mismatch(_ column: some PostgresColumn, _ what: String) -> PostgresError {
        let known = column.position(in: self.set.names).map { self.set.names[$0] }
        let name = known.flatMap { $0 == "?column?" ? nil : $0 } ?? "\(column)"
        return PostgresError(.decoding, "column \(name) is \(what) (type \(self.type(column)))")
    }

    private func required<Value>(_ value: Value?, _ column: some PostgresColumn) throws(PostgresError) -> Value {
        guard let value else { throw self.mismatch(column, "NULL") }
        return value
    }

    /// A UUID in the text form of RFC 9562.
    private static func uuid(_ bytes: ArraySlice<UInt8>) -> String {
        String(unsafeUninitializedCapacity: 36) { text in
            var place = 0
            for (index, byte) in bytes.prefix(16).enumerated() {
                if index == 4 || index == 6 || index == 8 || index == 10 {
                    text[place] = UInt8(ascii: "-")
                    place += 1
                }
                text[place] = Self.hexadecimal(byte >> 4)
                text[place + 1] = Self.hexadecimal(byte & 15)
                place += 2
            }
            return place
        }
    }

    private static func hexadecimal(_ digit: UInt8) -> UInt8 {
        digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
    }

    /// A big-endian integer of up to eight bytes, sign-extended.
    private static func integer(_ bytes: ArraySlice<UInt8>) -> Int64 {
        var value: Int64 = bytes.first.map { Int8(bitPattern: $0) < 0 ? -1 : 0 } ?? 0
        for byte in bytes { value = value << 8 | Int64(byte) }
        return value
    }

    /// The elements of a one-dimensional array in PostgreSQL's binary format (`array_send` of the server).
    ///
    /// - Parameter types: The element types allowed; `nil`: any.
    private func nullableArray(
        _ column: some PostgresColumn, of types: Set<Int>?
    ) throws(PostgresError) -> [ArraySlice<UInt8>?] {
        guard let bytes = try self.bytes(column) else { throw self.mismatch(column, "NULL") }
        var rest = BinaryReader(bytes)
        guard let dimensions = rest.int32(), rest.int32() != nil, let element = rest.int32() else {
            throw self.mismatch(column, "not an array")
        }
        guard types?.contains(element) != false, dimensions <= 1 else { throw self.mismatch(column, "another array") }
        guard dimensions == 1 else { return [] }
        guard let count = rest.int32(), rest.int32() != nil else { throw self.mismatch(column, "not an array") }
        var elements: [ArraySlice<UInt8>?] = []
        for _ in 0..<max(0, count) {
            guard let length = rest.int32() else { throw self.mismatch(column, "not an array") }
            guard length >= 0 else {
                elements.append(nil)
                continue
            }
            guard let element = rest.bytes(length) else { throw self.mismatch(column, "not an array") }
            elements.append(element)
        }
        return elements
    }

    private func array(
        _ column: some PostgresColumn, of types: Set<Int>?
    ) throws(PostgresError) -> [ArraySlice<UInt8>] {
        var elements: [ArraySlice<UInt8>] = []
        for element in try self.nullableArray(column, of: types) {
            guard let element else { throw self.mismatch(column, "an array with NULL") }
            elements.append(element)
        }
        return elements
    }
}

extension [PostgresRow] {
    /// The row of a statement that always has one.
    package func single() throws(PostgresError) -> PostgresRow {
        guard let row = self.first else { throw PostgresError(.decoding, "the result has no row") }
        return row
    }
}
