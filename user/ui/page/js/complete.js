// Completes words that the user types from the user's own keywords.

import { h } from './element.js';
import { get } from './session.js';

let made = 0;

// completing returns the list of words that an input offers.
export function completing(input, signal) {
  const list = h('datalist', { id: `words-${++made}` });
  input.setAttribute('list', list.id);
  let waiting = 0, asked = null;
  input.addEventListener('input', () => {
    clearTimeout(waiting);
    const prefix = input.value.trim();
    if (!prefix || prefix === asked) return;
    waiting = setTimeout(async () => {
      asked = prefix;
      const { words } = await get(`complete?prefix=${encodeURIComponent(prefix)}`).catch(() => ({ words: [] }));
      if (asked === prefix) list.replaceChildren(...words.map((w) => h('option', { value: w })));
    }, 60);
  }, { signal });
  return list;
}
