// A grid of any number of photos. Only the cards near the viewport exist, so that
// neither scrolling nor a key costs more in a larger list.
//
//	source   total, load(from, to), get(i): the photos in order, and for a timeline
//	         sections: {title, count} of each
//	card     make(entry) returns what a card shows before its details are known, and
//	         fill(view, entry) completes it. Without fill, entries have all details,
//	         and label(entry) names a card
//	picks    a Picks (picks.js) makes cards selectable. Without it, cards are links
//	pictures (ids, signal) returns the pictures of many photos in base64, with null
//	         for missing ones. Without it, every card fetches its own

import { h } from './element.js';
import { show } from './session.js';
import { look, watch, setOrder } from './photos.js';
import { Layout } from './layout.js';

const rest = 70; // milliseconds without scrolling before details are fetched
const batch = 40; // pictures per request

export function grid(source, { card, signal, picks = null, pictures = null, label = 'Photos', kind = '', open = null }) {
  const wall = h('ul', picks
    ? { class: `wall ${kind}`, role: 'listbox', 'aria-multiselectable': 'true', 'aria-label': label }
    : { class: `wall ${kind}`, 'aria-label': label });
  const heads = h('div', { class: 'heads', 'aria-hidden': 'true' }); // each card has its date
  const shown = new Map(); // cards by position
  let layout = new Layout([], 1, 1, 0);
  let columns = 1, width = 0, height = 0, gap = 0, head = 0, seen = 0;
  let from = 0, to = 0;
  let active = 0; // the card that Tab reaches
  let frame = 0, waiting = 0;
  let titled = ''; // the range of headings in the page
  const fetching = new Map(); // cards whose pictures are fetched together, by AbortController

  setOrder(source);

  // measure lays out the columns. It runs when the window or the list changes.
  function measure() {
    const all = wall.clientWidth;
    if (all) { // otherwise the page does not show the grid now
      const style = getComputedStyle(wall);
      const number = (name) => parseFloat(style.getPropertyValue(name));
      gap = number('--gap');
      columns = Math.max(2, Math.floor((all + gap) / (number('--least') + gap)));
      width = (all - gap * (columns - 1)) / columns;
      height = Math.round(width * number('--shape') + number('--foot') * 16);
      head = source.sections ? number('--head') * 16 : 0;
    }
    layout = new Layout(source.sections ? source.sections.map((s) => s.count) : [source.total], columns, height, head);
    titled = '';
    wall.style.height = `${layout.height}px`;
    for (const [i, li] of shown) place(i, li);
  }

  function place(i, li) {
    const { column, top } = layout.place(i);
    li.style.width = `${width}px`;
    li.style.transform = `translate(${column * (width + gap)}px, ${top}px)`;
  }

  // titles draws the headings of the visible sections.
  function titles(top, bottom) {
    if (!source.sections) return;
    const first = layout.sectionAt(top).n;
    let end = first;
    while (end < layout.parts.length && layout.parts[end].top < bottom) end++;
    if (titled === `${first} ${end}`) return;
    titled = `${first} ${end}`;
    heads.replaceChildren(...source.sections.slice(first, end).map(({ title, count }, n) => {
      const e = h('div', {}, h('b', {}, title), h('span', {}, count.toLocaleString('en')));
      e.style.transform = `translateY(${layout.parts[first + n].top}px)`;
      return e;
    }));
  }

  // draw adds and removes cards for the scroll position.
  function draw() {
    frame = 0;
    if (!height || signal.aborted) return;
    const top = -wall.getBoundingClientRect().top;
    const ahead = 2 * height;
    [from, to] = layout.range(top - ahead, top + innerHeight + ahead);
    titles(top - ahead, top + innerHeight + ahead);
    const held = wall.contains(document.activeElement) ? active : -1;
    for (const [i, li] of shown) {
      if ((i < from || i >= to) && i !== held) drop(i, li);
    }
    for (let i = from; i < to; i++) if (!shown.has(i)) add(i);
    let at = wall.firstChild;
    for (const i of [...shown.keys()].sort((a, b) => a - b)) {
      const li = shown.get(i);
      if (at === li) at = at.nextSibling;
      else wall.insertBefore(li, at);
    }
    // A slow scroll shows details on the way, and a fast one at its end.
    if (Math.abs(top - seen) > innerHeight / 2 || !waiting) {
      clearTimeout(waiting);
      waiting = setTimeout(details, rest);
    }
    seen = top;
  }

  function add(i) {
    const li = h('li', { 'aria-setsize': source.total, 'aria-posinset': i + 1, 'data-at': i });
    if (picks) {
      li.setAttribute('role', 'option');
      li.setAttribute('aria-label', `Photo ${i + 1}`);
      li.setAttribute('aria-selected', String(picks.has(i)));
    }
    place(i, li);
    shown.set(i, li);
    dress(i, li);
  }

  // dress draws a card whose entry is loaded, and a placeholder otherwise.
  function dress(i, li) {
    const entry = source.get(i);
    if (entry && li.dataset.id === entry.id) {
      if (card.label) name(i, li, entry);
      return;
    }
    li.stop?.abort();
    li.stop = null;
    const inner = [h('span', { class: 'frame' }, h('img', { alt: '', draggable: 'false' })), picks?.opens ? h('span', { class: 'tick' }) : null, h('span', { class: 'words' }, entry ? card.make(entry) : ' ')];
    if (entry) li.dataset.id = entry.id;
    else delete li.dataset.id;
    if (picks) li.replaceChildren(...inner.filter(Boolean));
    else li.replaceChildren(h('a', { href: entry ? `#/photo/${entry.id}` : null, 'aria-label': entry?.name || `Photo ${i + 1}` }, inner));
    if (entry && card.label) name(i, li, entry);
    reach(i, li);
  }

  // name describes a card whose entry has all details.
  function name(i, li, entry) {
    target(li).setAttribute('aria-label', card.label(entry));
    li.querySelector('.words').replaceChildren(card.make(entry));
  }

  const target = (li) => (picks ? li : li.firstChild);
  const reach = (i, li) => target(li)?.setAttribute('tabindex', i === active ? '0' : '-1');

  function drop(i, li) {
    li.stop?.abort();
    li.remove();
    shown.delete(i);
  }

  // details fetches the entries, keywords and pictures of the visible cards.
  async function details() {
    waiting = 0;
    const [first, last] = [from, to];
    try {
      await source.load(first, last);
      if (signal.aborted) return;
      for (const [i, li] of shown) dress(i, li);
      const ids = [...shown.keys()].map((i) => source.get(i)?.id).filter(Boolean);
      paint();
      if (card.fill) for (const view of await look(ids)) if (view && !signal.aborted) fill(view);
    } catch (e) {
      if (!signal.aborted) console.info(e.message); // the next scroll tries again
    }
  }

  // paint fetches the pictures of the visible cards, and those above and below them
  // afterwards.
  function paint() {
    const middle = (from + to) / 2;
    const wanted = [...shown].filter(([i, li]) => !li.stop && li.dataset.id && i >= from && i < to)
      .sort(([a], [b]) => Math.abs(a - middle) - Math.abs(b - middle)).map(([, li]) => li);
    for (const li of wanted) {
      li.stop = new AbortController();
      if (!pictures) put(li, (img) => show(img, li.dataset.id, 'small', AbortSignal.any([signal, li.stop.signal])));
    }
    if (!pictures) return;
    for (const [stop, cards] of fetching) if (!cards.some((li) => li.isConnected)) stop.abort();
    for (let n = 0; n < wanted.length; n += batch) together(wanted.slice(n, n + batch));
  }

  function together(cards) {
    const stop = new AbortController();
    fetching.set(stop, cards);
    const found = pictures(cards.map((li) => li.dataset.id), AbortSignal.any([signal, stop.signal]));
    found.catch(() => {}).finally(() => fetching.delete(stop));
    cards.forEach((li, n) => put(li, async (img) => {
      const { signal: gone } = li.stop;
      const all = await found;
      if (gone.aborted) return;
      if (!all[n]) throw new Error('there is no picture');
      await new Promise((done, fail) => Object.assign(img, { onload: done, onerror: fail, src: `data:image/jpeg;base64,${all[n]}` }));
    }));
  }

  // put shows the picture of a card once load has set it.
  function put(li, load) {
    const img = li.querySelector('img');
    load(img).then(() => img.classList.add('there'))
      .catch((e) => { if (e.name !== 'AbortError') img.closest('.frame').classList.add('broken'); });
  }

  function fill(view) {
    const i = source.indexOf(view.id);
    const li = shown.get(i);
    if (!li || li.dataset.id !== view.id) return;
    const { label: text, words } = card.fill(view, source.get(i));
    target(li).setAttribute('aria-label', text);
    li.querySelector('.words').replaceChildren(...words);
    li.dataset.mark = card.mark?.(view) ?? '';
  }

  const later = () => { frame ||= requestAnimationFrame(draw); };

  // move makes another card active, scrolls to it and focuses it.
  function move(i) {
    const next = Math.min(source.total - 1, Math.max(0, i));
    const before = shown.get(active);
    active = next;
    if (before) reach(Number(before.dataset.at), before);
    if (next < 0) return;
    const top = wall.getBoundingClientRect().top + layout.place(next).top;
    const [above, below] = [90, innerHeight - 110];
    if (top < above) scrollBy(0, top - above);
    else if (top + height > below) scrollBy(0, top + height - below);
    draw();
    const li = shown.get(next);
    if (!li) return;
    reach(next, li);
    target(li).focus({ preventScroll: true });
  }

  const steps = {
    ArrowLeft: () => active - 1, ArrowRight: () => active + 1, ArrowUp: () => layout.vertical(active, -1), ArrowDown: () => layout.vertical(active, 1),
    PageUp: () => layout.vertical(active, -page()), PageDown: () => layout.vertical(active, page()), Home: () => 0, End: () => Infinity,
  };
  const page = () => Math.max(1, Math.floor(innerHeight / height) - 1);

  wall.addEventListener('keydown', (e) => {
    if (!steps[e.key] || e.altKey || e.metaKey || e.ctrlKey) return;
    e.preventDefault();
    e.stopPropagation();
    move(steps[e.key]());
    picks?.moved(active, e.shiftKey);
  });
  wall.addEventListener('focusin', (e) => {
    const at = e.target.closest('li')?.dataset.at;
    if (at === undefined || Number(at) === active) return;
    const before = shown.get(active);
    active = Number(at);
    if (before) reach(Number(before.dataset.at), before);
    reach(active, shown.get(active));
  });

  // again redraws the list after it was opened again or its marks have changed.
  function again() {
    for (const [i, li] of [...shown]) if (i >= source.total) drop(i, li);
    active = Math.min(active, Math.max(0, source.total - 1));
    for (const [i, li] of shown) {
      li.setAttribute('aria-setsize', source.total);
      reach(i, li);
    }
    measure();
    draw();
    clearTimeout(waiting); // only scrolling has to come to rest
    details();
  }

  picks?.bind(wall, {
    total: () => source.total,
    active: () => active,
    select: () => { for (const [i, li] of shown) li.setAttribute('aria-selected', String(picks.has(i))); },
    open: open ?? ((i) => { const e = source.get(i); if (e) location.hash = `#/photo/${e.id}`; }),
    // within returns the positions of the cards that a rectangle in the grid touches.
    within(x0, y0, x1, y1) {
      return layout.within(y0, y1, Math.floor(x0 / (width + gap)), Math.min(columns - 1, Math.floor(x1 / (width + gap))));
    },
  }, signal);

  const sized = new ResizeObserver(() => { measure(); later(); });
  sized.observe(wall);
  addEventListener('scroll', later, { signal, passive: true });
  watch((view) => { if (view) fill(view); else details(); }, signal);
  signal.addEventListener('abort', () => {
    sized.disconnect();
    clearTimeout(waiting);
    cancelAnimationFrame(frame);
  });
  return { wall, heads, again, move, measure, layout: () => layout };
}
