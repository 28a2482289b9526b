// What every page needs: texts of the interface, facts from the server, and requests to it.

import { made } from './elements.js';
import { dropPage, root } from './kept.js';

const block = (id) => JSON.parse(document.getElementById(id).textContent);
export const texts = block('texts');
export const facts = block('facts');
export const owner = document.body.dataset.owner; // unique to a person, also among studies at one address

export const find = (id) => document.getElementById(id);

/** A text of the interface with its {placeholders} filled in. */
export function text(key, values = {}) {
  return texts[key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

/** The text for a count: `key_none` (if there is one), `key_one` or `key_many`. */
export function counted(key, count) {
  if (count === 0 && `${key}_none` in texts) return text(`${key}_none`);
  return text(count === 1 ? `${key}_one` : `${key}_many`, { count });
}

/** Send JSON; gives the response, or throws. */
export function send(path, body, options = {}) {
  return fetch(root + path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-CSRF-Token': document.body.dataset.csrf },
    body: JSON.stringify(body),
    signal: options.keepalive ? undefined : AbortSignal.timeout(20_000),
    ...options,
  });
}

/** Send JSON; gives the status (0: no connection, 504: no answer in time) and the answer. It never throws. */
export async function post(path, body = {}, options = {}) {
  try {
    const response = await send(path, body, options);
    return { status: response.status, answer: await response.json().catch(() => ({})) };
  } catch (error) {
    return { status: statusOf(error), answer: {} };
  }
}

/** The status of a request that was not answered. */
export const statusOf = (error) => (error.name === 'TimeoutError' ? 504 : 0);

/** Whether trying again later may help. */
export const isTemporary = (status) => status === 0 || status === 429 || status >= 500;

/** A text for a request that may be tried again later; its {why} says whether the connection or the server failed. */
export function later(key, status = 0) {
  return text(key, { why: text(status === 0 ? 'why_connection' : 'why_server') });
}

/** Load the page that the person needs now, from its top; the one that is kept is not needed any more. */
export async function proceed() {
  await dropPage();
  location.replace(`${root}/`);
}

/** Show a message in the page's notice, with a button if `action` is given; without a message, hide it. */
export function notify(message, action = null) {
  const notice = find('notice');
  if (!notice) return;
  notice.textContent = message;
  notice.hidden = !message;
  if (!action) return;
  const button = made('button', { type: 'button', className: 'plain', textContent: action.name });
  button.addEventListener('click', action.run);
  notice.append(' ', button);
}

/** Show why the server refused something; `whenGone` is called if the item was finished or continued elsewhere. */
export function showRefusal(status, whenGone = proceed) {
  const again = { name: text('reload'), run: proceed };
  if (status === 401) notify(text('notice_session'));
  else if (status === 403) notify(text('notice_reload'), again);
  else if (status === 409) whenGone();
  else notify(text('notice_refused'), again);
}

/** Calls `work` again and again, ever less often, until it is stopped; at once when the connection is back. */
export class Retry {
  constructor(work) {
    this.work = work;
    this.timer = 0;
    this.delay = 1_000;
    addEventListener('online', () => this.timer && this.now());
  }

  later() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.now(), this.delay);
    this.delay = Math.min(this.delay * 2, 30_000);
  }

  now() {
    this.pause();
    this.work();
  }

  pause() {
    clearTimeout(this.timer);
    this.timer = 0;
  }

  stop() {
    this.pause();
    this.delay = 1_000;
  }
}

/** Call `work` as soon as the server answers. */
export function whenBack(work) {
  const retry = new Retry(async () => {
    const found = await fetch(`${root}/health`).catch(() => null);
    if (found?.ok) work();
    else retry.later();
  });
  retry.later();
}
