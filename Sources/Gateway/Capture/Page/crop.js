// The area of a photo that is used, which the person may change: by dragging a corner, by a tap to which the nearest corner moves, or
// by the arrow keys on a corner.

import { jpeg } from './camera.js';
import { ask, element, say, text } from './ui.js';

/** Of the image's width and height: the least that stays, and what an arrow key moves; with Shift, ten times as much. */
const LEAST = 0.1;
const STEP = 0.01;
/** Pixels of what is cut: more than this, some phones cannot draw. */
const MOST = 12e6;
/** A chosen image of more bytes is made smaller: its longest side in pixels, and the quality. */
const HEAVY = 4 * 1024 * 1024;
const LONGEST = 4000;
const QUALITY = 0.9;
/** The corners: which edges each moves. */
const CORNERS = [['left', 'top'], ['right', 'top'], ['left', 'bottom'], ['right', 'bottom']];
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** Edges after one corner has gone to a place, as far as the others let it. */
export function moved(edges, [across, down], x, y) {
    const low = (value, other) => Math.min(Math.max(value, 0), other - LEAST);
    const high = (value, other) => Math.max(Math.min(value, 1), other + LEAST);
    return {
        ...edges,
        [across]: across === 'left' ? low(x, edges.right) : high(x, edges.left),
        [down]: down === 'top' ? low(y, edges.bottom) : high(y, edges.top),
    };
}

/**
 * Asks which area of an image is used.
 *
 * @param edges left, top, right and bottom, as shares of the image's width and height
 * @returns the edges; null: the person leaves them as they are
 */
export async function adjust(url, edges, side) {
    let now = { ...edges };
    const image = element('img', { alt: text('photo.alt', { side }), src: url, draggable: 'false' });
    const area = element('div', { class: 'area', 'aria-hidden': 'true' });
    const view = element('div', { class: 'view' }, image, area);
    const corners = CORNERS.map((corner) => element('button', {
        type: 'button', class: 'corner', 'aria-label': text(`crop.${corner.join('.')}`), 'aria-describedby': 'hint',
    }));

    function draw() {
        const percent = (value) => `${100 * value}%`;
        Object.assign(area.style, {
            left: percent(now.left), top: percent(now.top), width: percent(now.right - now.left), height: percent(now.bottom - now.top),
        });
        CORNERS.forEach(([across, down], index) => {
            Object.assign(corners[index].style, { left: percent(now[across]), top: percent(now[down]) });
        });
    }

    function move(index, x, y) {
        now = moved(now, CORNERS[index], x, y);
        draw();
    }

    /** At the end of a movement: a screen reader would still be at its beginning otherwise. */
    function tell() {
        const whole = (value) => Math.round(100 * value);
        say(text('crop.area', { width: whole(now.right - now.left), height: whole(now.bottom - now.top) }));
    }

    function place(event) {
        const box = view.getBoundingClientRect();
        return [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
    }

    corners.forEach((handle, index) => {
        const [across, down] = CORNERS[index];
        handle.addEventListener('pointerdown', (event) => handle.setPointerCapture(event.pointerId));
        handle.addEventListener('pointermove', (event) => {
            if (handle.hasPointerCapture(event.pointerId)) move(index, ...place(event));
        });
        handle.addEventListener('lostpointercapture', tell);
        handle.addEventListener('keyup', (event) => ARROWS[event.key] && tell());
        handle.addEventListener('keydown', (event) => {
            const arrow = ARROWS[event.key];
            if (!arrow) return;
            event.preventDefault();
            const step = event.shiftKey ? 10 * STEP : STEP;
            move(index, now[across] + arrow[0] * step, now[down] + arrow[1] * step);
        });
    });
    view.addEventListener('click', (event) => {
        const [x, y] = place(event);
        const far = CORNERS.map(([across, down]) => Math.hypot(now[across] - x, now[down] - y));
        move(far.indexOf(Math.min(...far)), x, y);
        tell();
    });
    draw();
    const choice = await ask(
        text('crop'), [element('p', { id: 'hint' }, text('crop.hint')), element('div', { class: 'crop' }, view, ...corners)],
        [{ name: 'crop-use', label: text('crop.use'), kind: 'first' }, { name: 'crop-keep', label: text('crop.keep'), kind: 'second' }]);
    return choice === 'crop-use' && CORNERS.flat().some((edge) => now[edge] !== edges[edge]) ? now : null;
}

/** An area of an image as an image. */
export async function cut(url, { left, top, right, bottom }) {
    const image = element('img', { src: url });
    await image.decode();
    const width = (right - left) * image.naturalWidth;
    const height = (bottom - top) * image.naturalHeight;
    const scale = Math.min(1, Math.sqrt(MOST / (width * height)));
    const canvas = element('canvas', { width: Math.round(width * scale), height: Math.round(height * scale) });
    canvas.getContext('2d').drawImage(
        image, left * image.naturalWidth, top * image.naturalHeight, width, height, 0, 0, canvas.width, canvas.height);
    return jpeg(canvas, 0.92);
}

/** A chosen image as it is sent: one that takes a slow line long is made smaller. What this browser cannot draw stays, such as a PDF. */
export async function reduced(file) {
    if (file.size <= HEAVY) return file;
    const url = URL.createObjectURL(file);
    try {
        const image = element('img', { src: url });
        await image.decode();
        const [width, height] = [image.naturalWidth, image.naturalHeight];
        const scale = Math.min(1, LONGEST / Math.max(width, height), Math.sqrt(MOST / (width * height)));
        const canvas = element('canvas', { width: Math.round(width * scale), height: Math.round(height * scale) });
        canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
        const made = await jpeg(canvas, QUALITY);
        return made.size < file.size ? made : file;
    } catch {
        return file;
    } finally {
        URL.revokeObjectURL(url);
    }
}
