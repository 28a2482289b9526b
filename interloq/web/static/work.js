// An item: answers are kept while they are entered, checked, submitted, and sent again after a lost connection.

import { connect } from './dialogs.js';
import { Draft } from './draft.js';
import { made } from './elements.js';
import { isKept, keepPages } from './kept.js';
import * as keys from './keys.js';
import * as outbox from './outbox.js';
import { counted, facts, find, isTemporary, later, notify, proceed, Retry, showRefusal, text, whenBack } from './page.js';
import { Question } from './question.js';

const questions = [...document.querySelectorAll('.question')].map((element) => new Question(element));
const form = find('questions');
const submitButton = find('submit');
const submitLabel = [...submitButton.childNodes];
const draft = new Draft(facts.assignment, showSaved);
const retry = new Retry(() => send());
let waiting = null; // the submission that could not be sent yet
let sending = false;
let lost = false; // the connection or the server, and the notice says so

const answers = () => questions.map((one) => one.answer).filter((answer) => answer !== null);

// ---- what is missing ------------------------------------------------------------------------------------------------

function failures() {
  const found = new Map(questions.filter((one) => one.failure).map((one) => [one, one.failure]));
  if (!found.size && !questions.some((one) => one.isAnswered)) found.set(questions[0], 'blank');
  return found;
}

function showLeft() {
  find('left').textContent = counted('left', questions.filter((one) => one.failure).length);
}

function showProblems(found) {
  const shown = find('problems');
  questions.forEach((one) => { one.problem = found.get(one) ?? ''; });
  shown.replaceChildren();
  shown.hidden = !found.size;
  find('left').hidden = found.size > 0;
  if (!found.size) return;
  shown.append(counted('problems', found.size), made('ul', {}, ...[...found.keys()].map(linkTo)));
}

function linkTo(question) {
  const { name } = question.element.dataset;
  const button = made('button', { type: 'button', className: 'plain', dir: 'auto', textContent: name });
  button.addEventListener('click', () => question.focus());
  return made('li', {}, button);
}

// ---- entering -------------------------------------------------------------------------------------------------------

function entered() {
  if (waiting && !sending) {
    outbox.drop(facts.assignment);
    waiting = null;
    retry.stop();
    showButton('submit');
    notify(text('notice_changed'));
  }
  draft.keep(answers());
  showLeft();
  if (!find('problems').hidden) showProblems(failures());
}

function showSaved(state, status) {
  if (typeof state === 'number') {
    refused(state);
    return;
  }
  if (state === 'no_storage') notify(text('notice_no_storage'));
  else find('saved').textContent = text(state);
  if (state === 'kept_here') showLost(status);
  if (state === 'saved') showBack();
}

function showLost(status) {
  lost = true;
  notify(later(waiting ? 'notice_waiting' : 'notice_offline', status));
}

function showBack() {
  if (lost && !waiting) notify('');
  lost = lost && Boolean(waiting);
}

// ---- submitting -----------------------------------------------------------------------------------------------------

function submit() {
  if (sending) return;
  if (waiting) {
    retry.now();
    return;
  }
  const found = failures();
  showProblems(found);
  if (found.size) {
    [...found.keys()][0].focus();
    return;
  }
  waiting = outbox.put(facts.assignment, { submission: outbox.newId(), answers: answers() });
  send();
}

async function send() {
  draft.stop();
  showSending(true);
  const { status, answer } = await outbox.send(waiting);
  if (status === 200) {
    proceed();
    return;
  }
  showSending(false);
  if (isTemporary(status)) {
    showButton('try_now');
    showLost(status);
    retry.later();
  } else {
    waiting = null;
    showButton('submit');
    refused(status, answer);
  }
}

function refused(status, answer = {}) {
  if (answer.error === 'incomplete') showRefused(answer.problems);
  else showRefusal(status, () => notify(text('notice_gone'), { name: text('next'), run: proceed }));
}

/** Problems that the server found. */
function showRefused(problems) {
  const found = new Map();
  for (const { unit, aspect, reason } of problems) {
    const question = questions.find((one) => one.unit === unit && one.aspect === aspect);
    if (question) found.set(question, reason);
  }
  showProblems(found);
  found.keys().next().value?.focus();
}

function showSending(now) {
  sending = now;
  form.inert = now;
  if (now) showButton('sending');
}

function showButton(key) {
  submitButton.replaceChildren(...(key === 'submit' ? submitLabel : [text(key)]));
}

// ---- start ----------------------------------------------------------------------------------------------------------

function restore() {
  waiting = outbox.pending(facts.assignment);
  const kept = draft.restore(facts.revision, facts.draft);
  for (const answer of waiting?.answers ?? kept ?? []) {
    const question = questions.find((one) => one.unit === answer.unit && one.aspect === answer.aspect);
    if (question) question.answer = answer;
  }
}

restore();
showLeft();
form.addEventListener('input', entered);
form.addEventListener('submit', (event) => {
  event.preventDefault();
  submit();
});
addEventListener('offline', () => showLost());
addEventListener('online', showBack);
keys.listen(keys.forQuestions(questions), submit);
connect(() => draft.stop());
if (isKept || !navigator.onLine) {
  showLost();
  whenBack(showBack);
}
if (waiting) send();
keepPages();
outbox.sendOthers(facts.assignment);
document.documentElement.dataset.ready = '';
