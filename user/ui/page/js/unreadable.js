// The files that the page does not show or could not read, and the reasons.

import { h, count } from './element.js';
import { get } from './session.js';

export async function unreadable(main, signal) {
  const found = await get('unreadable');
  if (signal.aborted) return;
  main.replaceChildren(
    h('p', { class: 'path' }, h('a', { href: '#/' }, 'All photos')),
    h('div', { class: 'head' }, h('div', {}, h('h1', {}, 'Files left out'),
      h('p', { class: 'soft' }, found.total ? `${count(found.total, 'file')} below your folders could not be read or are no photos.` : 'Every file below your folders is a photo that can be read.'))),
    found.files.length ? h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Files left out' }, h('table', { class: 'plain' },
      h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'File'), h('th', { scope: 'col' }, 'Reason'))),
      h('tbody', {}, found.files.map((f) => h('tr', {}, h('th', { scope: 'row' }, f.name), h('td', {}, f.reason)))))) : '',
    found.total > found.files.length ? h('p', { class: 'soft' }, `and ${(found.total - found.files.length).toLocaleString('en')} more`) : '');
}
