// What the album holds, and what its server sees.

import { h, count, size } from './element.js';
import { get } from './session.js';

export async function albumfacts(main, signal) {
  const all = await get('settings');
  if (signal.aborted) return;
  const fact = (name, value, note = '') => h('div', {}, h('dt', {}, name), h('dd', {}, value, note ? h('small', { class: 'soft' }, note) : null));
  main.replaceChildren(
    h('div', { class: 'head' }, h('h1', {}, 'Album')),
    h('div', { class: 'sheets' },
      h('section', { class: 'facts' }, h('h2', {}, 'Contents'), h('dl', {},
        fact('Photos', `${count(all.photos, 'photo')}, ${size(all.bytes)}`),
        fact('Trash', `${count(all.trash, 'photo')}, ${size(all.trash_bytes)}`),
        fact('At the server', `${size(all.stored_bytes)} in ${count(all.blobs, 'blob')}`, 'with thumbnails'),
        fact('Catalogue', size(all.catalogue_bytes), 'on this device and, encrypted, at the server'),
        fact('Server', all.cloud),
        fact('Generation', all.generation.toLocaleString('en')))),
      h('section', { class: 'facts', id: 'sees' }, h('h2', {}, 'What the server sees'), h('dl', { class: 'long' },
        all.parts.map((p) => h('div', {}, h('dt', {}, p.what), h('dd', {}, p.learns)))))));
}
