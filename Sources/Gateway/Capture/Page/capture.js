/**
 * Embeds a capture link in a partner's page. deploy/PARTNERS.md describes it; what is described stays in this version's path.
 *
 *     import { capture } from 'https://gateway.example.com/capture/assets/v1/capture.js';
 *     const session = capture(document.getElementById('here'), link, { onEvent: (event) => console.log(event) });
 *
 * The link must have been made with embedOrigin, the origin of this page. Everything happens in a frame of the gateway's origin:
 * this page never sees an image.
 */

export const version = 'v1';

/**
 * @param {Element} container where the frame goes
 * @param {string} link the url of the answer to POST /capture/sessions, or the whole address
 * @param {object} options onEvent: called with {event, …}: ready, submitted (isFinished, decision), refused (the person did not
 *     consent), ended (code); title: what screen readers call the frame
 * @returns {{frame: HTMLIFrameElement, close: () => void}}
 */
export function capture(container, link, { onEvent = () => {}, title = 'Identity check' } = {}) {
    const url = new URL(link, import.meta.url);
    const frame = document.createElement('iframe');
    frame.allow = 'camera';
    frame.title = title;
    frame.referrerPolicy = 'no-referrer';
    frame.style.border = '0';
    frame.style.width = '100%';
    frame.style.minHeight = '640px';
    const listen = (message) => {
        const isOurs = message.source === frame.contentWindow && message.origin === url.origin;
        if (!isOurs || message.data?.type !== 'inspectd.capture') return;
        const { type, ...event } = message.data;
        onEvent(event);
    };
    window.addEventListener('message', listen);
    frame.src = url.href;
    container.append(frame);
    return {
        frame,
        close() {
            window.removeEventListener('message', listen);
            frame.remove();
        },
    };
}
