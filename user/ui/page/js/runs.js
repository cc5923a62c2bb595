// What was written, run by run, and taking it back.

import { h, icon, count } from './element.js';
import { get, post } from './session.js';
import { forget } from './photos.js';
import { say, complain } from './say.js';

const when = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short' });

export async function runs(main, signal) {
  const all = await get('runs');
  if (signal.aborted) return;
  main.replaceChildren(
    h('div', { class: 'head' }, h('div', {}, h('h1', {}, 'Runs'),
      h('p', { class: 'soft' }, 'Every write to your photos, the newest first. Undoing one brings back the bytes of before; where a file has changed since, only the keywords of the run go.'))),
    all.length ? h('ul', { class: 'runs' }, all.map((run) => entry(run, () => runs(main, signal)))) : h('p', { class: 'empty soft' }, 'Nothing was written yet.'));
}

function entry(run, again) {
  const acts = h('div', { class: 'acts' });
  const offer = () => {
    const button = h('button', { type: 'button', class: 'quiet', 'aria-label': `Undo run ${run.id}`, onclick: confirm }, icon('undo'), 'Undo');
    acts.replaceChildren(run.undone || run.forgotten ? h('span', { class: 'soft' }, run.undone ? 'undone' : 'too long ago to be undone') : button);
    return button;
  };
  function confirm() {
    const yes = h('button', { type: 'button', class: 'main', onclick: take }, `Undo ${count(run.files, 'file')}`);
    acts.replaceChildren(yes, h('button', { type: 'button', class: 'quiet', onclick: () => offer().focus() }, 'Keep'));
    yes.focus();
  }
  async function take() {
    try {
      const done = await post('undo', { run: run.id });
      forget();
      const parts = [];
      if (done.restored) parts.push(`${count(done.restored, 'file')} as before`);
      if (done.retracted) parts.push(`from ${count(done.retracted, 'file')} only the keywords were taken`);
      if (done.left) parts.push(`${count(done.left, 'file')} could not be changed`);
      say(`Undone: ${parts.join(', ') || 'nothing was left to undo'}`, done.left ? 'bad' : '');
      await again();
    } catch (e) {
      complain(e);
    }
  }
  offer();
  return h('li', { class: run.undone ? 'undone' : '' },
    h('div', {}, h('b', {}, `${count(run.words, 'keyword')} in ${count(run.files, 'file')}`),
      h('p', { class: 'soft' }, h('time', { datetime: run.began }, when.format(new Date(run.began))), ` · ${run.command} · `, h('code', {}, run.id))),
    acts);
}
