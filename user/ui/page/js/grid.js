// A grid of any number of photos. Only the cards near the viewport exist, so that
// neither scrolling nor a key costs more in a larger list.
//
//	source   total, load(from, to), get(i): the photos in order
//	card     make(entry) returns what a card shows before its details are known, and
//	         fill(card, view, entry) completes it
//	picks    a Picks (picks.js) makes cards selectable. Without, cards are links.

import { h } from './element.js';
import { show } from './session.js';
import { look, watch, setOrder } from './photos.js';

const least = 232; // width of a card in pixels
const gap = 16;
const rest = 70; // milliseconds without scrolling before details are fetched

export function grid(source, { card, signal, picks = null, label = 'Photos' }) {
  const wall = h('ul', picks
    ? { class: 'wall', role: 'listbox', 'aria-multiselectable': 'true', 'aria-label': label }
    : { class: 'wall', 'aria-label': label });
  const shown = new Map(); // cards by position
  let columns = 1, width = 0, height = 0, foot = 0;
  let from = 0, to = 0;
  let active = 0; // the card that Tab reaches
  let frame = 0, waiting = 0;

  setOrder(source);

  // measure lays out the columns. It runs when the window or the list changes.
  function measure() {
    const all = wall.clientWidth;
    if (!all) return;
    columns = Math.max(2, Math.floor((all + gap) / (least + gap)));
    width = (all - gap * (columns - 1)) / columns;
    foot = parseFloat(getComputedStyle(wall).getPropertyValue('--foot')) * 16;
    height = Math.round(width * 0.75 + foot);
    wall.style.height = `${Math.ceil(source.total / columns) * height}px`;
    for (const [i, li] of shown) place(i, li);
  }

  function place(i, li) {
    li.style.width = `${width}px`;
    li.style.transform = `translate(${(i % columns) * (width + gap)}px, ${Math.floor(i / columns) * height}px)`;
  }

  // draw adds and removes cards for the scroll position.
  function draw() {
    frame = 0;
    if (!height || signal.aborted) return;
    const top = -wall.getBoundingClientRect().top;
    const ahead = 2 * height;
    from = Math.max(0, Math.floor((top - ahead) / height) * columns);
    to = Math.min(source.total, Math.ceil((top + innerHeight + ahead) / height) * columns);
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
    clearTimeout(waiting);
    waiting = setTimeout(details, rest);
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
    if (li.dataset.id === entry?.id && entry) return;
    const inner = [h('span', { class: 'frame' }, h('img', { alt: '', draggable: 'false' })), h('span', { class: 'words' }, entry ? card.make(entry) : ' ')];
    if (entry) li.dataset.id = entry.id;
    if (picks) li.replaceChildren(...inner);
    else li.replaceChildren(h('a', { href: entry ? `#/photo/${entry.id}` : null, 'aria-label': entry?.name || `Photo ${i + 1}` }, inner));
    reach(i, li);
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
    const [first, last] = [from, to];
    try {
      await source.load(first, last);
      if (signal.aborted) return;
      for (const [i, li] of shown) dress(i, li);
      const ids = [...shown.keys()].map((i) => source.get(i)?.id).filter(Boolean);
      pictures();
      for (const view of await look(ids)) if (view && !signal.aborted) fill(view);
    } catch (e) {
      if (!signal.aborted) console.info(e.message); // the next scroll tries again
    }
  }

  function pictures() {
    for (const [i, li] of [...shown].sort(([a], [b]) => a - b)) {
      if (li.stop || !li.dataset.id || i < from || i >= to) continue;
      li.stop = new AbortController();
      const img = li.querySelector('img');
      show(img, li.dataset.id, 'small', AbortSignal.any([signal, li.stop.signal]))
        .then(() => img.classList.add('there'))
        .catch((e) => { if (e.name !== 'AbortError') img.closest('.frame').classList.add('broken'); });
    }
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
    const top = wall.getBoundingClientRect().top + Math.floor(next / columns) * height;
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
    ArrowLeft: () => -1, ArrowRight: () => 1, ArrowUp: () => -columns, ArrowDown: () => columns,
    PageUp: () => -columns * page(), PageDown: () => columns * page(), Home: () => -Infinity, End: () => Infinity,
  };
  const page = () => Math.max(1, Math.floor(innerHeight / height) - 1);

  wall.addEventListener('keydown', (e) => {
    if (!steps[e.key] || e.altKey || e.metaKey || e.ctrlKey) return;
    e.preventDefault();
    e.stopPropagation();
    move(active + steps[e.key]());
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

  // again shows the list from the start after it was opened anew, or its changed marks.
  function again() {
    for (const [i, li] of [...shown]) if (i >= source.total) drop(i, li);
    measure();
    draw();
  }

  picks?.bind(wall, {
    total: () => source.total,
    active: () => active,
    select: () => { for (const [i, li] of shown) li.setAttribute('aria-selected', String(picks.has(i))); },
    open: (i) => { const e = source.get(i); if (e) location.hash = `#/photo/${e.id}`; },
    // within returns the positions of the cards that a rectangle in the grid touches.
    within(x0, y0, x1, y1) {
      const found = [];
      for (let r = Math.max(0, Math.floor(y0 / height)); r <= Math.floor(y1 / height); r++) {
        for (let c = Math.max(0, Math.floor(x0 / (width + gap))); c <= Math.min(columns - 1, Math.floor(x1 / (width + gap))); c++) {
          const i = r * columns + c;
          if (i < source.total) found.push(i);
        }
      }
      return found;
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
  return { wall, again, move, measure };
}
