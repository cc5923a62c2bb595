// Help: the keys, and the origin of the keywords.

import { h } from './element.js';

const albumTables = [
  ['Everywhere', [
    ['/', 'search'],
    ['Enter', 'in the search: with an index, also ask the server for photos that look like the words'],
    ['u', 'undo the last change of keywords'],
    ['?', 'this help'],
  ]],
  ['Photos', [
    ['Enter', 'open the photo'],
    ['Space', 'select the photo. Its tick, Ctrl and a click, dragging and a long touch select too, and Shift extends'],
    ['x', 'begin or end selecting'],
    ['e', 'edit the keywords of the selected photos'],
  ]],
  ['One photo', [
    ['Left, Right', 'newer photo, older photo'],
    ['+, -, 0', 'larger, smaller, whole photo'],
    ['i', 'facts and keywords'],
    ['n', 'add a keyword'],
    ['l', 'with an index: photos like this one'],
    ['s', 'save the original'],
    ['Esc', 'back'],
  ]],
];

const tables = [
  ['Everywhere', [
    ['w', 'write, and go on to the next photo or word'],
    ['u', 'undo the last action'],
    ['/', 'search'],
    ['Esc', 'back'],
    ['?', 'this help'],
  ]],
  ['One photo', [
    ['Left, Right', 'previous photo, next photo'],
    ['Up, Down', 'choose a keyword'],
    ['a', 'accept the keyword'],
    ['r', 'reject it for good'],
    ['n', 'add a keyword of your own'],
    ['s', 'suggest keywords for this photo'],
  ]],
  ['One word', [
    ['Space', 'select the photo. Clicking and dragging select too, and Shift extends'],
    ['a', 'accept the selected photos, or all'],
    ['e', 'accept all except the selected'],
    ['r', 'reject the selected photos, or all'],
    ['l', 'accept the likely ones'],
    ['n, p', 'next word, previous word'],
    ['Enter', 'open the photo'],
  ]],
];

export function help() {
  const album = document.documentElement.dataset.mode === 'album';
  const dialog = document.getElementById('help');
  if (dialog.open) return;
  const close = h('button', { type: 'button', class: 'main', onclick: () => dialog.close() }, 'Close');
  const title = h('h2', { id: 'help-title', tabindex: '-1' }, 'Help');
  dialog.replaceChildren(
    title,
    ...(album ? [h('p', {}, 'The album is encrypted at the server. Searches for keywords run on this device, and the server sees nothing of them. A search for what looks like words or a photo asks the server, which sees when, but neither the words or the photo nor what is found. It also sees which part of thumbnails is fetched when you first look at a month, and which bytes are read when you open or save an original.'),
      h('p', {}, 'Type keywords, dates such as 2023..2024-05, camera:canon, folder:photos/sea, “or”, and “-” before what to leave out. Changed keywords are in the album at once, not in the files.')] : [
    h('p', {}, 'Your photos are never sent. The server receives an encrypted request and returns the encrypted keywords of similar photos, which are decrypted and ranked here.'),
    h('p', {}, 'Nothing is written until you press Write. Write saves what you accepted or added, for your photo program, and on the page of one photo also its likely keywords. Every write is one run, which one undo reverts.')]),
    ...(album ? albumTables : tables).map(([name, rows]) => h('table', {}, h('caption', {}, name),
      h('thead', { class: 'hidden' }, h('tr', {}, h('th', { scope: 'col' }, 'Key'), h('th', { scope: 'col' }, 'What it does'))),
      h('tbody', {}, rows.map(([key, what]) =>
        h('tr', {}, h('th', { scope: 'row' }, key.split(', ').map((k) => h('kbd', {}, k))), h('td', {}, what)))))),
    h('p', { class: 'acts' }, close));
  dialog.showModal();
  title.focus(); // scrolls to the top in a small window
}
