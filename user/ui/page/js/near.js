// The nearest photos of the collection, whose keywords were counted. The photos
// themselves may be on another machine.

import { h, bar } from './element.js';
import { show } from './session.js';

export function near(view, signal) {
  const title = h('h2', { id: 'near-title' }, 'Where these keywords come from');
  if (view.own && view.asked) {
    return h('section', { class: 'near', 'aria-labelledby': 'near-title' }, title,
      h('p', { class: 'soft' }, 'The image network knows these words. They were not learnt from your photos.'));
  }
  if (!view.near.length) {
    return h('section', { class: 'near', 'aria-labelledby': 'near-title' }, title,
      h('p', { class: 'soft' }, view.asked ? 'The nearest photos were not stored.' : 'No request yet.'));
  }
  const counted = new Set(view.words.map((w) => w.word));
  return h('section', { class: 'near', 'aria-labelledby': 'near-title' }, title,
    h('p', { class: 'soft' }, `The ${view.near.length} photos of your collection that are nearest, found among ciphertexts. A longer bar is nearer.`),
    h('ol', {}, view.near.map((n, i) => h('li', {},
      n.photo ? thumbnail(n, signal) : h('span', { class: 'rank', 'aria-hidden': 'true' }, String(i + 1)),
      h('span', { class: 'given' }, n.keywords.length
        ? n.keywords.map((w, j) => [j ? ', ' : '', counted.has(w) ? h('b', {}, w) : w])
        : 'no keywords'),
      bar(n.bar, 'nearness'),
      h('span', { class: 'figure' }, h('span', { class: 'hidden' }, 'distance '), n.distance.toFixed(2))))));
}

// thumbnail shows a neighbour that is below the opened folders.
function thumbnail(n, signal) {
  const img = h('img', { alt: '' });
  show(img, n.photo, 'small', signal).then(() => img.classList.add('there')).catch(() => {});
  return h('a', { class: 'rank', href: `#/photo/${n.photo}`, 'aria-label': `Open the photo ${n.name}` }, img);
}
