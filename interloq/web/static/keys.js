// Keys for people who work without a mouse. Keys without Ctrl can be turned off in the help, as WCAG 2.1.4 demands.

import { find } from './page.js';

const SETTING = 'interloq/single-keys';
const TYPING = 'textarea, input:not([type=radio], [type=checkbox], [type=range])';

function stored() {
  try {
    return localStorage.getItem(SETTING) !== 'off';
  } catch {
    return true;
  }
}

/** Listen to keys; `submit` is called by Ctrl+Enter, `single` with keys without Ctrl outside of text fields. */
export function listen(single, submit) {
  const box = find('single-keys');
  box.checked = stored();
  box.addEventListener('change', () => {
    try {
      localStorage.setItem(SETTING, box.checked ? 'on' : 'off');
    } catch { /* used until the page is left */ }
  });
  document.addEventListener('keydown', (event) => {
    if (event.isComposing || document.querySelector('dialog[open]')) return;
    const withControl = event.ctrlKey || event.metaKey;
    if (event.key === 'Enter' && withControl && !event.repeat) handled(event, submit);
    else if (event.key === 'Enter' && event.target.matches('input')) event.preventDefault(); // only Ctrl+Enter submits
    else if (event.repeat) return; // a key that is held answers one question, not those after it
    else if (!box.checked || withControl || event.altKey || event.target.matches(TYPING)) return;
    else if (event.key === '?') handled(event, () => find('help').showModal());
    else single(event);
  });
}

function handled(event, work) {
  event.preventDefault();
  work();
}

/** Keys that answer questions, for `listen`. */
export const forQuestions = (questions) => (event) => answer(event, questions);

function answer(event, questions) {
  const question = current(questions);
  if (!question) return;
  const radio = radioFor(question, event.key);
  if (radio) handled(event, () => choose(question, radio, questions));
  else if (event.key.toLowerCase() === 'n' && question.notApplicable) handled(event, () => skip(question, questions));
}

/** The question with the focus, or else the first one without an answer, or else the last one. */
function current(questions) {
  return questions.find((one) => one.element.contains(document.activeElement))
    ?? questions.find((one) => !one.isAnswered)
    ?? questions.at(-1);
}

function radioFor(question, key) {
  if (!/^[0-9]$/.test(key)) return null;
  const values = question.radios.map((radio) => radio.value);
  if (question.isChoice) return question.radios[values.indexOf({ 1: 'first', 2: 'second', 0: 'tie', 3: 'tie' }[key])];
  const byValue = values.indexOf(key === '0' && !values.includes('0') ? '10' : key);
  const counted = values[0] === '0' || values[0] === '1'; // other scales are counted from their first button
  return question.radios[counted ? byValue : Number(key) - 1];
}

function choose(question, radio, questions) {
  question.choose(radio);
  advance(question, questions);
}

function skip(question, questions) {
  question.toggleNotApplicable();
  advance(question, questions);
}

function advance(question, questions) {
  const after = questions.slice(questions.indexOf(question) + 1);
  (after.find((one) => !one.isAnswered) ?? question).focus();
}
