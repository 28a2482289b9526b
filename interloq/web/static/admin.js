// Administrators' pages: figures that update themselves, invitations, closing and deletion.

import { drawn, made } from './elements.js';
import { root } from './kept.js';
import { facts, find, isTemporary, notify, post, text } from './page.js';
import { plot } from './plot.js';

const EVERY = 2_000; // milliseconds between questions for new figures
const SLOWEST = 30_000;

function bar([low, value, high]) {
  const x = (place) => 8 + place * 144;
  const svg = drawn('svg', { class: 'bar', viewBox: '0 0 160 20', 'aria-hidden': 'true' });
  svg.append(
    drawn('line', { class: 'scale-line', x1: x(0), x2: x(1), y1: 10, y2: 10 }),
    drawn('line', { class: 'reach', x1: x(low), x2: x(high), y1: 10, y2: 10 }),
    drawn('circle', { class: 'point', cx: x(value), cy: 10, r: 6 }),
  );
  return svg;
}

function forgetButton({ person, name }) {
  const button = made('button', { type: 'button', className: 'plain', textContent: text('forget') });
  button.setAttribute('aria-label', text('forget_named', { name }));
  button.addEventListener('click', () => {
    find('forget-name').textContent = name;
    find('forget-confirm').dataset.id = person;
    find('forget').querySelector('.problem').hidden = true;
    find('forget').showModal();
  });
  return button;
}

function readmitButton({ person, name }) {
  const button = made('button', { type: 'button', className: 'plain', textContent: text('readmit') });
  button.setAttribute('aria-label', text('readmit_named', { name }));
  button.addEventListener('click', () => change(`/admin/people/${person}/readmit`, {}, () => {
    notify(text('readmitted'));
  }));
  return button;
}

const ACTIONS = { forget: forgetButton, readmit: readmitButton }; // on a person

function cell(value, index) {
  const element = document.createElement(index === 0 ? 'th' : 'td');
  if (index === 0) element.scope = 'row';
  if (typeof value === 'string') {
    element.textContent = value;
    element.dir = 'auto';
    if (/^[−\d.,]+$|^–$/.test(value)) element.className = 'numeric';
    else element.className = value.length < 30 ? 'short' : 'long';
  } else if (value.bar) element.append(bar(value.bar));
  else if (value.reasons) {
    element.className = 'reasons';
    if (!value.reasons.length) element.textContent = '–';
    else element.append(made('ul', {}, ...value.reasons.map((textContent) => made('li', { textContent }))));
  } else if (value.actions) element.append(...value.actions.map((action) => ACTIONS[action](value)));
  else element.append(value.text, ...(value.note ? [made('div', { className: 'quiet', textContent: value.note })] : []));
  return element;
}

function header(name, index, first) {
  const th = made('th', { scope: 'col' });
  if (name) th.textContent = name;
  else th.append(made('span', { className: 'hidden-text', textContent: text(first[index]?.bar ? 'interval_on_scale' : 'actions') }));
  if (typeof first[index] === 'string' && /^[−\d.,]+$|^–$/.test(first[index])) th.className = 'numeric';
  return th;
}

function section(one) {
  const title = made('h2', { id: `s-${one.id}`, textContent: one.title });
  const element = made('section', { className: 'card' }, title, ...one.text.map((textContent) => made('p', { textContent, className: 'quiet' })));
  element.setAttribute('aria-labelledby', title.id);
  element.dataset.section = one.id;
  if (one.plot) element.append(plot(one.plot));
  if (one.rows.length) {
    const head = made('thead', {}, made('tr', {}, ...one.columns.map((name, index) => header(name, index, one.rows[0]))));
    const body = made('tbody', {}, ...one.rows.map((row) => made('tr', {}, ...row.map(cell))));
    const region = made('div', { className: 'scroll', tabIndex: 0 }, made('table', {}, head, body));
    region.setAttribute('role', 'region');
    region.setAttribute('aria-label', text('table_of', { title: one.title }));
    element.append(region);
  }
  return element;
}

function headline(one) {
  const value = made('dd', { id: `h-${one.id}`, textContent: one.value });
  return made('div', {}, made('dt', { textContent: one.name }), value, made('dd', { textContent: one.note }));
}

let current = facts;

/** Replace only what changed, so that the focus and the selection stay where they are. */
function show(found) {
  find('headlines').replaceChildren(...found.headlines.map(headline));
  const known = new Map([...find('sections').children].map((element) => [element.dataset.section, element]));
  const before = new Map((known.size ? current.sections : []).map((one) => [one.id, JSON.stringify(one)]));
  const next = found.sections.map((one) => (before.get(one.id) === JSON.stringify(one) ? known.get(one.id) : section(one)));
  const same = next.length === known.size && next.every((element, place) => element === find('sections').children[place]);
  if (!same) find('sections').replaceChildren(...next);
  find('needed').textContent = found.needed;
  find('warning').textContent = found.warning;
  find('warning').hidden = !found.warning;
  find('closed').hidden = !found.closed;
  if (find('close')) find('close').textContent = text(found.closed ? 'reopen' : 'close');
  current = found;
}

async function update(wait = EVERY) {
  const start = performance.now();
  const response = await fetch(`${root}/admin/tasks/${facts.task}/figures?seen=${encodeURIComponent(current.state)}`).catch(() => null);
  const found = response?.status === 200 ? await response.json().catch(() => null) : null;
  if (found) show(found);
  const works = found || response?.status === 204;
  if (works) find('updated').textContent = text('updating');
  else find('updated').textContent = text(response ? 'old_no_answer' : 'old_no_connection');
  // large studies take longer to compute
  const next = works ? Math.max(EVERY, 5 * (performance.now() - start)) : Math.min(wait * 2, SLOWEST);
  setTimeout(() => update(next), document.hidden ? SLOWEST : next);
}

/** Send a change, then do `then`; a failure is shown. */
export async function change(path, body, then) {
  const { status, answer } = await post(path, body);
  if (status === 200) {
    notify('');
    then(answer);
  } else notify(failure(status, answer));
}

export function failure(status, answer) {
  if (status === 0) return text('failed_connection');
  if (isTemporary(status)) return text('failed_server');
  if (answer.error === 'own_invitation') return text('failed_own_invitation');
  if (status === 403 && answer.error === 'not_allowed') return text('failed_role');
  if (status === 401) return text('failed_session');
  if (status === 413) return text('failed_too_large');
  return answer.detail ? text('failed_because', answer) : text('failed');
}

function connectInvitations() {
  find('invite')?.addEventListener('submit', (event) => {
    event.preventDefault();
    const given = Object.fromEntries(new FormData(event.target));
    for (const name of ['number', 'most_people']) if (given[name]) given[name] = Number(given[name]);
    change(event.target.dataset.action, given, ({ links }) => {
      find('links').replaceChildren(...links.map((textContent) => made('li', {}, made('code', { textContent }))));
      find('made').hidden = false;
      find('made').scrollIntoView({ block: 'nearest' });
    });
  });
  find('copy-links')?.addEventListener('click', async () => {
    const all = [...find('links').children].map((one) => one.textContent).join('\n');
    const copied = await navigator.clipboard?.writeText(all).then(() => true, () => false);
    find('copy-links').textContent = text(copied ? 'copied' : 'copying_not_possible');
  });
  find('print-links')?.addEventListener('click', () => print());
  for (const button of document.querySelectorAll('.revoke')) {
    button.addEventListener('click', () => change(`/admin/invitations/${button.dataset.id}/revoke`, {}, () => {
      button.closest('tr').remove();
      notify(text('revoked'));
    }));
  }
}

function connectTask() {
  find('close')?.addEventListener('click', () => change(`/admin/tasks/${facts.task}/close`, { closed: !current.closed }, ({ closed }) => {
    show({ ...current, closed });
  }));
  find('outsiders')?.addEventListener('click', () => change(`/admin/tasks/${facts.task}/outsiders`, {}, ({ number }) => {
    location.assign(`${root}/admin/tasks/${number}`);
  }));
  find('limit')?.addEventListener('submit', (event) => {
    event.preventDefault();
    const entered = [...new FormData(event.target)].filter(([, value]) => value !== '').map(([name, value]) => [name, Number(value)]);
    change(`/admin/tasks/${facts.task}/limit`, Object.fromEntries(entered), () => notify(text('limit_changed')));
  });
  find('forget-confirm').addEventListener('click', async ({ target }) => {
    const { status, answer } = await post(`/admin/people/${target.dataset.id}/forget`);
    const problem = find('forget').querySelector('.problem');
    problem.hidden = status === 200;
    problem.textContent = failure(status, answer);
    if (status === 200) find('forget').close();
  });
  show(facts);
  setTimeout(update, EVERY);
}

connectInvitations();
if (find('sections')) connectTask();
document.documentElement.dataset.ready = '';
