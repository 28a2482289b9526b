import { connect } from './dialogs.js';
import { stopKeeping } from './kept.js';
import { sendOthers } from './outbox.js';
import { find, proceed, text } from './page.js';

connect();
stopKeeping();
sendOthers(null).then((stored) => stored && proceed());

find('copy')?.addEventListener('click', async ({ target }) => {
  getSelection().selectAllChildren(find('code')); // for browsers that do not let pages copy
  try {
    await navigator.clipboard.writeText(find('code').textContent);
    target.textContent = text('copied');
  } catch { /* it is selected */ }
});
