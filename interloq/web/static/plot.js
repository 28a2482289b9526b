// Step curves from 1 downwards, with bands for their intervals. The table below has the numbers, so it is hidden from
// screen readers.

import { drawn, made } from './elements.js';
import { text } from './page.js';

const [LEFT, TOP, WIDTH, HEIGHT] = [36, 10, 350, 170];
const END = 0.4; // of a turn: how far the last level is drawn
const KINDS = 4; // colours; more curves repeat them with other widths

const kind = (index) => `curve-${index % KINDS} width-${Math.floor(index / KINDS) % KINDS}`;

/** The plot with its legend; `lines` have a name and points [value, low, high] after each turn from 0. */
export function plot(lines) {
  const last = Math.max(1, ...lines.map(({ points }) => points.length - 1));
  const x = (turn) => LEFT + (WIDTH * turn) / (last + END);
  const y = (value) => TOP + HEIGHT * (1 - value);
  const svg = drawn('svg', { class: 'plot', viewBox: '0 0 400 220', 'aria-hidden': 'true' });
  svg.append(...[0, 0.25, 0.5, 0.75, 1].flatMap((value) => level(value, y(value))), ...ticks(last, x));
  svg.append(label(text('reply_of_bot'), LEFT + WIDTH / 2, TOP + HEIGHT + 36, 'middle'));
  if (lines.length <= KINDS) svg.append(...lines.map(({ points }, index) => drawn('polygon', { class: `band ${kind(index)}`, points: band(points, x, y) })));
  svg.append(...lines.map(({ points }, index) => drawn('polyline', { class: `curve ${kind(index)}`, points: steps(points.map(([value]) => value), x, y).join(' ') })));
  return made('div', { className: 'plotted' }, svg, made('ul', { className: 'legend' }, ...lines.map(({ name }, index) => entry(name, index))));
}

/** Corners of a curve that falls at each turn: each value holds until the next one. */
function steps(values, x, y) {
  return values.flatMap((value, turn) => [`${x(turn)},${y(value)}`, `${x(turn + 1 < values.length ? turn + 1 : turn + END)},${y(value)}`]);
}

function band(points, x, y) {
  const [low, high] = [1, 2].map((place) => steps(points.map((point) => point[place]), x, y));
  return [...low, ...high.reverse()].join(' ');
}

function label(content, x, y, anchor) {
  const element = drawn('text', { class: anchor, x, y });
  element.textContent = content;
  return element;
}

function level(value, y) {
  const line = drawn('line', { class: 'scale-line', x1: LEFT, x2: LEFT + WIDTH, y1: y, y2: y });
  return [line, label(String(value), LEFT - 6, y + 4, 'end')];
}

function ticks(last, x) {
  const step = Math.ceil(last / 10);
  const turns = Array.from({ length: Math.floor(last / step) + 1 }, (_, place) => place * step);
  return turns.map((turn) => label(String(turn), x(turn), TOP + HEIGHT + 18, 'middle'));
}

function entry(name, index) {
  const svg = drawn('svg', { class: 'plot swatch', viewBox: '0 0 32 12', 'aria-hidden': 'true' });
  svg.append(drawn('line', { class: `curve ${kind(index)}`, x1: 0, x2: 32, y1: 6, y2: 6 }));
  return made('li', {}, svg, made('span', { textContent: name, dir: 'auto' }));
}
