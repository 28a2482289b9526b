// Entries of the lists of references and of other candidates.

import { made } from './elements.js';
import { text } from './page.js';

/** A reference or a candidate, with a tag if it was added. */
export function entry(reference) {
  const element = made('li', {}, made('span', { className: 'text', dir: 'auto', textContent: reference.text }));
  const tag = text(reference.edited ? 'ref_edited' : 'ref_added');
  if (reference.added) element.append(' ', made('span', { className: 'tag', textContent: tag }));
  return element;
}

/** A candidate with an empty place for its prediction, and a button that calls `choose`. */
export function choice(candidate, choose) {
  const button = made('button', { type: 'button', className: 'plain', textContent: text('ref_choose') });
  button.setAttribute('aria-label', `${text('ref_choose')}: ${candidate.text}`);
  button.addEventListener('click', choose);
  const element = entry(candidate);
  element.append(made('div', { className: 'row' }, made('span', { className: 'quiet' }), button));
  return element;
}
