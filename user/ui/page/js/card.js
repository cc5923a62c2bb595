// What the cards of a grid show: a photo with its keywords, or one suggested word.

import { h, bar } from './element.js';

// photos are cards with a photo's keywords, then its suggestions.
export const photos = {
  make: (entry) => h('span', { class: 'word none' }, entry.name || ' '),
  fill: (view) => ({ label: told(view), words: caption(view) }),
};

function caption(view) {
  const yours = view.yours.concat(view.added);
  const sure = view.words.filter((w) => w.mark !== 'reject' && (w.sure || w.mark === 'accept'));
  const maybe = view.words.filter((w) => w.mark === '' && !w.sure && !faint(w));
  const out = yours.slice(0, 3).map((w) => h('span', { class: 'word yours' }, w));
  for (const w of sure.concat(maybe).slice(0, 4 - out.length)) {
    out.push(h('span', { class: `word ${w.sure || w.mark === 'accept' ? 'sure' : 'maybe'}` }, w.mark === 'accept' ? '✓ ' : '', w.word, w.bar ? bar(w.bar) : null));
  }
  if (out.length === 0) out.push(h('span', { class: 'word none' }, view.asked ? 'no suggestions' : 'no keywords'));
  if (view.pending) out.push(h('span', { class: 'word unwritten' }, 'not yet written'));
  return out;
}

function told(view) {
  const parts = [view.name];
  if (view.yours.length) parts.push(`keywords ${view.yours.join(', ')}`);
  const words = view.words.filter((w) => w.mark !== 'reject' && !faint(w));
  if (words.length) parts.push(`suggested ${words.map((w) => (w.percent ? `${w.word} ${w.percent} percent` : w.word)).join(', ')}`);
  if (view.pending) parts.push('not yet written');
  return parts.join('; ');
}

// faint reports whether a suggestion is less than 25 % probable, and so folded.
export const faint = (w) => w.percent > 0 && w.percent < 25 && !w.sure && w.mark === '';

const states = { accept: '✓ accepted', reject: '✕ rejected' };

// ofWord returns cards that show how likely one word is.
export const ofWord = (word) => {
  const find = (view) => view.words.find((w) => w.word === word);
  const draw = (w) => (w
    ? [h('span', { class: `word ${w.sure ? 'sure' : 'maybe'}` }, w.percent ? `${w.percent} %` : w.written ? 'written' : 'suggested', w.bar ? bar(w.bar) : null),
      h('span', { class: `word state ${w.mark}` }, states[w.mark] ?? '')]
    : [h('span', { class: 'word none' }, 'written')]);
  return {
    make: draw,
    mark: (view) => find(view)?.mark,
    fill: (view, entry) => {
      const w = find(view);
      const parts = [view.name, w ? (w.percent ? `${w.percent} percent` : 'suggested') : 'written', w ? states[w.mark]?.slice(2) : ''];
      return { label: parts.filter(Boolean).join('; ') || entry.name, words: draw(w) };
    },
  };
};
