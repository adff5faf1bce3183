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
    return JSON.parse(said);
}

/** Sends a form whole, and says how much of it has left. */
export function upload(path, form, onProgress) {
    return new Promise((resolve, reject) => {
        const request = new XMLHttpRequest();
        request.open('POST', `${link}/${path}`);
        request.timeout = 120000;
        request.upload.addEventListener('progress', (event) => {
            if (event.lengthComputable) onProgress(event.loaded / event.total);
        });
        const lost = () => reject(new Refusal('NETWORK'));
        for (const name of ['error', 'timeout', 'abort']) request.addEventListener(name, lost);
        request.addEventListener('load', () => {
            if (request.status < 200 || request.status > 299) return reject(refusal(request.status, request.responseText));
            resolve(JSON.parse(request.responseText));
        });
        request.send(form);
    });
}

/** The same call again, while a failure may pass. The gateway takes what it already has as the same. */
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
