// Answers and decisions that were submitted. They are kept in this browser until the server has stored them, and are
// sent again with the same id or place, which the server stores once.

import { isTemporary, post } from './page.js';
import * as store from './store.js';

const PENDING = 'pending/';
const ANSWERS = '/api/answers';

export function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16)); // randomUUID() needs https
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Keep what is sent to `path`. */
export function put(assignment, body, path = ANSWERS) {
  const submission = { assignment, ...body, path };
  store.write(PENDING + assignment, submission);
  return submission;
}

export const pending = (assignment) => store.read(PENDING + assignment);

export const drop = (assignment) => store.remove(PENDING + assignment);

/** Send a submission; it is dropped unless sending it again may help. Gives the result of `post`. */
export async function send(submission) {
  const { path = ANSWERS, ...body } = submission;
  const result = await post(path, body);
  if (result.status === 200) store.remove(...['draft', 'typed', 'heard'].map((name) => `${name}/${body.assignment}`));
  if (!isTemporary(result.status) && result.status !== 401 && result.status !== 403) drop(submission.assignment);
  return result;
}

/** Send what was left behind at other items; gives the number of items that were stored. */
export async function sendOthers(assignment) {
  let stored = 0;
  for (const name of store.names(PENDING)) {
    const submission = store.read(name);
    if (submission === null || submission.assignment === assignment) continue;
    if ((await send(submission)).status === 200) stored += 1;
  }
  return stored;
}
