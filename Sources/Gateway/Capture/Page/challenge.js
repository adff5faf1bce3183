import { cameraFault, openCamera } from './camera.js';
import { again, call } from './send.js';
import { ask, complaint, element, text, wait } from './ui.js';

const LIGHT = {
    RED: '#f00', GREEN: '#0f0', BLUE: '#00f', CYAN: '#0ff', MAGENTA: '#f0f', YELLOW: '#ff0',
};
/** What the screen shows before and after the colours. */
const DARK = '#333';
/** Frames a second, and in all: a job takes 256. */
const RATE = 15;
const MOST = 256;
/** Before the first colour or instruction: the person at rest. */
const REST_MS = 900;
/** After the last colour, whose light comes late. */
const TAIL_MS = 500;
/** For one motion. Half of what the challenge allows, as it counts from the end of the motion before. */
const WINDOW_MS = 3500;

const painted = () => new Promise((resolve) => requestAnimationFrame(() => resolve(performance.now())));

/** Shows the colours, each for its time, and returns when the first one was shown. */
async function flash(stage, challenge) {
    let startMs = null;
    let shown = -1;
    for (;;) {
        const nowMs = await painted();
        const index = startMs === null ? 0 : Math.floor((nowMs - startMs) / challenge.colourMs);
        if (index >= challenge.colours.length) break;
        if (index !== shown) {
            stage.style.backgroundColor = LIGHT[challenge.colours[index]];
            stage.dataset.colour = challenge.colours[index];
            shown = index;
        }
        startMs ??= nowMs;
    }
    stage.style.backgroundColor = DARK;
    stage.dataset.colour = '';
    await wait(TAIL_MS);
    return startMs;
}

/** Shows the instructions, each with a count-down, and returns when the first one was shown. */
async function instruct(stage, words, countdown, challenge) {
    const windowMs = Math.min(WINDOW_MS, challenge.stepTimeoutMs / 2);
    let startMs = null;
    for (const step of challenge.steps) {
        words.textContent = text(`motion.${step}`);
        stage.dataset.step = step;
        const shownMs = await painted();
        startMs ??= shownMs;
        for (;;) {
            const leftMs = shownMs + windowMs - performance.now();
            if (leftMs <= 0) break;
            countdown.textContent = String(Math.ceil(leftMs / 1000));
            await wait(Math.min(100, leftMs));
        }
    }
    stage.dataset.step = '';
    return startMs;
}

/** Records one answer to a challenge: {frames, challenge: {token, frameTimes}}. */
async function answer(camera) {
    const challenge = await again(() => call('POST', 'challenge'));
    const hasColours = Boolean(challenge.colours?.length);
    const words = element('p', { class: 'order', role: 'status', 'aria-live': 'assertive' }, text('challenge.ready'));
    const countdown = element('p', { class: 'countdown', 'aria-hidden': 'true' });
    const stage = element(
        'section', { class: hasColours ? 'stage colours' : 'stage motions', id: 'stage', 'aria-label': text('challenge') },
        element('div', { class: 'finder mirrored' }, camera.video), words, countdown);
    stage.style.backgroundColor = DARK;
    const below = document.getElementById('capture');
    below.inert = true;
    document.body.append(stage);
    try {
        // Playing stops where the element is moved.
        await camera.video.play();
        const stop = camera.record(RATE);
        await wait(REST_MS);
        if (hasColours) words.textContent = '';
        let startMs = hasColours ? await flash(stage, challenge) : null;
        if (challenge.steps?.length) {
            const beginMs = await instruct(stage, words, countdown, challenge);
            startMs ??= beginMs;
        }
        const frames = (await stop()).slice(0, MOST);
        const timesMs = frames.map((frame) => Math.round((frame.timeMs - startMs) * 10) / 10);
        return { frames: frames.map((frame) => frame.blob), challenge: { token: challenge.token, frameTimes: timesMs } };
    } finally {
        below.inert = false;
        stage.remove();
    }
}

/**
 * The challenge, as often as the person wants to try.
 *
 * @param fault why it must be met again
 * @returns the answer; null: the person cannot do it, and continues without it
 */
export async function meet(state, fault = null) {
    const kind = state.challenge;
    for (;;) {
        const choice = await ask(
            text('challenge'),
            [
                complaint(fault),
                element('p', {}, text(`challenge.${kind}`)),
                kind === 'colour_flash' && element('p', { class: 'warning', role: 'note' }, text('challenge.warning')),
                kind === 'motion' && element('p', {}, text('challenge.sound')),
                state.fallback !== 'review' && element('p', {}, text('challenge.otherwise', { partner: state.partner })),
            ].filter(Boolean),
            [
                { name: 'begin', label: text('challenge.begin'), kind: 'first' },
                state.fallback === 'review' && { name: 'decline', label: text('decline'), kind: 'second' },
            ]);
        if (choice === 'decline') return null;
        let camera = null;
        try {
            camera = await openCamera('user');
            return await answer(camera);
        } catch (error) {
            if (error.code?.startsWith('LINK_')) throw error;
            fault = error.code ? text(error.code === 'CHALLENGE_INVALID' ? 'challenge.most' : 'network') : cameraFault(error);
        } finally {
            camera?.stop();
        }
    }
}
