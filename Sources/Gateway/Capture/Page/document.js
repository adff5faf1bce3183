import { cameraFault, openCamera } from './camera.js';
import { adjust, cut, reduced } from './crop.js';
import { again, call } from './send.js';
import { ask, button, complaint, element, say, show, text, warn } from './ui.js';

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
                    if (chosen && chosen.size <= LARGEST) {
                        reduced(chosen).then((photo) => resolve({ photo, whole: photo, edges: ALL }), reject);
                    } else if (chosen) warn(text('file.large'));
                },
            });
            show(
                heading, element('p', { id: 'hint' }, hint), finder, complaint(fault),
                element(
                    'div', { class: 'choices' }, camera && button(text('photo.take'), () => take().then(resolve, reject)),
                    takesFile && element('label', { for: 'file', class: 'second' }, text('file.choose')), takesFile && file,
                    !camera && button(text('camera.again'), () => resolve(undefined), 'second'),
                    decline && button(text('decline'), () => resolve(null), 'second')));
            if (!fault) say(hint);
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
    const side = text(kind === 'FRONT' && state.documentFormat === 'TD3' ? 'side.page' : `side.${kind}`);
    for (;;) {
        let taken = await photograph({
            heading: side, hint: text('document.hint'), facing: 'environment', shape: SHAPES[state.documentFormat] || SHAPES.TD1,
            takesFile: true,
        });
        let verdict = null;
        while (taken) {
            const shown = preview(taken.photo, text('photo.alt', { side }));
            verdict ??= await look(side, shown, () => judged(kind, taken.photo, language));
            const choice = await confirm(verdict, shown, await shown.isSeen && [
                { name: 'crop', label: text('crop.change'), kind: 'second' },
            ]);
            if (choice === 'use') return taken.photo;
            if (choice === 'again') break;
            const cropped = await crop(taken, side);
            // Another photo, which is judged as any other.
            if (cropped) [taken, verdict] = [cropped, null];
        }
    }
}

/** Shows a photo while it is judged. */
async function look(heading, shown, judge) {
    show(heading, shown.image, element('p', {}, text('judging')));
    say(text('judging'));
    return judge();
}

/** Shows a photo with what the gateway says of it, and asks what to do. Without `more`, it cannot be shown. */
async function confirm({ heading, words, mayUse, isGood }, shown, more) {
    const lines = more ? words : [...words, text('photo.unseen')];
    const choice = await ask(
        heading, [shown.image, ...lines.map((line) => element('p', { class: isGood ? 'good' : 'advice' }, line))],
        [
            mayUse && { name: 'use', label: text('photo.use'), kind: isGood ? 'first' : 'second' },
            { name: 'again', label: text('photo.again'), kind: isGood ? 'second' : 'first' },
            ...more || [],
        ], lines.join(' '));
    shown.forget();
    return choice;
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
    const unjudged = text(kind === 'FACE' ? 'selfie.look' : 'photo.unjudged');
    let answer;
    try {
        answer = await again(() => call('POST', `check?language=${language}`, form), 2);
    } catch (error) {
        if (error.code?.startsWith('LINK_')) throw error;
        // A gateway of an earlier version judges no selfies.
        const isUnread = error.status === 400 && error.code !== 'PART_UNEXPECTED';
        return { heading: text('photo.look'), words: [isUnread ? text('photo.unread') : unjudged], mayUse: !isUnread, isGood: false };
    }
    const good = text(kind === 'FACE' ? 'selfie.good' : 'photo.good');
    if (!answer.verdict) return { heading: text('photo.look'), words: [unjudged], mayUse: true, isGood: true };
    const { decision: { type }, reasons, usability } = answer.verdict;
    if (type === 'PASSED') return { heading: good, words: [], mayUse: true, isGood: true };
    const advice = [...new Set(reasons.flatMap((reason) => ofFace(reason, usability) ?? reason.advice ?? []))];
    const left = answer.triesLeft;
    const words = advice.length ? advice : [text('photo.poor')];
    words.push(left > 0 ? text('tries.left', { count: left }) : text('tries.none'));
    return { heading: text('photo.look'), words, mayUse: left === 0 || type === 'WARNING', isGood: false };
}

/** What to do about each measurement of a face beyond its limit; its reason's advice is of all at once. */
const OF_FACE = {
    interEyeDistance: () => 'closer', centreX: () => 'middle', eyeLineY: () => 'middle', roll: () => 'upright', yawOffset: () => 'straight',
    underExposed: () => 'dark', dynamicRange: () => 'dark', overExposed: () => 'bright',
    luminanceMean: ({ atMost, below }) => ((atMost ?? below) === undefined ? 'dark' : 'bright'),
};

function ofFace({ code, advice }, usability) {
    if (code !== 'FACE_BAD_QUALITY' && code !== 'FACE_BLURRY') return null;
    const failed = usability.flatMap(({ data }) => data?.failedMeasurements ?? []);
    const words = failed.filter(({ name }) => OF_FACE[name]).map((entry) => text(`selfie.${OF_FACE[entry.name](entry)}`));
    // What is dark is often blurred for it.
    if (code === 'FACE_BLURRY') words.push(advice);
    return words.length ? words : null;
}

/** The selfie, which is judged at once as a side of a document is. */
export async function selfie(mayDecline, language) {
    for (;;) {
        const taken = await photograph({
            heading: text('selfie'), hint: text('selfie.hint'), facing: 'user', decline: mayDecline,
        });
        if (taken === null) return null;
        if (!taken) continue;
        const shown = preview(taken.photo, text('selfie.alt'));
        const verdict = await look(text('selfie'), shown, () => judged('FACE', taken.photo, language));
        if (await confirm(verdict, shown, []) === 'use') return taken.photo;
    }
}
