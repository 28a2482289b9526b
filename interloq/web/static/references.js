// References: a person decides on candidates. A decision is kept in this browser until the server has stored it as a
// step; the page shows the state that the server answers with. A text that is being written is a draft.

import { connect } from './dialogs.js';
import { Draft } from './draft.js';
import { isKept, keepPages } from './kept.js';
import * as keys from './keys.js';
import * as outbox from './outbox.js';
import { counted, facts, find, isTemporary, later, notify, proceed, Retry, showRefusal, text, whenBack } from './page.js';
import { Predictions } from './predictions.js';
import { choice, entry } from './reference_list.js';
import * as store from './store.js';

const LONGEST = 2_000; // characters
const SEEN = `seen/${facts.assignment}`; // the state after the last step, for a page that is shown without a connection
const written = find('text');
const draft = new Draft(facts.assignment, showSaved);
const retry = new Retry(() => send());
const HIDDEN = { offer: null, ask() {}, show() {}, dropText() {}, tryTextSoon() {} }; // from people who see no predictions
const LEAST = 1e-6; // smaller rises may be rounding
const predictions = facts.assisted ? new Predictions(view, () => showDisabled()) : HIDDEN;
let state = facts;
let editing = false;
let waiting = null; // the decision that is not stored yet
let sending = false;

const candidate = () => state.candidates[0];
const typed = () => written.value.trim();
const isUnchanged = () => typed() === candidate().text.trim();

function view() {
  return { state, written: editing ? { text: typed(), isChanged: !isUnchanged(), why: why() } : null };
}

// ---- the state ------------------------------------------------------------------------------------------------------

function show(found) {
  state = found;
  find('known').replaceChildren(...state.references.map(entry));
  find('room').textContent = state.references.length ? counted('ref_room', state.room) : text('ref_no_references');
  find('candidate').textContent = candidate().text;
  find('edited').hidden = !candidate().edited;
  find('attempts').textContent = counted('ref_attempts', state.attempts);
  showOthers();
  showEditing(false);
  predictions.ask();
}

function showOthers() {
  const others = state.candidates.slice(1);
  find('others-title').textContent = text('ref_others', { count: others.length });
  find('others-list').replaceChildren(...others.map((one, index) => choice(one, () => decide('choose', { candidate: index + 1 }))));
}

// ---- writing --------------------------------------------------------------------------------------------------------

/** Why the written text cannot be used; empty if it can. */
function why() {
  if (!typed()) return text('ref_why_empty');
  if (isUnchanged()) return text('ref_why_same');
  if (state.references.some((one) => one.text === typed())) return text('ref_why_known');
  return '';
}

function startEditing(content = candidate().text) {
  if (isBlocked()) return;
  if (!state.attempts) {
    say(counted('ref_attempts', 0));
    return;
  }
  written.value = content.slice(0, LONGEST);
  showEditing(true);
  written.focus();
  entered();
}

function showEditing(now) {
  editing = now;
  predictions.dropText();
  find('editing').hidden = !now;
  find('candidate').hidden = now;
  find('deciding').hidden = now;
  find('using').hidden = !now;
  find('others').hidden = now || state.candidates.length < 2;
  find('why').textContent = '';
  showDisabled();
}

function entered() {
  find('why').textContent = why();
  showDisabled();
  predictions.tryTextSoon();
  predictions.show();
}

function typing() {
  draft.keep({ place: state.place, text: written.value });
  entered();
}

function stopEditing() {
  draft.keep(null);
  showEditing(false);
  predictions.show();
  find('edit').focus();
}

function use() {
  if (why()) say(why());
  else if (!isBlocked()) decide('edit', { text: typed() });
}

// ---- deciding -------------------------------------------------------------------------------------------------------

function isBlocked() {
  if (waiting && !sending) retry.now();
  return Boolean(waiting);
}

function say(message) {
  find('why').textContent = message;
}

function decide(action, more = {}) {
  if (isBlocked()) return;
  notify('');
  waiting = outbox.put(facts.assignment, { place: state.place, action, ...more }, '/api/references/step');
  send();
}

/** Why the candidate cannot be kept; empty if it can. */
function whyNotKeep() {
  if (!state.must_rise) return '';
  if (!predictions.offer) return text('ref_why_predicting');
  const { before, with_each: [after] } = predictions.offer;
  return before && after.mean <= before.mean + LEAST ? text('ref_why_not_rising') : '';
}

function keep() {
  if (whyNotKeep()) say(whyNotKeep());
  else decide('keep');
}

function next() {
  if (isBlocked()) return;
  if (state.references.some((one) => one.added)) decide('next');
  else find('leave').showModal();
}

async function send() {
  sending = true;
  if (waiting.action === 'edit') draft.stop();
  showDisabled();
  const { action } = waiting;
  const { status, answer } = await outbox.send(waiting);
  sending = false;
  if (status === 200) stored(action, answer);
  else if (isTemporary(status)) {
    notify(later('ref_waiting', status), { name: text('try_now'), run: () => retry.now() });
    retry.later();
  } else {
    waiting = null;
    showRefusal(status);
  }
  showDisabled();
}

function stored(action, found) {
  retry.stop();
  waiting = null;
  notify('');
  if (found.finished) {
    store.remove(SEEN);
    proceed();
    return;
  }
  store.write(SEEN, found);
  const focused = document.activeElement;
  show(found);
  say(text(`ref_done_${action}`));
  find('saved').textContent = '';
  if (action === 'edit') find('keep').focus();
  else if (!focused?.isConnected || focused === document.body) find('candidate').focus({ preventScroll: true });
  if (action === 'choose') find('candidate').scrollIntoView({ block: 'nearest' });
}

/** Buttons stay reachable: `aria-disabled` ones say why when they are used. */
function showDisabled() {
  const closed = (id, now) => find(id).setAttribute('aria-disabled', String(Boolean(now)));
  for (const id of ['abandon', 'next', 'choose-best']) closed(id, waiting);
  closed('keep', waiting || whyNotKeep());
  closed('edit', waiting || !state.attempts);
  closed('use', waiting || why());
}

function showSaved(saved, status) {
  if (typeof saved === 'number') showRefusal(saved);
  else if (saved === 'no_storage') notify(text('notice_no_storage'));
  else find('saved').textContent = text(saved);
  if (saved === 'kept_here') notify(later('notice_offline', status));
  else if (saved === 'saved' && !waiting) notify('');
}

// ---- start ----------------------------------------------------------------------------------------------------------

const shortcuts = { k: keep, e: () => startEditing(), a: () => decide('abandon'), b: chooseBest, n: next };

function chooseBest() {
  const best = predictions.offer?.best;
  if (best > 0) decide('choose', { candidate: best });
}

function single(event) {
  const work = shortcuts[event.key.toLowerCase()];
  if (!work || editing) return;
  event.preventDefault();
  work();
}

function restore() {
  const kept = draft.restore(facts.revision, facts.draft);
  waiting = outbox.pending(facts.assignment);
  show((isKept && store.read(SEEN)) || facts);
  if (waiting) send();
  else if (kept?.place === state.place) startEditing(kept.text);
  if (!isKept) return;
  notify(later('notice_offline'));
  whenBack(proceed); // more may have been decided elsewhere
}

for (const [id, work] of [['keep', shortcuts.k], ['edit', shortcuts.e], ['abandon', shortcuts.a], ['choose-best', chooseBest], ['next', next]]) {
  find(id).addEventListener('click', work);
}
find('cancel').addEventListener('click', stopEditing);
find('leave-confirm').addEventListener('click', () => {
  find('leave').close();
  decide('next');
});
written.addEventListener('input', typing);
written.addEventListener('keydown', (event) => {
  if (event.key === 'Escape' && !event.isComposing) stopEditing();
});
find('editing').addEventListener('submit', (event) => {
  event.preventDefault();
  use();
});
keys.listen(single, () => editing && use());
connect(() => draft.stop());
restore();
keepPages();
store.remove(...store.names('seen/').filter((name) => name !== SEEN));
outbox.sendOthers(facts.assignment);
document.documentElement.dataset.ready = '';
