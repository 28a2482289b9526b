// Make a task from a file: first a preview, then the task.

import { failure } from './admin.js';
import { made } from './elements.js';
import { root } from './kept.js';
import { find, notify, text } from './page.js';

const form = find('new');
let suggested = form.elements.per_item.value; // annotators per item, unless another number was entered

async function send(create) {
  const body = new FormData(form);
  if (!form.elements.together.checked) body.set('together', 'no');
  if (create) body.set('create', 'yes');
  try {
    const response = await fetch(`${root}/admin/upload`, {
      method: 'POST', headers: { 'X-CSRF-Token': document.body.dataset.csrf, Accept: 'application/json' }, body,
    });
    return { status: response.status, answer: await response.json().catch(() => ({})) };
  } catch {
    return { status: 0, answer: {} };
  }
}

function turn(one) {
  return made('p', { className: 'text', dir: 'auto', textContent: `${one.speaker}: ${one.text}` });
}

function page(one) {
  const units = one.units.map((unit) => (unit.turns
    ? made('div', { className: 'previewed' }, ...unit.turns.map(turn))
    : made('p', { className: 'reply text', dir: 'auto', textContent: unit.text })));
  return made('div', { className: 'previewed' }, ...one.context.map(turn), ...units);
}

const listed = (found) => found.map((textContent) => made('li', { textContent, dir: 'auto' }));

function preview(found) {
  const { checks, rejected, reasons } = found;
  [find('counts').textContent, find('needs').textContent] = found.summary;
  find('first').hidden = !found.pages.length;
  find('checks').textContent = checks ? text('preview_checks', { count: checks }) : '';
  find('rejects').replaceChildren(...listed(rejected ? [text('preview_rejected', { count: rejected }), ...reasons] : []));
  find('asked').replaceChildren(...listed(found.questions));
  find('pages').replaceChildren(...found.pages.map(page));
  find('preview').hidden = false;
  find('preview').focus();
}

/** Show the fields of this kind of task; others are not sent. */
function showKind() {
  const { kind, per_item: perItem } = form.elements;
  for (const element of form.querySelectorAll('[data-only], [data-not]')) {
    const { only, not } = element.dataset;
    element.hidden = only ? only !== kind.value : not.split(' ').includes(kind.value);
    const inputs = element.matches('fieldset') ? [element] : element.querySelectorAll('input');
    inputs.forEach((input) => { input.disabled = element.hidden; });
  }
  if (perItem.value === suggested) perItem.value = kind.value === 'references-rating' ? '4' : '3';
  suggested = perItem.value;
}

form.elements.kind.addEventListener('change', showKind);
showKind(); // browsers keep the choice over a reload
form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const { status, answer } = await send(false);
  notify(status === 200 ? '' : failure(status, answer));
  if (status === 200) preview(answer);
  else find('preview').hidden = true;
});
form.addEventListener('input', () => { find('preview').hidden = true; }); // a preview of other settings would mislead
find('create').addEventListener('click', async () => {
  const { status, answer } = await send(true);
  if (status === 200) location.assign(`${root}/admin/tasks/${answer.number}`);
  else notify(failure(status, answer));
});
