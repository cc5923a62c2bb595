// Help: the keys, and where what one sees comes from.

import { h } from './element.js';

const rows = [
  ['Left, Right', 'the photo before, the next one'],
  ['Up, Down', 'choose a keyword'],
  ['a', 'accept the keyword'],
  ['r', 'reject it; it will not come again'],
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
    h('p', {}, 'A photo is never sent. The cloud gets an encrypted request and returns encrypted keywords of photos that are near; they are decrypted and ranked here.'),
    h('p', {}, 'Nothing is written before you press Write. What is sure and what you accept or add is then written for your photo program; every write is a run, and can be undone.'),
    h('table', {}, h('caption', { class: 'hidden' }, 'Keys'),
      h('thead', { class: 'hidden' }, h('tr', {}, h('th', { scope: 'col' }, 'Key'), h('th', { scope: 'col' }, 'What it does'))),
      h('tbody', {}, rows.map(([key, what]) =>
        h('tr', {}, h('th', { scope: 'row' }, key.split(', ').map((k) => h('kbd', {}, k))), h('td', {}, what))))),
    h('p', { class: 'acts' }, close));
  dialog.showModal();
  title.focus(); // the beginning, on a small window, too
}
