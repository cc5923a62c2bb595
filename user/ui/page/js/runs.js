// The list of runs, with undo.

import { h, icon, count } from './element.js';
import { get, post } from './session.js';
import { forget } from './photos.js';
import { refreshPending } from './pinned.js';
import { say, complain } from './say.js';

const when = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short' });

export async function runs(main, signal) {
  const all = await get('runs');
  if (signal.aborted) return;
  main.replaceChildren(
    h('div', { class: 'head' }, h('div', {}, h('h1', {}, 'Runs'),
      h('p', { class: 'soft' }, 'Every write to your photos, newest first. Undo restores the former bytes of each file. If a file has changed since, undo removes only the keywords of the run.'))),
    all.length ? h('ul', { class: 'runs' }, all.map((run) => entry(run, () => runs(main, signal)))) : h('p', { class: 'empty soft' }, 'Nothing written yet.'));
}

function entry(run, again) {
  const acts = h('div', { class: 'acts' });
  const offer = () => {
    const button = h('button', { type: 'button', class: 'quiet', 'aria-label': `Undo run ${run.run}`, onclick: confirm }, icon('undo'), 'Undo');
    acts.replaceChildren(run.undone || run.forgotten ? h('span', { class: 'soft' }, run.undone ? 'undone' : 'too old to undo') : button);
    return button;
  };
  function confirm() {
    const yes = h('button', { type: 'button', class: 'main', onclick: take }, `Undo ${count(run.files, 'file')}`);
    acts.replaceChildren(yes, h('button', { type: 'button', class: 'quiet', onclick: () => offer().focus() }, 'Keep'));
    yes.focus();
  }
  async function take() {
    try {
      const done = await post('undo', { run: run.run });
      forget();
      refreshPending();
      const parts = [];
      if (done.restored) parts.push(`${count(done.restored, 'file')} restored`);
      if (done.retracted) parts.push(`only the keywords removed from ${count(done.retracted, 'file')}`);
      if (done.left) parts.push(`${count(done.left, 'file')} could not be changed`);
      say(`Undone: ${parts.join(', ') || 'nothing left to undo'}`, done.left ? 'bad' : '');
      await again();
    } catch (e) {
      complain(e);
    }
  }
  offer();
  return h('li', { class: run.undone ? 'undone' : '' },
    h('div', {}, h('b', {}, `${count(run.words, 'keyword')} in ${count(run.files, 'file')}`),
      h('p', { class: 'soft' }, h('time', { datetime: run.began }, when.format(new Date(run.began))), ` · ${run.command} · `, h('code', {}, run.run))),
    acts);
}
