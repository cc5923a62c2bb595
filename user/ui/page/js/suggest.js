// Annotates photos in batches in the background and reports unreadable photos at the end.

import { h, count } from './element.js';
import { post } from './session.js';
import { refresh, changed } from './photos.js';
import { say, complain } from './say.js';

const atOnce = 16; // a batch of requests to the cloud
const place = document.getElementById('working');
let stopping = null;

export const running = () => stopping !== null;

const named = (all) => all.slice(0, 3).join(', ') + (all.length > 3 ? ` and ${all.length - 3} more` : '');

// suggest annotates the photos of a source.
export async function suggest(source) {
  if (running()) return;
  let stop = false;
  stopping = () => { stop = true; };
  const figure = h('span', {}, '');
  const bar = h('progress', { max: source.total, value: 0, 'aria-label': 'photos annotated' });
  place.replaceChildren(figure, bar, h('button', { type: 'button', class: 'quiet', onclick: () => stopping?.() }, 'Stop'));
  place.hidden = false;
  const bad = []; // of these, the page leaves out unusable files
  let unusable = 0;
  let done = 0;
  try {
    while (done < source.total && !stop) {
      figure.textContent = `Requesting keywords for ${count(source.total, 'photo')}`;
      await source.load(done, done + atOnce);
      const some = [];
      for (let i = done; i < Math.min(source.total, done + atOnce); i++) some.push(source.get(i).id);
      const outcomes = await post('annotate', { ids: some });
      unusable += outcomes.filter((o) => o.unusable).length;
      bad.push(...outcomes.filter((o) => o.error).map((o) => source.get(done + some.indexOf(o.id)).name || o.error));
      await refresh(some);
      done += some.length;
      bar.value = done;
    }
    const told = `${count(done - bad.length, 'photo')} annotated`;
    const broken = bad.length - unusable;
    const why = [broken && `${broken} failed`, unusable && `${count(unusable, 'file')} left out`].filter(Boolean).join(', ');
    if (bad.length) say(`${told}, ${why}: ${named(bad)}. The reasons are under Files left out, at the top of Photos.`, broken ? 'bad' : undefined);
    else say(told);
    changed();
  } catch (e) {
    complain(e);
  } finally {
    stopping = null;
    place.hidden = true;
  }
}
