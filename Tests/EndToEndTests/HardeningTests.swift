import Foundation
import Glibc
import TestSupport
import Testing

/// The program has the hardening that the compiler and the linker were asked for.
@Suite struct HardeningTests {
    @Test(arguments: [Program.inspectd, Program.faultyAnalyzer])
    func `The program is hardened`(path: String) throws {
        let program = try ELFFile(path)
        #expect(program.isPositionIndependent)
        #expect(program.isBoundAtStart, "full RELRO: BIND_NOW")
        #expect(program.segments.contains { $0.kind == ELFFile.relocationsReadOnly }, "GNU_RELRO")
        let stack = try #require(program.segments.first { $0.kind == ELFFile.stack })
        #expect(!stack.isExecutable)
        #expect(!program.segments.contains { $0.isExecutable && $0.isWritable })
        let imports = program.imports
        #expect(imports.contains("__stack_chk_fail"))
        // FORTIFY in C and in C++.
        #expect(imports.filter { $0.hasPrefix("__") && $0.hasSuffix("_chk") }.count >= 3, "\(imports.sorted())")
        // The library's assertions: std::__glibcxx_assert_fail.
        #expect(imports.contains { $0.contains("__glibcxx_assert_fail") })
    }

    /// Swift's backtrace shows registers, and the memory that these point to: keys, names, images.
    @Test(arguments: [SIGSEGV, SIGABRT, SIGILL, SIGTRAP])
    func `A crash prints no memory`(signal: Int32) async throws {
        let worker = try Program(
            ["worker", "--health", "0"],
            environment: [
                "INSPECTD_DATABASE_URL": "postgresql://127.0.0.1:1/none", "SWIFT_BACKTRACE": "enable=yes,color=no",
            ])
        _ = try await worker.port("health port open")
        worker.send(signal)
        #expect(try await worker.wait() == -signal)
        #expect(!worker.standardError.contains("Registers"))
    }

    /// Otherwise one file compiled so would satisfy the test of a whole program.
    @Test func `Every file of C and C++ is compiled so`() throws {
        let folder = BuiltProducts.folder
        for (target, symbols) in [
            "CSystem": ["__stack_chk_fail"], "CVision": ["__stack_chk_fail", "__glibcxx_assert_fail"],
        ] {
            let objects = try FileManager.default.contentsOfDirectory(
                at: folder.appendingPathComponent("\(target).build"), includingPropertiesForKeys: nil
            ).filter { $0.pathExtension == "o" }
            #expect(objects.count > 2)
            for symbol in symbols {
                // Tables and files of a few lines have nothing to protect.
                let protected = try objects.filter { try Data(contentsOf: $0).range(of: Data(symbol.utf8)) != nil }
                #expect(
                    Double(protected.count) >= 0.5 * Double(objects.count),
                    "\(target): \(symbol) in \(protected.count) of \(objects.count)")
            }
        }
    }
}

/// The parts of an ELF file (64 bits, little-endian; System V ABI) that show how it was linked.
struct ELFFile {
    struct Segment {
        var kind: UInt32
        var flags: UInt32
        var offset: Int
        var address: UInt64
        var size: Int
        var isExecutable: Bool { self.flags & 1 != 0 }
        var isWritable: Bool { self.flags & 2 != 0 }
    }

    static let stack: UInt32 = 0x6474_e551
    static let relocationsReadOnly: UInt32 = 0x6474_e552
    private static let dynamic: UInt32 = 2
    private static let load: UInt32 = 1

    private let bytes: Data
    private let type: UInt16
    let segments: [Segment]
    /// The dynamic section's entries by tag.
    private let entries: [UInt64: UInt64]
    /// Symbols imported from libraries.
    let imports: Set<String>

    struct Malformed: Error {}

    init(_ path: String) throws {
        let bytes = try Data(contentsOf: URL(fileURLWithPath: path), options: .alwaysMapped)
        guard bytes.count > 64, bytes.prefix(6) == Data([0x7F, 0x45, 0x4C, 0x46, 2, 1]) else { throw Malformed() }
        func read<Value: FixedWidthInteger>(_ offset: Int, as: Value.Type = Value.self) throws -> Value {
            guard offset >= 0, offset + MemoryLayout<Value>.size <= bytes.count else { throw Malformed() }
            return Value(
                littleEndian: bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: Value.self) })
        }
        self.bytes = bytes
        self.type = try read(16)
        let (table, size) = (Int(try read(32, as: UInt64.self)), Int(try read(54, as: UInt16.self)))
        self.segments = try (0..<Int(try read(56, as: UInt16.self))).map { index in
            let at = table + index * size
            return Segment(
                kind: try read(at), flags: try read(at + 4), offset: Int(try read(at + 8, as: UInt64.self)),
                address: try read(at + 16), size: Int(try read(at + 32, as: UInt64.self)))
        }
        var entries: [UInt64: UInt64] = [:]
        if let dynamic = self.segments.first(where: { $0.kind == Self.dynamic }) {
            for at in stride(from: dynamic.offset, to: dynamic.offset + dynamic.size, by: 16) {
                let tag: UInt64 = try read(at)
                if tag == 0 { break }
                entries[tag] = try read(at + 8)
            }
        }
        self.entries = entries
        let loads = self.segments.filter { $0.kind == Self.load }
        func offset(of address: UInt64) throws -> Int {
            guard let segment = loads.first(where: { address >= $0.address && address < $0.address + UInt64($0.size) })
            else { throw Malformed() }
            return segment.offset + Int(address - segment.address)
        }
        // DT_SYMTAB and DT_STRTAB; the strings follow the symbols in every linker's output.
        guard let symbols = entries[6], let strings = entries[5], symbols < strings else { throw Malformed() }
        let (first, names) = (try offset(of: symbols), try offset(of: strings))
        var imports: Set<String> = []
        for at in stride(from: first, to: names - 23, by: 24) where try read(at + 6, as: UInt16.self) == 0 {
            let name = names + Int(try read(at, as: UInt32.self))
            guard name < bytes.count else { break }
            imports.insert(String(decoding: bytes[name...].prefix { $0 != 0 }, as: UTF8.self))
        }
        self.imports = imports
    }

    /// ET_DYN, and DF_1_PIE.
    var isPositionIndependent: Bool { self.type == 3 && self.entries[0x6fff_fffb, default: 0] & 0x0800_0000 != 0 }

    /// DT_BIND_NOW, DF_BIND_NOW or DF_1_NOW.
    var isBoundAtStart: Bool {
        self.entries[24] != nil || self.entries[30, default: 0] & 8 != 0
            || self.entries[0x6fff_fffb, default: 0] & 1 != 0
    }
}
