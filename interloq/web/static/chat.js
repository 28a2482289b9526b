// A conversation with a bot. What is typed is kept in this browser until the server has stored it; a turn is shown after
// it was stored. After a reload, or in a second tab, the conversation continues from what the server has.

import { connect } from './dialogs.js';
import { made } from './elements.js';
import { isKept, keepPages } from './kept.js';
import { sendOthers } from './outbox.js';
import { counted, facts, find, isTemporary, later, notify, post, proceed, showRefusal, text, whenBack } from './page.js';
import * as store from './store.js';
import { receive } from './stream.js';

const PATIENCE = 600_000; // milliseconds for a reply
const TYPED = `typed/${facts.assignment}`;
const HEARD = `heard/${facts.assignment}`; // the conversation so far, for a page that is shown without a connection
const message = find('message');
const list = find('turns');
let state = facts;
let busy = false; // a turn is being stored, or a reply is waited for

const again = (run) => ({ name: text('chat_again'), run });

// ---- what was said --------------------------------------------------------------------------------------------------

function show(found) {
  state = found;
  store.write(HEARD, found);
  const shown = list.querySelectorAll('[data-place]').length;
  list.append(...spoken().slice(shown).map(entry));
  list.lastElementChild?.scrollIntoView({ block: 'nearest' });
  message.readOnly = Boolean(state.first) && !state.turns.length;
  find('left').textContent = counted('chat_left', Math.max(state.left, 0));
  if (state.ended) showEnded();
}

const spoken = () => state.turns.filter((turn) => !turn.failed);

function entry(turn) {
  const speaker = made('span', { className: 'hidden-text', textContent: `${text(turn.own ? 'chat_you' : 'chat_partner')}: ` });
  const said = made('span', { className: 'text', dir: 'auto', textContent: turn.text });
  const found = made('li', { className: turn.own ? 'turn other' : 'turn' }, made('div', { className: 'bubble' }, speaker, said));
  found.dataset.place = turn.place;
  return found;
}

/** The reply so far, which screen readers skip: they read it once it is in the log. */
function showPart(content) {
  const part = find('part');
  part.hidden = !content;
  part.querySelector('.text').textContent = content;
  if (content) part.scrollIntoView({ block: 'nearest' });
}

/** The limit of turns is reached: the only thing left is to go to the questions. */
function showEnded() {
  find('say').hidden = true;
  const button = find('open-end');
  button.textContent = text('chat_rate');
  button.className = 'primary';
  button.focus();
}

// ---- talking --------------------------------------------------------------------------------------------------------

async function say() {
  const said = message.value.trim();
  if (busy || waits()) notify(text('chat_wait'), waits() && !busy ? again(reply) : null);
  else if (!said) notify(text('chat_empty'));
  else await send(said);
}

async function send(said) {
  notify('');
  const found = await request('say', { place: state.turns.length, text: said }, say);
  if (!found) return;
  message.value = '';
  store.remove(TYPED);
  show(found);
  await reply();
}

const waits = () => state.turns.length > 0 && (state.turns.at(-1).own || state.turns.at(-1).failed);

async function reply() {
  notify('');
  find('typing').textContent = text('chat_typing');
  const ask = (path, body) => receive(path, body, showPart, { signal: AbortSignal.timeout(PATIENCE) });
  const found = await request('reply', { place: state.turns.length }, reply, ask);
  find('typing').textContent = '';
  showPart('');
  if (!found) return;
  show(found);
  if (found.stopped) notify(text('chat_stopped'));
  else if (waits()) notify(text('chat_failed'), again(reply));
}

/** The conversation after a request; null if it failed, which is shown. */
async function request(name, body, retry, ask = post) {
  busy = true;
  const { status, answer } = await ask(`/api/chat/${name}`, { assignment: facts.assignment, ...body });
  busy = false;
  if (status === 200) return answer;
  if (isTemporary(status)) notify(later('chat_offline', status), again(retry));
  else showRefusal(status); // what was typed here is kept
  return null;
}

// ---- ending ---------------------------------------------------------------------------------------------------------

function askToEnd() {
  if (state.ended) leave();
  else if (!state.turns.length) notify(text('chat_nothing'));
  else find('end').showModal();
}

async function end() {
  find('end').close();
  if (await request('end', {}, end)) leave();
}

function leave() {
  store.remove(TYPED, HEARD);
  proceed();
}

// ---- start ----------------------------------------------------------------------------------------------------------

const COMPOSING = 229; // key code in Safari while an input method takes Enter, when isComposing is already false

function pressed(event) {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing || event.keyCode === COMPOSING) return;
  event.preventDefault();
  say();
}

message.value = store.read(TYPED) ?? '';
message.addEventListener('input', () => store.write(TYPED, message.value));
message.addEventListener('keydown', pressed);
find('say').addEventListener('submit', (event) => {
  event.preventDefault();
  say();
});
find('open-end').addEventListener('click', askToEnd);
find('end-confirm').addEventListener('click', end);
connect();
keepPages();
sendOthers(facts.assignment);
show((isKept && store.read(HEARD)) || facts);
if (isKept) {
  notify(later('notice_offline'));
  whenBack(proceed); // more may have been said elsewhere
} else if (state.first && !state.turns.length) {
  message.value = state.first;
  say();
} else if (waits() && !state.turns.at(-1).failed) reply();
else if (waits()) notify(text('chat_failed'), again(reply));
document.documentElement.dataset.ready = '';
