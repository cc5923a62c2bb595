// One photo with its keywords, its neighbours and the cloud's view.

import { h, icon, count, failed } from './element.js';
import { show, post, download } from './session.js';
import { look, keep, watch, beside, around, place, setOrder, hasOrder } from './photos.js';
import { Source } from './source.js';
import { pin, acts, did, wrote, refreshPending } from './pinned.js';
import { keys } from './keys.js';
import { words } from './words.js';
import { near } from './near.js';
import { cloud } from './cloud.js';
import { say, complain } from './say.js';

export async function photo(main, signal, id) {
  // Bind before the first await, so that fast stepping loses no key.
  keys({ ArrowLeft: () => go(id, -1), ArrowRight: () => go(id, 1), Escape: () => { location.hash = '#/'; } }, signal);
  if (!hasOrder()) setOrder(await new Source({}).open(id)); // after a reload
  await around(id);
  let [view] = await look([id]);
  if (signal.aborted) return;

  const img = h('img', { alt: '' });
  const stage = h('div', { class: 'stage' }, img, step(id, -1), step(id, 1));
  const panel = h('section', { class: 'panel', 'aria-labelledby': 'photo-name' });
  const below = h('div', { class: 'below' });
  main.replaceChildren(h('article', { class: 'one' }, stage, panel, below));
  show(img, id, 'large', signal).then(() => img.classList.add('there')).catch((e) => {
    if (!signal.aborted) stage.append(failed(e));
  });

  // Run actions in order, since keys may arrive faster than responses.
  let last = Promise.resolve();
  const inTurn = (f) => (...args) => { last = last.then(() => f(...args)); return last; };

  const list_ = words(decide, signal);
  const draw = () => {
    img.alt = view.yours.length ? `${view.name}: ${view.yours.join(', ')}` : view.name;
    document.title = `${view.name} - cpar`;
    panel.replaceChildren(heading(view), list_.draw(view, asking));
    doing(view);
    list_.settle();
  };
  const under = () => {
    const parts = [near(view, signal), cloud(view)];
    if (!signal.aborted) below.replaceChildren(...parts);
  };
  let asking = false;

  async function decide(word, mark) {
    try {
      const before = view.words.find((w) => w.word === word)?.mark ?? '';
      keep(await post('decide', { id, word, mark }));
      did(`${word}: ${{ accept: 'accepted', reject: 'rejected', add: 'added', '': 'undecided' }[mark]}`, async () => {
        keep(await post('decide', { id, word, mark: before }));
        await refreshPending();
        return `Undone: ${word}`;
      }, true);
      refreshPending().catch(() => {});
      return true;
    } catch (e) {
      complain(e);
      return false;
    }
  }

  async function suggest() {
    if (asking || view.asked) return;
    asking = true;
    draw();
    say(`Requesting keywords for ${view.name}`);
    try {
      const [outcome] = await post('annotate', { ids: [id] });
      asking = false;
      keep((await look([id], true))[0]);
      if (outcome?.error) say(outcome.error, 'bad');
      else say(view.words.length ? `Suggested: ${count(view.words.length, 'keyword')}` : 'No keyword is likely enough to suggest');
    } catch (e) {
      asking = false;
      draw();
      complain(e);
    }
  }

  async function write() {
    try {
      if (view.dropped) await save(view);
      else {
        const done = await post('write', { id });
        wrote(done);
        say(done.file ? `Written to ${done.file}` : 'Nothing to write');
      }
      keep((await look([id], true))[0]);
      if (!signal.aborted) go(id, 1); // to the next photo
    } catch (e) {
      complain(e);
    }
  }

  // doing pins the buttons for the whole photo.
  function doing(v) {
    const n = toWrite(v).length + v.words.filter((w) => w.mark === 'reject').length;
    const asks = h('button', { type: 'button', class: v.asked ? 'quiet' : 'main', 'data-key': 's', onclick: inTurn(suggest), disabled: asking },
      asking ? 'Requesting…' : 'Suggest keywords');
    const writes = h('button', { type: 'button', class: 'main', 'data-key': 'w', onclick: inTurn(write), id: 'write', disabled: n === 0 },
      v.dropped ? 'Download sidecar' : 'Write', v.dropped ? null : h('kbd', { 'aria-hidden': 'true' }, 'w'));
    acts([v.asked ? null : asks, v.asked || n ? writes : null, h('span', { class: 'soft', id: 'will' }, will(v))]);
  }

  watch((v) => {
    if (!v) { look([id], true).then(([now]) => { if (!signal.aborted) keep(now); }).catch(() => {}); return; }
    if (v.id !== id) return;
    const fresh = v.asked !== view.asked;
    view = v;
    draw();
    if (fresh) under();
  }, signal);
  keys({
    ArrowUp: inTurn(() => list_.move(-1)), ArrowDown: inTurn(() => list_.move(1)),
    a: inTurn(() => list_.act('accept')), r: inTurn(() => list_.act('reject')), n: inTurn(() => list_.add()),
    s: inTurn(suggest), w: inTurn(write),
  }, signal);
  pin([], signal, true);
  draw();
  under();
}

function heading(v) {
  const { at, of } = place(v.id);
  const where = v.dropped ? 'outside your folders' : [v.folder === '.' ? '' : v.folder, at ? `${at} of ${of}` : ''].filter(Boolean).join(', ');
  return h('header', {}, h('h1', { id: 'photo-name' }, v.name), h('p', { class: 'soft' }, where),
    v.problems.map((p) => h('p', { class: 'problem' }, p)));
}

const accepted = (v) => v.words.filter((w) => w.mark === 'accept').map((w) => w.word).concat(v.added);
const unsaid = (v) => v.words.filter((w) => w.mark === '' && w.sure && !w.written).map((w) => w.word);
const toWrite = (v) => accepted(v).concat(unsaid(v));

// will describes the next write.
function will(v) {
  const yours = accepted(v).length;
  const machine = unsaid(v).length;
  const gone = v.words.filter((w) => w.mark === 'reject').length;
  const parts = [];
  if (yours) parts.push(`${yours} as yours`);
  if (machine) parts.push(`${machine} as suggested`);
  if (gone) parts.push(`${gone} rejected`);
  if (!parts.length) return v.asked ? 'Nothing to write.' : '';
  return `To be written: ${parts.join(', ')}.`;
}

async function save(v) {
  const blob = await download(`sidecar/${v.id}`);
  const address = URL.createObjectURL(blob);
  h('a', { href: address, download: `${v.name}.xmp` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
  say(`Save ${v.name}.xmp beside the photo`);
}

function go(id, by) {
  const next = beside(id, by);
  if (next) location.hash = `#/photo/${next}`;
}

function step(id, by) {
  const next = beside(id, by);
  if (!next) return null;
  const [name, shape, kind] = by < 0 ? ['Previous photo', 'before', 'left'] : ['Next photo', 'after', 'right'];
  return h('a', { class: `step ${kind}`, href: `#/photo/${next}`, 'aria-label': name }, icon(shape));
}
