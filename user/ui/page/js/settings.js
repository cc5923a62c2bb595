// What is in force. It was said on the command line, and is changed there.

import { h, count } from './element.js';
import { get } from './session.js';
import { enabled, enable } from './keys.js';
import { say } from './say.js';

const where = {
  sidecar: 'into a sidecar beside the photo; the photo itself is not touched',
  embedded: 'into the JPEG file itself, without touching its picture',
};
const style = {
  append: 'photo.jpg.xmp', adobe: 'photo.xmp', 'follow-existing': 'what is there already, else photo.jpg.xmp',
};

export async function settings(main, signal) {
  const s = await get('settings');
  if (signal.aborted) return;
  const keys = h('input', { type: 'checkbox', id: 'keys', checked: enabled(), onchange: () => {
    enable(keys.checked);
    say(keys.checked ? 'Single keys are on' : 'Single keys are off');
  } });
  main.replaceChildren(
    h('div', { class: 'head' }, h('div', {}, h('h1', {}, 'Settings'),
      h('p', { class: 'soft' }, 'What is in force. To change it, end cpar ui and start it with other flags: cpar ui --help.'))),
    h('div', { class: 'sheets' }, group('Index', [
      ['Name', s.index], ['Photos in it', s.records.toLocaleString('en')], ['Cloud', s.cloud], ['Scheme', s.scheme, s.protects], ['Profile', s.profile],
    ]),
    group('Writing', [
      ['Keywords go', where[s.where] ?? s.where], s.where === 'sidecar' ? ['Sidecars are called', style[s.style] ?? s.style] : null,
      ['Sure means', s.threshold ? `at least ${s.threshold} % likely` : 'every suggestion'],
    ]),
    group('Folders', s.folders.map((f) => ['Open', f.name]).concat([['Photos', count(s.photos, 'photo'), s.skipped]])),
    h('section', { class: 'facts', 'aria-labelledby': 'this-page' }, h('h2', { id: 'this-page' }, 'This page'),
      h('p', { class: 'check' }, keys, h('label', { for: 'keys' }, 'Single keys act on photos and keywords')))));
}

function group(title, rows) {
  const id = `group-${title.toLowerCase()}`;
  return h('section', { class: 'facts', 'aria-labelledby': id }, h('h2', { id }, title),
    h('dl', {}, rows.filter(Boolean).map(([name, value, note]) =>
      h('div', {}, h('dt', {}, name), h('dd', {}, value, note ? h('small', { class: 'soft' }, note) : null)))));
}
