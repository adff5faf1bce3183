internal import InspectCore

/// The files that pages load: the style sheet of reports with what the console's own pages need, and one script.
enum ConsoleAssets {
    static var style: String { ReportPage.style.html + self.own }

    private static let own = """
        a { color: var(--info); } .good.text { color: var(--good); }
        :focus-visible { outline: 3px solid var(--info); outline-offset: 2px; }
        .skip { position: absolute; left: -10000px; } .skip:focus { left: 8px; top: 8px; background: var(--paper); padding: 8px; }
        header { display: flex; flex-wrap: wrap; gap: 8px 24px; align-items: center; padding: 8px 24px;
          border-bottom: 1px solid var(--line); background: var(--panel); }
        .brand { font-weight: 700; margin: 0; } nav ul { display: flex; flex-wrap: wrap; gap: 4px 16px; list-style: none;
          margin: 0; padding: 0; } nav a { display: inline-block; padding: 6px 0; }
        .who { margin-left: auto; display: flex; flex-wrap: wrap; gap: 8px; align-items: center; } .who span { color: var(--soft); }
        button, .button, input, select, textarea { font: inherit; color: inherit; background: var(--paper);
          border: 1px solid var(--soft); border-radius: 6px; padding: 6px 12px; min-height: 32px; max-width: 100%; }
        button, .button { font-weight: 600; cursor: pointer; text-decoration: none; display: inline-block; }
        input[type=radio] { min-height: 24px; width: 20px; height: 20px; vertical-align: -4px; }
        .filter { display: flex; flex-wrap: wrap; gap: 12px; align-items: end; margin: 12px 0; } label { display: block; }
        .filter label > input, .filter label > select, .decide label > textarea, .decide label > input:not([type=radio]) {
          display: block; } .decide label { margin: 8px 0; } textarea { width: 100%; }
        fieldset { border: 1px solid var(--line); border-radius: 6px; margin: 8px 0; } caption { text-align: left;
          color: var(--soft); padding: 4px 0; }
        .scroll { overflow-x: auto; } .scroll td, .scroll th { overflow-wrap: normal; padding-right: 16px; }
        tbody th { color: inherit; } dt { font-weight: 600; } dd { margin: 0 0 8px; overflow-wrap: anywhere; }
        .bar { border: 1px solid var(--line); border-radius: 6px; padding: 8px 16px; margin-bottom: 16px; background: var(--panel); }
        .bar form { margin: 8px 0; } .plain svg g { display: none; } .tools { display: flex; flex-wrap: wrap; gap: 8px; margin: 8px 0;
          position: relative; z-index: 1; } .turn1 svg, .turn3 svg { aspect-ratio: 1; max-height: none; }
        .turn1 svg { transform: rotate(90deg); } .turn2 svg { transform: rotate(180deg); } .turn3 svg { transform: rotate(270deg); }
        .large svg { max-height: none; width: 200%; } .large { overflow: auto; }
        @media (max-width: 480px) { main, header { padding: 12px; } .who { margin-left: 0; } td.number { white-space: normal; } }
        @media print { header, form, .skip, .tools { display: none; } }

        """

    /// Nothing needs it: it adds tools to images, loads pages of changing figures again, and goes on after a sign-in.
    static let script = """
        'use strict';
        for (const link of document.querySelectorAll('a[data-go]')) location.replace(link.href);
        const live = Number(document.body.dataset.live);
        if (live > 0) {
          setInterval(() => {
            if (!document.hidden && !document.activeElement.closest('form')) location.reload();
          }, live * 1000);
        }
        function tool(row, text, act, pressed) {
          const button = document.createElement('button');
          button.type = 'button';
          button.textContent = text;
          if (pressed !== undefined) button.setAttribute('aria-pressed', String(pressed));
          button.addEventListener('click', () => {
            const state = act();
            if (pressed !== undefined) button.setAttribute('aria-pressed', String(state));
          });
          row.append(button);
        }
        for (const figure of document.querySelectorAll('.images figure')) {
          const row = document.createElement('div');
          let turns = 0;
          row.className = 'tools';
          tool(row, 'Marks', () => !figure.classList.toggle('plain'), true);
          tool(row, 'Enlarge', () => figure.classList.toggle('large'), false);
          tool(row, 'Turn', () => {
            figure.classList.remove('turn' + turns);
            turns = (turns + 1) % 4;
            if (turns > 0) figure.classList.add('turn' + turns);
          });
          figure.prepend(row);
        }

        """
}
