// A grid of photos. Images and keywords are loaded when they approach the viewport.

import { h, bar, count } from './element.js';
import { show } from './session.js';
import { look, watch, setOrder } from './photos.js';

const atOnce = 60;

export function tiles(ids, signal) {
  const wall = h('ul', { class: 'wall' });
  const more = h('button', { type: 'button', class: 'more' });
  setOrder(ids);
  let shown = 0;

  const near = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      near.unobserve(entry.target);
      fetchPicture(entry.target, signal);
    }
  }, { rootMargin: '600px' });

  async function add() {
    const next = ids.slice(shown, shown + atOnce);
    shown += next.length;
    const made = next.map((id) => tile(id));
    wall.append(...made);
    made.forEach((li) => near.observe(li.querySelector('img')));
    more.textContent = `Show more of ${count(ids.length, 'photo')}`;
    more.hidden = shown >= ids.length;
    const views = await look(next).catch(() => []);
    if (!signal.aborted) views.forEach(fill);
  }

  const byID = new Map();
  function tile(id) {
    const li = h('li', {},
      h('a', { href: `#/photo/${id}` },
        h('span', { class: 'frame' }, h('img', { alt: '', 'data-id': id })),
        h('span', { class: 'words' }, ' ')));
    byID.set(id, li);
    return li;
  }

  function fill(view) {
    const li = view && byID.get(view.id);
    if (!li) return;
    li.querySelector('a').setAttribute('aria-label', told(view));
    li.querySelector('.words').replaceChildren(...caption(view));
  }

  const end = new IntersectionObserver((entries) => {
    if (entries.some((e) => e.isIntersecting) && shown < ids.length) add();
  }, { rootMargin: '900px' });
  more.addEventListener('click', add);
  add();
  end.observe(more);
  watch(fill, signal);
  signal.addEventListener('abort', () => { near.disconnect(); end.disconnect(); });
  return h('div', {}, wall, more);
}

async function fetchPicture(img, signal) {
  try {
    await show(img, img.dataset.id, 'small', signal);
    img.classList.add('there');
  } catch (e) {
    if (e.name !== 'AbortError') img.closest('.frame').classList.add('broken');
  }
}

// caption shows a photo's keywords, then suggestions, below its thumbnail.
function caption(view) {
  const yours = view.yours.concat(view.added);
  const sure = view.words.filter((w) => w.mark !== 'reject' && (w.sure || w.mark === 'accept'));
  const maybe = view.words.filter((w) => w.mark === '' && !w.sure);
  const out = yours.slice(0, 3).map((w) => h('span', { class: 'word yours' }, w));
  for (const w of sure.concat(maybe).slice(0, 4 - out.length)) {
    out.push(h('span', { class: `word ${w.sure || w.mark === 'accept' ? 'sure' : 'maybe'}` }, w.word, w.bar ? bar(w.bar) : null));
  }
  if (view.pending) out.push(h('span', { class: 'word unwritten' }, 'not yet written'));
  if (out.length === 0) out.push(h('span', { class: 'word none' }, view.asked ? 'no suggestions' : 'no keywords'));
  return out;
}

function told(view) {
  const parts = [view.name];
  if (view.yours.length) parts.push(`keywords ${view.yours.join(', ')}`);
  const words = view.words.filter((w) => w.mark !== 'reject');
  if (words.length) parts.push(`suggested ${words.map((w) => (w.percent ? `${w.word} ${w.percent} percent` : w.word)).join(', ')}`);
  if (view.pending) parts.push('not yet written');
  return parts.join('; ');
}
