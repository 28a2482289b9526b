// A small gauge from −1 to 1 with predictions before and after, and the same as text.

import { made } from './elements.js';
import { find, text } from './page.js';

const place = (value) => 200 + 180 * Math.max(-1, Math.min(1, value));

/** A number with a sign that is easy to see, without digits that mean nothing. */
const number = (value) => value.toFixed(3).replace(/^-0\.000$/, '0.000').replace('-', '−');

const signed = (value) => (value >= 0.0005 ? `+${number(value)}` : number(value));

/** How much a prediction changes; null if either is missing. */
export const change = (before, after) => (before && after ? after.mean - before.mean : null);

/** A prediction with its change. */
export function numbers(before, after) {
  if (!after) return '–';
  return before ? `${number(after.mean)} (${signed(change(before, after))})` : number(after.mean);
}

/** Draw two predictions; either may be missing. */
export function show(before, after) {
  move('gauge-before', before);
  move('gauge-after', after);
  line('gauge-reach', after && after.low !== null ? [after.low, after.high] : null);
  line('gauge-change', before && after ? [before.mean, after.mean] : null);
  const difference = change(before, after);
  find('gauge-change').classList.toggle('worse', difference < 0);
  if (before) find('before').textContent = described(before);
  if (after) find('after').replaceChildren(described(after), ...(before ? [' ', changed(difference)] : []));
}

function described(found) {
  const bounds = found.low === null ? '' : ` ${text('ref_interval', { low: number(found.low), high: number(found.high) })}`;
  return number(found.mean) + bounds;
}

function changed(difference) {
  return made('b', { className: difference < -0.0005 ? 'worse' : 'better', textContent: signed(difference) });
}

function move(id, found) {
  find(id).classList.toggle('absent', !found);
  if (found) find(id).setAttribute('cx', place(found.mean));
}

function line(id, ends) {
  find(id).classList.toggle('absent', !ends);
  if (!ends) return;
  find(id).setAttribute('x1', place(ends[0]));
  find(id).setAttribute('x2', place(ends[1]));
}
