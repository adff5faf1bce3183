import Foundation
import TestSupport
import Testing

@Suite struct CompletionTests {
    @Test(arguments: [
        (["insp"], "inspect"), (["com"], "compare completion"), (["--v"], "--version"),
        (["worker", "--fetch-"], "--fetch-permits --fetch-memory --fetch-deadline"),
        (["gateway", "--log"], "--log-level"), (["face", "d"], "delete"), (["help", "doc"], "doctor"),
        (["completion", ""], "bash zsh fish"), (["bench", "callbacks", "--hu"], "--hung"),
        (["audit", "key", "--"], "--audit-key --new --database-url --log-level --help"),
        (["keys", "list", "--esc"], ""),
        // A value that is no file; a file, which bash completes by itself; a word of no command.
        (["worker", "--slots", "--"], ""), (["inspect", "--front", "--"], ""), (["unheard-of", "--"], ""),
        (["inspect", "--workflow", "=", ""], ""),
    ])
    func `Bash completes commands and options`(words: [String], replies: String) async throws {
        let line = (["inspectd"] + words).map { "'\($0)'" }.joined(separator: " ")
        let output = try await self.bash(
            """
            source <("$INSPECTD" completion bash) && complete -p inspectd >/dev/null || exit 1
            COMP_WORDS=(\(line)) COMP_CWORD=\(words.count)
            _inspectd; echo "${COMPREPLY[*]}"
            """)
        #expect(output == replies + "\n")
    }

    @Test func `Every option of every command is completed in each shell`() async throws {
        for shell in ["bash", "zsh", "fish"] {
            let script = String(decoding: try await Program.run(["completion", shell]).output, as: UTF8.self)
            for name in try await CommandTable.names() {
                #expect(script.contains(name))
                for option in try await CommandTable.options(of: name) {
                    #expect(script.contains(shell == "fish" ? "-l \(option) " : "--\(option)"), "\(shell): \(option)")
                }
            }
        }
    }

    /// `groff` is part of every Debian; without it only the page's own rules are checked.
    @Test func `The manual page has every command and option, and groff prints no warning`() async throws {
        let done = try await Program.run(["man"])
        let page = String(decoding: done.output, as: UTF8.self)
        #expect(done.status == 0 && page.allSatisfy { $0.isASCII })
        let macros: Set = [".TH", ".SH", ".SS", ".TP", ".PP", ".B", ".I", ".RI", ".nf", ".fi"]
        for line in page.split(separator: "\n") where line.hasPrefix(".") && !line.hasPrefix(".\\\"") {
            #expect(macros.contains(String(line.prefix { $0 != " " })), "\(line)")
        }
        #expect(!page.split(separator: "\n").contains { $0.hasPrefix("'") })
        let text = try await self.bash(
            """
            command -v groff >/dev/null || { "$INSPECTD" man | sed 's/\\\\\\(f.\\|&\\)//g; s/\\\\-/-/g'; exit; }
            warnings=$("$INSPECTD" man | LC_ALL=C.UTF-8 groff -man -ww -Tutf8 2>&1 >/dev/null)
            [ -z "$warnings" ] || { echo "$warnings" >&2; exit 1; }
            "$INSPECTD" man | GROFF_NO_SGR=1 groff -man -Tascii -P-bou 2>/dev/null
            """)
        for name in try await CommandTable.names() {
            #expect(text.contains("inspectd \(name)"))
            for option in try await CommandTable.options(of: name) {
                #expect(text.contains("--\(option)"), "\(option)")
            }
        }
    }

    /// The output of a bash script, which must succeed and write no error.
    private func bash(_ script: String) async throws -> String {
        let environment = ["PATH": "/usr/bin:/bin", "INSPECTD": Program.inspectd]
            .merging(ProcessInfo.processInfo.environment.filter { $0.key == "LD_LIBRARY_PATH" }) { $1 }
        let done = try await ChildProcess.run("/bin/bash", ["--norc", "-c", script], environment: environment)
        #expect(done.status == 0 && done.errors.isEmpty, "\(done.errors)")
        return done.output
    }
}
