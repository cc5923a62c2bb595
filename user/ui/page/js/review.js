// One suggested word with all its photos, likeliest first: accept all, all but the
// selected ones, or reject.

import { h, icon, count } from './element.js';
import { get } from './session.js';
import { watch } from './photos.js';
import { Source } from './source.js';
import { grid } from './grid.js';
import { Picks } from './picks.js';
import { ofWord } from './card.js';
import { keys } from './keys.js';
import { pin, acts, act, writeAll } from './pinned.js';
import { load, beside, address } from './groups.js';
import { complain } from './say.js';

export async function review(main, signal, given) {
  const word = decodeURIComponent(given);
  const source = new Source({ review: true, word });
  const [settings, found] = await Promise.all([get('settings'), load(), source.open()]);
  if (signal.aborted) return;
  let open = openOf(found, word);
  const picks = new Picks(draw);
  const g = grid(source, { card: ofWord(word), signal, picks, label: `Photos for which ${word} is suggested` });
  const told = h('p', { class: 'soft', id: 'told' });
  const faint = h('button', { type: 'button', class: 'quiet', onclick: unfold });
  const title = h('h1', {}, word);
  const steps = h('div', { class: 'acts' });
  main.replaceChildren(
    h('p', { class: 'path' }, h('a', { href: '#/words' }, 'All words'), ' · ', h('a', { href: `#/vocabulary/${encodeURIComponent(word)}` }, 'How it is written')),
    h('div', { class: 'head' }, h('div', {}, title, told), steps), g.wall, h('p', { class: 'acts below-wall' }, faint));
  pin([], signal);

  // button is an action on all photos or on the selected ones, with its key.
  const button = (key, text, kind, run) => h('button', { type: 'button', class: kind, 'data-key': key, 'aria-keyshortcuts': key, onclick: run }, text, h('kbd', { 'aria-hidden': 'true' }, key));

  function draw() {
    const group = open.group;
    const likely = group?.likely ?? 0, left = likely + (group?.maybe ?? 0);
    const limit = settings.threshold ? `Likely is at least ${settings.threshold} % probable, which cpar annotate --write writes by itself.` : '';
    told.textContent = `${count(source.total, 'photo')}, likeliest first. ${left ? `${left.toLocaleString('en')} to decide, ${likely.toLocaleString('en')} of them likely.` : 'All decided.'} ${limit}`;
    const n = picks.size;
    acts(n ? [
      button('e', `Accept all but ${n.toLocaleString('en')}`, 'main', others),
      button('a', `Accept ${n.toLocaleString('en')} selected`, 'quiet', accept),
      button('r', `Reject ${n.toLocaleString('en')} selected`, 'quiet', reject),
      button('Esc', 'Clear', 'quiet', () => picks.clear()),
    ] : left ? [
      button('a', `Accept all ${left.toLocaleString('en')}`, 'main', accept),
      likely && likely < left ? button('l', `Accept ${likely.toLocaleString('en')} likely`, 'quiet', probable) : null,
      button('r', 'Reject all', 'quiet', reject),
    ] : [after() ? button('n', 'Next word', 'main', () => go(1)) : null]);
    const [before, next] = [beside(word, -1), after()];
    steps.replaceChildren(...[before ? h('a', { class: 'button quiet', href: address(before) }, icon('before'), before) : null,
      next ? h('a', { class: 'button quiet', href: address(next) }, next, icon('after')) : null].filter(Boolean));
    faint.hidden = !group?.faint || source.filter.faint;
    faint.textContent = `Show ${count(group?.faint ?? 0, 'photo')} below 25 %`;
  }

  const after = () => beside(word, 1);
  const go = (step) => { const next = beside(word, step); location.hash = next ? address(next) : '#/words'; };

  const named = (mark) => (d) => `${word}: ${count(d.photos, 'photo')} ${mark === 'accept' ? 'accepted' : 'rejected'}`;
  async function decide(mark, options) {
    try {
      await act(source, mark, options, named(mark));
      picks.clear();
      await again();
      if (!signal.aborted && open.left === 0) go(1); // to the next word
    } catch (e) {
      complain(e);
    }
  }
  const chosen = () => (picks.size ? { only: picks.ranges() } : {});
  const accept = () => decide('accept', chosen());
  const reject = () => decide('reject', chosen());
  const probable = () => decide('accept', { likely: true });
  const others = async () => {
    if (!picks.size) return accept();
    try {
      const except = picks.ranges();
      await act(source, 'accept', { except }, named('accept'));
      await again(); // the selected ones stay, to be rejected or left
    } catch (e) {
      complain(e);
    }
  };

  async function again() {
    const now = await load();
    if (signal.aborted) return;
    open = openOf(now, word);
    draw();
  }

  async function unfold() {
    source.filter.faint = true;
    await source.open();
    g.again();
    draw();
  }

  keys({
    a: accept, r: reject, e: others, l: probable, n: () => go(1), p: () => go(-1),
    w: async () => { await writeAll(); if (!signal.aborted) go(1); },
    Escape: () => { if (picks.size) picks.clear(); else location.hash = '#/words'; },
  }, signal);
  watch((view) => { if (!view) again().catch(complain); }, signal);
  draw();
  g.measure();
  g.again();
}

// openOf returns the group of a word and the number of its photos to decide.
function openOf(found, word) {
  const group = found.words.find((x) => x.word === word);
  return { group, left: (group?.likely ?? 0) + (group?.maybe ?? 0) };
}
