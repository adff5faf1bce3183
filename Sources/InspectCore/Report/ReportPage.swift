/// The layout of every report: one file without scripts, network access or other files, for light and dark screens and for
/// paper.
package enum ReportPage {
    /// Second line of defence: even if a value injected markup, the page could load and run nothing.
    private static let policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"

    static func html(title: String, body: [Markup]) -> String {
        let page: Markup = """
            <!DOCTYPE html>
            <html lang='en'>
            <head>
            <meta charset='utf-8'/>
            <meta http-equiv='Content-Security-Policy' content="\(self.policy)"/>
            <meta name='viewport' content='width=device-width, initial-scale=1'/>
            <meta name='color-scheme' content='light dark'/>
            <meta name='robots' content='noindex'/>
            <title>\(title)</title>
            <style>\(self.style)</style>
            </head>
            <body>
            <main>
            \(body)
            </main>
            </body>
            </html>

            """
        return page.html
    }

    static func section(_ title: String, _ content: [Markup]) -> Markup {
        "<section>\n<h2>\(title)</h2>\n\(content)\n</section>\n"
    }

    /// A table; rows are complete `tr` elements.
    static func table(_ columns: [String], _ rows: [Markup]) -> Markup {
        "<table>\n<thead><tr>\(columns.map { "<th>\($0)</th>" as Markup })</tr></thead>\n<tbody>\n\(rows)</tbody>\n</table>\n"
    }

    /// A decision as a coloured word; the colour says nothing that the word does not.
    static func badge(_ decision: Decision) -> Markup {
        "<span class='badge \(decision.type.rawValue)'>\(decision.type.rawValue)</span> \(decision.details.label)"
    }

    static func verdict(_ outcome: DataCheckData.Outcome?) -> Markup {
        switch outcome {
        case .pass: "<span class='pass'>✓ pass</span>"
        case .fail: "<span class='fail'>✗ fail</span>"
        case .inconclusive: "<span class='inconclusive'>? inconclusive</span>"
        case nil: "<span class='none'>not judged</span>"
        }
    }

    static func verdict(_ holds: Bool) -> Markup { self.verdict(holds ? .pass : .fail) }

    /// The style sheet, for pages that show a report's sections.
    package static let style: Markup = """

        :root { --ink: #1b1f24; --soft: #59636e; --paper: #fff; --panel: #f6f8fa; --line: #d1d9e0;
          --good: #1a7f37; --bad: #cf222e; --warn: #9a6700; --info: #0969da; }
        @media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #9198a1; --paper: #0d1117; --panel: #161b22;
          --line: #3d444d; --good: #3fb950; --bad: #f85149; --warn: #d29922; --info: #4493f8; } }
        * { box-sizing: border-box; }
        body { margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
        main { max-width: 1100px; margin: 0 auto; padding: 24px; }
        h1 { font-size: 26px; margin: 0 0 4px; } h2 { font-size: 19px; margin: 32px 0 8px; } h3 { font-size: 15px; margin: 16px 0 4px; }
        p { margin: 4px 0; } .soft { color: var(--soft); }
        .banner { border: 1px solid var(--line); border-left: 10px solid var(--soft); background: var(--panel); padding: 16px 20px;
          border-radius: 6px; }
        .banner.PASSED { border-left-color: var(--good); } .banner.WARNING { border-left-color: var(--warn); }
        .banner.REJECTED { border-left-color: var(--bad); }
        .badge { font-weight: 600; padding: 1px 8px; border: 1px solid currentColor; border-radius: 10px; font-size: 13px; }
        .PASSED, .pass { color: var(--good); } .REJECTED, .fail { color: var(--bad); } .WARNING { color: var(--warn); }
        .inconclusive { color: var(--warn); } .NOT_EXECUTED, .none { color: var(--soft); }
        .banner { color: var(--ink); } .fail { font-weight: 600; } .pass, .fail, .inconclusive, .none { white-space: nowrap; }
        table { border-collapse: collapse; width: 100%; margin: 8px 0; font-size: 14px; }
        th, td { text-align: left; vertical-align: top; padding: 4px 10px 4px 0; border-bottom: 1px solid var(--line); }
        th { color: var(--soft); font-weight: 600; } td { overflow-wrap: anywhere; }
        td.number { font-variant-numeric: tabular-nums; white-space: nowrap; }
        code, pre { font: 13px/1.6 ui-monospace, monospace; } pre { white-space: pre-wrap; overflow-wrap: anywhere; background: var(--panel);
          padding: 10px; border-radius: 6px; margin: 8px 0; }
        .mrz { font-size: 16px; letter-spacing: 1px; overflow-x: auto; white-space: pre; }
        figure { margin: 12px 0; break-inside: avoid; } figure svg { width: 100%; max-height: 90vh; height: auto; border: 1px solid var(--line);
          border-radius: 4px; background: var(--panel); }
        figcaption { color: var(--soft); font-size: 13px; } .images { display: grid; gap: 16px; grid-template-columns:
          repeat(auto-fit, minmax(min(100%, 480px), 1fr)); }
        .crops { display: flex; gap: 16px; } .crops figure { flex: 0 1 240px; margin: 8px 0; }
        svg polygon, svg rect, svg circle { vector-effect: non-scaling-stroke; }
        .zoneBox { stroke-dasharray: 4 3; } .mark { stroke: #000; stroke-width: 1 !important; }
        .cell { stroke-width: 1 !important; fill-opacity: 0.25; }
        .sure.cell { fill: #2da44e; } .good.cell { fill: #94a800; } .weak.cell { fill: #e09b00; } .poor.cell { fill: #ff3b30; }
        .sure.text { color: var(--good); } .good.text { color: #7d8f00; } .weak.text { color: var(--warn); text-decoration: underline; }
        .poor.text { color: var(--bad); text-decoration: underline wavy; font-weight: 700; }
        .key { display: inline-block; width: 12px; height: 12px; border: 2px solid; margin: 0 4px 0 10px; vertical-align: -1px; }
        .key.o { border-color: #2f81f7; } .key.z { border-color: #8957e5; } .key.b { border-color: #e85aad; } .key.f { border-color: #ff9d2e; }
        @media print { main { max-width: none; padding: 0; } h2 { break-after: avoid; } tr { break-inside: avoid; }
          .badge, .banner, svg { print-color-adjust: exact; -webkit-print-color-adjust: exact; } body { font-size: 11pt; } }

        """
}
