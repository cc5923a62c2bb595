// Search among annotated photos by keyword.

import { h, count, failed } from './element.js';
import { get } from './session.js';
import { Fixed } from './source.js';
import { grid } from './grid.js';
import { photos } from './card.js';
import { completing } from './complete.js';
import { say } from './say.js';

export async function search(main, signal, asked) {
  const word = asked ? decodeURIComponent(asked) : '';
  const input = h('input', { type: 'search', id: 'word', value: word, maxlength: '200', autocomplete: 'off', autocapitalize: 'off', enterkeyhint: 'search' });
  const results = h('div', { class: 'results' });
  main.replaceChildren(
    h('div', { class: 'head' }, h('h1', {}, 'Search')),
    h('form', { class: 'searching', role: 'search', onsubmit: (e) => {
      e.preventDefault();
      const hash = `#/search/${encodeURIComponent(input.value.trim())}`;
      if (hash === location.hash) find(input.value.trim());
      else location.hash = hash;
    } }, h('label', { for: 'word' }, 'Keyword'), h('span', { class: 'field' }, input, completing(input, signal), h('button', { type: 'submit', class: 'main' }, 'Search'))),
    results);
  if (!word) results.append(h('p', { class: 'soft' }, 'Finds photos with a keyword that you or cpar wrote.'));

  async function find(w) {
    try {
      const found = await get(`find?word=${encodeURIComponent(w)}`);
      if (signal.aborted) return;
      const told = found.ids.length ? `${count(found.ids.length, 'photo')} with ${w}` : `No photo with ${w}`;
      say(told);
      const g = grid(new Fixed(found.ids), { card: photos, signal });
      results.replaceChildren(h('h2', {}, told),
        found.elsewhere ? h('p', { class: 'soft' }, `${count(found.elsewhere, 'photo')} outside the open folders`) : '',
        found.ids.length ? g.wall : '');
      g.measure();
      g.again();
    } catch (e) {
      if (!signal.aborted) results.replaceChildren(failed(e));
    }
  }
  if (word) await find(word);
  else input.focus();
}
