import Testing

/// `ArchitectureTests` find such names in the sources by the same rules.
@Suite struct CaseNameTests {
    @Test(arguments: [
        (#"enum E { case a; var text: String { "\(self)" } }"#, ["self"]),
        (#"enum E: String { case a = "a" }; extension E { var text: String { "is \(self)" } }"#, ["self"]),
        (#"enum E { case a, b(Int) }; struct S { let e: E; var text: String { "\(self.e) \(e)" } }"#, ["self.e", "e"]),
        (#"enum E { case a }; struct S { var e: E? }; func f(s: S) { log("\(s.e!) of \(1 + 1)") }"#, ["s.e!"]),
        (#"enum E { case a }; func f(x: [E]) { for e in E.allCases { log("\(e)") } }"#, ["e"]),
        (#"enum E { case a }; let all = E.allCases.map { "label_\($0)" }"#, ["$0"]),
        (#"enum E { case a }; func f() { let e = E.a; log("\(e)"); log("\(E.a)") }"#, ["e", "E.a"]),
        (#####"enum E { case a }; func f(e: E) { log(#"{"\#(e)": "\(e)"}"#) }"#####, ["e"]),
        (#"enum E { case a }; func f(e: E) { log("\(g("\(e)"))") }"#, ["e"]),
        // None of these is a case's name.
        (#"enum E: String { case a = "a" }; func f(e: E) { log("\(e.rawValue) \(E.a.rawValue)") }"#, []),
        (
            #"enum E: CustomStringConvertible { case a; var description: String { "" } }; func f(e: E) { log("\(e)") }"#,
            []
        ),
        (#"enum E { case a }; extension E { var description: String { "" }; var text: String { "\(self)" } }"#, []),
        (#"enum E { static let a = "a" }; func f() { log("\(E.a)") }"#, []),
        (#"enum E { case a }; func f(e: E) { let e = g(e); log("\(e)") }"#, []),
        (#"enum E { case a }; struct S { let e: E }; struct T { let e: Int; var text: String { "\(self.e)" } }"#, []),
        (#"enum E { case a }; func f(e: E) { let e = E.a.text; log("\(e)") }"#, []),
    ])
    func `The names of cases are found in every interpolation`(source: String, expected: [String]) {
        let names = CaseNames([("sample", source)])
        #expect(names.misread == [])
        #expect(names.found == expected.map { "sample:1: \($0)" })
    }
}
