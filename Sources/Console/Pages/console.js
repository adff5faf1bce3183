// Except for zoom, pages work without it: it enlarges images, keeps pages up to date, keeps the session alive while a person types, and continues
// after a sign-in.
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
  // The element that somebody is reading with the keyboard, or has opened, stays.
  if (document.hidden || part.contains(document.activeElement) || part.querySelector('details[open]')) {
    isStale = true;
    return;
  }
  isStale = false;
  // Marked so that it does not count as use of the session.
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
  // One sentence for screen readers; the table is not read out again.
  say(part.dataset.news ? `${part.dataset.news} at ${new Date().toISOString().slice(11, 16)} UTC.` : said);
}
// A stream takes one of the few connections that a browser opens to one host, so pages that nobody sees have none.
let source = null;
// The state of the page when it was made: a change since then is the first thing that the stream reports.
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
  // A change in the meantime is the first thing that a new stream reports.
  const resume = () => { if (!document.hidden && !source) { say(said); start(); } };
  document.addEventListener('visibilitychange', () => { if (document.hidden && known) stop(); else resume(); });
  window.addEventListener('focus', resume);
  window.addEventListener('pageshow', resume);
  window.addEventListener('pagehide', stop);
}
if (part) document.addEventListener('visibilitychange', catchUp);
// Typing is use: at most once a minute it is reported to the console, whose session would otherwise end after half an hour.
const token = document.querySelector('input[name=form]');
if (token) {
  const minuteMs = 60000;
  // A person who types on the page of a case keeps the case.
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
  let keptMs = Date.now();
  let warning = 0;
  let ending = 0;
  function tell(text, canStay) {
    sentence.textContent = text;
    stay.hidden = !canStay;
  }
  function used() {
    keptMs = Date.now();
    clearTimeout(warning);
    clearTimeout(ending);
    tell('', false);
    // The console notes a use at most once a minute, so the end may come a minute before it is expected.
    warning = setTimeout(tell, 27 * minuteMs, 'Your session ends in 2 minutes unless you use it.', true);
    ending = setTimeout(ended, 30 * minuteMs);
  }
  function ended() {
    tell('Your session has ended. Copy what you typed, and sign in again in another tab.', false);
  }
  async function keep() {
    const beforeMs = keptMs;
    keptMs = Date.now();
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
    } else if (Date.now() - beforeMs > 27 * minuteMs) {
      tell('The console does not answer. Your session may end: copy what you typed.', true);
    }
  }
  document.addEventListener('input', () => { if (Date.now() - keptMs >= minuteMs) keep(); });
  stay.addEventListener('click', keep);
  if (tabs) {
    tabs.addEventListener('message', used);
    tabs.postMessage('');
  }
  used();
}
// Images: those that a busy console did not show are requested again, and each can be enlarged.
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
    // If the browser does not say why, this may have been the cause.
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
  tool(row, '−', 'Reduce ' + name, () => zoom(scale / 1.5));
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
