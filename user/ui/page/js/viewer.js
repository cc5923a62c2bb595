// One photo of the album over the whole window, with zoom. The medium thumbnail appears
// at once, and the original follows if the user stays on the photo.

import { h, icon, size, failed } from './element.js';
import { show, download } from './session.js';
import { Zoom } from './zoom.js';
import { tag } from './tags.js';
import { watch } from './photos.js';
import { completing } from './complete.js';
import { moment, short } from './dates.js';
import { complain, say } from './say.js';

const rest = 400; // milliseconds before the original is fetched
const stepping = { ArrowLeft: -1, ArrowRight: 1 };

export function viewer(source, start, { signal, edited, like = null }) {
  let at = start, entry = source.get(start), leave = new AbortController();
  const from = document.activeElement;
  const stage = h('div', { class: 'lit' });
  const facts = h('section', { class: 'about', 'aria-label': 'Facts and keywords' });
  const title = h('h1', {});
  const place = h('p', { class: 'soft' });
  const button = (name, shape, act, id) => h('button', { type: 'button', class: 'quiet round', id, 'aria-label': name, title: name, onclick: act }, icon(shape));
  const before = button('Previous photo', 'before', () => go(-1)), after = button('Next photo', 'after', () => go(1));
  before.classList.add('step', 'left');
  after.classList.add('step', 'right');
  const about = button('Facts and keywords', 'facts', () => reveal(facts.hidden), 'about');
  const zoom = new Zoom(stage, { step: (by) => go(by) });
  const over = h('div', { class: 'viewer', role: 'dialog', 'aria-modal': 'true', 'aria-label': 'Photo', tabindex: '-1' },
    h('header', {}, h('div', {}, title, place), h('div', { class: 'acts' },
      button('Smaller', 'smaller', () => zoom.by(1 / 1.5)), button('Larger', 'larger', () => zoom.by(1.5), 'larger'),
      like ? button('Photos like this one', 'like', () => { close(); like(entry); }, 'like') : null,
      about, button('Save the original', 'save', save, 'save'), button('Close', 'close', () => history.back(), 'close'))),
    h('div', { class: 'body' }, h('div', { class: 'frame' }, stage, before, after), facts));
  facts.hidden = localStorage.getItem('about') !== 'on';

  function reveal(on) {
    facts.hidden = !on;
    localStorage.setItem('about', on ? 'on' : 'off');
    about.setAttribute('aria-pressed', String(on));
    zoom.fit();
  }

  // go shows the photo a number of steps away.
  async function go(by) {
    const next = at + by;
    if (next < 0 || next >= source.total) return;
    await source.load(Math.max(0, next - 1), next + 2).catch(complain);
    if (!over.isConnected || !source.get(next)) return;
    at = next;
    draw();
  }

  function draw() {
    leave.abort();
    leave = new AbortController();
    const mine = AbortSignal.any([signal, leave.signal]);
    entry = source.get(at);
    before.hidden = at === 0;
    after.hidden = at === source.total - 1;
    describe();
    const alt = [entry.name, entry.words.join(', ')].filter(Boolean).join(': ');
    const [img, full] = [0, 1].map(() => h('img', { alt, draggable: 'false' }));
    stage.replaceChildren(img);
    zoom.show(img);
    let whole = false;
    show(img, entry.id, 'medium', mine).then(() => { if (!whole) img.classList.add('there'); }).catch(() => {});
    setTimeout(async () => {
      if (mine.aborted) return;
      over.setAttribute('aria-busy', 'true');
      try {
        await show(full, entry.id, 'original', mine);
        whole = true;
        full.classList.add('there', 'whole');
        if (!mine.aborted) zoom.swap(full);
      } catch (e) {
        if (!mine.aborted) stage.append(failed({ message: `The original cannot be shown: ${e.message}`, hint: e.hint }));
      }
      if (!mine.aborted) over.removeAttribute('aria-busy');
    }, rest);
  }

  function describe() {
    title.textContent = entry.name;
    place.textContent = `${short(entry.time)} · ${(at + 1).toLocaleString('en')} of ${source.total.toLocaleString('en')}`;
    const input = h('input', { type: 'text', id: 'add-tag', maxlength: '200', autocomplete: 'off', enterkeyhint: 'done' });
    const chip = (w, maybe) => h('li', { class: maybe ? 'new' : null }, w,
      maybe ? h('button', { type: 'button', class: 'act', 'aria-label': `Accept ${w}`, onclick: () => change([w], []) }, icon('accept')) : null,
      h('button', { type: 'button', class: 'act', 'aria-label': `Remove ${w}`, onclick: () => change([], [w]) }, icon('reject')));
    const fact = (name, value) => (value ? h('div', {}, h('dt', {}, name), h('dd', {}, value)) : null);
    facts.replaceChildren(...[
      h('h2', {}, 'Keywords'),
      entry.words.length + entry.maybe.length ? null : h('p', { class: 'soft' }, 'None yet'),
      h('ul', { class: 'chips' }, entry.words.map((w) => chip(w, false)), entry.maybe.map((w) => chip(w, true))),
      h('form', { class: 'adding', onsubmit: (e) => { e.preventDefault(); if (input.value.trim()) change([input.value.trim()], []); } },
        h('label', { for: 'add-tag' }, 'Add a keyword'), h('span', { class: 'field' }, input, completing(input, leave.signal), h('button', { type: 'submit' }, 'Add'))),
      h('h2', {}, 'Facts'),
      h('dl', {}, fact('Taken', moment(entry.time)), fact('Camera', entry.camera), fact('Place', entry.place),
        fact('Pixels', entry.width ? `${entry.width} × ${entry.height}` : ''), fact('Size', size(entry.bytes)), fact('Folder', entry.folder)),
    ].filter(Boolean));
  }

  // change edits the keywords of this photo.
  async function change(add, remove) {
    const focused = document.activeElement?.id;
    const part = { listing: source.listing, only: [[at, at]] };
    try {
      await tag(part, add, remove, async () => {
        await edited();
        await source.load(at, at + 1);
      });
    } catch (e) {
      complain(e);
    }
    renew(focused === 'add-tag');
  }

  // renew shows the keywords as they are now.
  function renew(typing) {
    if (!over.isConnected || !source.get(at)) return;
    entry = source.get(at);
    describe();
    if (typing) facts.querySelector('#add-tag').focus();
  }

  async function save() {
    const { id, name } = entry;
    say(`Fetching ${name}`);
    try {
      const address = URL.createObjectURL(await download(`picture/${id}?size=file`));
      h('a', { href: address, download: name }).click();
      setTimeout(() => URL.revokeObjectURL(address), 10_000);
      say(`Saved ${name}`);
    } catch (e) {
      complain(e);
    }
  }

  const acts = {
    l: () => { if (like) { close(); like(entry); } },
    Escape: () => history.back(), i: () => reveal(facts.hidden), s: save,
    '+': () => zoom.by(1.5), '=': () => zoom.by(1.5), '-': () => zoom.by(1 / 1.5), 0: () => zoom.fit(),
    n: () => { reveal(true); facts.querySelector('#add-tag').focus(); },
  };
  over.addEventListener('keydown', (e) => {
    const typing = e.target.closest('input');
    if (typing && e.key === 'Escape') { over.focus(); e.stopPropagation(); return; }
    if (e.key === 'Tab') return trap(e);
    if (typing || e.ctrlKey || e.metaKey || e.altKey) return;
    const act = stepping[e.key] ? () => go(stepping[e.key]) : acts[e.key];
    if (e.key !== 'u' && e.key !== '?') e.stopPropagation(); // the page behind has other keys
    if (!act) return;
    e.preventDefault();
    act();
  });

  // trap keeps the focus within the viewer.
  function trap(e) {
    const all = [...over.querySelectorAll('button, input')].filter((x) => x.offsetParent);
    const [first, last] = [all[0], all.at(-1)];
    const next = e.shiftKey ? (document.activeElement === first || document.activeElement === over ? last : null) : (document.activeElement === last ? first : null);
    if (!next) return;
    e.preventDefault();
    next.focus();
  }

  const behind = ['main', 'pinned'].map((id) => document.getElementById(id)).concat(document.querySelector('.top'));
  const inert = (on) => { for (const e of behind) e.inert = on; };
  function close() {
    leave.abort();
    ends.abort();
    over.remove();
    inert(false);
    document.body.classList.remove('viewing');
    (from?.isConnected ? from : document.getElementById('main')).focus({ preventScroll: true });
  }
  const ends = new AbortController();
  // The entry in the history makes the browser's back button close the viewer.
  history.pushState(history.state, '');
  addEventListener('popstate', close, { signal: ends.signal });
  watch(async (view) => { // an undo changes keywords
    if (view) return;
    await source.load(at, at + 1).catch(() => {});
    renew(false);
  }, ends.signal);
  signal.addEventListener('abort', () => { if (over.isConnected) close(); });
  inert(true);
  document.body.classList.add('viewing');
  document.body.append(over);
  about.setAttribute('aria-pressed', String(!facts.hidden));
  over.focus();
  draw();
}
