// Elements are made one by one and no markup is parsed, so nothing that a partner or a document says can become markup.

let texts = {};
let language = 'en';

/** Chooses the language: the link's, else the browser's, else English. */
export function speak(table, locale) {
    const wanted = [locale, ...(locale ? [] : navigator.languages || [])].filter(Boolean);
    language = wanted.map((tag) => tag.slice(0, 2).toLowerCase()).find((tag) => table[tag]) || 'en';
    texts = { ...table.en, ...table[language] };
    document.documentElement.lang = language;
    document.title = text('title');
    return language;
}

/** A text of the table, with values in place of the names in braces. */
export function text(key, values = {}) {
    return (texts[key] ?? key).replace(/\{(\w+)\}/g, (_, name) => values[name] ?? '');
}

/** What the table calls a partner's purpose; one that it does not have stays as the partner wrote it. */
export function purpose(name) {
    const key = `purpose.${name}`;
    return Object.hasOwn(texts, key) ? texts[key] : name;
}

export function element(tag, properties = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
        if (value === undefined || value === null || value === false) continue;
        if (name === 'class') made.className = value;
        else if (name.startsWith('on')) made.addEventListener(name.slice(2), value);
        else if (name in made && typeof value !== 'string') made[name] = value;
        else made.setAttribute(name, value === true ? '' : value);
    }
    made.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
    return made;
}

export function button(label, action, kind = 'first') {
    return element('button', { type: 'button', class: kind, onclick: action }, label);
}

/** Says something to people who do not see the page. */
export function say(words) {
    document.getElementById('status').textContent = words;
}

/** Says at once that something went wrong, or needs a hand. */
export function warn(words) {
    document.getElementById('alert').textContent = words;
}

/** What went wrong, at the top of a screen; a screen reader says it at once. */
export const complaint = (words) => words && element('p', { class: 'fault', role: 'alert' }, words);

/** Replaces the page's content. The heading has the focus, so that a screen reader begins there. */
export function show(heading, ...content) {
    warn('');
    say('');
    const main = document.getElementById('capture');
    const title = element('h1', { tabindex: '-1' }, heading);
    main.replaceChildren(title, ...content.filter(Boolean));
    title.focus();
    return main;
}

/**
 * Shows a screen and waits until one of its buttons is pressed; each has a name.
 *
 * @param said what is said, once, to people who do not see the screen, after its heading
 */
export function ask(heading, content, choices, said = '') {
    return new Promise((resolve) => {
        const buttons = choices.filter(Boolean).map(({ name, label, kind }) => {
            const made = button(label, () => resolve(name), kind);
            made.dataset.choice = name;
            return made;
        });
        show(heading, ...content, element('div', { class: 'choices' }, ...buttons));
        say(said);
    });
}

export const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Time before a link's end from which on the page says how much remains. */
const NEAR_MINUTES = 5;

/**
 * Says, near a link's end, how much time remains.
 *
 * @param seconds from now until the end
 * @returns a function that ends it
 */
export function countDown(seconds) {
    // Not performance.now(), which stands still while some phones sleep.
    const endMs = Date.now() + 1000 * seconds;
    const line = element('p', { id: 'remaining', class: 'small', role: 'status', 'aria-live': 'polite' });
    document.getElementById('capture').after(line);
    const tell = () => {
        const minutes = Math.ceil((endMs - Date.now()) / 60000);
        const words = minutes > NEAR_MINUTES ? '' : minutes > 1 ? text('time.left', { minutes }) : text('time.last');
        // A screen reader says what changes: once a minute.
        if (line.textContent !== words) line.textContent = words;
    };
    tell();
    const timer = setInterval(tell, 1000);
    return () => {
        clearInterval(timer);
        line.remove();
    };
}
