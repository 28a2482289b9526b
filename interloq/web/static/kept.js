// The page as the service worker keeps it, see worker.js. Browsers have service workers only over https and on localhost.

export const root = document.documentElement.dataset.root; // path of the pages, empty unless a reverse proxy has others
const PAGE = 'interloq-page'; // names of caches, as in worker.js
const FILES = 'interloq-files';

/** Whether this page was shown from what is kept, because there is no connection. */
export const isKept = 'kept' in document.documentElement.dataset;

/** Keep this page and the next ones. The first page was loaded before there was a worker, so it is loaded again. */
export async function keepPages() {
  try {
    const { serviceWorker } = navigator;
    const claimed = new Promise((resolve) => { serviceWorker.addEventListener('controllerchange', resolve, { once: true }); });
    await serviceWorker.register(`${root}/worker.js`);
    if (serviceWorker.controller) return;
    await claimed;
    const files = performance.getEntriesByType('resource').map(({ name }) => name).filter((name) => name.includes('/static/'));
    await Promise.all(files.map((path) => fetch(path)));
    await fetch(location.pathname); // last, because it is of no use without its files
  } catch { /* the browser keeps no pages */ }
}

/** The kept page is out of date. */
export async function dropPage() {
  try {
    await caches.delete(PAGE);
  } catch { /* nothing is kept */ }
}

/** Let the worker keep nothing more. One of an earlier version does not answer. */
function stopWorker(worker) {
  const { port1, port2 } = new MessageChannel();
  const answered = new Promise((resolve) => { port1.onmessage = resolve; });
  worker.postMessage('stop', [port2]);
  return Promise.race([answered, new Promise((resolve) => { setTimeout(resolve, 1000); })]);
}

/** Remove the worker and everything that it keeps; it must stop first, or files still being loaded are kept afterwards. */
export async function stopKeeping() {
  try {
    if (document.readyState !== 'complete') await new Promise((resolve) => { addEventListener('load', resolve, { once: true }); });
    const found = await navigator.serviceWorker.getRegistration();
    if (found?.active) await stopWorker(found.active);
    await found?.unregister();
    await Promise.all([PAGE, FILES].map((name) => caches.delete(name)));
  } catch { /* nothing is kept */ }
}
