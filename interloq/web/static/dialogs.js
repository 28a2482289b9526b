// Dialogs: help, and withdrawal with a question first.

import { stopKeeping } from './kept.js';
import { find, isTemporary, later, post, proceed, text } from './page.js';
import * as store from './store.js';

export function connect(stopWork = () => {}) {
  find('open-help')?.addEventListener('click', () => find('help').showModal());
  find('open-withdraw').addEventListener('click', () => find('withdraw').showModal());
  find('withdraw-confirm').addEventListener('click', () => withdraw(stopWork));
}

async function withdraw(stopWork) {
  stopWork();
  const { status } = await post('/withdraw');
  if (status === 200) {
    store.remove(...store.names());
    await stopKeeping();
    proceed();
    return;
  }
  const problem = find('withdraw').querySelector('.problem');
  problem.textContent = isTemporary(status) ? later('withdraw_failed', status) : text('notice_reload');
  problem.hidden = false;
}
