// Dates beside the scroll bar of a timeline: a mark for each year, and the month at
// the top of the window, which can be dragged.

import { h } from './element.js';

// scrubber returns the bar for a grid whose source has sections.
export function scrubber(grid, source, signal) {
  const label = h('span', { class: 'month' });
  const knob = h('div', { class: 'knob', role: 'slider', tabindex: '0', 'aria-label': 'Month', 'aria-orientation': 'vertical', 'aria-valuemin': '0' }, label);
  const years = h('div', { class: 'years', 'aria-hidden': 'true' });
  const bar = h('div', { class: 'scrubber' }, years, knob);
  let frame = 0, resting = 0, dragging = false;
  // The height of the bars at the top, and the height above the timeline. To measure
  // them in every frame would lay out the page twice.
  let space = 0, above = 0;

  const length = () => Math.max(1, grid.layout().height - innerHeight + space);
  const to = (y) => scrollTo(0, above + Math.min(length(), Math.max(0, y)));

  // draw puts the knob beside the month at the top of the window.
  function draw() {
    frame = 0;
    if (signal.aborted || !source.sections?.length) return;
    const y = Math.max(0, scrollY - above);
    const { n } = grid.layout().sectionAt(y);
    const share = Math.min(1, y / length());
    bar.classList.toggle('past', y > grid.layout().height - innerHeight / 2);
    knob.style.top = `${share * 100}%`;
    const { title } = source.sections[n];
    if (label.textContent !== title) label.textContent = title;
    knob.setAttribute('aria-valuenow', String(n));
    knob.setAttribute('aria-valuetext', title);
  }

  // renew draws the years after the list has changed.
  function renew() {
    const { parts } = grid.layout();
    space = parseFloat(getComputedStyle(document.documentElement).getPropertyValue('--bars')) * 16;
    above = grid.wall.getBoundingClientRect().top + scrollY - space;
    bar.hidden = grid.layout().height < 3 * innerHeight;
    knob.setAttribute('aria-valuemax', String(Math.max(0, parts.length - 1)));
    const out = [];
    let last = '', free = -1;
    source.sections.forEach(({ month }, n) => {
      const year = month.slice(0, 4);
      const at = Math.min(1, parts[n].top / length());
      if (year === last) return;
      last = year;
      if (at * bar.clientHeight < free || !year) return;
      free = at * bar.clientHeight + 22; // marks closer than this would overlap
      const e = h('span', {}, year);
      e.style.top = `${at * 100}%`;
      out.push(e);
    });
    years.replaceChildren(...out);
    draw();
  }

  const moved = () => {
    frame ||= requestAnimationFrame(draw);
    bar.classList.toggle('moving', scrollY > 0 || dragging);
    clearTimeout(resting);
    resting = setTimeout(() => { if (!dragging) bar.classList.remove('moving'); }, 900);
  };
  const step = (by) => {
    const { parts } = grid.layout();
    const now = grid.layout().sectionAt(Math.max(0, scrollY - above) + 1).n;
    to(parts[Math.min(parts.length - 1, Math.max(0, now + by))].top);
  };
  const steps = { ArrowUp: () => step(-1), ArrowDown: () => step(1), PageUp: () => step(-12), PageDown: () => step(12), Home: () => to(0), End: () => to(Infinity) };
  knob.addEventListener('keydown', (e) => {
    if (!steps[e.key]) return;
    e.preventDefault();
    e.stopPropagation();
    steps[e.key]();
  });
  bar.addEventListener('pointerdown', (e) => {
    if (e.button !== 0) return;
    e.preventDefault();
    dragging = true;
    bar.setPointerCapture(e.pointerId);
    const drag = (p) => { const r = bar.getBoundingClientRect(); to(((p.clientY - r.top) / r.height) * length()); };
    drag(e);
    const ends = new AbortController();
    bar.addEventListener('pointermove', drag, { signal: ends.signal });
    const end = () => { dragging = false; ends.abort(); moved(); };
    bar.addEventListener('pointerup', end, { signal: ends.signal });
    bar.addEventListener('pointercancel', end, { signal: ends.signal });
  });
  addEventListener('scroll', moved, { signal, passive: true });
  addEventListener('resize', renew, { signal });
  return { bar, renew };
}
