// The library: all photos or a filtered part, and actions for the photos shown.

import { h, count, failed } from './element.js';
import { get } from './session.js';
import { rescan } from './photos.js';
import { Source } from './source.js';
import { grid } from './grid.js';
import { photos } from './card.js';
import { suggest, running } from './suggest.js';
import { pin, act, writeAll, refreshPending } from './pinned.js';
import { completing } from './complete.js';
import { keys } from './keys.js';
import { say } from './say.js';

const shows = [['', 'All photos'], ['untagged', 'Without keywords'], ['likely', 'With likely suggestions'], ['maybe', 'With possible suggestions'], ['undecided', 'With any suggestion']];
const fields = ['show', 'word', 'folder', 'from', 'to'];

// read returns the filter in the address.
function read(query) {
  const given = new URLSearchParams(query ?? '');
  return Object.fromEntries(fields.map((f) => [f, given.get(f) ?? '']).filter(([, v]) => v));
}

export async function library(main, signal, query) {
  const filter = read(query);
  const source = new Source(filter);
  const [settings] = await Promise.all([get('settings'), source.open()]);
  if (signal.aborted) return;
  const told = h('p', { class: 'soft', id: 'told' });
  const asking = h('button', { type: 'button', class: 'main', onclick: () => ask(source, asking, drawTold) }, 'Suggest keywords');
  asking.disabled = running();
  const g = grid(source, { card: photos, signal });
  const open = async () => {
    await source.open();
    if (signal.aborted) return;
    drawTold();
    g.again();
  };
  const drawTold = () => {
    const n = count(source.total, 'photo');
    told.replaceChildren(Object.keys(filter).length ? `${n} of ${source.of.toLocaleString('en')}` : n,
      source.surveyed < source.of ? `, keywords of ${source.surveyed.toLocaleString('en')} read so far` : '');
    if (source.left_out) told.append(' · ', h('a', { href: '#/unreadable' }, `${count(source.left_out, 'file')} left out`));
    likely.textContent = `Accept likely in all ${source.total.toLocaleString('en')} shown`;
  };
  const likely = h('button', { type: 'button', class: 'quiet', 'data-key': 'likely', id: 'likely', onclick: () =>
    act(source, 'accept', { likely: true }, (d) => `${count(d.words, 'likely keyword')} accepted in ${count(d.photos, 'photo')}`).catch((e) => say(e.message, 'bad')) });
  const again = h('button', { type: 'button', class: 'quiet', onclick: () => lookAgain(open, main) }, 'Look again');
  drawTold();
  main.replaceChildren(
    h('div', { class: 'head' }, h('div', {}, h('h1', {}, 'Photos'), told),
      settings.photos ? h('div', { class: 'acts' }, again, asking) : null),
    ...(settings.photos ? [filters(filter, settings.below, signal), source.total ? g.wall : nothing()] : [empty()]));
  g.measure();
  g.again();
  pin(source.total && !settings.own ? [likely] : [], signal);
  keys({ w: writeAll }, signal);
  follow(source, open, drawTold, signal);
}

// follow renews a filtered list while the program still reads keywords.
async function follow(source, open, told, signal) {
  while (source.surveyed < source.of && !signal.aborted) {
    await new Promise((done) => setTimeout(done, 1000));
    if (signal.aborted) return;
    try {
      Object.assign(source, pick(await refreshPending()));
      if (Object.keys(source.filter).length && scrollY === 0) await open();
      else told();
    } catch {
      return;
    }
  }
}

const pick = ({ surveyed, of, left_out }) => ({ surveyed, of, left_out });

function filters(filter, folders, signal) {
  const now = { ...filter };
  const turn = () => {
    const query = new URLSearchParams(Object.entries(now).filter(([, v]) => v)).toString();
    location.hash = query ? `#/?${query}` : '#/';
  };
  const set = (name) => (e) => { now[name] = e.target.value.trim(); turn(); };
  const choice = (name, label, options) => field(label, h('select', { id: `filter-${name}`, onchange: set(name) },
    options.map(([value, text]) => h('option', { value, selected: value === (filter[name] ?? '') }, text))));
  const field = (label, input) => h('span', { class: 'pick' }, h('label', { for: input.id }, label), input);
  const word = h('input', { type: 'text', id: 'filter-word', value: filter.word ?? '', maxlength: '200', autocomplete: 'off', onchange: set('word') });
  const date = (name, label) => field(label, h('input', { type: 'date', id: `filter-${name}`, value: filter[name] ?? '', onchange: set(name) }));
  const more = h('details', { class: 'filters', open: fields.some((f) => f !== 'show' && filter[f]) },
    h('summary', {}, 'More filters'),
    h('div', { class: 'picks' },
      h('span', { class: 'pick' }, h('label', { for: 'filter-word' }, 'With the word'), word, completing(word, signal)),
      folders.length > 1 ? choice('folder', 'In the folder', [['', 'All folders'], ...folders.map((f) => [f, f === '.' ? 'the opened folder' : f])]) : null,
      date('from', 'File dated from'), date('to', 'to')));
  return h('form', { class: 'filtering', 'aria-label': 'Filters', onsubmit: (e) => e.preventDefault() },
    choice('show', 'Show', shows), more,
    Object.keys(filter).length ? h('a', { class: 'button quiet', href: '#/' }, 'Show all') : null);
}

const nothing = () => h('div', { class: 'empty' }, h('h2', {}, 'No photo matches these filters'), h('p', {}, h('a', { href: '#/' }, 'Show all photos')));

const empty = () => h('div', { class: 'empty' },
  h('h2', {}, 'No photos here'),
  h('p', { class: 'soft' }, 'Start cpar ui with a folder of photos, or drop a photo onto this page.'));

async function lookAgain(open, main) {
  try {
    await rescan();
    await open();
  } catch (e) {
    main.prepend(failed(e));
  }
}

// ask annotates all photos shown. Known answers are not requested again.
async function ask(source, button, told) {
  button.disabled = true;
  await suggest(source);
  button.disabled = false;
  Object.assign(source, pick(await refreshPending().catch(() => source)));
  told();
}
