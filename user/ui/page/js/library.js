// The library: all photos, and a button to annotate them.

import { h, count, failed } from './element.js';
import { list } from './photos.js';
import { tiles } from './tiles.js';
import { suggest, running } from './suggest.js';

export async function library(main, signal) {
  const all = await list();
  if (signal.aborted) return;
  const ids = all.photos.map((p) => p.id);
  const asking = h('button', { type: 'button', class: 'main', onclick: () => ask(ids, asking) }, 'Suggest keywords');
  asking.disabled = running();
  const again = h('button', { type: 'button', class: 'quiet', onclick: () => rescan(main, signal) }, 'Look again');
  main.replaceChildren(
    h('div', { class: 'head' },
      h('div', {}, h('h1', {}, 'Photos'),
        h('p', { class: 'soft' }, count(ids.length, 'photo'), all.skipped ? `; ${all.skipped}` : '')),
      ids.length ? h('div', { class: 'acts' }, again, asking) : null),
    ids.length ? tiles(ids, signal) : empty());
}

const empty = () => h('div', { class: 'empty' },
  h('h2', {}, 'No photos here'),
  h('p', { class: 'soft' }, 'Start cpar ui with a folder of photos, or drop a photo onto this page.'));

async function rescan(main, signal) {
  try {
    await list(true);
    await library(main, signal);
  } catch (e) {
    main.prepend(failed(e));
  }
}

// ask annotates all photos. Known answers are not requested again.
async function ask(ids, button) {
  button.disabled = true;
  await suggest(ids);
  button.disabled = false;
}
