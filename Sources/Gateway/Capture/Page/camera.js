import { element, text } from './ui.js';

export const jpeg = (canvas, quality) =>
    new Promise((resolve, reject) => {
        canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error('no image'))), 'image/jpeg', quality);
    });

/** A camera that is on. */
class Camera {
    constructor(video, stream) {
        this.video = video;
        this.stream = stream;
    }

    /** The part of the camera's image that lies below an element over it, with a margin around it; without one, all of it. */
    area(over, margin = 0) {
        const { videoWidth: width, videoHeight: height } = this.video;
        if (!over) return { x: 0, y: 0, width, height };
        const box = this.video.getBoundingClientRect();
        const frame = over.getBoundingClientRect();
        // The image covers the box and is cut where it is larger.
        const scale = Math.max(box.width / width, box.height / height);
        const place = (value, all, length) => (value + (all * scale - length) / 2) / scale;
        const around = { x: frame.width * margin, y: frame.height * margin };
        const left = Math.max(0, place(frame.left - around.x - box.left, width, box.width));
        const top = Math.max(0, place(frame.top - around.y - box.top, height, box.height));
        const right = Math.min(width, place(frame.right + around.x - box.left, width, box.width));
        const bottom = Math.min(height, place(frame.bottom + around.y - box.top, height, box.height));
        return { x: left, y: top, width: right - left, height: bottom - top };
    }

    /** A photo of an area, as the camera sees it. */
    photo(area, quality = 0.92) {
        const canvas = document.createElement('canvas');
        canvas.width = Math.round(area.width);
        canvas.height = Math.round(area.height);
        canvas.getContext('2d').drawImage(
            this.video, area.x, area.y, area.width, area.height, 0, 0, canvas.width, canvas.height);
        return jpeg(canvas, quality);
    }

    /**
     * Takes frames until it is told to stop: those that are new, at most `rate` a second. One image sent twice would look like a
     * recording, and a camera in a dark room gives fewer than it is asked for.
     *
     * @returns a function that stops, and promises {timeMs, blob} of each frame; times are those of performance.now().
     */
    record(rate, width = 640) {
        const { video } = this;
        const canvas = document.createElement('canvas');
        canvas.width = width;
        canvas.height = Math.round((width * video.videoHeight) / video.videoWidth);
        const context = canvas.getContext('2d', { alpha: false });
        const frames = [];
        const periodMs = 1000 / rate;
        let dueMs = performance.now();
        let isOn = true;
        const take = () => {
            if (!isOn) return;
            const nowMs = performance.now();
            // By a schedule: with the distance from the last frame, a camera of 20 frames a second would give every other one.
            if (nowMs >= dueMs - 4) {
                dueMs = Math.max(dueMs + periodMs, nowMs - periodMs);
                context.drawImage(video, 0, 0, canvas.width, canvas.height);
                frames.push(jpeg(canvas, 0.88).then((blob) => ({ timeMs: nowMs, blob })));
            }
            next();
        };
        const next = video.requestVideoFrameCallback
            ? () => video.requestVideoFrameCallback(take)
            : () => setTimeout(take, 1000 / rate);
        next();
        return () => {
            isOn = false;
            return Promise.all(frames);
        };
    }

    stop() {
        for (const track of this.stream.getTracks()) track.stop();
        this.video.srcObject = null;
    }
}

/**
 * Turns a camera on.
 *
 * @param facing environment (the back) or user (the front)
 * @throws an error whose name is that of getUserMedia's
 */
export async function openCamera(facing) {
    if (!navigator.mediaDevices?.getUserMedia) throw Object.assign(new Error('no camera'), { name: 'NotFoundError' });
    const stream = await navigator.mediaDevices.getUserMedia({
        audio: false,
        video: {
            facingMode: { ideal: facing },
            width: { ideal: facing === 'user' ? 1280 : 1920 },
            height: { ideal: facing === 'user' ? 960 : 1440 },
            frameRate: { ideal: 30 },
        },
    });
    const video = element('video', { 'aria-label': text('camera.view'), playsinline: true });
    video.muted = true;
    video.srcObject = stream;
    await video.play();
    return new Camera(video, stream);
}

/** What to tell somebody whose camera does not open. */
export function cameraFault(error) {
    return text(error.name === 'NotAllowedError' || error.name === 'SecurityError' ? 'camera.refused' : 'camera.missing');
}
