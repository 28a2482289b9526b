// What is kept in this browser, apart for each person. A browser may refuse to keep anything.

import { owner } from './page.js';

const PREFIX = `interloq/${owner}/`;

export function read(name) {
  try {
    return JSON.parse(localStorage.getItem(PREFIX + name));
  } catch {
    return null;
  }
}

/** Whether the value could be kept. */
export function write(name, value) {
  try {
    localStorage.setItem(PREFIX + name, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}

export function remove(...names) {
  try {
    names.forEach((name) => localStorage.removeItem(PREFIX + name));
  } catch { /* nothing is kept */ }
}

/** Names that start with `start`. */
export function names(start = '') {
  try {
    return Object.keys(localStorage)
      .filter((key) => key.startsWith(PREFIX + start))
      .map((key) => key.slice(PREFIX.length));
  } catch {
    return [];
  }
}
