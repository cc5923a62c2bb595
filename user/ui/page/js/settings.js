// The current settings, which the command line determines.

import { h, count } from './element.js';
import { get } from './session.js';
import { enabled, enable } from './keys.js';
import { say } from './say.js';

const where = {
  sidecar: 'into a sidecar beside the photo, which is not changed',
  embedded: 'into the JPEG file, without changing its image',
};
const style = {
  append: 'photo.jpg.xmp', adobe: 'photo.xmp', 'follow-existing': 'the existing sidecar, otherwise photo.jpg.xmp',
};

export async function settings(main, signal) {
  const s = await get('settings');
  if (signal.aborted) return;
  const keys = h('input', { type: 'checkbox', id: 'keys', checked: enabled(), onchange: () => {
    enable(keys.checked);
    say(keys.checked ? 'Keyboard shortcuts on' : 'Keyboard shortcuts off');
  } });
  main.replaceChildren(
    h('div', { class: 'head' }, h('div', {}, h('h1', {}, 'Settings'),
      h('p', { class: 'soft' }, 'To change these settings, restart cpar ui with other flags: cpar ui --help.'))),
    h('div', { class: 'sheets' }, group('Index', [
      ['Name', s.index], ['Photos', s.records.toLocaleString('en')], ['Cloud', s.cloud], ['Scheme', s.scheme, s.protects], ['Profile', s.profile],
    ]),
    group('Writing', [
      ['Keywords are written', where[s.where] ?? s.where], s.where === 'sidecar' ? ['Sidecar name', style[s.style] ?? s.style] : null,
      ['Sure keywords', s.own ? 'none: accept a suggestion to have it written' : s.threshold ? `at least ${s.threshold} % likely` : 'every suggestion'],
    ]),
    group('Folders', s.folders.map((f) => ['Open', f.name]).concat([['Photos', count(s.photos, 'photo'), s.skipped]])),
    h('section', { class: 'facts', 'aria-labelledby': 'this-page' }, h('h2', { id: 'this-page' }, 'This page'),
      h('p', { class: 'check' }, keys, h('label', { for: 'keys' }, 'Keyboard shortcuts')))));
}

function group(title, rows) {
  const id = `group-${title.toLowerCase()}`;
  return h('section', { class: 'facts', 'aria-labelledby': id }, h('h2', { id }, title),
    h('dl', {}, rows.filter(Boolean).map(([name, value, note]) =>
      h('div', {}, h('dt', {}, name), h('dd', {}, value, note ? h('small', { class: 'soft' }, note) : null)))));
}
