// Calls of the link. Nothing is kept: no cache, no storage; the cookie belongs to the link alone.

const link = location.pathname.split('/').pop();

/** Why a call was refused: the gateway's stable code, or NETWORK where no answer came. */
export class Refusal extends Error {
    constructor(code, status, detail, hint) {
        super(detail || code);
        Object.assign(this, { code, status, hint });
    }

    /** Whether the same call may succeed later. */
    get isPassing() {
        return this.code === 'NETWORK' || this.status === 429 || this.status >= 500;
    }
}

function refusal(status, body) {
    let problem = {};
    try {
        problem = JSON.parse(body);
    } catch {
        // A proxy's page.
    }
    return new Refusal(problem.code || 'UNKNOWN', status, problem.detail, problem.hint);
}

/** An answer's JSON. A page in its place is a proxy's, such as a hotel's: the gateway has answered nothing. */
function parsed(body) {
    try {
        return JSON.parse(body);
    } catch {
        throw new Refusal('NETWORK');
    }
}

export async function call(method, path, body) {
    let answer;
    try {
        answer = await fetch(`${link}/${path}`, {
            method,
            cache: 'no-store',
            redirect: 'error',
            headers: body === undefined || body instanceof FormData ? {} : { 'Content-Type': 'application/json' },
            body: body === undefined || body instanceof FormData ? body : JSON.stringify(body),
        });
    } catch {
        throw new Refusal('NETWORK');
    }
    const said = await answer.text().catch(() => null);
    if (said === null) throw new Refusal('NETWORK');
    if (!answer.ok) throw refusal(answer.status, said);
    return parsed(said);
}

/** Time in which some of a form must leave, however slow the line is, and time for the answer to all of it. */
const STALLED_MS = 30000;
const UNANSWERED_MS = 120000;
/** Time of sending after which the line is too slow for a recording, whose challenge lives five minutes. */
const SLOW_MS = 200000;

/** Sends a form whole, and says how much of it has left. A refusal says whether the line was slow. */
export function upload(path, form, onProgress) {
    return new Promise((resolve, reject) => {
        const request = new XMLHttpRequest();
        request.open('POST', `${link}/${path}`);
        const beginMs = Date.now();
        let isSlow = false;
        let timer = null;
        let sent = 0;
        const within = (milliseconds) => {
            clearTimeout(timer);
            timer = setTimeout(() => request.abort(), milliseconds);
        };
        request.upload.addEventListener('progress', ({ lengthComputable, loaded, total }) => {
            if (lengthComputable) onProgress(loaded / total);
            // The event also comes while nothing leaves.
            if (loaded > sent) within(STALLED_MS);
            sent = loaded;
        });
        request.upload.addEventListener('load', () => {
            isSlow = Date.now() - beginMs > SLOW_MS;
            within(UNANSWERED_MS);
        });
        request.addEventListener('loadend', () => clearTimeout(timer));
        for (const name of ['error', 'abort']) request.addEventListener(name, () => reject(new Refusal('NETWORK')));
        request.addEventListener('load', () => {
            try {
                if (request.status < 200 || request.status > 299) throw refusal(request.status, request.responseText);
                resolve(parsed(request.responseText));
            } catch (error) {
                reject(Object.assign(error, { isSlow }));
            }
        });
        within(STALLED_MS);
        request.send(form);
    });
}

/** Repeats a call while its failure may be temporary. The gateway recognises what it already has. */
export async function again(work, times = 3) {
    for (let attempt = 1; ; attempt += 1) {
        try {
            return await work();
        } catch (error) {
            if (!error.isPassing || attempt >= times) throw error;
            await new Promise((resolve) => setTimeout(resolve, 1000 * 2 ** attempt));
        }
    }
}
