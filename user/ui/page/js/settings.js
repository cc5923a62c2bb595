// The settings. Changes made on the page last until cpar ui ends.

import { h, count } from './element.js';
import { get, post } from './session.js';
import { enabled, enable } from './keys.js';
import { forget } from './photos.js';
import { pin } from './pinned.js';
import { say, complain } from './say.js';

const where = [['sidecar', 'into a sidecar beside the photo, which is not changed'], ['embedded', 'into the JPEG file, without changing its image']];
const style = [['append', 'photo.jpg.xmp'], ['adobe', 'photo.xmp'], ['follow-existing', 'the existing sidecar, otherwise photo.jpg.xmp']];

export async function settings(main, signal) {
  const s = await get('settings');
  if (signal.aborted) return;
  const keys = check('keys', 'Keyboard shortcuts', enabled(), (on) => {
    enable(on);
    say(on ? 'Keyboard shortcuts on' : 'Keyboard shortcuts off');
  });
  const likely = h('span', { id: 'likely' });
  const tell = (now) => { likely.textContent = now.own ? 'none: accept a suggestion to have it written' : now.threshold ? `at least ${now.threshold} % probable` : 'every suggestion'; };
  tell(s);

  async function change(choice, told) {
    try {
      const now = await post('settings', choice);
      forget(true);
      tell(now);
      say(told);
    } catch (e) {
      complain(e);
    }
  }
  const select = (name, options, told) => h('select', { id: `set-${name}`, onchange: (e) => change({ [name]: e.target.value }, told) },
    options.map(([value, text]) => h('option', { value, selected: value === s[name] }, text)));
  const right = h('input', { type: 'number', id: 'set-right', min: '1', max: '99', step: '1', value: s.right, onchange: () => {
    if (right.reportValidity()) change({ right: Number(right.value) }, `Likely keywords: ${right.value} % of them should be right`);
  } });

  main.replaceChildren(
    h('div', { class: 'head' }, h('div', {}, h('h1', {}, 'Settings'),
      h('p', { class: 'soft' }, 'Changes hold until you end cpar ui. Its flags set them for good: cpar ui --help.'))),
    h('div', { class: 'sheets' },
      group('Writing', [
        [label('set-where', 'Write keywords'), select('where', where, 'Keywords are written there from now on')],
        [label('set-style', 'Sidecar name'), select('style', style, 'Sidecars are named so from now on')],
        ['', check('set-mtime', 'Keep the modification time of files', s.keep_mtime, (on) => change({ keep_mtime: on }, on ? 'Files keep their modification time' : 'Files get a new modification time'))],
      ]),
      group('Likely keywords', [
        s.right ? [label('set-right', 'Share that is right'), h('span', { class: 'figure-field' }, right, ' %')] : null,
        ['Likely', likely, 'Write writes likely keywords of the photo too, as cpar annotate --write does. All others need your decision.'],
      ]),
      group('Index', [
        ['Name', s.index], ['Photos with keywords', s.records.toLocaleString('en')], ['Cloud', s.cloud], ['Scheme', s.scheme, s.protects], ['Profile', s.profile],
      ]),
      group('Folders', s.folders.map((f) => ['Open', f.name]).concat([['Photos', count(s.photos, 'photo'), s.skipped], s.skipped ? ['Left out', h('a', { href: '#/unreadable' }, 'files and reasons')] : null])),
      group('This page', [['', keys]])));
  pin([], signal);
}

const label = (id, text) => h('label', { for: id }, text);

function check(id, text, on, change) {
  const box = h('input', { type: 'checkbox', id, checked: on, onchange: () => change(box.checked) });
  return h('span', { class: 'check' }, box, h('label', { for: id }, text));
}

function group(title, rows) {
  const id = `group-${title.toLowerCase().replaceAll(' ', '-')}`;
  return h('section', { class: 'facts', 'aria-labelledby': id }, h('h2', { id }, title),
    h('dl', {}, rows.filter(Boolean).map(([name, value, note]) =>
      h('div', {}, h('dt', {}, name), h('dd', {}, value, note ? h('small', { class: 'soft' }, note) : null)))));
}
