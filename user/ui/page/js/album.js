// The album: a timeline of its photos, and search as the user types. Searches run in
// the program on this device.

import { h, count, failed } from './element.js';
import { post } from './session.js';
import { Source } from './source.js';
import { grid } from './grid.js';
import { Picks } from './picks.js';
import { scrubber } from './scrubber.js';
import { viewer } from './viewer.js';
import { editKeywords } from './tags.js';
import { pin, acts } from './pinned.js';
import { watch } from './photos.js';
import { month, day } from './dates.js';
import { keys } from './keys.js';
import { complain, say } from './say.js';

const pause = 120; // milliseconds without a key before a search

const shots = {
  make: (entry) => h('span', { class: 'name' }, entry.name),
  label: (entry) => [day(entry.time), entry.words.join(', ') || entry.name].join('; '),
};

const pictures = async (ids, signal) => (await post('pictures', { ids }, signal)).pictures;

// The query stays in this entry of the tab's history, and out of the address.
const kept = () => history.state?.query ?? '';

export async function album(main, signal) {
  const filter = { query: kept() };
  const source = new Source(filter);
  const told = h('p', { class: 'soft', id: 'told', role: 'status' });
  const input = h('input', { type: 'search', id: 'find', value: filter.query, maxlength: '500', placeholder: 'dog beach 2024', autocomplete: 'off', autocapitalize: 'off', spellcheck: 'false', enterkeyhint: 'search', 'aria-describedby': 'told' });
  const choosing = h('button', { type: 'button', class: 'quiet', id: 'select', 'aria-pressed': 'false', onclick: () => pick(!picks.picking) }, 'Select');
  const keyword = h('section', { class: 'found', 'aria-label': 'Photos' });
  // Photos that look like what was searched for belong here, apart from those that
  // have its keywords.
  const alike = h('section', { class: 'found', id: 'alike', hidden: true });
  main.replaceChildren(
    h('h1', { class: 'hidden' }, 'Photos of the album'),
    h('form', { class: 'finding', role: 'search', onsubmit: (e) => { e.preventDefault(); find(); } },
      h('label', { for: 'find', class: 'hidden' }, 'Search'), input, told, choosing),
    keyword, alike);

  const picks = new Picks(drawActs, true);
  const g = grid(source, { card: shots, signal, picks, pictures, label: 'Photos of the album, newest first', kind: 'shots', open: (i) => viewer(source, i, { signal, edited }) });
  const bar = scrubber(g, source, signal);
  const box = h('div', { class: 'timeline' }, g.heads, g.wall, bar.bar);

  // open lists the photos of the query anew.
  async function open() {
    const asked = input.value;
    source.filter = { query: asked };
    try {
      await source.open();
    } catch (e) {
      if (!signal.aborted) keyword.replaceChildren(failed(e));
      return;
    }
    if (signal.aborted || asked !== input.value) return;
    input.setAttribute('aria-invalid', String(Boolean(source.wrong)));
    if (source.wrong) {
      told.textContent = source.wrong;
      return;
    }
    source.sections = source.spans.map((s) => ({ title: month(s.month), month: s.month, count: s.photos }));
    picks.clear();
    told.textContent = asked.trim() ? `${count(source.total, 'photo')} of ${source.of.toLocaleString('en')}` : count(source.total, 'photo');
    if (!source.total) keyword.replaceChildren(source.of ? nothing() : empty());
    else if (!box.isConnected) keyword.replaceChildren(box);
    choosing.hidden = !source.total;
    g.again();
    bar.renew();
  }

  let waiting = 0;
  const find = async () => {
    clearTimeout(waiting);
    history.replaceState({ query: input.value.trim() }, '');
    scrollTo(0, 0);
    await open();
  };
  input.addEventListener('input', () => { clearTimeout(waiting); waiting = setTimeout(find, pause); }, { signal });

  function pick(on) {
    picks.picking = on;
    choosing.setAttribute('aria-pressed', String(on));
    main.classList.toggle('picking', on);
    if (!on && picks.size) picks.clear();
    else drawActs();
  }

  const chosen = () => ({ listing: source.listing, only: picks.ranges() });
  const edit = () => { if (picks.size) editKeywords(chosen(), picks.size, edited); };
  function drawActs() {
    main.classList.toggle('picking', picks.picking || picks.size > 0);
    const n = picks.size;
    acts(!n ? [] : [
      h('span', { class: 'soft', id: 'picked' }, `${n.toLocaleString('en')} selected`),
      h('button', { type: 'button', class: 'main', 'data-key': 'edit', id: 'edit', onclick: edit }, 'Keywords'),
      h('button', { type: 'button', class: 'quiet', 'data-key': 'all', onclick: () => picks.all() }, 'All'),
      h('button', { type: 'button', class: 'quiet', 'data-key': 'none', onclick: () => pick(false) }, 'None')]);
  }

  // edited loads the keywords again, after some have changed.
  async function edited() {
    source.renew();
    g.again();
  }

  pin([], signal);
  watch((view) => { if (!view) edited(); }, signal);
  addEventListener('popstate', () => { // the link to the photos ends a search
    if (!/^#?\/?$/.test(location.hash) || kept() === input.value.trim()) return;
    input.value = kept();
    open();
  }, { signal });
  keys({
    '/': () => { scrollTo(0, 0); input.focus(); input.select(); },
    e: edit, x: () => pick(!picks.picking),
    Escape: () => pick(false),
  }, signal);
  await open();
  if (!signal.aborted) refresh(open, signal);
}

let fresh = false; // this page has asked for changes by other devices

// refresh shows this device's copy first, and then changes by other devices.
async function refresh(open, signal) {
  if (fresh) return;
  fresh = true;
  try {
    const { changed } = await post('refresh', {});
    if (changed && !signal.aborted) {
      await open();
      say('Other devices have changed the album');
    }
  } catch (e) {
    complain({ message: `This is this device's copy of the album: ${e.message}`, hint: e.hint });
  }
}

const nothing = () => h('div', { class: 'empty' }, h('h2', {}, 'No photo matches'),
  h('p', { class: 'soft' }, 'All words must apply. Write “beach or sea” for alternatives, “-party” to leave out, “2023..2024-05” for dates, “camera:canon” or “folder:photos/sea”.'));

const empty = () => h('div', { class: 'empty' }, h('h2', {}, 'The album is empty'),
  h('p', { class: 'soft' }, 'Add photos with cpar album add, and reload this page.'));
