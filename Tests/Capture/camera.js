// A camera in place of the browser's: a canvas that is drawn anew for every frame. In front of it stands a person whose face has the
// light of the page's colours, and who does what the page says; or an attack that cannot. Tests/capture.py sets window.scene:
//   subject  live, still (one frame, held), print (flat, before a screen), replay (a recording of another challenge)
//   front, back  the documents that lie before the camera
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
    const noise = new Float32Array(1 << 20);
    for (let index = 0; index < noise.length; index += 2) {
        const radius = 1.5 * Math.sqrt(-2 * Math.log(1 - Math.random()));
        const angle = 2 * Math.PI * Math.random();
        noise[index] = radius * Math.cos(angle);
        noise[index + 1] = radius * Math.sin(angle);
    }

    /** Light of the screen, as it was some time ago. */
    const history = [];
    function screen(now) {
        const stage = document.getElementById('stage');
        const colour = stage ? getComputedStyle(stage).backgroundColor : 'rgb(51, 51, 51)';
        history.push({ now, light: colour.match(/\d+/g).slice(0, 3).map((value) => linear[Number(value)]) });
        while (history.length > 200) history.shift();
        const past = history.filter((entry) => entry.now <= now - 120);
        return (past.at(-1) ?? history[0]).light;
    }

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
    let motion = { step: '', start: 0 };
    function posture(now, images) {
        const asked = document.getElementById('stage')?.dataset.step || '';
        // People need a moment, and look up again when the next order comes.
        if (asked !== motion.step) motion = { step: asked, start: now + 650 };
        if (!motion.step || scene.subject !== 'live') return images.base;
        const phase = (now - motion.start) / images.durations[motion.step];
        const index = Math.floor(phase * images.phases);
        return index >= 0 && index < images.phases ? images[`${motion.step}-${index}`] : images.base;
    }

    async function person() {
        const [base, gain, about] = await Promise.all(
            [load('base.jpg'), load('gain.png'), fetch('/camera-of-the-test/camera.json').then((answer) => answer.json())]);
        const images = { base, ...about };
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
        const share = Float32Array.from(gains, (value) => (flat ? 0.7 : (value / 255) * 1.5));
        const ambient = [1.05, 1, 0.95];
        let balance = null;
        context.drawImage(base, 0, 0);
        const image = context.getImageData(0, 0, WIDTH, HEIGHT);
        const albedo = new Float32Array(3 * WIDTH * HEIGHT);
        for (let index = 0; index < albedo.length; index += 1) {
            albedo[index] = linear[image.data[4 * Math.floor(index / 3) + (index % 3)]];
        }
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
                for (let point = 0; point < share.length; point += 37) {
                    for (let channel = 0; channel < 3; channel += 1) {
                        mean[channel] += albedo[3 * point + channel] * (ambient[channel] + share[point] * level[channel]);
                    }
                }
                const grey = mean.map((value) => value / Math.ceil(share.length / 37));
                const all = (grey[0] + grey[1] + grey[2]) / 3;
                const wanted = grey.map((value) => (0.22 / all) * (0.75 + (0.25 * all) / value));
                balance = balance ? balance.map((value, index) => value + 0.06 * (wanted[index] - value)) : wanted;
                const moved = Math.round(sway[0]) + WIDTH * Math.round(sway[1]);
                let speck = Math.floor(Math.random() * noise.length);
                const { data } = image;
                for (let point = 0; point < share.length; point += 1) {
                    const from = Math.min(share.length - 1, Math.max(0, point + moved));
                    for (let channel = 0; channel < 3; channel += 1) {
                        const value = albedo[3 * from + channel] * (ambient[channel] + share[point] * level[channel]);
                        speck = (speck + 1) & (noise.length - 1);
                        data[4 * point + channel] = curve[Math.min(4096, value * balance[channel] * 4096) | 0] + noise[speck];
                    }
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
                // A camera's frames differ.
                target.fillStyle = `rgb(${Math.floor(Math.random() * 255)}, 0, 0)`;
                target.fillRect(0, 0, 1, 1);
            },
        };
    }

    window.cameras = 0;
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
        const timer = setInterval(() => {
            if (track.readyState === 'ended') {
                clearInterval(timer);
                return;
            }
            if (isHeld) target.drawImage(canvas, 0, 0);
            else view.draw(target, performance.now());
        }, 1000 / 20);
        return stream;
    };
})();
