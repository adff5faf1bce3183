import Foundation
import Glibc
import TestSupport

/// The program on its own terminal, and what that terminal would show.
final class PseudoTerminal {
    let pid: pid_t
    /// Its ``modes`` before the program started.
    let initialModes: [UInt32]
    private let master: CInt
    private let path: String
    /// All output to the terminal.
    private(set) var output = ""
    private(set) var screen = Screen()

    init(
        _ arguments: [String], program: String = Program.inspectd, environment: [String: String], columns: UInt16 = 100,
        rows: UInt16 = 30
    ) throws {
        // By TIOCSPTLCK and TIOCGPTN: what the C library wraps them in is not visible to Swift.
        let master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        var (unlocked, number): (CInt, CInt) = (0, 0)
        guard master >= 0, ioctl(master, 0x4004_5431, &unlocked) == 0, ioctl(master, 0x8004_5430, &number) == 0 else {
            throw Program.Failed(message: "no pseudo-terminal: errno \(errno)")
        }
        self.master = master
        self.path = "/dev/pts/\(number)"
        _ = fcntl(master, F_SETFL, O_NONBLOCK)
        var size = winsize(ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        _ = ioctl(master, UInt(TIOCSWINSZ), &size)

        self.initialModes = Self.modes(of: self.master)
        let path = self.path
        // So that Ctrl-C is a signal.
        let process = try ChildProcess.spawn(
            program, arguments, environment: ["PATH": "/usr/bin:/bin", "TERM": "xterm"].merging(environment) { $1 },
            ownSession: true
        ) { actions in
            posix_spawn_file_actions_addopen(&actions, 0, path, O_RDWR, 0)
            posix_spawn_file_actions_adddup2(&actions, 0, 1)
            posix_spawn_file_actions_adddup2(&actions, 0, 2)
        }
        self.pid = process.pid
    }

    deinit {
        kill(self.pid, SIGKILL)
        waitpid(self.pid, nil, 0)
        close(self.master)
    }

    func type(_ text: String) {
        let bytes = Array(text.utf8)
        _ = write(self.master, bytes, bytes.count)
    }

    func resize(columns: UInt16, rows: UInt16) {
        var size = winsize(ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        _ = ioctl(self.master, UInt(TIOCSWINSZ), &size)
    }

    /// How the terminal treats input; compared before and after.
    var modes: [UInt32] { Self.modes(of: self.master) }

    private static func modes(of master: CInt) -> [UInt32] {
        var settings = termios()
        tcgetattr(master, &settings)
        return [settings.c_iflag, settings.c_oflag, settings.c_lflag]
    }

    /// Reads output until a condition holds.
    func wait(within seconds: Double = 60, until condition: (PseudoTerminal) -> Bool) async throws -> Bool {
        let deadline = ContinuousClock.now + .seconds(seconds)
        while true {
            self.drain()
            if condition(self) { return true }
            if ContinuousClock.now >= deadline { return false }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Waits for the end: the exit status, or minus the signal's number.
    ///
    /// - Throws: ``WaitTimedOut``; the program is killed with this object.
    func end(within limit: Duration = .hangDeadline) async throws -> Int32 {
        let deadline = ContinuousClock.now + limit
        while true {
            self.drain()
            var status: Int32 = 0
            if waitpid(self.pid, &status, WNOHANG) == self.pid {
                self.drain()
                return status & 0x7f == 0 ? status >> 8 & 0xff : -(status & 0x7f)
            }
            guard .now < deadline else { throw WaitTimedOut(what: "process \(self.pid) ends", limit: limit) }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    private func drain() {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(self.master, &bytes, bytes.count)
            if count <= 0 { return }
            let text = String(decoding: bytes.prefix(count), as: UTF8.self)
            self.output += text
            self.screen.take(text)
        }
    }

    /// The part of a terminal that the program uses.
    struct Screen {
        private(set) var rows: [Int: String] = [:]
        private(set) var isAlternate = false
        private(set) var clears = 0
        /// Sequences that this terminal does not know.
        private(set) var unknown: [String] = []
        private var row = 1
        private var pending = ""

        var text: String { self.rows.sorted { $0.key < $1.key }.map(\.value).joined(separator: "\n") }

        mutating func take(_ text: String) {
            var rest = Substring(self.pending + text)
            self.pending = ""
            while let first = rest.first {
                guard first == "\u{1b}" else {
                    let plain = rest.prefix { $0 != "\u{1b}" }
                    self.rows[self.row, default: ""] += plain
                    rest = rest.dropFirst(plain.count)
                    continue
                }
                guard let end = rest.dropFirst(2).firstIndex(where: { $0.isLetter }) else {
                    self.pending = String(rest)
                    return
                }
                self.obey(String(rest[rest.index(rest.startIndex, offsetBy: 1)...end]))
                rest = rest[rest.index(after: end)...]
            }
        }

        private mutating func obey(_ sequence: String) {
            switch sequence {
            case "[?1049h": self.isAlternate = true
            case "[?1049l": self.isAlternate = false
            case "[2J":
                self.rows = [:]
                self.clears += 1
            // What follows the text on a line; a line is always written from its start.
            case "[K": break
            case "[?25h", "[?25l", "[?7h", "[?7l": break
            case _ where sequence.hasSuffix("m"): break
            case _ where sequence.hasSuffix(";1H"):
                self.row = Int(sequence.dropFirst().dropLast(3)) ?? 0
                self.rows[self.row] = ""
            default: self.unknown.append(sequence)
            }
        }
    }
}
