// Edits the keywords of many photos at once, as one change that can be undone.

import { h, count } from './element.js';
import { post } from './session.js';
import { completing } from './complete.js';
import { did } from './pinned.js';
import { say, complain } from './say.js';

// tag changes the keywords of part of a list, and makes the change undoable.
export async function tag(part, add, remove, edited) {
  const { action, photos } = await post('tag', { ...part, add, remove });
  const words = [...add.map((w) => `${w} added`), ...remove.map((w) => `${w} removed`)];
  if (!photos) {
    say('Nothing to change');
    return;
  }
  const told = `${words.length > 3 ? count(words.length, 'change') : words.join(', ')}: ${count(photos, 'photo')}`;
  did(told, async () => {
    const undone = await post('untag', { action });
    return undone.photos ? `Undone: ${told}` : 'Nothing to undo: these keywords have changed since';
  });
  say(told);
  await edited();
}

// editKeywords opens a dialog with the keywords of the selected photos.
export async function editKeywords(part, selected, edited) {
  const dialog = document.getElementById('help');
  if (dialog.open) return;
  let words;
  try {
    ({ words } = await post('selected', part));
  } catch (e) {
    complain(e);
    return;
  }
  const ends = new AbortController();
  const add = new Set(), remove = new Set();
  const list = h('ul', { class: 'chips editing' });
  const input = h('input', { type: 'text', id: 'tag', maxlength: '200', autocomplete: 'off', enterkeyhint: 'done' });
  const save = h('button', { type: 'button', class: 'main', id: 'save-tags', onclick: finish }, 'Save');

  function draw() {
    const chip = (word, told, turn) => h('li', {}, h('button', { type: 'button', class: has(add, word) ? 'add' : null, 'aria-pressed': String(!remove.has(word)), 'data-word': word,
      onclick: () => { turn(); draw(); list.querySelector(`[data-word="${CSS.escape(word)}"]`)?.focus(); } }, word, h('small', {}, told)));
    list.replaceChildren(
      ...[...add].filter((w) => !words.some((x) => same(x.word, w))).map((w) => chip(w, 'new', () => add.delete(w))),
      ...words.map((w) => {
        const all = w.photos === selected && !w.maybe;
        const number = (w.maybe === w.photos ? 'suggested for ' : '') + w.photos.toLocaleString('en');
        const told = remove.has(w.word) ? 'removed' : has(add, w.word) ? 'for all' : all ? 'all' : number;
        // Clicks give a keyword of some photos to all, then to none, and then restore it.
        return chip(w.word, told, () => {
          if (remove.delete(w.word)) return;
          if (!all && !has(add, w.word)) add.add(w.word);
          else {
            for (const x of add) if (same(x, w.word)) add.delete(x);
            remove.add(w.word);
          }
        });
      }));
    save.disabled = !add.size && !remove.size;
  }

  const take = () => {
    const word = input.value.trim();
    if (!word) return false;
    remove.delete(word);
    add.add(word);
    input.value = '';
    draw();
    return true;
  };

  async function finish() {
    take();
    save.disabled = true;
    try {
      await tag(part, [...add], [...remove], edited);
      dialog.close();
    } catch (e) {
      failure.textContent = e.hint ? `${e.message}. ${e.hint}` : e.message;
      failure.hidden = false;
      draw();
    }
  }

  const failure = h('p', { class: 'problem', role: 'alert', hidden: true });
  const title = h('h2', { id: 'help-title', tabindex: '-1' }, `Keywords of ${count(selected, 'photo')}`);
  dialog.replaceChildren(title, failure,
    h('form', { class: 'adding', onsubmit: (e) => { e.preventDefault(); if (!take() && !save.disabled) finish(); } },
      h('label', { for: 'tag' }, 'Add a keyword'), h('span', { class: 'field' }, input, completing(input, ends.signal), h('button', { type: 'submit' }, 'Add'))),
    words.length ? h('p', { class: 'soft' }, 'Choose a keyword to give it to all, or to remove it.') : '',
    list,
    h('p', { class: 'acts' }, save, h('button', { type: 'button', class: 'quiet', onclick: () => dialog.close() }, 'Cancel')));
  dialog.addEventListener('close', () => ends.abort(), { once: true });
  draw();
  dialog.showModal();
  input.focus();
}

const same = (a, b) => a.toLowerCase() === b.toLowerCase();
const has = (words, word) => [...words].some((w) => same(w, word));
