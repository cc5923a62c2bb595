// The selected cards of a grid, by click, Shift, drag and keyboard.

import { h } from './element.js';

export class Picks {
  #set = new Set(); // positions
  #anchor = 0;
  #grid = null;

  // changed is called after every change. If opens is set, a click opens a card while
  // none is selected. A tick, Space, Ctrl or a long touch selects the first one.
  constructor(changed, opens = false) {
    this.changed = changed;
    this.opens = opens;
    this.picking = false; // a click selects, though nothing is selected yet
  }

  has(i) { return this.#set.has(i); }
  get size() { return this.#set.size; }

  // ranges returns the selected positions as ranges [first, last].
  ranges() {
    const out = [];
    for (const i of [...this.#set].sort((a, b) => a - b)) {
      if (out.length && out.at(-1)[1] === i - 1) out.at(-1)[1] = i;
      else out.push([i, i]);
    }
    return out;
  }

  clear() { this.#take(new Set()); }
  all() { this.#take(new Set(Array(this.#grid.total()).keys())); }

  toggle(i) {
    const next = new Set(this.#set);
    if (!next.delete(i)) next.add(i);
    this.#anchor = i;
    this.#take(next);
  }

  // extend selects everything from the last selected card.
  extend(i) {
    const next = new Set(this.#set);
    for (let k = Math.min(i, this.#anchor); k <= Math.max(i, this.#anchor); k++) next.add(k);
    this.#take(next);
  }

  // moved is called when the keyboard moves to card i.
  moved(i, shift) {
    if (shift) this.extend(i);
    else this.#anchor = i;
  }

  #take(next) {
    this.#set = next;
    this.#grid?.select();
    this.changed();
  }

  bind(wall, grid, signal) {
    this.#grid = grid;
    const at = (e) => Number(e.target.closest('li')?.dataset.at ?? NaN);
    let dragged = false;
    wall.addEventListener('click', (e) => {
      const i = at(e);
      if (Number.isNaN(i) || dragged) return;
      if (e.shiftKey) this.extend(i);
      else if (this.opens && !this.size && !this.picking && !e.ctrlKey && !e.metaKey && !e.target.closest('.tick')) grid.open(i);
      else this.toggle(i);
    });
    wall.addEventListener('dblclick', (e) => { if (!Number.isNaN(at(e)) && !this.opens) grid.open(at(e)); });
    if (this.opens) wall.addEventListener('contextmenu', (e) => { // a long touch
      if (Number.isNaN(at(e)) || e.pointerType !== 'touch') return;
      e.preventDefault();
      this.toggle(at(e));
    });
    wall.addEventListener('keydown', (e) => {
      if (e.key === ' ') this.toggle(grid.active());
      else if (e.key === 'Enter') grid.open(grid.active());
      else if (e.key === 'a' && (e.ctrlKey || e.metaKey)) this.all();
      else return;
      e.preventDefault();
      e.stopPropagation();
    });
    wall.addEventListener('pointerdown', (e) => {
      dragged = false;
      if (e.pointerType === 'touch' || e.button !== 0 || e.shiftKey) return;
      this.#drag(wall, e, () => { dragged = true; }, signal);
    });
  }

  // #drag selects the cards that a rectangle touches, and scrolls at the edges.
  #drag(wall, start, begin, signal) {
    const before = new Set(this.#set);
    const box = h('div', { class: 'marquee' });
    const place = () => { const r = wall.getBoundingClientRect(); return [r.left, r.top]; };
    const [left, top] = place();
    const [x, y] = [start.clientX - left, start.clientY - top];
    let last = start, moving = false, frame = 0;
    const ends = new AbortController();
    const until = { signal: AbortSignal.any([signal, ends.signal]) };
    const draw = () => {
      frame = 0;
      const edge = last.clientY < 100 ? -14 : last.clientY > innerHeight - 90 ? 14 : 0;
      if (edge) scrollBy(0, edge);
      const [l, t] = place();
      const [x1, y1] = [last.clientX - l, last.clientY - t];
      const [a, b, c, d] = [Math.min(x, x1), Math.min(y, y1), Math.max(x, x1), Math.max(y, y1)];
      Object.assign(box.style, { transform: `translate(${a}px, ${b}px)`, width: `${c - a}px`, height: `${d - b}px` });
      this.#take(new Set([...before, ...this.#grid.within(a, b, c, d)]));
      if (edge) frame ||= requestAnimationFrame(draw);
    };
    addEventListener('pointermove', (e) => {
      last = e;
      if (!moving && Math.hypot(e.clientX - start.clientX, e.clientY - start.clientY) < 6) return;
      if (!moving) {
        moving = true;
        begin();
        wall.append(box);
        document.body.classList.add('dragging');
      }
      frame ||= requestAnimationFrame(draw);
    }, until);
    const end = () => {
      if (frame) { cancelAnimationFrame(frame); draw(); }
      cancelAnimationFrame(frame);
      ends.abort();
      box.remove();
      document.body.classList.remove('dragging');
    };
    addEventListener('pointerup', end, until);
    addEventListener('pointercancel', end, until);
  }
}
