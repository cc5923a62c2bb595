// The bar pinned to the foot of the screen: the actions of a view, what waits to be
// written, and undo.

import { h, icon, count } from './element.js';
import { get, post } from './session.js';
import { forget, changed } from './photos.js';
import { say, complain } from './say.js';

const place = document.getElementById('pinned');
const left = h('div', { class: 'acts' });
const right = h('div', { class: 'acts' });
place.append(left, right);

let waiting = { photos: 0, accepted: 0, rejected: 0, surveyed: 0, of: 0 };
const past = []; // what undo reverts, the last one at the end
let own = false; // whether the view has its own button for writing
let writing = false;

// pin shows the actions of a view until its signal is aborted. If the view has its own
// button for writing, the button for all decisions is less prominent.
export function pin(actions, signal, writes = false) {
  left.replaceChildren(...actions.filter(Boolean));
  own = writes;
  draw();
  signal.addEventListener('abort', () => {
    left.replaceChildren();
    own = false;
    draw();
  }, { once: true });
}

// acts replaces the actions of the view.
export function acts(actions) {
  const focused = left.contains(document.activeElement) ? document.activeElement.dataset.key : null;
  left.replaceChildren(...actions.filter(Boolean));
  if (focused) left.querySelector(`[data-key="${focused}"]`)?.focus();
  draw();
}

function draw() {
  const { photos, accepted, rejected } = waiting;
  const told = [accepted ? `${accepted.toLocaleString('en')} accepted` : '', rejected ? `${rejected.toLocaleString('en')} rejected` : ''].filter(Boolean).join(', ');
  const step = past.at(-1);
  right.replaceChildren(...[
    photos ? h('span', { class: 'soft', id: 'waiting' }, `${told} in ${count(photos, 'photo')}`) : null,
    step ? h('button', { type: 'button', class: 'quiet', id: 'undo', title: step.told, 'aria-label': `Undo: ${step.told}`, onclick: undo }, icon('undo'), 'Undo') : null,
    photos || writing ? h('button', { type: 'button', class: own ? 'quiet' : 'main', id: 'write-all', disabled: writing, onclick: writeAll }, writing ? 'Writing…' : ['Write', h('span', { class: 'wide' }, ' decisions')]) : null,
  ].filter(Boolean));
  place.hidden = !left.childElementCount && !right.childElementCount;
  document.body.classList.toggle('has-pinned', !place.hidden);
}

export function pend(now) {
  waiting = { ...waiting, ...now };
  draw();
}

// refreshPending fetches the number of unwritten decisions.
export async function refreshPending() {
  pend(await get('pending'));
  return waiting;
}

export const pending = () => waiting.photos > 0;

// did remembers an action and how to undo it.
export function did(told, revert, marks = false) {
  past.push({ told, revert, marks });
  draw();
}

// act decides on part of a listing as one action.
export async function act(source, mark, options, told) {
  const done = await post('mark', { listing: source.listing, mark, ...options });
  if (!done.words) {
    say('Nothing left to decide here');
    return done;
  }
  const text = told(done);
  past.push({ told: text, marks: true, revert: async () => {
    const undone = await post('unmark', { action: done.action });
    pend(undone.pending);
    return undone.words ? `Undone: ${text}` : 'Nothing to undo: these decisions are written or changed';
  } });
  pend(done.pending);
  say(text);
  stale();
  return done;
}

// wrote remembers a run, which undo reverts. Earlier actions are part of it.
export function wrote(done) {
  if (done.pending) pend(done.pending);
  if (!waiting.photos) for (let i = past.length - 1; i >= 0; i--) if (past[i].marks) past.splice(i, 1);
  if (done.run) {
    did(`${done.added.length === 1 ? `${done.added[0]} written` : `${count(done.added.length, 'keyword')} written`} to ${count(done.files, 'file')}`, async () => {
      const undone = await post('undo', { run: done.run });
      return `Undone: ${count(undone.restored, 'file')} restored${undone.left ? `, ${undone.left} could not be changed` : ''}`;
    });
  } else draw();
}

function stale() {
  forget(true);
  changed();
}

let reverting = Promise.resolve();
export function undo() {
  reverting = reverting.then(async () => {
    const step = past.pop();
    if (!step) return;
    try {
      say(await step.revert());
    } catch (e) {
      if (!(e.status >= 400 && e.status < 500)) past.push(step); // it can be tried again
      complain(e);
    }
    stale();
    draw();
  });
  return reverting;
}

export async function writeAll() {
  if (writing || !waiting.photos) return;
  writing = true;
  draw();
  try {
    const done = await post('write', { all: true });
    writing = false;
    wrote(done);
    if (done.failed.length) say(`Written to ${count(done.files, 'file')}; ${count(done.failed.length, 'photo')} failed: ${done.failed[0].name}: ${done.failed[0].error}`, 'bad');
    else say(`Written to ${count(done.files, 'file')}`);
  } catch (e) {
    complain(e);
    await refreshPending().catch(() => {});
  } finally {
    writing = false;
    draw();
  }
  stale();
}
