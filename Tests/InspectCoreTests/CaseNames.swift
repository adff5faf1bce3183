/// The interpolations in Swift sources that write the name of an enumeration's case, found without a compiler: by the types that
/// declarations state. What a closure or a pattern binds is not followed, except `$0` of `allCases`.
struct CaseNames {
    /// One interpolation: the tokens in its brackets, and where it stands.
    struct Interpolation {
        var file: String
        var line: Int
        var tokens: [String]
        var type: String?
        /// The enumeration of whose cases `$0` is one.
        var element: String?
        /// The file's declarations before it.
        var before: Int
    }

    /// A name with its type, as declared in a file, in a type or outside of any.
    struct Declaration {
        var name: String
        var type: String
        var owner: String?
        /// What of the type it was set to, if that tells its type: one of its cases, or `allCases`.
        var member: String?
    }

    private var cases: [String: Set<String>] = [:]
    private var described: Set<String> = []
    private var declarations: [String: [Declaration]] = [:]
    private var interpolations: [Interpolation] = []
    /// Files of which the scanner lost track.
    private(set) var misread: [String] = []

    init(_ files: [(name: String, text: String)]) {
        for file in files {
            var scanner = SwiftScanner(file.name, file.text)
            scanner.scan()
            self.cases.merge(scanner.cases) { $0.union($1) }
            self.described.formUnion(scanner.described)
            self.declarations[file.name] = scanner.declarations
            self.interpolations += scanner.interpolations
            if !scanner.isBalanced { self.misread.append(file.name) }
        }
    }

    /// How many interpolations there are, whatever they write.
    var count: Int { self.interpolations.count }

    /// Those that write a case's name, as `file:line: expression`.
    var found: [String] {
        var types: [String: Set<String>] = [:]
        var members: [String: Set<String>] = [:]
        let declarations = self.declarations.mapValues { list in
            list.enumerated().filter { _, one in
                one.member.map { $0 == "allCases" || self.cases[one.type]?.contains($0) == true } ?? true
            }
        }
        for (_, declaration) in declarations.values.joined() {
            guard !declaration.type.isEmpty else { continue }
            types[declaration.name, default: []].insert(declaration.type)
            if let owner = declaration.owner {
                members["\(owner).\(declaration.name)", default: []].insert(declaration.type)
            }
        }
        return self.interpolations.filter { one in
            let path = one.tokens.filter { !["?", "!", "try", "await"].contains($0) }
            guard let last = path.last, path.enumerated().allSatisfy({ ($1 == ".") == ($0 % 2 == 1) }) else {
                // A leading dot: an implicit member is a case or nothing.
                return one.tokens.first == "." && one.tokens.count == 2
            }
            if path == ["self"] { return one.type.map(self.writesName) ?? false }
            if path == ["$0"] { return one.element.map(self.writesName) ?? false }
            if path.count >= 3, let enumeration = self.cases[path[path.count - 3]] {
                return enumeration.contains(last) && self.writesName(path[path.count - 3])
            }
            if path.count == 1,
                let nearest = declarations[one.file]?.last(where: { $0.offset < one.before && $0.element.name == last })
            {
                return self.writesName(nearest.element.type)
            }
            let isOwn = path.count == 1 || (path.count == 3 && path[0] == "self")
            let known = (isOwn ? one.type.flatMap { members["\($0).\(last)"] } : nil) ?? types[last] ?? []
            return !known.isEmpty && known.allSatisfy(self.writesName)
        }.map { "\($0.file):\($0.line): \($0.tokens.joined())" }
    }

    private func writesName(_ type: String) -> Bool { self.cases[type] != nil && !self.described.contains(type) }
}

/// Reads one file: braces, the heads of types, cases, declarations, and strings with what they interpolate.
private struct SwiftScanner {
    private struct Block {
        var type: String?
        var isEnumeration = false
        var element: String?
    }

    private let file: String
    private let bytes: [UInt8]
    private var at = 0
    private var line = 1
    private var blocks: [Block] = []
    private var tokens: [String] = []
    /// How many tokens there were at the last declaration.
    private var declaredAt = 0

    /// Whether each brace was closed: it was all understood.
    var isBalanced: Bool { self.blocks.isEmpty }
    var cases: [String: Set<String>] = [:]
    var described: Set<String> = []
    var declarations: [CaseNames.Declaration] = []
    var interpolations: [CaseNames.Interpolation] = []

    init(_ file: String, _ text: String) {
        self.file = file
        self.bytes = Array(text.utf8) + [0x0A]
    }

    private var type: String? { self.blocks.last { $0.type != nil }?.type }

    /// Reads to the end of the file, or in an interpolation to its closing bracket.
    mutating func scan(inInterpolation: Bool = false) {
        var depth = 0
        while self.at < self.bytes.count {
            let byte = self.bytes[self.at]
            if byte == UInt8(ascii: "/"), self.bytes[self.at + 1] == byte {
                while self.bytes[self.at] != 0x0A { self.at += 1 }
            } else if self.isWord(byte) {
                let start = self.at
                while self.isWord(self.bytes[self.at]) { self.at += 1 }
                self.add(String(decoding: self.bytes[start..<self.at], as: UTF8.self))
            } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "#") && self.opensRawString {
                self.readString()
            } else {
                if byte == 0x0A { self.line += 1 }
                self.at += 1
                guard byte > 0x20, byte != UInt8(ascii: "`") else { continue }
                if byte == UInt8(ascii: "(") { depth += 1 }
                if byte == UInt8(ascii: ")") {
                    if inInterpolation, depth == 0 { return }
                    depth -= 1
                }
                self.add(String(UnicodeScalar(byte)))
            }
        }
    }

    private func isWord(_ byte: UInt8) -> Bool {
        byte >= 0x80 || (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
            || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "$")
    }

    private var opensRawString: Bool {
        self.bytes[self.at...].first { $0 != UInt8(ascii: "#") } == UInt8(ascii: "\"")
    }

    private mutating func readString() {
        let hashes = self.bytes[self.at...].prefix { $0 == UInt8(ascii: "#") }.count
        self.at += hashes
        let isLong = self.bytes[self.at...].starts(with: Array("\"\"\"".utf8))
        let end = Array(((isLong ? "\"\"\"" : "\"") + String(repeating: "#", count: hashes)).utf8)
        let escape = Array(("\\" + String(repeating: "#", count: hashes)).utf8)
        self.at += isLong ? 3 : 1
        while self.at < self.bytes.count {
            let byte = self.bytes[self.at]
            if byte == end[0], self.bytes[self.at...].starts(with: end) { break }
            if byte == 0x0A { self.line += 1 }
            guard byte == escape[0], self.bytes[self.at...].starts(with: escape) else {
                self.at += 1
                continue
            }
            self.at += escape.count
            let opens = self.bytes[self.at] == UInt8(ascii: "(")
            self.at += 1
            if opens { self.readInterpolation() }
        }
        self.at += end.count
        self.add("\"")
    }

    private mutating func readInterpolation() {
        let outside = self.tokens
        var made = CaseNames.Interpolation(
            file: self.file, line: self.line, tokens: [], type: self.type,
            element: self.blocks.last { $0.type != nil || $0.element != nil }?.element, before: self.declarations.count)
        self.tokens = []
        self.scan(inInterpolation: true)
        made.tokens = self.tokens
        self.interpolations.append(made)
        self.tokens = outside
    }

    private mutating func add(_ token: String) {
        switch token {
        case "{":
            self.blocks.append(self.block())
            self.tokens = []
            return
        case "}":
            if !self.blocks.isEmpty { self.blocks.removeLast() }
            self.tokens = []
            return
        default: self.tokens.append(token)
        }
        // What follows the case is of another type.
        if token == ".", self.declarations.last?.member != nil, self.tokens.count == self.declaredAt + 1 {
            self.declarations.removeLast()
        }
        self.readCase()
        self.readBinding()
        self.readDeclaration()
        if self.tokens.suffix(2) == ["var", "description"], let type = self.type { self.described.insert(type) }
    }

    /// What the brace after the tokens opens.
    private mutating func block() -> Block {
        let count = self.tokens.count
        if count >= 4, self.tokens[count - 2] == ".", self.tokens[count - 3] == "allCases" {
            return Block(element: self.tokens[..<(count - 3)].last { $0.first?.isUppercase == true })
        }
        let kinds: Set = ["enum", "struct", "class", "actor", "extension", "protocol"]
        guard let kind = self.tokens.lastIndex(where: kinds.contains), kind + 1 < count,
            !["func", "var", "let"].contains(self.tokens[kind + 1])
        else { return Block() }
        var name = kind + 1
        while name + 2 < count, self.tokens[name + 1] == "." { name += 2 }
        if self.tokens[name...].contains("CustomStringConvertible") { self.described.insert(self.tokens[name]) }
        return Block(type: self.tokens[name], isEnumeration: self.tokens[kind] == "enum")
    }

    /// Names behind `case` in an enumeration, which commas separate outside of brackets.
    private mutating func readCase() {
        guard let block = self.blocks.last, block.isEnumeration, let type = block.type,
            let begin = self.tokens.lastIndex(of: "case"), begin + 1 < self.tokens.count
        else { return }
        let last = self.tokens.count - 1
        let depth = self.tokens[begin...].reduce(0) { $0 + ($1 == "(" ? 1 : $1 == ")" ? -1 : 0) }
        if last == begin + 1 || (self.tokens[last - 1] == "," && depth == 0) {
            self.cases[type, default: []].insert(self.tokens[last])
        }
    }

    /// `let name =`, `let name)`, `for name in` and a closure's `name in`: a name of any type, which hides others. `if let name` hides none.
    private mutating func readBinding() {
        guard let token = self.tokens.last, ["=", ")", "in"].contains(token), self.tokens.count >= 2 else { return }
        let name = self.tokens[self.tokens.count - 2]
        let before = self.tokens.dropLast(2).last
        if before.map({ ["let", "var", "for"].contains($0) }) ?? false {
            self.declare(name, "")
        } else if token == "in", self.tokens.dropLast().enumerated().allSatisfy({ ($1 == ",") == ($0 % 2 == 1) }) {
            for (index, name) in self.tokens.dropLast().enumerated() where index % 2 == 0 { self.declare(name, "") }
        }
    }

    /// `name: Type`, `name = Type.case` and `for name in Type.allCases`, of which the type's last part counts.
    private mutating func readDeclaration() {
        let last = self.tokens.count - 1
        guard last >= 2, self.tokens[last].first?.isUppercase == true || self.tokens[last].first?.isLowercase == true
        else { return }
        if self.tokens[last].first?.isUppercase == true {
            var first = last
            while first >= 2, self.tokens[first - 1] == "." { first -= 2 }
            while first >= 1, ["[", "inout", "any", "some", "borrowing", "consuming"].contains(self.tokens[first - 1]) {
                first -= 1
            }
            guard first >= 2, self.tokens[first - 1] == ":" else { return }
            // A part of a longer path replaces what came before.
            let name = self.tokens[first - 2]
            if let known = self.declarations.last, known.name == name, self.tokens[last - 1] == "." {
                self.declarations.removeLast()
            }
            self.declare(name, self.tokens[last])
        } else if last >= 4, self.tokens[last - 1] == ".", self.tokens[last - 2].first?.isUppercase == true,
            ["=", "in"].contains(self.tokens[last - 3]), self.tokens[last] == "allCases" || self.tokens[last - 3] == "="
        {
            self.declare(self.tokens[last - 4], self.tokens[last - 2], member: self.tokens[last])
        }
    }

    private mutating func declare(_ name: String, _ type: String, member: String? = nil) {
        self.declarations.append(.init(name: name, type: type, owner: self.type, member: member))
        self.declaredAt = self.tokens.count
    }
}
