import { cameraFault, openCamera } from './camera.js';
import { adjust, cut } from './crop.js';
import { again, call } from './send.js';
import { ask, button, element, say, show, text, warn } from './ui.js';

/** Widths and heights in millimetres (ICAO 9303-3). */
const SHAPES = { TD1: [85.6, 53.98], TD2: [105, 74], TD3: [125, 88] };
/** Of the frame's size, around it: a document that is held a little too large is not cut. */
const MARGIN = 0.07;
const LARGEST = 20 * 1024 * 1024;
/** The edges of a whole image. */
const ALL = { left: 0, top: 0, right: 1, bottom: 1 };

/**
 * Shows what the camera sees, with a frame, until a photo is taken or a file is chosen.
 *
 * @returns {photo, whole, edges}: of a document also the whole image from which the photo is, and the photo's edges in it as shares of its
 *     width and height; null: the person chose `decline`
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
            const take = async () => {
                const [area, all] = [camera.area(shape ? frame : null, MARGIN), camera.area(null)];
                const [photo, whole] = await Promise.all([camera.photo(area), shape ? camera.photo(all) : null]);
                return {
                    photo, whole, edges: {
                        left: area.x / all.width, top: area.y / all.height, right: (area.x + area.width) / all.width,
                        bottom: (area.y + area.height) / all.height,
                    },
                };
            };
            const file = element('input', {
                type: 'file', id: 'file', accept: 'image/*,application/pdf', class: 'file',
                onchange: (event) => {
                    const chosen = event.target.files[0];
                    if (chosen && chosen.size <= LARGEST) resolve({ photo: chosen, whole: chosen, edges: ALL });
                    else if (chosen) warn(text('file.large'));
                },
            });
            show(
                heading, element('p', { id: 'hint' }, hint), finder, fault && element('p', { class: 'fault' }, fault),
                element(
                    'div', { class: 'choices' }, camera && button(text('photo.take'), () => take().then(resolve, reject)),
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
    return { image, isSeen: image.decode().then(() => true, () => false), forget: () => URL.revokeObjectURL(url) };
}

/** One side of a document: photo, verdict, and again, three times at most. */
export async function documentSide(kind, state, language) {
    const side = text(kind === 'FRONT' ? (state.documentFormat === 'TD3' ? 'side.page' : 'side.front') : 'side.back');
    for (;;) {
        let taken = await photograph({
            heading: side, hint: text('document.hint'), facing: 'environment', shape: SHAPES[state.documentFormat] || SHAPES.TD1,
            takesFile: true,
        });
        let verdict = null;
        while (taken) {
            const shown = preview(taken.photo, text('photo.alt', { side }));
            if (!verdict) {
                show(side, shown.image, element('p', { role: 'status' }, text('judging')));
                say(text('judging'));
                verdict = await judged(kind, taken.photo, language);
            }
            const { words, mayUse, isGood } = verdict;
            const choice = await ask(
                isGood ? text('photo.good') : text('photo.look'),
                [shown.image, ...words.map((line) => element('p', { class: isGood ? 'good' : 'advice' }, line))],
                [
                    mayUse && { name: 'use', label: text('photo.use'), kind: isGood ? 'first' : 'second' },
                    { name: 'again', label: text('photo.again'), kind: isGood ? 'second' : 'first' },
                    await shown.isSeen && { name: 'crop', label: text('crop.change'), kind: 'second' },
                ]);
            shown.forget();
            if (choice === 'use') return taken.photo;
            if (choice === 'again') break;
            const cropped = await crop(taken, side);
            // Another photo, which is judged as any other.
            if (cropped) [taken, verdict] = [cropped, null];
        }
    }
}

/** The same image with other edges; null: it stays as it is. */
async function crop(taken, side) {
    const url = URL.createObjectURL(taken.whole);
    try {
        const edges = await adjust(url, taken.edges, side);
        return edges && { ...taken, edges, photo: await cut(url, edges) };
    } catch {
        // A phone with too little memory for it: the photo before stays.
        return null;
    } finally {
        URL.revokeObjectURL(url);
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

/** The selfie. The gateway judges images of documents alone at once, so the person is told what to look at. */
export async function selfie(state, mayDecline) {
    for (;;) {
        const taken = await photograph({
            heading: text('selfie'), hint: text('selfie.hint'), facing: 'user', decline: mayDecline,
        });
        if (taken === null) return null;
        if (!taken) continue;
        const shown = preview(taken.photo, text('selfie.alt'));
        const choice = await ask(text('photo.look'), [shown.image, element('p', {}, text('selfie.look'))], [
            { name: 'use', label: text('photo.use'), kind: 'first' },
            { name: 'again', label: text('photo.again'), kind: 'second' },
        ]);
        shown.forget();
        if (choice === 'use') return taken.photo;
    }
}
