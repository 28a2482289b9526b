// A draft: kept in this browser at once and on the server soon after. The larger revision is the newer one.

import { isTemporary, post, Retry } from './page.js';
import * as store from './store.js';

const SOON = 400; // milliseconds after the last change

export class Draft {
  /** `show` is called with the state: saving, saved, kept_here (and why, as a status), no_storage, or the status of a refusal. */
  constructor(assignment, show) {
    this.assignment = assignment;
    this.name = `draft/${assignment}`;
    this.show = show;
    this.revision = 0;
    this.sent = 0;
    this.body = null;
    this.timer = 0;
    this.busy = false;
    this.retry = new Retry(() => this.send());
    addEventListener('pagehide', () => this.leave());
    document.addEventListener('visibilitychange', () => document.hidden && this.leave());
  }

  /** The newer one of the drafts on the server and in this browser; null if there is none. */
  restore(revision, body) {
    const local = store.read(this.name);
    const here = local !== null && (local.revision > revision || (local.revision === revision && local.body.time > body?.time));
    [this.revision, this.body] = here ? [local.revision, local.body] : [revision, body];
    this.sent = revision;
    if (this.revision > this.sent) this.soon();
    return this.body?.answers ?? null;
  }

  keep(answers) {
    this.revision += 1;
    this.body = { answers, time: Date.now() };
    if (!this.write()) this.show('no_storage');
    this.soon();
  }

  write() {
    return store.write(this.name, { revision: this.revision, body: this.body });
  }

  soon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.send(), SOON);
  }

  async send(options = {}) {
    clearTimeout(this.timer);
    if (this.busy || this.revision <= this.sent) return;
    const revision = this.revision;
    this.busy = true;
    this.show('saving');
    const { status, answer } = await post('/api/draft', { assignment: this.assignment, revision, body: this.body }, options);
    this.busy = false;
    if (status === 200) this.stored(revision, answer.revision);
    else if (isTemporary(status)) this.failed(status);
    else this.show(status);
  }

  stored(revision, kept) {
    this.retry.stop();
    this.sent = kept;
    if (kept > revision) { // saved from another device meanwhile: what is typed here now is newer
      this.revision = kept + 1;
      this.write();
    }
    if (this.revision > this.sent) this.soon();
    else this.show('saved');
  }

  failed(status) {
    this.show('kept_here', status);
    this.retry.later();
  }

  /** The page may be closed now. */
  leave() {
    if (this.timer) this.send({ keepalive: true });
  }

  /** The answers are on their way: nothing of the draft is sent any more. */
  stop() {
    clearTimeout(this.timer);
    this.timer = 0;
    this.retry.stop();
    this.sent = this.revision;
  }
}
