// Service worker: keeps the page of the current item, so that a reload without a connection shows it again. Only pages
// of annotators are kept, one at a time, and only while the person who opened it uses this browser.

const PAGE = 'interloq-page'; // names of caches; kept.js has the same
const FILES = 'interloq-files';
const ROOT = new URL('./', location).pathname;
const OFFLINE = `${ROOT}offline`;
let changes = 0; // of the person, or of what they may see
let isStopped = false; // the page is removing this worker, but the browser still asks for files, such as the icon

async function forget() {
  changes += 1;
  await caches.delete(PAGE);
}

/** Whether a gateway has no connection to the server, or the server cannot answer at the moment. */
const isDown = ({ status }) => status >= 502 && status <= 504;

// ---- the page -------------------------------------------------------------------------------------------------------

async function page(event) {
  const before = changes;
  const response = await fetch(event.request).catch(() => null);
  if (response && !isDown(response)) {
    event.waitUntil(update(response.clone(), before));
    return response;
  }
  const found = await (await caches.open(PAGE)).match(ROOT);
  if (found) return found;
  const ours = response?.headers.has('Retry-After'); // a page of the server that says what to do
  return ours ? response : (await caches.match(OFFLINE)) ?? Response.error();
}

async function update(response, before) {
  if (response.status === 429 || response.status >= 500) return;
  if (response.status === 200) await keep(response, before);
  else await forget();
  if (response.status === 401) await self.registration.unregister();
}

/** Keep a page that says it may be kept, unless the person changed while it was loaded. */
async function keep(response, before) {
  const html = await response.text();
  const marked = html.replace(' data-keep>', ' data-kept>');
  if (marked === html) await forget();
  else if (before === changes && !isStopped) {
    const headers = new Headers(response.headers); // with its Content-Security-Policy
    ['Content-Encoding', 'Content-Length'].forEach((name) => headers.delete(name));
    await (await caches.open(PAGE)).put(ROOT, new Response(marked, { headers }));
  }
}

/** An invitation starts a session of somebody, perhaps of somebody else: before and after it, nothing is kept. */
async function join(request) {
  await forget();
  try {
    return await fetch(request);
  } finally {
    await forget();
  }
}

// ---- scripts and styles ---------------------------------------------------------------------------------------------

async function file(request) {
  const response = await fetch(request).catch(() => null);
  if (!response || isDown(response)) return (await caches.match(request, { cacheName: FILES })) ?? Response.error();
  if (response.status === 200 && !isStopped) await keepFile(request, response.clone());
  return response;
}

async function keepFile(request, response) {
  try {
    await (await caches.open(FILES)).put(request, response);
  } catch { /* the disk may be full */ }
}

// ---- events ---------------------------------------------------------------------------------------------------------

async function start() {
  await forget(); // of an earlier worker
  await (await caches.open(FILES)).addAll([OFFLINE, `${ROOT}static/offline.js`]);
  await self.skipWaiting();
}

addEventListener('install', (event) => event.waitUntil(start()));
addEventListener('activate', (event) => event.waitUntil(clients.claim()));
addEventListener('message', ({ ports: [port] }) => { // from stopKeeping
  isStopped = true;
  port.postMessage('stopped');
});
addEventListener('fetch', (event) => {
  const { origin, pathname } = new URL(event.request.url);
  if (origin !== location.origin || event.request.method !== 'GET') return;
  if (pathname === ROOT) event.respondWith(page(event));
  else if (pathname.startsWith(`${ROOT}join/`)) event.respondWith(join(event.request));
  else if (pathname.startsWith(`${ROOT}static/`) && !pathname.startsWith(`${ROOT}static/admin`)) event.respondWith(file(event.request));
});
