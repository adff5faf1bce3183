// The page behind a link: consent, photos, challenge, sending, end. The page stores nothing on the phone: what was captured is in its
// memory until it is sent, and gone with it. The link's cookie, which it cannot read, lasts ten minutes once everything was sent.

import { meet } from './challenge.js';
import { documentSide, selfie } from './document.js';
import { again, call, upload } from './send.js';
import { ask, button, complaint, countDown, element, purpose, say, show, speak, text, wait } from './ui.js';

/** How long a page that shows the result waits for it. */
const PATIENCE_MS = 60000;

const embedded = window.parent !== window;
let origin = null;

/** Notifies the page that embeds this one; the gateway allows one origin to. */
function tell(event, more = {}) {
    if (embedded && origin) window.parent.postMessage({ type: 'inspectd.capture', event, ...more }, origin);
}

/** 32 random bytes, which bind the link to this browser. */
function randomSecret() {
    const bytes = crypto.getRandomValues(new Uint8Array(32));
    return btoa(String.fromCharCode(...bytes)).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

/** What the person agrees to, with its version. */
async function consent(state, table, language) {
    const secret = randomSecret();
    let current = state;
    let fault = null;
    for (;;) {
        const isLink = /^https:\/\//.test(current.policyUrl || '');
        const shown = [
            complaint(fault),
            element('p', {}, text('consent.who', { partner: current.partner })),
            element('ul', {}, ...current.parts.map((part) => element('li', {}, text(`consent.${part}`)))),
            current.purposes.length > 0 && element(
                'p', {}, text('consent.purposes', { purposes: current.purposes.map(purpose).join(', ') })),
            element('p', {}, text('consent.stored')),
            isLink && element('p', {}, element(
                'a', { href: current.policyUrl, target: '_blank', rel: 'noopener noreferrer' }, text('consent.policy'))),
            current.policyVersion && element('p', { class: 'small' }, text('consent.version', { version: current.policyVersion })),
            element('p', { class: 'small' }, text('consent.time', { minutes: Math.round(current.sessionSeconds / 60) })),
        ].filter(Boolean);
        const choice = await ask(text('consent'), shown, [
            { name: 'agree', label: text('consent.agree'), kind: 'first' },
            { name: 'refuse', label: text('consent.refuse'), kind: 'second' },
        ]);
        if (choice === 'refuse') {
            tell('refused');
            show(text('refused'), element('p', {}, text('refused.close')));
            return null;
        }
        try {
            return await again(() => call('POST', 'open', {
                browser: secret, policyVersion: current.policyVersion ?? null, purposes: current.purposes,
                text: `${table.version} ${language}`,
            }));
        } catch (error) {
            // The policy changed while the page was open: the person must see the new one.
            if (error.code === 'CONSENT_MISSING') {
                current = await call('GET', 'state');
                fault = null;
            } else if (error.code === 'LINK_TAKEN') {
                // Perhaps by another tab of this browser, whose cookie this one shares by now.
                return await call('GET', 'state');
            } else if (error.isPassing) {
                fault = text('network');
            } else {
                throw error;
            }
        }
    }
}

/** Sends everything as one form, whole, until it has arrived or the gateway refuses it. */
async function send(taken) {
    for (;;) {
        const form = new FormData();
        const { FRAMES, ...photos } = taken;
        for (const [kind, photo] of Object.entries(photos)) if (photo) form.append(kind, photo, kind);
        if (FRAMES) {
            for (const [index, frame] of FRAMES.frames.entries()) form.append('FRAMES', frame, `${index}.jpg`);
            form.append('request', JSON.stringify({ challenge: FRAMES.challenge }));
        }
        const bar = element('progress', { max: 1, value: 0, 'aria-label': text('sending') });
        show(text('sending'), element('p', {}, text('sending.wait')), bar);
        try {
            return await again(() => upload('submit', form, (share) => { bar.value = share; }));
        } catch (error) {
            if (!error.isPassing) throw error;
            await ask(text('unsent'), [complaint(text('unsent.again'))], [
                { name: 'again', label: text('unsent.send'), kind: 'first' },
            ]);
        }
    }
}

/** The result, where the page shows it and it comes soon; else that the person will be notified. */
async function end(first) {
    let state = first;
    const deadlineMs = Date.now() + PATIENCE_MS;
    if (state.showsResult && !state.isFinished) {
        show(text('done'), element('p', {}, text('done.wait')));
        say(text('done.wait'));
        while (!state.isFinished && Date.now() < deadlineMs) {
            await wait(1500);
            state = await call('GET', 'state').catch(() => state);
        }
    }
    const isTold = state.decision === 'PASSED' || state.decision === 'REJECTED';
    const words = text(isTold ? `done.${state.decision}` : 'done.later', { partner: state.partner });
    tell('submitted', { isFinished: Boolean(state.isFinished), decision: state.decision ?? null });
    const main = show(text('done'), element('p', { id: 'outcome' }, words), element('p', {}, text('done.stored')));
    say(words);
    if (/^https:\/\//.test(state.returnUrl || '')) {
        main.append(element(
            'a', { class: 'first', id: 'return', href: state.returnUrl, target: embedded ? '_top' : '_self', rel: 'noreferrer' },
            text('return', { partner: state.partner })));
    }
}

/** Why a recording is not taken; the photos stay, and the challenge is begun again. */
const UNMET = { CHALLENGE_EXPIRED: 'challenge.expired', CHALLENGE_USED: 'challenge.used', CHALLENGE_INVALID: 'challenge.replaced' };

/** Takes what the link asks for, in its order. */
async function capture(state, language) {
    const taken = {};
    const mayDecline = state.fallback === 'review';
    for (const part of state.parts) {
        // Without a document, a reviewer would have nothing to look at.
        if (part === 'FACE') taken.FACE = await selfie(mayDecline && state.parts.includes('FRONT'), language);
        else if (part !== 'FRAMES') taken[part] = await documentSide(part, state, language);
        else if (taken.FACE !== null) taken.FRAMES = await meet(state);
    }
    for (;;) {
        try {
            return await send(taken);
        } catch (error) {
            if (!UNMET[error.code]) throw error;
            const isSlow = error.code === 'CHALLENGE_EXPIRED' && error.isSlow;
            taken.FRAMES = await meet(state, text(isSlow ? 'challenge.slow' : UNMET[error.code]));
        }
    }
}

/** Why the link goes no further. */
function fault(error) {
    const known = ['LINK_TAKEN', 'LINK_ENDED', 'LINK_UNKNOWN'].includes(error.code);
    tell('ended', { code: error.code || 'INTERNAL' });
    show(
        text(known ? `fault.${error.code}` : 'fault'),
        element('p', {}, text(known ? `fault.${error.code}.what` : error.isPassing ? 'network' : 'fault.what')),
        !known && error.code && element('p', { class: 'small' }, error.code),
        !known && button(text('fault.again'), () => location.reload()));
}

async function run() {
    const table = await (await fetch(new URL('texts.json', import.meta.url), { cache: 'no-store' })).json();
    speak(table, null);
    try {
        let state = await again(() => call('GET', 'state'));
        const language = speak(table, state.locale);
        origin = state.embedOrigin ?? null;
        tell('ready');
        if (state.state === 'new') state = await consent(state, table, language);
        if (state === null) return;
        if (state.state === 'open') {
            const stop = countDown(state.expiresIn);
            try {
                state = await capture(state, language);
            } finally {
                stop();
            }
        }
        await end(state);
    } catch (error) {
        // Another tab of this browser may have sent everything meanwhile.
        const state = error.code === 'LINK_ENDED' ? await call('GET', 'state').catch(() => null) : null;
        if (state?.state === 'submitted') await end(state);
        else fault(error);
    }
}

// A page that the browser kept while the person was elsewhere has no camera any more.
window.addEventListener('pageshow', (event) => event.persisted && location.reload());
run();
