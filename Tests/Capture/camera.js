// A camera in place of the browser's: a canvas that is drawn anew for every frame. In front of it stands a person whose face has the
// light of the page's colours, and who does what the page says; or an attack that cannot. Tests/capture.py sets window.scene:
//   subject  live, still (one frame, held), print (flat, before a screen), replay (a recording of another challenge)
//   documents, last  those that lie before the camera, one after the other, and the last one
//   poses  how the first selfies are taken: empty, two, far, aslant, dark
(() => {
    // A blank page that comes before the link's has none.
    if (!navigator.mediaDevices) return;
    const WIDTH = 640;
    const HEIGHT = 480;
    const scene = window.scene;
    const load = (name) => new Promise((resolve, reject) => {
        const image = new Image();
        image.onload = () => resolve(image);
        image.onerror = () => reject(new Error(name));
        image.src = `/camera-of-the-test/${name}`;
    });

    const linear = new Float32Array(256);
    for (let value = 0; value < 256; value += 1) {
        const v = value / 255;
        linear[value] = v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    }
    const curve = new Float32Array(4097);
    for (let value = 0; value <= 4096; value += 1) {
        const v = value / 4096;
        curve[value] = 255 * (v <= 0.0031308 ? v * 12.92 : 1.055 * v ** (1 / 2.4) - 0.055);
    }
    const noise = new Float32Array(1 << 16);
    for (let index = 0; index < noise.length; index += 2) {
        const radius = 1.5 * Math.sqrt(-2 * Math.log(1 - Math.random()));
        const angle = 2 * Math.PI * Math.random();
        noise[index] = radius * Math.cos(angle);
        noise[index + 1] = radius * Math.sin(angle);
    }

    /** What the page shows, from when on: seen as it changes, so that a frame that is drawn late has the light of its own time. */
    const DARK = [51, 51, 51].map((value) => linear[value]);
    const history = [{ now: 0, light: DARK, step: '' }];
    function watch() {
        new MutationObserver(() => {
            const stage = document.getElementById('stage');
            const light = stage
                ? getComputedStyle(stage).backgroundColor.match(/\d+/g).slice(0, 3).map((value) => linear[Number(value)]) : DARK;
            const entry = { now: performance.now(), light, step: stage?.dataset.step || '' };
            if (String(light) !== String(history.at(-1).light) || entry.step !== history.at(-1).step) history.push(entry);
        }).observe(document.body, { childList: true, subtree: true, attributeFilter: ['style', 'data-step'] });
    }
    /** As it was some time ago: light comes late. */
    const screen = (now) => (history.findLast((entry) => entry.now <= now - 120) ?? history[0]).light;

    /** Other colours than those that were asked for, as a recording of an earlier challenge has them. */
    const RECORDED = [[0, 0, 1], [1, 1, 0], [0, 1, 0], [1, 0, 1], [1, 0, 0], [0, 1, 1], [0, 0, 1], [1, 1, 0]];
    let begun = null;
    function replayed(now) {
        if (!document.getElementById('stage')) begun = null;
        else begun ??= now + 900;
        const index = begun === null ? -1 : Math.floor((now - begun) / 500);
        return RECORDED[index] ?? [0.04, 0.04, 0.04];
    }

    /** The motion that is being made: its phase's image. */
    function posture(now, images) {
        const { step, now: asked } = history.at(-1);
        if (!step || scene.subject !== 'live') return images.base;
        // People need a moment, and look up again when the next order comes.
        const phase = (now - asked - 650) / images.durations[step];
        const index = Math.floor(phase * images.phases);
        return index >= 0 && index < images.phases ? images[`${step}-${index}`] : images.base;
    }

    /** Selfies that cannot be used. */
    const POSES = {
        empty() {},
        two(target, base) {
            // Two heads side by side, each cut at the middle of the other's picture.
            for (const left of [0, WIDTH / 2]) {
                target.drawImage(base, 0.14 * WIDTH, 0, 0.72 * WIDTH, HEIGHT, left, 60, WIDTH / 2, 0.7 * HEIGHT);
            }
        },
        far(target, base) { target.drawImage(base, 0.325 * WIDTH, 0.325 * HEIGHT, 0.35 * WIDTH, 0.35 * HEIGHT); },
        aslant(target, base) {
            target.save();
            target.translate(WIDTH / 2, HEIGHT / 2);
            target.rotate(Math.PI / 6);
            target.drawImage(base, -WIDTH / 2, -HEIGHT / 2);
            target.restore();
        },
        dark(target, base) {
            target.drawImage(base, 0, 0);
            target.fillStyle = 'rgb(0 0 0 / 88%)';
            target.fillRect(0, 0, WIDTH, HEIGHT);
        },
    };

    async function person() {
        const [base, gain, about] = await Promise.all(
            [load('base.jpg'), load('gain.png'), fetch('/camera-of-the-test/camera.json').then((answer) => answer.json())]);
        const images = { base, ...about };
        const pose = POSES[scene.poses.shift()];
        if (pose) {
            return {
                width: WIDTH,
                height: HEIGHT,
                draw(target) {
                    target.fillStyle = `rgb(150, 140, ${130 + Math.floor(3 * Math.random())})`;
                    target.fillRect(0, 0, WIDTH, HEIGHT);
                    pose(target, base);
                },
            };
        }
        if (scene.motions) {
            await Promise.all(Object.keys(about.durations).flatMap((step) =>
                Array.from({ length: about.phases }, async (_, index) => {
                    images[`${step}-${index}`] = await load(`${step}-${index}.jpg`);
                })));
        }
        const work = document.createElement('canvas');
        Object.assign(work, { width: WIDTH, height: HEIGHT });
        const context = work.getContext('2d', { willReadFrequently: true });
        context.drawImage(gain, 0, 0);
        const flat = scene.subject === 'print';
        const gains = context.getImageData(0, 0, WIDTH, HEIGHT).data.filter((_, index) => index % 4 === 0);
        const part = Uint8Array.from(gains, (value) => (flat ? 119 : value));
        const share = (value) => (value / 255) * 1.5;
        const ambient = [1.05, 1, 0.95];
        let balance = null;
        context.drawImage(base, 0, 0);
        const image = context.getImageData(0, 0, WIDTH, HEIGHT);
        const paper = Uint8Array.from(image.data);
        // What the camera sees of each lightness of the skin in each share of the screen's light, for one frame.
        const table = new Float32Array(3 << 16);
        const grain = document.createElement('canvas');
        Object.assign(grain, { width: 2 * WIDTH, height: 2 * HEIGHT });
        const grains = grain.getContext('2d').createImageData(2 * WIDTH, 2 * HEIGHT);
        for (let index = 0; index < grains.data.length; index += 1) {
            grains.data[index] = index % 4 === 3 ? 255 : 128 + 25 * noise[index % noise.length];
        }
        grain.getContext('2d').putImageData(grains, 0, 0);
        return {
            width: WIDTH,
            height: HEIGHT,
            draw(target, now) {
                const sway = [1.2 * Math.sin(now / 900), Math.sin(now / 700)];
                if (scene.motions) {
                    // Under the same light throughout; the grain of the camera as a picture of its own.
                    target.drawImage(posture(now, images), ...sway, WIDTH, HEIGHT);
                    target.globalAlpha = 0.06;
                    target.drawImage(grain, -Math.random() * WIDTH, -Math.random() * HEIGHT);
                    target.globalAlpha = 1;
                    return;
                }
                const light = scene.subject === 'replay' ? replayed(now) : screen(now);
                const level = [0, 1, 2].map((channel) => 0.4 * light[channel]);
                // The camera's exposure and white balance follow what it sees, slowly; a few points show it.
                const mean = [0, 0, 0];
                for (let point = 0; point < part.length; point += 37) {
                    for (let channel = 0; channel < 3; channel += 1) {
                        mean[channel] += linear[paper[4 * point + channel]] * (ambient[channel] + share(part[point]) * level[channel]);
                    }
                }
                const grey = mean.map((value) => value / Math.ceil(part.length / 37));
                const all = (grey[0] + grey[1] + grey[2]) / 3;
                const wanted = grey.map((value) => (0.22 / all) * (0.75 + (0.25 * all) / value));
                balance = balance ? balance.map((value, index) => value + 0.06 * (wanted[index] - value)) : wanted;
                for (let channel = 0; channel < 3; channel += 1) {
                    for (let own = 0; own < 256; own += 1) {
                        const factor = 4096 * balance[channel] * (ambient[channel] + share(own) * level[channel]);
                        const row = (channel << 16) + (own << 8);
                        for (let value = 0; value < 256; value += 1) {
                            table[row + value] = curve[Math.min(4096, linear[value] * factor) | 0];
                        }
                    }
                }
                const moved = Math.round(sway[0]) + WIDTH * Math.round(sway[1]);
                let speck = Math.floor(Math.random() * noise.length);
                const { data } = image;
                const mask = noise.length - 1;
                for (let point = 0; point < part.length; point += 1) {
                    const from = 4 * Math.min(part.length - 1, Math.max(0, point + moved));
                    const row = part[point] << 8;
                    const to = 4 * point;
                    data[to] = table[row + paper[from]] + noise[speck & mask];
                    data[to + 1] = table[(1 << 16) + row + paper[from + 1]] + noise[(speck + 1) & mask];
                    data[to + 2] = table[(2 << 16) + row + paper[from + 2]] + noise[(speck + 2) & mask];
                    speck += 3;
                }
                target.putImageData(image, 0, 0);
            },
        };
    }

    /** A document on a desk, as large as the page's frame with its margin. */
    async function desk() {
        const image = await load(scene.documents.shift() ?? scene.last);
        return {
            width: 1600,
            height: 1200,
            draw(target) {
                target.drawImage(image, 0, 0, 1600, 1200);
                // A camera's frames differ, and so do two photos of one document: the same photo again is no other try.
                const light = target.createLinearGradient(1600 * Math.random(), 0, 1600 * Math.random(), 1200);
                light.addColorStop(0, 'rgb(0 0 0 / 4%)');
                light.addColorStop(1, 'rgb(255 255 255 / 4%)');
                target.fillStyle = light;
                target.fillRect(0, 0, 1600, 1200);
            },
        };
    }

    window.cameras = 0;
    let watched = false;
    navigator.mediaDevices.getUserMedia = async (asked) => {
        if (scene.refused) throw Object.assign(new Error('refused'), { name: 'NotAllowedError' });
        window.cameras += 1;
        const view = asked.video.facingMode.ideal === 'user' ? await person() : await desk();
        const canvas = document.createElement('canvas');
        Object.assign(canvas, { width: view.width, height: view.height });
        const target = canvas.getContext('2d');
        const isHeld = scene.subject === 'still' && view.width === WIDTH;
        view.draw(target, performance.now());
        const stream = canvas.captureStream(30);
        const track = stream.getVideoTracks()[0];
        watched ||= !watch();
        // A document lies still: what matters is that there are frames.
        const rate = view.width !== WIDTH ? 5 : scene.motions ? 20 : 12;
        let drawn = 0;
        const second = [];
        const begun = performance.now();
        const timer = setInterval(() => {
            if (track.readyState === 'ended') {
                clearInterval(timer);
                return;
            }
            if (isHeld) target.drawImage(canvas, 0, 0);
            else view.draw(target, performance.now());
            drawn += 1;
            // How much of the machine the camera gets, of 1: Tests/capture.py judges no person by a camera that stands still.
            window.cameraShare = (1000 * drawn) / (performance.now() - begun) / rate;
            // … and in its worst second, in which a motion may be over.
            second.push(performance.now());
            if (second.length > rate) window.cameraWorst = Math.min(window.cameraWorst ?? 1, 1000 / (second.at(-1) - second.shift()));
        }, 1000 / rate);
        return stream;
    };
})();
