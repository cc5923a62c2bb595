// The page: its views and global keys.

import { failed } from './element.js';
import { help } from './help.js';
import { undo } from './pinned.js';
import { keys } from './keys.js';

const main = document.getElementById('main');
// The program was started with folders or with an album, and writes that into the page.
const { pages, begin } = await import(`./of${document.documentElement.dataset.mode}.js`);

let leave = new AbortController(); // cancels the work of the previous view
let before = null;
const scrolled = new Map();

async function turn() {
  const hash = location.hash;
  scrolled.set(before, scrollY);
  leave.abort();
  leave = new AbortController();
  const { signal } = leave;
  const [pattern, show, title] = pages.find(([p]) => p.test(hash));
  document.title = `${title} - cpar`;
  for (const a of document.querySelectorAll('.top nav a')) {
    const here = a.getAttribute('href') === (hash.replace('#/vocabulary', '#/words').match(/^#\/\w*/)?.[0] || '#/');
    if (here) a.setAttribute('aria-current', 'page');
    else a.removeAttribute('aria-current');
  }
  main.dataset.view = title.toLowerCase().replaceAll(' ', '-');
  main.setAttribute('aria-busy', 'true');
  try {
    await show(main, signal, pattern.exec(hash)[1]);
  } catch (e) {
    if (!signal.aborted) main.replaceChildren(failed(e));
  }
  if (signal.aborted) return;
  main.removeAttribute('aria-busy');
  if (before !== null && !main.contains(document.activeElement)) main.focus({ preventScroll: true });
  scrollTo(0, title === 'Photos' || title === 'Review' ? scrolled.get(hash) ?? 0 : 0);
  before = hash;
}

// mark is the tab's icon, drawn here because the policy permits images from memory only.
function mark() {
  const drawing = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="#0d6b4f"/><path d="M4 8.5l3 3 5.5-7" fill="none" stroke="#fff" stroke-width="2"/></svg>';
  const link = document.createElement('link');
  link.rel = 'icon';
  link.href = URL.createObjectURL(new Blob([drawing], { type: 'image/svg+xml' }));
  document.head.append(link);
}

mark();
document.getElementById('skip').addEventListener('click', (e) => { e.preventDefault(); main.focus(); });
document.getElementById('ask').addEventListener('click', help);
keys({ '?': help, u: undo });
begin();
addEventListener('hashchange', turn);
turn();
