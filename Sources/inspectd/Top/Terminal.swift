import Foundation

/// The terminal of a full-screen view. Its previous content returns when the value is destroyed.
struct Terminal: ~Copyable {
    /// A line of the screen; styles take no columns.
    struct Line: Equatable {
        enum Style { case plain, title, good, warning }

        var text: String
        var style = Style.plain

        fileprivate var escaped: String {
            switch self.style {
            case .plain: self.text
            case .title: "\u{1b}[1m\(self.text)\u{1b}[0m"
            case .good: "\u{1b}[32m\(self.text)\u{1b}[0m"
            case .warning: "\u{1b}[33m\(self.text)\u{1b}[0m"
            }
        }
    }

    private let saved: termios?
    private var shown: [Line] = []
    private var shownSize = (columns: 0, rows: 0)

    /// Takes the terminal.
    init() {
        var settings = termios()
        if tcgetattr(STDIN_FILENO, &settings) == 0 {
            self.saved = settings
        } else {
            self.saved = nil
        }
        self.enter()
    }

    deinit { self.leave() }

    /// Whether a full-screen view is possible.
    static func isUsable(_ type: String?) -> Bool {
        isatty(STDOUT_FILENO) == 1 && !["", "dumb", "unknown"].contains(type ?? "")
    }

    /// Switches to full screen (again).
    func enter() {
        if var settings = self.saved {
            // Keys are read at once and without echo; Ctrl-C and Ctrl-Z remain signals.
            settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
            tcsetattr(STDIN_FILENO, TCSADRAIN, &settings)
        }
        // Alternate screen, no cursor, no wrapping at the right edge.
        Self.write("\u{1b}[?1049h\u{1b}[?25l\u{1b}[?7l\u{1b}[2J")
    }

    /// Restores the terminal.
    func leave() {
        Self.write("\u{1b}[0m\u{1b}[?7h\u{1b}[?25h\u{1b}[?1049l")
        if var settings = self.saved { tcsetattr(STDIN_FILENO, TCSADRAIN, &settings) }
    }

    /// The window's current size.
    static var size: (columns: Int, rows: Int) {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return (80, 24)
        }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    /// Forgets the screen's content, so that all of it is written again.
    mutating func invalidate() { self.shownSize = (0, 0) }

    /// Shows lines from the top. Only changed lines are written, with one call, to avoid flicker.
    mutating func draw(_ lines: [Line]) {
        let size = Self.size
        var text = ""
        if size != self.shownSize {
            text += "\u{1b}[2J"
            self.shown = []
            self.shownSize = size
        }
        let visible = lines.prefix(size.rows).map { Line(text: Self.fitted($0.text, size.columns), style: $0.style) }
        for row in 0..<max(visible.count, self.shown.count) {
            let line = row < visible.count ? visible[row] : Line(text: "")
            if row < self.shown.count, self.shown[row] == line { continue }
            text += "\u{1b}[\(row + 1);1H\(line.escaped)\u{1b}[K"
        }
        self.shown = visible
        if !text.isEmpty { Self.write(text) }
    }

    /// Untrusted text without control characters, cut to a width. One column stays free: clearing the rest of a full line
    /// would erase its last character.
    static func fitted(_ text: String, _ columns: Int) -> String {
        Self.shortened(Self.harmless(text), to: max(0, columns - 1))
    }

    /// Text cut to a width, with an ellipsis where something is missing.
    static func shortened(_ text: String, to width: Int) -> String {
        text.count <= width ? text : width > 0 ? text.prefix(width - 1) + "…" : ""
    }

    /// Host and partner names are untrusted: control characters in them could control the terminal.
    static func harmless(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.map { scalar in
                    scalar.value < 0x20 || (0x7f...0x9f).contains(scalar.value) ? "?" : scalar
                }))
    }

    private static func write(_ text: String) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let written = bytes.withUnsafeBytes { Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
            if written > 0 {
                bytes = bytes.dropFirst(written)
            } else if errno == EAGAIN {
                var waiting = pollfd(fd: STDOUT_FILENO, events: Int16(POLLOUT), revents: 0)
                poll(&waiting, 1, 1000)
            } else if errno != EINTR {
                // The terminal is gone, and the program is about to end.
                return
            }
        }
    }
}
