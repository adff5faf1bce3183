import Foundation
import Glibc
import TestSupport

/// A program that is open for writing, as while an upgrade writes it.
///
/// A lease (fcntl(2), F_SETLEASE) reveals a start, and delays it before the kernel refuses it with ETXTBSY.
struct OpenProgram: Sendable {
    let path: String
    let writer: FileHandle

    // fcntl.h, with _GNU_SOURCE
    private static let setSignal: CInt = 10
    private static let setLease: CInt = 1024
    private static let getLease: CInt = 1025

    init(_ text: String) throws {
        self.path = try ChildProcess.program("#!/bin/sh\n\(text)\n").path
        let descriptor = open(self.path, O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        self.writer = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }

    func remove() {
        try? self.writer.close()
        try? FileManager.default.removeItem(atPath: self.path)
    }

    /// Holds up the next start.
    func lease() async throws {
        try await waitUntil("no one else has the program open", every: .milliseconds(1)) {
            // The signal that tells of a start would end the process, unless it is one that is ignored; a release resets it.
            guard fcntl(self.writer.fileDescriptor, Self.setSignal, SIGURG) == 0,
                fcntl(self.writer.fileDescriptor, Self.setLease, CInt(F_WRLCK)) == 0
            else {
                guard errno == EAGAIN else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
                return false
            }
            return true
        }
    }

    /// Whether a start has come since the lease was taken.
    var isAwaited: Bool { fcntl(self.writer.fileDescriptor, Self.getLease) != CInt(F_WRLCK) }

    func waitForStart() async throws {
        try await waitUntil("the program is started", every: .milliseconds(1)) { self.isAwaited }
    }

    /// Lets the delayed start continue.
    func release() { _ = fcntl(self.writer.fileDescriptor, Self.setLease, CInt(F_UNLCK)) }

    /// Lets a start go on, which is refused, and holds up the one after it.
    func refuse() async throws {
        try await self.waitForStart()
        self.release()
        try await self.lease()
    }
}
