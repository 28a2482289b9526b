// One question of the page: reads and shows its answer, and shows what is wrong with it.

import { text } from './page.js';

export class Question {
  constructor(element) {
    this.element = element;
    this.unit = Number(element.dataset.unit);
    this.aspect = element.dataset.aspect;
    this.optional = 'optional' in element.dataset;
    this.isChoice = element.dataset.control === 'choice';
    this.radios = [...element.querySelectorAll('input[type=radio]')];
    this.range = element.querySelector('input[type=range]');
    this.notApplicable = element.querySelector('.na');
    this.reason = element.querySelector('textarea');
    this.clearButton = element.querySelector('.clear');
    this.isSet = false; // of the slider
    this.listen();
  }

  listen() {
    this.element.addEventListener('input', ({ target }) => this.entered(target));
    this.clearButton?.addEventListener('click', () => this.change(() => this.clear()));
    if (!this.range) return;
    this.element.querySelector('.confirm').addEventListener('click', () => {
      this.range.focus(); // the button disappears
      this.confirm();
    });
    this.range.addEventListener('click', () => this.confirm());
    this.range.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' && event.key !== ' ') return;
      event.preventDefault();
      // Ctrl+Enter submits, and a key that is held may have been pressed elsewhere, such as on the button to submit.
      if (!event.repeat && !event.ctrlKey && !event.metaKey && !event.altKey && !event.shiftKey) this.confirm();
    });
  }

  entered(target) {
    if (target === this.notApplicable && target.checked) this.clearValue();
    if (target !== this.notApplicable && target !== this.reason && this.notApplicable) this.notApplicable.checked = false;
    if (target === this.range) this.isSet = true;
    this.show();
  }

  confirm() {
    if (!this.isSet) this.range.dispatchEvent(new Event('input', { bubbles: true }));
  }

  /** Change the answer as if a person had done it. */
  change(work) {
    work();
    this.element.dispatchEvent(new Event('input', { bubbles: true }));
  }

  choose(radio) {
    radio.checked = true;
    radio.dispatchEvent(new Event('input', { bubbles: true }));
  }

  toggleNotApplicable() {
    this.notApplicable.checked = !this.notApplicable.checked;
    this.notApplicable.dispatchEvent(new Event('input', { bubbles: true }));
  }

  get value() {
    if (this.range) return this.isSet ? Number(this.range.value) : null;
    const chosen = this.radios.find((radio) => radio.checked)?.value;
    if (chosen === undefined) return null;
    return this.isChoice ? chosen : Number(chosen);
  }

  get isAnswered() {
    return this.value !== null || Boolean(this.notApplicable?.checked);
  }

  /** The answer as it is sent; null if nothing was entered. */
  get answer() {
    const reason = this.reason?.value ?? '';
    if (!this.isAnswered && !reason) return null;
    const found = { unit: this.unit, aspect: this.aspect };
    if (this.notApplicable?.checked) found.not_applicable = true;
    else if (this.value !== null) found[this.isChoice ? 'choice' : 'value'] = this.value;
    if (reason) found.reason = reason;
    return found;
  }

  set answer(found) {
    this.clear();
    const given = found.value ?? found.choice;
    const radio = this.radios.find((one) => one.value === String(given));
    if (radio) radio.checked = true;
    if (this.range && typeof given === 'number') [this.range.value, this.isSet] = [given, true];
    if (this.notApplicable) this.notApplicable.checked = found.not_applicable === true;
    if (this.reason) this.reason.value = found.reason ?? '';
    this.show();
  }

  clearValue() {
    this.radios.forEach((radio) => { radio.checked = false; });
    if (this.range) [this.range.value, this.isSet] = [this.range.defaultValue, false];
  }

  clear() {
    this.clearValue();
    if (this.notApplicable) this.notApplicable.checked = false;
    this.show();
  }

  show() {
    this.element.classList.toggle('answered', this.isAnswered);
    if (this.clearButton) this.clearButton.hidden = !this.isAnswered;
    if (!this.range) return;
    const { min, max, value } = this.range;
    const slider = this.range.closest('.slider');
    slider.classList.toggle('unset', !this.isSet);
    slider.querySelector('output').textContent = this.isSet ? value : text('not_set');
    slider.querySelector('.confirm').textContent = text('confirm', { value });
    this.range.style.setProperty('--fill', String((value - min) / (max - min)));
    if (this.isSet) this.range.removeAttribute('aria-valuetext');
    else this.range.setAttribute('aria-valuetext', text('not_set'));
  }

  /** Why the answer cannot be submitted, as a key of the texts; empty if it can. */
  get failure() {
    if (this.isAnswered) return '';
    return this.optional && !this.reason?.value.trim() ? '' : 'missing';
  }

  /** Show a problem, or none for an empty reason. */
  set problem(reason) {
    const shown = this.element.querySelector('.problem');
    shown.textContent = reason && text(`problem_${reason}`);
    shown.hidden = !reason;
    this.element.classList.toggle('wrong', Boolean(reason));
    this.range?.setAttribute('aria-invalid', String(Boolean(reason)));
  }

  focus() {
    (this.range ?? this.radios.find((radio) => radio.checked) ?? this.radios[0]).focus();
    this.element.scrollIntoView({ block: 'nearest' });
  }
}
