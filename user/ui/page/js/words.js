// The keywords of one photo: its own, sure suggestions, possible ones, and the decision.

import { h, icon, bar } from './element.js';
import { say } from './say.js';
import { faint } from './card.js';
import { completing } from './complete.js';
import { get } from './session.js';

export function words(decide, signal) {
  let limit = 0, right = 0; // of likely keywords
  let unfolded = false;
  get('settings').then((s) => { ({ threshold: limit, right } = s); if (root) explain(); }).catch(() => {});
  let view;
  const likely = h('small', {});
  let chosen = null; // the word selected for keys
  let root = null;
  let focused = null;

  function draw(v, asking) {
    const first = view?.id !== v.id;
    const inside = root?.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    view = v;
    if (!v.words.some((w) => w.word === chosen)) chosen = (v.words.find((w) => w.mark === '' && !faint(w)) ?? v.words[0])?.word ?? null;
    const sure = v.words.filter((w) => w.sure);
    const maybe = v.words.filter((w) => !w.sure && !faint(w));
    const folded = v.words.filter(faint);
    const next = h('div', { class: 'keywords' },
      v.yours.length + v.added.length ? group('Yours', 'yours', h('ul', { class: 'chips' },
        v.yours.map((w) => h('li', {}, w)), v.added.map(own))) : null,
      sure.length ? group('Likely', 'sure', h('ul', { class: 'rows' }, sure.map(row)), likely) : null,
      maybe.length ? group('Maybe', 'maybe', h('ul', { class: 'rows' }, maybe.map(row)), `${v.own ? 'from the network\'s own vocabulary, not from your photos; ' : ''}written only if you accept it`) : null,
      folded.length ? h('details', { class: 'group folded', open: unfolded, ontoggle: (e) => { unfolded = e.target.open; } },
        h('summary', {}, `${folded.length} less likely, below 25 %`), h('ul', { class: 'rows' }, folded.map(row))) : null,
      v.asked && !v.words.length ? h('p', { class: 'soft' }, 'No keyword is likely enough to suggest.') : null,
      !v.asked && !v.words.length && !asking ? h('p', { class: 'soft' }, 'No request yet.') : null,
      adding());
    const typed = root?.querySelector('input')?.value;
    root = next;
    if (typed && !first) next.querySelector('input').value = typed;
    focused = inside;
    return next;
  }

  // explain describes which keywords count as likely.
  function explain() {
    likely.textContent = limit ? ` at least ${limit} % probable${right ? `, so that ${right} % of them are right` : ''}: what cpar annotate --write writes` : '';
  }
  const all = () => view.words.filter((w) => unfolded || !faint(w)).map((w) => w.word);

  // settle restores the focus synchronously after a redraw, before the user can move it.
  function settle() {
    if (focused) root.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
    focused = null;
  }

  function group(title, kind, list, note) {
    const id = `words-${kind}`;
    return h('section', { class: `group ${kind}`, 'aria-labelledby': id },
      h('h2', { id }, title, note instanceof Node ? note : note ? h('small', {}, ' ', note) : null), list);
  }

  function row(w) {
    const told = w.percent ? `${w.percent} %` : '';
    const press = (mark, name) => h('button', {
      type: 'button', class: `act ${mark}`, 'aria-pressed': String(w.mark === mark), 'aria-label': `${name} ${w.word}`,
      'data-key': `${mark} ${w.word}`, title: name, onclick: () => { chosen = w.word; put(w, mark); },
    }, icon(mark));
    return h('li', { class: `row ${w.mark} ${w.word === chosen ? 'chosen' : ''}`, tabindex: '-1', 'data-key': `row ${w.word}`, 'data-word': w.word,
      onclick: () => choose(w.word) },
    h('span', { class: 'name' }, w.word, state(w)),
    h('span', { class: 'figure' }, told),
    w.bar ? bar(w.bar, w.sure ? 'sure' : 'maybe') : null,
    h('span', { class: 'pair' }, press('accept', 'Accept'), press('reject', 'Reject')));
  }

  const state = (w) => {
    const text = { accept: 'accepted', reject: 'rejected' }[w.mark] ?? (w.written ? 'written' : '');
    return text ? h('small', {}, ' ', text) : null;
  };

  // own is an added, unwritten keyword.
  const own = (word) => h('li', { class: 'new' }, word, h('button', {
    type: 'button', class: 'act', 'aria-label': `Remove ${word}`, 'data-key': `own ${word}`,
    onclick: () => decide(word, '').then((ok) => ok && say(`${word} removed`)),
  }, icon('reject')));

  function adding() {
    const input = h('input', { type: 'text', id: 'add', maxlength: '200', autocomplete: 'off', autocapitalize: 'off', 'data-key': 'add', enterkeyhint: 'done' });
    const form = h('form', { class: 'adding', onsubmit: async (e) => {
      e.preventDefault();
      const word = input.value.trim();
      if (word && await decide(word, 'add')) {
        root.querySelector('#add').value = '';
        say(`Added ${word}`);
      }
    } }, h('label', { for: 'add' }, 'Add a keyword'), h('span', { class: 'field' }, input, completing(input, signal), h('button', { type: 'submit', class: 'quiet' }, 'Add')));
    input.addEventListener('keydown', (e) => {
      if (e.key === 'Escape') { e.stopPropagation(); input.blur(); }
    });
    return form;
  }

  function choose(word) {
    chosen = word;
    for (const li of root.querySelectorAll('.row')) li.classList.toggle('chosen', li.dataset.word === word);
  }

  // move selects another word and announces it.
  function move(by) {
    const words = all();
    if (!words.length) return;
    choose(words[Math.min(words.length - 1, Math.max(0, words.indexOf(chosen) + by))]);
    follow();
  }

  // follow moves the focus to the chosen word.
  function follow() {
    const li = root.querySelector('.chosen');
    li?.focus({ preventScroll: true });
    li?.scrollIntoView({ block: 'nearest' });
  }

  async function put(w, mark) {
    const now = w.mark === mark ? '' : mark;
    if (await decide(w.word, now)) {
      say(`${w.word}: ${{ accept: 'accepted', reject: 'rejected', '': 'undecided' }[now]}`);
    }
  }

  // act decides on the selected word and moves to the next undecided one.
  async function act(mark) {
    const w = view.words.find((x) => x.word === chosen);
    if (!w) return;
    await put(w, mark);
    const at = view.words.findIndex((x) => x.word === chosen);
    const open = view.words.slice(at + 1).find((x) => x.mark === '' && (unfolded || !faint(x)));
    if (open) choose(open.word);
    follow();
  }

  return { draw, settle, move, act, add: () => root.querySelector('#add').focus() };
}
