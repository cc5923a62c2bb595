// Help: the keys, and the origin of the keywords.

import { h } from './element.js';

const rows = [
  ['Left, Right', 'previous photo, next photo'],
  ['Up, Down', 'choose a keyword'],
  ['a', 'accept the keyword'],
  ['r', 'reject it for good'],
  ['n', 'add a keyword of your own'],
  ['s', 'suggest keywords for this photo'],
  ['w', 'write'],
  ['/', 'search'],
  ['Esc', 'back to all photos'],
  ['?', 'this help'],
];

export function help() {
  const dialog = document.getElementById('help');
  if (dialog.open) return;
  const close = h('button', { type: 'button', class: 'main', onclick: () => dialog.close() }, 'Close');
  const title = h('h2', { id: 'help-title', tabindex: '-1' }, 'Help');
  dialog.replaceChildren(
    title,
    h('p', {}, 'Your photos are never sent. The cloud receives an encrypted request and returns the encrypted keywords of similar photos, which are decrypted and ranked here.'),
    h('p', {}, 'Nothing is written until you press Write. Write saves the sure keywords and those you accepted or added, for your photo program. Every write is a run, which you can undo.'),
    h('table', {}, h('caption', { class: 'hidden' }, 'Keys'),
      h('thead', { class: 'hidden' }, h('tr', {}, h('th', { scope: 'col' }, 'Key'), h('th', { scope: 'col' }, 'What it does'))),
      h('tbody', {}, rows.map(([key, what]) =>
        h('tr', {}, h('th', { scope: 'row' }, key.split(', ').map((k) => h('kbd', {}, k))), h('td', {}, what))))),
    h('p', { class: 'acts' }, close));
  dialog.showModal();
  title.focus(); // scrolls to the top in a small window
}
