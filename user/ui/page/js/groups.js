// The suggested words, to review all photos of one word at once.

import { h, count } from './element.js';
import { get } from './session.js';
import { refreshPending, pin, writeAll } from './pinned.js';
import { keys } from './keys.js';
import { watch } from './photos.js';

let order = []; // the words as last listed, also after they are decided
const open = new Map(); // photos to decide by word

// beside returns the next word that awaits decisions, continuing with the first after
// the last, or undefined.
export function beside(word, step) {
  const at = order.indexOf(word);
  for (let i = 1; i < order.length; i++) {
    const next = order[(at + step * i + i * order.length) % order.length];
    if (next !== word && open.get(next)) return next;
  }
  return undefined;
}

// load lists the words by their number of likely photos. Unless fresh is set, the order
// for beside stays, so that decisions do not move the next word.
export async function load(prefix = '', fresh = false) {
  const found = await get(`words?prefix=${encodeURIComponent(prefix)}`);
  if (fresh || !order.length) order = [];
  const had = new Set(order);
  for (const g of found.words) {
    open.set(g.word, g.likely + g.maybe);
    if (!had.has(g.word)) order.push(g.word);
  }
  return found;
}

export const address = (word) => `#/words/${encodeURIComponent(word)}`;

export async function groups(main, signal) {
  let found = await load('', true);
  if (signal.aborted) return;
  const told = h('p', { class: 'soft' });
  const list = h('ul', { class: 'groups' });
  const input = h('input', { type: 'search', id: 'only', autocomplete: 'off', autocapitalize: 'off', maxlength: '200' });
  const draw = () => {
    const open = found.words.filter((g) => g.likely + g.maybe > 0);
    const done = found.words.filter((g) => g.likely + g.maybe === 0);
    told.textContent = found.total ? `${count(found.total, 'suggested word')}. Choose one to decide on all its photos.` : '';
    if (found.surveyed < found.of) told.append(` Keywords of ${found.surveyed.toLocaleString('en')} of ${count(found.of, 'photo')} are read so far.`);
    list.replaceChildren(...open.concat(done).map(entry));
    if (!found.total) list.replaceChildren(h('li', { class: 'empty' }, h('h2', {}, input.value ? 'No such word' : 'No suggestions yet'), h('p', { class: 'soft' }, input.value ? 'No suggestion begins like this.' : 'Suggest keywords for your photos first, on the page Photos.')));
  };
  const again = async () => {
    found = await load(input.value.trim(), true);
    if (!signal.aborted) draw();
  };
  let waiting = 0;
  input.addEventListener('input', () => { clearTimeout(waiting); waiting = setTimeout(again, 120); });
  draw();
  main.replaceChildren(
    h('div', { class: 'head' }, h('div', {}, h('h1', {}, 'Review by word'), told),
      h('div', { class: 'acts' }, h('a', { class: 'button quiet', href: '#/vocabulary' }, 'Your vocabulary'))),
    h('form', { class: 'filtering', role: 'search', onsubmit: (e) => e.preventDefault() }, h('span', { class: 'pick' }, h('label', { for: 'only' }, 'Words that begin with'), input)),
    list);
  pin([], signal);
  keys({ w: writeAll }, signal);
  watch((view) => { if (!view) again(); }, signal);
  while (found.surveyed < found.of && !signal.aborted) {
    await new Promise((next) => setTimeout(next, 1500));
    if (signal.aborted) return;
    await refreshPending();
    await again();
  }
}

function entry(g) {
  const n = g.likely + g.maybe;
  const decided = [g.accepted ? `${g.accepted.toLocaleString('en')} accepted` : '', g.rejected ? `${g.rejected.toLocaleString('en')} rejected` : ''].filter(Boolean);
  const parts = [g.likely ? `${g.likely.toLocaleString('en')} likely` : '', g.maybe ? `${g.maybe.toLocaleString('en')} maybe` : '', ...decided].filter(Boolean);
  return h('li', { class: n ? '' : 'done' }, h('a', { href: address(g.word) },
    h('b', {}, g.word), h('span', {}, n ? count(n, 'photo') : g.accepted + g.rejected ? 'decided' : `${count(g.faint, 'photo')} below 25 %`),
    h('small', { class: 'soft' }, parts.join(', ') || ' ')));
}
