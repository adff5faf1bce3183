internal import InspectCore

/// The files that pages load: the style sheet of reports with what the console's own pages need, and one script.
enum ConsoleAssets {
    static var style: String { ReportPage.style.html + self.own }

    private static let own = """
        [hidden] { display: none !important; } a { color: var(--info); } .good.text { color: var(--good); }
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
        .bar form { margin: 8px 0; } .tools { display: flex; flex-wrap: wrap; gap: 4px 16px; margin: 8px 0; padding: 4px 12px;
          position: relative; z-index: 1; } .tools label { min-height: 24px; } .tools input { width: 20px; height: 20px; min-height: 24px;
          vertical-align: -4px; }
        main:has(#overlays:not(:checked)) .images svg g, figure:has(.show-o:not(:checked)) .outline,
          figure:has(.show-z:not(:checked)) .zoneBox, figure:has(.show-c:not(:checked)) .cell,
          figure:has(.show-b:not(:checked)) .barcode, figure:has(.show-f:not(:checked)) .face,
          figure:has(.show-f:not(:checked)) .mark { display: none; }
        figure:has(.turn1:checked) > svg, figure:has(.turn3:checked) > svg, figure:has(.turn1:checked) .view svg,
          figure:has(.turn3:checked) .view svg { aspect-ratio: 1; max-height: none; }
        figure:has(.turn1:checked) svg { transform: rotate(90deg); } figure:has(.turn2:checked) svg { transform: rotate(180deg); }
        figure:has(.turn3:checked) svg { transform: rotate(270deg); }
        .view { overflow: auto; } .view.large { max-height: 90vh; } .view.large svg { max-height: none; }
        .crops { flex-wrap: wrap; } tr.differs th { border-left: 4px solid var(--bad); padding-left: 6px; }
        td.differs { border-left: 4px solid var(--warn); padding-left: 6px; font-weight: 600; }
        .keys { display: grid; grid-template-columns: max-content 1fr; gap: 4px 16px; } .keys dd { margin: 0; }
        kbd { font: 13px/1.6 ui-monospace, monospace; border: 1px solid var(--line); border-radius: 4px; padding: 0 6px; }
        .idle { font-weight: 600; } #news { font-weight: 600; margin: 0; } #news:not(:empty) { margin: 8px 0; } .refresh { margin: 4px 0; }
        .refresh a { display: inline-block; padding: 4px 0; }
        .plots { display: grid; gap: 16px; grid-template-columns: repeat(auto-fit, minmax(min(100%, 440px), 1fr)); }
        .plot svg { width: 100%; height: auto; } .plot text { font-size: 11px; fill: var(--soft); } .plot h2 { margin: 12px 0 0; }
        .entry { margin-right: 12px; white-space: nowrap; } .plot .entry svg { width: 28px; height: 8px; }
        .line { fill: none; stroke-width: 2; stroke: var(--info); } .l1 { stroke: var(--good); stroke-dasharray: 6 3; }
        .l2 { stroke: var(--warn); stroke-dasharray: 2 3; } .l3 { stroke: var(--bad); } .l4 { stroke: var(--soft); }
        .axis { fill: none; stroke: var(--soft); } .stage { fill: var(--info); }
        @media (max-width: 480px) { main, header { padding: 12px; } .who { margin-left: 0; } td.number { white-space: normal; } }
        @media print { header, form, .skip, .tools, .refresh { display: none; } }

        """

    /// Nothing but zoom needs it: it enlarges images, keeps pages up to date, keeps the session of who types, and goes on after a
    /// sign-in.
    static var script: String { Self.pages + Self.session + Self.images }

    private static let pages = """
        'use strict';
        for (const link of document.querySelectorAll('a[data-go]')) location.replace(link.href);
        const part = document.getElementById('live');
        const news = document.getElementById('news');
        const stream = document.body.dataset.stream;
        const lost = 'This page may be out of date: the console does not answer, or your session has ended. The page keeps trying.';
        let isStale = false;
        let retry = 0;
        let said = '';
        function say(text, stays = true) {
          if (stays) said = text;
          if (news && news.textContent !== text) news.textContent = text;
        }
        function over() {
          stop();
          clearTimeout(retry);
          say('Your session has ended. Refresh the page to sign in again.');
        }
        async function renew() {
          // What somebody is reading with the keyboard, or has opened, stays.
          if (document.hidden || part.contains(document.activeElement) || part.querySelector('details[open]')) {
            isStale = true;
            return;
          }
          isStale = false;
          // Marked as nobody's use of the session.
          const answer = await fetch(location.href, { headers: { 'X-Live': '1' } }).catch(() => null);
          if (answer && answer.status === 401) return over();
          if (!answer || !answer.ok) {
            isStale = true;
            clearTimeout(retry);
            retry = setTimeout(catchUp, 10000);
            return say(lost, false);
          }
          const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html');
          const next = fresh.getElementById('live');
          if (!next) return;
          part.replaceChildren(...next.childNodes);
          // One sentence for those who hear it; the table is not read out again.
          say(part.dataset.news ? `${part.dataset.news} at ${new Date().toISOString().slice(11, 16)} UTC.` : said);
        }
        // A stream takes one of the few connections that a browser opens to one host, so pages that nobody sees have none.
        let source = null;
        // What the page showed when it was made: a change since then is the first thing that the stream says.
        let known = document.body.dataset.known || '';
        let failures = 0;
        let again = 0;
        function stop() {
          clearTimeout(again);
          if (source) source.close();
          source = null;
        }
        function start() {
          stop();
          source = new EventSource(known ? `${stream}?since=${encodeURIComponent(known)}` : stream);
          source.addEventListener('open', () => {
            if (failures > 0) say(said);
            failures = 0;
          });
          source.addEventListener('begin', (event) => {
            known = event.lastEventId;
            if (document.hidden) stop();
          });
          source.addEventListener('change', (event) => {
            known = event.lastEventId;
            if (part) renew();
            else say('This case has changed. Refresh the page to see how.');
          });
          source.addEventListener('end', () => {
            stop();
            say('Only four of your open pages are kept up to date, and this is not one of them now. Click it to change that.', false);
          });
          source.addEventListener('error', () => {
            if (!source || source.readyState !== EventSource.CLOSED) return;
            stop();
            say(lost, false);
            failures += 1;
            again = setTimeout(() => { if (!document.hidden) start(); }, Math.min(300, 5 * 2 ** failures) * 1000);
            if (part) renew();
          });
        }
        function catchUp() { setTimeout(() => { if (isStale) renew(); }, 0); }
        if (part) part.addEventListener('focusout', catchUp);
        if (stream && window.EventSource) {
          if (!document.hidden || !known) start();
          // What has changed meanwhile is the first thing that a new stream says.
          const resume = () => { if (!document.hidden && !source) { say(said); start(); } };
          document.addEventListener('visibilitychange', () => { if (document.hidden && known) stop(); else resume(); });
          window.addEventListener('focus', resume);
          window.addEventListener('pageshow', resume);
          window.addEventListener('pagehide', stop);
        }
        if (part) document.addEventListener('visibilitychange', catchUp);

        """

    /// Typing is use: at most once a minute it is told to the console, whose session would otherwise end after half an hour.
    private static let session = """
        const token = document.querySelector('input[name=form]');
        if (token) {
          const minute = 60000;
          // Who types on the page of their case keeps it.
          const [, place, id = ''] = location.pathname.split('/');
          const idle = document.createElement('div');
          const sentence = document.createElement('p');
          const stay = document.createElement('button');
          sentence.setAttribute('aria-live', 'polite');
          stay.type = 'button';
          stay.textContent = 'Stay signed in';
          stay.hidden = true;
          idle.className = 'idle';
          idle.append(sentence, stay);
          document.getElementById('main').prepend(idle);
          // Other tabs use the same session.
          const tabs = window.BroadcastChannel ? new BroadcastChannel('inspectd-use') : null;
          let kept = Date.now();
          let warning = 0;
          let ending = 0;
          function tell(text, canStay) {
            sentence.textContent = text;
            stay.hidden = !canStay;
          }
          function used() {
            kept = Date.now();
            clearTimeout(warning);
            clearTimeout(ending);
            tell('', false);
            // The console notes a use at most once a minute, so the end may come a minute before it is expected.
            warning = setTimeout(tell, 27 * minute, 'Your session ends in 2 minutes unless you use it.', true);
            ending = setTimeout(ended, 30 * minute);
          }
          function ended() {
            tell('Your session has ended. Copy what you typed, and sign in again in another tab.', false);
          }
          async function keep() {
            const before = kept;
            kept = Date.now();
            const answer = await fetch('/session/keep', {
              method: 'POST', body: new URLSearchParams({ form: token.value, case: place === 'cases' ? id : '' }),
            }).catch(() => null);
            if (answer && answer.ok) {
              used();
              if (tabs) tabs.postMessage('');
            } else if (answer && (answer.status === 401 || answer.status === 403)) {
              clearTimeout(warning);
              clearTimeout(ending);
              ended();
            } else if (Date.now() - before > 27 * minute) {
              tell('The console does not answer. Your session may end: copy what you typed.', true);
            }
          }
          document.addEventListener('input', () => { if (Date.now() - kept >= minute) keep(); });
          stay.addEventListener('click', keep);
          if (tabs) {
            tabs.addEventListener('message', used);
            tabs.postMessage('');
          }
          used();
        }

        """

    /// Images: what a busy console did not show is asked for again, and each can be enlarged.
    private static let images = """
        for (const image of document.querySelectorAll('svg image')) {
          const path = image.getAttribute('href');
          if (!path.startsWith('/')) continue;
          let tries = 0;
          let isWaiting = false;
          let isOver = false;
          const answer = () => performance.getEntriesByName(new URL(image.href.baseVal, location.href).href).pop();
          function failed() {
            if (isWaiting || isOver) return;
            const status = (answer() || {}).responseStatus;
            // Where the browser does not say why, it may have been that.
            if (tries === 2 || (status && status !== 503)) {
              isOver = true;
              const reason = document.createElement('p');
              reason.setAttribute('role', 'status');
              reason.textContent = 'The image is not shown: try the link below it.';
              image.closest('figure').prepend(reason);
              return;
            }
            isWaiting = true;
            tries += 1;
            setTimeout(() => {
              isWaiting = false;
              image.setAttribute('href', `${path}?try=${tries}`);
            }, Number(document.body.dataset.retry) * 1000);
          }
          image.addEventListener('error', failed);
          // It may have failed before this script ran.
          if ((answer() || {}).responseStatus >= 400) failed();
        }
        function tool(row, text, label, act) {
          const button = document.createElement('button');
          button.type = 'button';
          button.textContent = text;
          button.setAttribute('aria-label', label);
          button.addEventListener('click', act);
          row.append(button);
        }
        for (const figure of document.querySelectorAll('.images figure')) {
          const svg = figure.querySelector('svg');
          const row = document.createElement('div');
          const view = document.createElement('div');
          const name = svg.getAttribute('aria-label');
          let scale = 1;
          function zoom(next) {
            scale = Math.min(8, Math.max(1, next));
            svg.style.width = scale * 100 + '%';
            view.classList.toggle('large', scale > 1);
          }
          row.className = 'tools';
          view.className = 'view';
          view.tabIndex = 0;
          view.setAttribute('role', 'region');
          view.setAttribute('aria-label', name + ', enlarged');
          svg.before(view);
          view.append(svg);
          tool(row, '+', 'Enlarge ' + name, () => zoom(scale * 1.5));
          tool(row, '\u{2212}', 'Reduce ' + name, () => zoom(scale / 1.5));
          tool(row, 'Fit', 'Fit ' + name, () => zoom(1));
          view.before(row);
          view.addEventListener('keydown', (event) => {
            if (event.ctrlKey || event.altKey || event.metaKey) return;
            if (event.key === '+') zoom(scale * 1.5);
            else if (event.key === '-') zoom(scale / 1.5);
            else if (event.key === '0') zoom(1);
            else return;
            event.preventDefault();
          });
        }

        """
}
