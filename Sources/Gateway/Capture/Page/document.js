import { cameraFault, openCamera } from './camera.js';
import { again, call } from './send.js';
import { ask, button, element, say, show, text, warn } from './ui.js';

/** Widths and heights in millimetres (ICAO 9303-3). */
const SHAPES = { TD1: [85.6, 53.98], TD2: [105, 74], TD3: [125, 88] };
/** Of the frame's size, around it: a document that is held a little too large is not cut. */
const MARGIN = 0.07;
const LARGEST = 20 * 1024 * 1024;

/**
 * Shows what the camera sees, with a frame, until a photo is taken or a file is chosen.
 *
 * @returns the photo; null: the person chose `decline`
 */
export async function photograph({ heading, hint, facing, shape, takesFile, decline }) {
    let camera = null;
    let fault = null;
    try {
        camera = await openCamera(facing);
    } catch (error) {
        fault = cameraFault(error);
    }
    try {
        return await new Promise((resolve, reject) => {
            const frame = element('div', { class: shape ? 'frame' : 'frame face', 'aria-hidden': 'true' });
            if (shape) frame.style.aspectRatio = `${shape[0]} / ${shape[1]}`;
            const finder =
                camera && element('div', { class: facing === 'user' ? 'finder mirrored' : 'finder' }, camera.video, frame);
            const take = () => camera.photo(camera.area(shape ? frame : null, MARGIN)).then(resolve, reject);
            const file = element('input', {
                type: 'file', id: 'file', accept: 'image/*,application/pdf', class: 'file',
                onchange: (event) => {
                    const chosen = event.target.files[0];
                    if (chosen && chosen.size <= LARGEST) resolve(chosen);
                    else if (chosen) warn(text('file.large'));
                },
            });
            show(
                heading, element('p', { id: 'hint' }, hint), finder, fault && element('p', { class: 'fault' }, fault),
                element(
                    'div', { class: 'choices' }, camera && button(text('photo.take'), take),
                    takesFile && element('label', { for: 'file', class: 'second' }, text('file.choose')), takesFile && file,
                    !camera && button(text('camera.again'), () => resolve(undefined), 'second'),
                    decline && button(text('decline'), () => resolve(null), 'second')));
            if (fault) warn(fault);
            else say(hint);
        });
    } finally {
        camera?.stop();
    }
}

/** A photo as the person sees it before it is used. */
function preview(photo, words) {
    const url = URL.createObjectURL(photo);
    const image = element('img', { class: 'preview', alt: words, src: url });
    // A PDF and some formats of phones show nothing; the gateway reads them.
    image.addEventListener('error', () => image.remove());
    return { image, forget: () => URL.revokeObjectURL(url) };
}

/** One side of a document: photo, verdict, and again, three times at most. */
export async function documentSide(kind, state, language) {
    const side = text(kind === 'FRONT' ? (state.documentFormat === 'TD3' ? 'side.page' : 'side.front') : 'side.back');
    for (;;) {
        const photo = await photograph({
            heading: side, hint: text('document.hint'), facing: 'environment', shape: SHAPES[state.documentFormat] || SHAPES.TD1,
            takesFile: true,
        });
        if (!photo) continue;
        const shown = preview(photo, text('photo.alt', { side }));
        show(side, shown.image, element('p', { role: 'status' }, text('judging')));
        say(text('judging'));
        const { words, mayUse, isGood } = await judged(kind, photo, language);
        const choice = await ask(
            isGood ? text('photo.good') : text('photo.look'),
            [shown.image, ...words.map((line) => element('p', { class: isGood ? 'good' : 'advice' }, line))],
            [
                mayUse && { name: 'use', label: text('photo.use'), kind: isGood ? 'first' : 'second' },
                { name: 'again', label: text('photo.again'), kind: isGood ? 'second' : 'first' },
            ]);
        shown.forget();
        if (choice === 'use') return photo;
    }
}

/** What the gateway says of a photo at once. Where it cannot, the person goes on: the job is judged in any case. */
async function judged(kind, photo, language) {
    const form = new FormData();
    form.append(kind, photo, 'photo');
    let answer;
    try {
        answer = await again(() => call('POST', `check?language=${language}`, form), 2);
    } catch (error) {
        if (error.code?.startsWith('LINK_')) throw error;
        const isUnread = error.status === 400;
        return { words: [text(isUnread ? 'photo.unread' : 'photo.unjudged')], mayUse: !isUnread, isGood: false };
    }
    if (!answer.verdict) return { words: [text('photo.unjudged')], mayUse: true, isGood: true };
    const type = answer.verdict.decision.type;
    const advice = [...new Set(answer.verdict.reasons.map((reason) => reason.advice).filter(Boolean))];
    if (type === 'PASSED') return { words: [], mayUse: true, isGood: true };
    const left = answer.triesLeft;
    const words = advice.length ? advice : [text('photo.poor')];
    words.push(left > 0 ? text('tries.left', { count: left }) : text('tries.none'));
    return { words, mayUse: left === 0 || type === 'WARNING', isGood: false };
}

/** The selfie. */
export async function selfie(state, mayDecline) {
    for (;;) {
        const photo = await photograph({
            heading: text('selfie'), hint: text('selfie.hint'), facing: 'user', decline: mayDecline,
        });
        if (photo === null) return null;
        if (!photo) continue;
        const shown = preview(photo, text('selfie.alt'));
        const choice = await ask(text('photo.look'), [shown.image], [
            { name: 'use', label: text('photo.use'), kind: 'first' },
            { name: 'again', label: text('photo.again'), kind: 'second' },
        ]);
        shown.forget();
        if (choice === 'use') return photo;
    }
}
