package import Foundation
internal import Glibc
package import InspectCore

/// A wrapping key from a file.
package final class FileWrappingKey: WrappingKey {
    /// The name by which the database knows it.
    package let id: String
    private let secret: SecretKey

    init(id: String, secret: SecretKey) {
        self.id = id
        self.secret = secret
    }

    /// Wraps in this process; see ``KeyWrap``.
    package func wrap(_ key: SecretKey, _ associated: [UInt8]) async throws(InspectError) -> [UInt8] {
        KeyWrap.wrap(key, under: self.secret, associated)
    }

    /// Unwraps in this process; see ``KeyWrap``.
    package func unwrap(_ wrapped: [UInt8], _ associated: [UInt8]) async throws(InspectError) -> SecretKey {
        try KeyWrap.unwrap(wrapped, under: self.secret, associated)
    }
}

/// A file of wrapping keys: a line for each with its name and 64 hexadecimal digits. Empty lines and lines that begin
/// with # are ignored.
package enum KeyFile {
    /// Larger than any sensible file.
    private static let limit = 65_536

    /// - Throws: ``InspectError`` with ``ErrorCode/keyMissing`` if there is no such file or no key in it, with
    ///   ``ErrorCode/keyFileInvalid`` if anyone but its owner can read or change it, it belongs to another user, or a line is not
    ///   a key.
    package static func read(_ path: String) throws(InspectError) -> [FileWrappingKey] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            throw InspectError(
                errno == ENOENT ? .keyMissing : .keyFileInvalid, "\(path): \(String(cString: strerror(errno)))")
        }
        defer { close(descriptor) }
        try self.check(descriptor, path)
        var bytes = [UInt8](repeating: 0, count: self.limit)
        defer { bytes.wipe() }
        var count = 0
        while count < bytes.count {
            let got = bytes.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress! + count, $0.count - count) }
            guard got >= 0 else { throw InspectError(.keyFileInvalid, "\(path) cannot be read") }
            if got == 0 { break }
            count += got
        }
        var keys: [FileWrappingKey] = []
        for (number, line) in bytes[..<count].split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .enumerated()
        {
            let words = line.split { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
            guard let first = words.first, first.first != UInt8(ascii: "#") else { continue }
            let id = String(decoding: first, as: UTF8.self)
            guard words.count == 2, WrappingKeys.isName(id), let secret = self.secret(words[1]) else {
                throw InspectError(.keyFileInvalid, "\(path), line \(number + 1): not a name and 64 hexadecimal digits")
            }
            keys.append(FileWrappingKey(id: id, secret: secret))
        }
        guard !keys.isEmpty else { throw InspectError(.keyMissing, "\(path) contains no key") }
        return keys
    }

    private static func check(_ descriptor: CInt, _ path: String) throws(InspectError) {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw InspectError(.keyFileInvalid, "\(path) is not a file")
        }
        guard status.st_uid == geteuid() || status.st_uid == 0 else {
            throw InspectError(.keyFileInvalid, "\(path) belongs to another user")
        }
        // In volumes of secrets and systemd's credentials, files are owned by root and readable by the group that needs them.
        let isLent = status.st_uid == 0 && geteuid() != 0 && (status.st_gid == 0 || self.isOwnGroup(status.st_gid))
        guard status.st_mode & (isLent ? 0o037 : 0o077) == 0 else {
            throw InspectError(
                .keyFileInvalid, "\(path) has mode \(String(status.st_mode & 0o777, radix: 8))",
                hint: "chmod 600, or 400.")
        }
    }

    private static func isOwnGroup(_ group: gid_t) -> Bool {
        let count = getgroups(0, nil)
        var groups = [gid_t](repeating: 0, count: Int(max(count, 0)))
        return group == getegid() || getgroups(count, &groups) > 0 && groups.contains(group)
    }

    private static func secret(_ digits: ArraySlice<UInt8>) -> SecretKey? {
        guard digits.count == 2 * SecretKey.count else { return nil }
        var isHex = true
        let key = SecretKey { target in
            for (index, digit) in digits.enumerated() {
                let value: UInt8
                switch digit {
                case 0x30...0x39: value = digit - 0x30
                case 0x41...0x46: value = digit - 0x41 + 10
                case 0x61...0x66: value = digit - 0x61 + 10
                default: (value, isHex) = (0, false)
                }
                target[index / 2] = target[index / 2] << 4 | value
            }
        }
        return isHex ? key : nil
    }

    /// Adds a new key to a file, which is created with mode 0600 if there is none. Complete or not at all, also after a crash; of
    /// several processes, one after the other.
    ///
    /// - Parameter name: `nil`: the day and four random digits.
    /// - Returns: The key's name.
    /// - Throws: ``InspectError`` with ``ErrorCode/keyFileInvalid``.
    package static func add(to path: String, name: String? = nil, now: Date = Date()) throws(InspectError) -> String {
        let folder = try self.lockedFolder(of: path)
        defer { close(folder) }
        return try self.add(to: path, in: folder, name: name, now: now)
    }

    /// Makes a file with a new key, unless there is one.
    ///
    /// - Returns: The key's name; `nil`: the file was there.
    /// - Throws: ``InspectError`` with ``ErrorCode/keyFileInvalid``.
    package static func make(_ path: String) throws(InspectError) -> String? {
        let folder = try self.lockedFolder(of: path)
        defer { close(folder) }
        return access(path, F_OK) == 0 ? nil : try self.add(to: path, in: folder, name: nil, now: Date())
    }

    private static func add(
        to path: String, in folder: CInt, name: String?, now: Date
    ) throws(InspectError) -> String {
        let isThere = access(path, F_OK) == 0
        let known = isThere ? try self.read(path).map(\.id) : []
        let day = now.formatted(.iso8601.year().month().day())
        let id = name ?? "\(day)-\(KeyID.new().text.suffix(4))"
        guard WrappingKeys.isName(id), !known.contains(id) else {
            throw InspectError(.keyFileInvalid, "\(id) is not a valid name for a new key in the file")
        }
        var bytes = isThere ? [UInt8](FileManager.default.contents(atPath: path) ?? Data()) : []
        defer { bytes.wipe() }
        bytes.reserveCapacity(bytes.count + 256)
        if let last = bytes.last, last != UInt8(ascii: "\n") { bytes.append(UInt8(ascii: "\n")) }
        bytes += Array("\(id) ".utf8)
        let digits = Array("0123456789abcdef".utf8)
        SecretKey.random().withBytes { key in
            for byte in key { bytes += [digits[Int(byte >> 4)], digits[Int(byte & 15)]] }
        }
        bytes.append(UInt8(ascii: "\n"))
        self.removeDrafts(of: path)
        let fresh = "\(path).\(KeyID.new().text)"
        let descriptor = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw InspectError(.keyFileInvalid, "\(path) cannot be written: \(String(cString: strerror(errno)))")
        }
        let isWritten =
            bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) } == bytes.count
            && fsync(descriptor) == 0
        close(descriptor)
        // Without syncing the folder, a crash could undo the rename, and keys wrapped meanwhile would be lost.
        guard isWritten, rename(fresh, path) == 0, fsync(folder) == 0 else {
            unlink(fresh)
            throw InspectError(.keyFileInvalid, "\(path) cannot be written")
        }
        return id
    }

    /// A process that was killed before its rename has left a copy of all keys. Under the folder's lock no other process writes one.
    private static func removeDrafts(of path: String) {
        let file = URL(fileURLWithPath: path)
        let folder = file.deletingLastPathComponent()
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        where name.hasPrefix(file.lastPathComponent + ".") {
            guard KeyID(String(name.dropFirst(file.lastPathComponent.count + 1))) != nil else { continue }
            unlink(folder.appendingPathComponent(name).path)
        }
    }

    /// A key that another process adds between the read and the rename would be lost. The folder is locked, because the file is replaced.
    ///
    /// - Returns: A descriptor that holds the lock until it is closed.
    private static func lockedFolder(of path: String) throws(InspectError) -> CInt {
        let folder = open(
            URL(fileURLWithPath: path).deletingLastPathComponent().path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        while folder >= 0 {
            if flock(folder, LOCK_EX) == 0 { return folder }
            guard errno == EINTR else { break }
        }
        let reason = String(cString: strerror(errno))
        if folder >= 0 { close(folder) }
        throw InspectError(.keyFileInvalid, "\(path) cannot be written: \(reason)")
    }
}
