import { find, isTemporary, later, notify, post, proceed, text } from './page.js';

find('agree').addEventListener('click', async () => {
  const { status } = await post('/consent');
  if (status === 200) proceed();
  else notify(isTemporary(status) ? later('action_failed', status) : text('notice_reload'), { name: text('reload'), run: proceed });
});
find('disagree').addEventListener('click', () => notify(text('disagreed')));
