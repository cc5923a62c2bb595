// Photos that look like words, or like a photo, apart from those with keywords. Every
// search sends a request to the server of an index, so it waits for Enter or a button.

import { h, icon, count, failed } from './element.js';
import { Source } from './source.js';
import { grid } from './grid.js';

// alike returns the section and its functions: offer shows a button for a query, ask
// searches for { query } or { photo, name }, and hide ends a search. Function found is
// called with the number of photos shown, or null during a search. The grid of found
// photos has the given options.
export function alike(options, { picks, found = () => {} }) {
  const root = h('section', { class: 'found', id: 'alike', hidden: true, 'aria-labelledby': 'alike-title', tabindex: '-1' });
  const title = h('h2', { id: 'alike-title' });
  const told = h('p', { class: 'soft', id: 'alike-told', role: 'status' });
  const place = h('div', {});
  const back = h('button', { type: 'button', class: 'quiet', id: 'leave-alike', hidden: true, onclick: () => history.back() }, icon('before'), 'Back to the photos');
  root.append(h('div', { class: 'head' }, h('div', {}, title, told), back), place);
  let asked = null; // the search that is shown or under way
  let view = new AbortController();
  let source = null, g = null;

  // begin empties the section for another search.
  function begin(what, heading) {
    view.abort();
    view = new AbortController();
    picks.clear();
    [asked, source, g] = [what, null, null];
    title.textContent = heading;
    told.textContent = '';
    place.replaceChildren();
    root.hidden = !what;
    back.hidden = true;
    found(null);
  }

  const hide = () => begin(null, '');

  function offer(query) {
    begin({ query }, 'Photos that look like this');
    told.textContent = 'Keywords are searched on this device. This search asks the server, which sees that you search, but not for what.';
    place.append(h('button', { type: 'button', class: 'quiet', id: 'ask-alike', onclick: () => ask({ query }) }, `Find what looks like “${query}”`));
  }

  async function ask(what) {
    const { name, ...filter } = what;
    begin(what, name ? `Looks like ${name}` : `Looks like “${what.query}”`);
    told.textContent = 'Asking the server…';
    back.hidden = !name;
    root.setAttribute('aria-busy', 'true');
    const next = new Source(filter, 'alike');
    try {
      await next.open();
      if (asked === what) draw(what, next);
    } catch (e) {
      if (asked === what) {
        told.textContent = '';
        place.replaceChildren(failed(e));
      }
    }
    if (asked === what) root.removeAttribute('aria-busy');
  }

  function draw(what, next) {
    if (next.wrong) {
      told.textContent = '';
      place.replaceChildren(failed({ message: next.wrong, hint: next.hint }));
      return;
    }
    source = next;
    const all = source.total;
    source.total = source.likely;
    g = grid(source, { ...options, signal: AbortSignal.any([options.signal, view.signal]), picks, label: title.textContent, open: (i) => options.open(source, i) });
    const more = h('button', { type: 'button', class: 'quiet', id: 'more-alike', onclick: () => {
      source.total = all;
      more.remove();
      tell();
      found(all);
      if (!g.wall.isConnected) place.prepend(g.wall);
      g.again();
    } }, `Show ${count(all - source.likely, 'less similar photo')}`);
    const tell = () => { told.textContent = [says(what, source, all), lacks(source)].filter(Boolean).join(' '); };
    place.replaceChildren(...[source.total ? g.wall : null, all > source.total ? h('p', { class: 'acts below-wall' }, more) : null].filter(Boolean));
    tell();
    g.again();
    found(source.total);
  }

  return { root, offer, ask, hide, renew: () => { source?.renew(); g?.again(); }, listing: () => source?.listing, asked: () => asked };
}

function says(what, source, all) {
  if (!all) return what.query ? 'No other photo looks like this.' : 'No photo looks like this one.';
  if (!source.total) return 'No other photo is likelier to show this than not.';
  return `${count(source.total, 'photo')}, most similar first${what.query ? ', without those that have the keywords' : ''}.`;
}

// lacks names the photos that no search by likeness finds.
function lacks({ lacking, unindexed }) {
  const parts = [];
  if (unindexed) parts.push(`The index does not have ${count(unindexed, 'photo')} of the album; cpar add --untagged adds them.`);
  if (lacking) parts.push(`${count(lacking, 'photo')} lack a digest, which cpar album add computes.`);
  return parts.join(' ');
}
