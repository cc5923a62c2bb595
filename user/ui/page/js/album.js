// The album: a timeline of its photos, and search as the user types. Searches run in
// the program on this device.

import { h, count, failed } from './element.js';
import { post } from './session.js';
import { Source } from './source.js';
import { grid } from './grid.js';
import { alike } from './alike.js';
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

// The search, that is, the query and a photo whose similar photos are shown, is kept
// in this entry of the tab's history, but not in the address.
const kept = () => ({ query: '', ...history.state });

export async function album(main, signal) {
  const source = new Source({});
  const told = h('p', { class: 'soft', id: 'told', role: 'status' });
  const input = h('input', { type: 'search', id: 'find', value: kept().query, maxlength: '500', placeholder: 'dog beach 2024', autocomplete: 'off', autocapitalize: 'off', spellcheck: 'false', enterkeyhint: 'search', 'aria-describedby': 'told' });
  const choosing = h('button', { type: 'button', class: 'quiet', id: 'select', 'aria-pressed': 'false', onclick: () => pick(!picking()) }, 'Select');
  const jump = h('button', { type: 'button', class: 'quiet', id: 'jump', hidden: true, onclick: () => { similar.root.scrollIntoView(); similar.root.focus({ preventScroll: true }); } });
  const keyword = h('section', { class: 'found', 'aria-label': 'Photos' });

  // A selection is in one of the two grids.
  const picks = new Picks(() => drawActs(picks, others), true), others = new Picks(() => drawActs(others, picks), true);
  const picking = () => picks.picking;
  async function show(of, i) {
    await of.load(i, i + 1).catch(complain); // an edit has dropped its keywords
    if (of.get(i)) viewer(of, i, { signal, edited, like: source.alike ? (entry) => like({ photo: entry.id, name: entry.name }) : null });
  }
  const look = { card: shots, signal, pictures, kind: 'shots' };
  const similar = alike({ ...look, open: show }, { picks: others, found: (n) => {
    jump.hidden = !n || keyword.hidden || !source.total;
    jump.textContent = `${(n ?? 0).toLocaleString('en')} look like it`;
    choosing.hidden = !n && (keyword.hidden || !source.total);
  } });
  const g = grid(source, { ...look, picks, label: 'Photos of the album, newest first', open: (i) => show(source, i) });
  const bar = scrubber(g, source, signal);
  const box = h('div', { class: 'timeline' }, g.heads, g.wall, bar.bar);
  main.replaceChildren(
    h('h1', { class: 'hidden' }, 'Photos of the album'),
    h('form', { class: 'finding', role: 'search', onsubmit: (e) => { e.preventDefault(); find(true); } },
      h('label', { for: 'find', class: 'hidden' }, 'Search'), input, told, jump, choosing),
    keyword, similar.root);

  // open lists the photos of the query again.
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
    if (keyword.hidden) return;
    told.textContent = asked.trim() ? `${count(source.total, 'photo')} of ${source.of.toLocaleString('en')}` : count(source.total, 'photo');
    if (!source.total) keyword.replaceChildren(source.of ? nothing() : empty());
    else if (!box.isConnected) keyword.replaceChildren(box);
    choosing.hidden = !source.total;
    g.again();
    bar.renew();
    if (!source.alike) return;
    if (!asked.trim()) similar.hide();
    else if (similar.asked()?.query !== asked.trim()) similar.offer(asked.trim());
  }

  let waiting = 0;
  // find searches among keywords and, if the user has pressed Enter, by likeness.
  async function find(entered) {
    clearTimeout(waiting);
    const query = input.value.trim();
    history.replaceState({ query }, '');
    unlike();
    scrollTo(0, 0);
    const asks = entered && query && source.alike ? similar.ask({ query }) : null;
    await open();
    await asks;
  }
  input.addEventListener('input', () => { clearTimeout(waiting); waiting = setTimeout(find, pause); }, { signal });

  // like shows photos similar to one photo, instead of the timeline.
  async function like(photo) {
    history.replaceState({ ...kept(), like: photo }, '');
    pick(false);
    keyword.hidden = true;
    told.textContent = '';
    scrollTo(0, 0);
    similar.root.focus({ preventScroll: true });
    await similar.ask(photo);
  }

  function unlike() {
    if (!keyword.hidden) return;
    keyword.hidden = false;
    similar.hide();
  }

  function pick(on) {
    picks.picking = others.picking = on;
    choosing.setAttribute('aria-pressed', String(on));
    if (!on && picks.size + others.size) {
      picks.clear();
      others.clear();
    } else drawActs(picks, others);
  }

  const edit = () => {
    const [chosen, listing] = others.size ? [others, similar.listing()] : [picks, source.listing];
    if (chosen.size) editKeywords({ listing, only: chosen.ranges() }, chosen.size, edited);
  };
  function drawActs(mine, other) {
    if (mine.size && other.size) other.clear();
    const chosen = mine.size ? mine : other;
    const n = chosen.size;
    main.classList.toggle('picking', picking() || n > 0);
    acts(!n ? [] : [
      h('span', { class: 'soft', id: 'picked' }, `${n.toLocaleString('en')} selected`),
      h('button', { type: 'button', class: 'main', 'data-key': 'edit', id: 'edit', onclick: edit }, 'Keywords'),
      h('button', { type: 'button', class: 'quiet', 'data-key': 'all', onclick: () => chosen.all() }, 'All'),
      h('button', { type: 'button', class: 'quiet', 'data-key': 'none', onclick: () => pick(false) }, 'None')]);
  }

  // edited loads the keywords again, after some have changed.
  async function edited() {
    source.renew();
    g.again();
    similar.renew();
  }

  // turned shows the search of another history entry after the user has moved there.
  // The link to the photos ends a search.
  async function turned() {
    const now = kept();
    if (!/^#?\/?$/.test(location.hash)) return;
    if (now.like) {
      if (similar.asked()?.photo !== now.like.photo) await like(now.like);
      return;
    }
    const was = keyword.hidden;
    unlike();
    if (!was && now.query === input.value.trim()) return;
    input.value = now.query;
    await open();
  }

  pin([], signal);
  watch((view) => { if (!view) edited(); }, signal);
  addEventListener('popstate', turned, { signal });
  keys({
    '/': () => { scrollTo(0, 0); input.focus(); input.select(); },
    e: edit, x: () => pick(!picking()),
    Escape: () => { if (keyword.hidden) history.back(); else pick(false); },
  }, signal);
  await open();
  if (kept().like && source.alike) await like(kept().like);
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
