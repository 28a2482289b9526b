// References: a person decides on candidates. A decision is kept in this browser until the server has stored it as a
// step; the page shows the state that the server answers with. A text that is being written is a draft.

import { connect } from './dialogs.js';
import { Draft } from './draft.js';
import * as gauge from './gauge.js';
import { isKept, keepPages } from './kept.js';
import * as keys from './keys.js';
import * as outbox from './outbox.js';
import { counted, facts, find, isTemporary, notify, post, proceed, Retry, text, whenBack } from './page.js';
import * as store from './store.js';

const SOON = 300; // milliseconds after the last key, before a text is predicted
const PATIENCE = 120_000; // milliseconds for predictions: the model may have to be loaded first
const LONGEST = 2_000; // characters
const SEEN = `seen/${facts.assignment}`; // the state after the last step, for a page that is shown without a connection
const item = { assignment: facts.assignment };
const written = find('text');
const draft = new Draft(facts.assignment, showSaved);
const retry = new Retry(() => send());
const later = new Retry(() => predict());
let state = facts;
let predicted = null; // for the candidates of this state
let attempt = null; // the prediction for the text that is being written
let editing = false;
let waiting = null; // the decision that is not stored yet
let sending = false;
let timer = 0;

const candidate = () => state.candidates[0];
const typed = () => written.value.trim();
const isUnchanged = () => typed() === candidate().text.trim();

// ---- the state ------------------------------------------------------------------------------------------------------

function show(found) {
  state = found;
  predicted = null;
  find('known').replaceChildren(...state.references.map(known));
  find('room').textContent = state.references.length ? counted('ref_room', state.room) : text('ref_no_references');
  find('candidate').textContent = candidate().text;
  find('edited').hidden = !candidate().edited;
  find('attempts').textContent = counted('ref_attempts', state.attempts);
  showOthers();
  showEditing(false);
  predict();
}

function known(reference) {
  const entry = document.createElement('li');
  entry.append(part('span', 'text', reference.text));
  entry.firstElementChild.dir = 'auto';
  if (reference.added) entry.append(' ', part('span', 'tag', text(reference.edited ? 'ref_edited' : 'ref_added')));
  return entry;
}

function part(tag, name, content) {
  const found = document.createElement(tag);
  found.className = name;
  found.textContent = content;
  return found;
}

function showOthers() {
  const others = state.candidates.slice(1);
  find('others-title').textContent = text('ref_others', { count: others.length });
  find('others-list').replaceChildren(...others.map((one, index) => other(one, index + 1)));
}

function other(one, place) {
  const entry = known(one);
  const button = part('button', 'plain', text('ref_choose'));
  button.type = 'button';
  button.setAttribute('aria-label', `${text('ref_choose')}: ${one.text}`);
  button.addEventListener('click', () => decide('choose', { candidate: place }));
  const row = part('div', 'row', '');
  row.append(part('span', 'quiet', ''), button);
  entry.append(row);
  return entry;
}

// ---- predictions ----------------------------------------------------------------------------------------------------

/** Ask for the predictions of this state; they are dropped if it has changed meanwhile. */
async function predict() {
  const { place } = state;
  showPredictions();
  const { status, answer } = await request('offer', { place });
  if (place !== state.place) return;
  if (status === 200 && answer.place === place) {
    later.stop();
    predicted = answer;
    showPredictions();
  } else if (status === 200) proceed(); // it went on in another tab
  else showNone(later);
}

const request = (name, body) => post(`/api/references/${name}`, { ...item, ...body }, { signal: AbortSignal.timeout(PATIENCE) });

function showNone(again) {
  find('after').textContent = text('ref_no_prediction');
  again.later();
}

function showPredictions() {
  const after = editing && !isUnchanged() ? attempt : predicted?.with_each[0];
  find('after-name').textContent = text(editing ? 'ref_after_text' : 'ref_after');
  gauge.show(predicted?.before, after);
  if (predicted && !predicted.before) find('before').textContent = text('ref_no_before');
  if (!predicted) find('before').textContent = text('ref_predicting');
  if (!after) find('after').textContent = editing && why() ? '–' : text('ref_predicting');
  showBest();
}

function showBest() {
  const best = predicted?.best;
  const change = best >= 0 ? gauge.change(predicted.before, predicted.with_each[best]) : null;
  const helps = change === null || change > 0;
  find('is-best').hidden = best !== 0 || !helps || editing;
  find('best').hidden = !(best > 0) || editing;
  if (best > 0) {
    find('best-tag').textContent = text(helps ? 'ref_best' : 'ref_least_bad');
    find('best-text').textContent = state.candidates[best].text;
    find('best-after').textContent = effect(best);
  }
  [...find('others-list').children].forEach((entry, index) => {
    entry.querySelector('.quiet').textContent = predicted ? effect(index + 1) : '';
  });
}

const effect = (place) => text('ref_with', { after: gauge.numbers(predicted.before, predicted.with_each[place]) });

/** Predict the text that is being written. */
async function tryText() {
  const given = typed();
  const { status, answer } = await request('attempt', { place: state.place, text: given });
  if (!editing || given !== typed()) return;
  if (status === 200) {
    attempt = answer.after;
    showPredictions();
  } else find('after').textContent = text('ref_no_prediction');
}

function tryTextSoon() {
  clearTimeout(timer);
  attempt = null;
  if (!why()) timer = setTimeout(tryText, SOON);
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
  clearTimeout(timer);
  attempt = null;
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
  tryTextSoon();
  showPredictions();
}

function typing() {
  draft.keep({ place: state.place, text: written.value });
  entered();
}

function stopEditing() {
  draft.keep(null);
  showEditing(false);
  showPredictions();
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
    notify(text('ref_waiting'), { name: text('try_now'), run: () => retry.now() });
    retry.later();
  } else {
    waiting = null;
    refused(status);
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

function refused(status) {
  const again = { name: text('reload'), run: proceed };
  if (status === 401) notify(text('notice_session'));
  else if (status === 403) notify(text('notice_reload'), again);
  else if (status === 409) proceed(); // it went on in another tab
  else notify(text('notice_refused'), again);
}

/** Buttons stay reachable: `aria-disabled` ones say why when they are used. */
function showDisabled() {
  const closed = (id, now) => find(id).setAttribute('aria-disabled', String(Boolean(now)));
  for (const id of ['keep', 'abandon', 'next', 'choose-best']) closed(id, waiting);
  closed('edit', waiting || !state.attempts);
  closed('use', waiting || why());
}

function showSaved(saved) {
  if (typeof saved === 'number') refused(saved);
  else if (saved === 'no_storage') notify(text('notice_no_storage'));
  else find('saved').textContent = text(saved);
  if (saved === 'kept_here') notify(text('notice_offline'));
  else if (saved === 'saved' && !waiting) notify('');
}

// ---- start ----------------------------------------------------------------------------------------------------------

const shortcuts = { k: () => decide('keep'), e: () => startEditing(), a: () => decide('abandon'), b: chooseBest, n: next };

function chooseBest() {
  if (predicted?.best > 0) decide('choose', { candidate: predicted.best });
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
  notify(text('notice_offline'));
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
