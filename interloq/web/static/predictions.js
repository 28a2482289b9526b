// Predictions for the candidates of an item, and for a text that is being written. gauge.js draws them.

import * as gauge from './gauge.js';
import { facts, find, post, proceed, Retry, text } from './page.js';

const SOON = 300; // milliseconds after the last key, before a text is predicted
const PATIENCE = 120_000; // milliseconds: the model may have to be loaded first

export class Predictions {
  /**
   * `view` gives the state that the page shows and, while a text is being written, the text and why it cannot be used;
   * `changed` is called after predictions were shown.
   */
  constructor(view, changed) {
    this.view = view;
    this.changed = changed;
    this.offer = null; // for the candidates of this state
    this.attempt = null; // for the text that is being written
    this.timer = 0;
    this.retry = new Retry(() => this.ask());
  }

  /** Ask for the predictions of this state; they are dropped if it has changed meanwhile. */
  async ask() {
    const { place } = this.view().state;
    this.offer = null;
    this.show();
    const { status, answer } = await this.request('offer', { place });
    if (place !== this.view().state.place) return;
    if (status === 200 && answer.place === place) {
      this.retry.stop();
      this.offer = answer;
      this.show();
    } else if (status === 200) proceed(); // it went on in another tab
    else {
      this.showNone();
      this.retry.later();
    }
  }

  request(name, body) {
    const options = { signal: AbortSignal.timeout(PATIENCE) };
    return post(`/api/references/${name}`, { assignment: facts.assignment, ...body }, options);
  }

  /** Predict the text that is being written. */
  async tryText() {
    const { state, written } = this.view();
    const { status, answer } = await this.request('attempt', { place: state.place, text: written.text });
    if (this.view().written?.text !== written.text) return;
    if (status === 200) {
      this.attempt = answer.after;
      this.show();
    } else this.showNone();
  }

  tryTextSoon() {
    this.dropText();
    if (!this.view().written.why) this.timer = setTimeout(() => this.tryText(), SOON);
  }

  dropText() {
    clearTimeout(this.timer);
    this.attempt = null;
  }

  // ---- showing ------------------------------------------------------------------------------------------------------

  show() {
    const { written } = this.view();
    const after = written?.isChanged ? this.attempt : this.offer?.with_each[0];
    find('after-name').textContent = text(written ? 'ref_after_text' : 'ref_after');
    gauge.show(this.offer?.before, after);
    if (this.offer && !this.offer.before) find('before').textContent = text('ref_no_before');
    if (!this.offer) find('before').textContent = text('ref_predicting');
    if (!after) find('after').textContent = written?.why ? '–' : text('ref_predicting');
    this.showBest();
    this.changed();
  }

  showNone() {
    find('after').textContent = text('ref_no_prediction');
  }

  showBest() {
    const { state, written } = this.view();
    const best = this.offer?.best;
    const change = best >= 0 ? gauge.change(this.offer.before, this.offer.with_each[best]) : null;
    const helps = change === null || change > 0;
    find('is-best').hidden = best !== 0 || !helps || Boolean(written);
    find('best').hidden = !(best > 0) || Boolean(written);
    if (best > 0) {
      find('best-tag').textContent = text(helps ? 'ref_best' : 'ref_least_bad');
      find('best-text').textContent = state.candidates[best].text;
      find('best-after').textContent = this.effect(best);
    }
    [...find('others-list').children].forEach((entry, index) => {
      entry.querySelector('.quiet').textContent = this.offer ? this.effect(index + 1) : '';
    });
  }

  effect(place) {
    return text('ref_with', { after: gauge.numbers(this.offer.before, this.offer.with_each[place]) });
  }
}
