// The owner's vocabulary: how each word is written, in a form and as TOML.

import { h, count } from './element.js';
import { get, post } from './session.js';
import { forget } from './photos.js';
import { completing } from './complete.js';
import { pin, refreshPending } from './pinned.js';
import { say, complain } from './say.js';

export async function vocabulary(main, signal, given) {
  const first = given ? decodeURIComponent(given) : '';
  let now = await get(`vocabulary?prefix=${encodeURIComponent(first)}`);
  if (signal.aborted) return;
  let busy = false;
  const told = h('p', { class: 'soft' });
  const problem = h('div', {});
  const undo = h('button', { type: 'button', class: 'quiet', onclick: () => change('vocabulary/undo', {}, 'The vocabulary before is restored') }, 'Undo the last change');

  // change sends one change and shows the resulting vocabulary. field is the input to
  // which a refusal refers.
  async function change(path, value, done, field = null) {
    if (busy) return false;
    busy = true;
    say('Saving, and sending it to the server');
    try {
      now = await post(path, value);
      forget(true);
      refreshPending().catch(() => {});
      if (signal.aborted) return false;
      refused(null, field);
      await list();
      draw();
      say(done);
      return true;
    } catch (e) {
      if (!signal.aborted) refused(e, field);
      say('Not saved', 'bad');
      return false;
    } finally {
      busy = false;
    }
  }

  // refused shows why a change was refused, at the line that it names.
  function refused(e, field) {
    problem.replaceChildren(e ? h('div', { class: 'failed', role: 'alert', id: 'refused' }, h('p', {}, e.message), e.hint ? h('p', { class: 'soft' }, e.hint) : null) : '');
    if (!field) return;
    if (e) field.setAttribute('aria-invalid', 'true');
    else field.removeAttribute('aria-invalid');
    if (!e) return;
    field.focus();
    const line = /line (\d+)/.exec(e.message)?.[1];
    if (line && field.tagName === 'TEXTAREA') {
      const before = field.value.split('\n').slice(0, line - 1).join('\n').length + (line > 1 ? 1 : 0);
      const end = field.value.indexOf('\n', before);
      field.setSelectionRange(before, end < 0 ? field.value.length : end);
    }
  }

  // The form of one word.
  const text = (id, more = {}) => h('input', { type: 'text', id, autocomplete: 'off', autocapitalize: 'off', maxlength: '200', ...more });
  const word = text('rule-word', { required: true, value: first });
  const synonym = text('rule-synonym');
  const parents = text('rule-parents', { 'aria-describedby': 'rule-parents-help' });
  const translation = text('rule-translation');
  const language = text('rule-language', { maxlength: '20', size: '3' });
  const never = h('input', { type: 'checkbox', id: 'rule-never' });
  const save = h('button', { type: 'submit', class: 'main', id: 'rule-save' }, 'Save');
  const remove = h('button', { type: 'button', class: 'quiet', id: 'rule-remove', onclick: () => {
    if (word.reportValidity()) send({ word: word.value.trim() }, `${word.value.trim()} has no rules any more`);
  } }, 'Remove its rules');
  let chosen = null; // the rule in the form

  const fold = (s) => s.trim().toLocaleLowerCase();
  async function find(w) {
    const { words } = await get(`vocabulary?prefix=${encodeURIComponent(w.trim())}`);
    return words.find((m) => fold(m.word) === fold(w));
  }

  // fill shows the rules of the word in the form.
  function fill(rule) {
    chosen = rule ?? null;
    synonym.value = rule?.synonym ?? '';
    parents.value = rule?.parents ?? '';
    never.checked = rule?.never ?? false;
    language.value = now.language || Object.keys(rule?.translations ?? {})[0] || now.languages[0] || '';
    translation.value = rule?.translations?.[language.value] ?? '';
    remove.disabled = !rule?.ruled;
  }
  word.addEventListener('change', async () => fill(await find(word.value).catch(() => null)));
  language.addEventListener('change', () => { translation.value = chosen?.translations?.[fold(language.value)] ?? ''; });

  async function send(rule, done) {
    if (!await change('vocabulary', { rule }, done, word)) return;
    fill(await find(rule.word));
    word.focus();
  }
  function submit(e) {
    e.preventDefault();
    const translations = { ...chosen?.translations };
    if (translation.value.trim() && !language.value.trim()) {
      language.setCustomValidity('Name the language, such as de');
      language.reportValidity();
      return;
    }
    if (language.value.trim()) translations[fold(language.value)] = translation.value.trim();
    send({ word: word.value.trim(), synonym: synonym.value, parents: parents.value, never: never.checked, translations }, `Saved: ${word.value.trim()}`);
  }
  language.addEventListener('input', () => language.setCustomValidity(''));

  const form = h('form', { class: 'facts rule', 'aria-labelledby': 'rule-title', onsubmit: submit },
    h('h2', { id: 'rule-title' }, 'One word'),
    pick('Word', word, completing(word, signal)),
    pick('Write it as', synonym),
    pick('Words above it', parents, h('small', { class: 'soft', id: 'rule-parents-help' }, 'from the top, such as animal/pet')),
    h('div', { class: 'pair' }, pick('Translation', translation), pick('Language', language)),
    h('span', { class: 'check' }, never, h('label', { for: 'rule-never' }, 'Never suggest it')),
    h('div', { class: 'acts' }, save, remove));

  // The whole vocabulary.
  const toml = h('textarea', { id: 'toml', rows: '14', spellcheck: 'false', autocapitalize: 'off' });
  const speak = h('select', { id: 'speak', onchange: () => change('vocabulary', { language: speak.value }, 'Words are written so from now on') });
  const whole = h('section', { class: 'facts rule', 'aria-labelledby': 'whole-title' },
    h('h2', { id: 'whole-title' }, 'The whole vocabulary'),
    now.languages.length ? pick('Write words', speak) : null,
    h('details', { class: 'folded', id: 'as-text' }, h('summary', {}, 'As text (TOML)'),
      h('form', { class: 'rule', onsubmit: (e) => { e.preventDefault(); change('vocabulary', { text: toml.value }, 'The vocabulary is saved', toml); } },
        pick('Vocabulary in TOML, as cpar words set reads it', toml), h('div', { class: 'acts' }, h('button', { type: 'submit', id: 'toml-save' }, 'Save text')))));

  // The list of words.
  const only = h('input', { type: 'search', id: 'only', autocomplete: 'off', autocapitalize: 'off', maxlength: '200', value: first });
  let waiting = 0;
  only.addEventListener('input', () => { clearTimeout(waiting); waiting = setTimeout(() => list().then(drawRows).catch(complain), 120); });
  const rows = h('tbody', {});
  const more = h('p', { class: 'soft' });

  async function list() {
    now = await get(`vocabulary?prefix=${encodeURIComponent(only.value.trim())}`);
  }

  function drawRows() {
    rows.replaceChildren(...now.words.map((m) => h('tr', {},
      h('th', { scope: 'row' }, now.fixed ? m.word : h('button', { type: 'button', class: 'word', onclick: () => { word.value = m.word; fill(m); word.focus(); } }, m.word)),
      h('td', {}, m.written.length ? m.written.join(', ') : h('span', { class: 'soft' }, 'never suggested')),
      h('td', { class: 'soft' }, rulesOf(m)))));
    const left = now.total - now.words.length;
    more.textContent = left > 0 ? `and ${count(left, 'more word')}` : now.total ? '' : 'No word begins like this.';
  }

  function draw() {
    const { synonyms, translations, parents: below, never: hidden } = now.rules;
    const parts = [[synonyms, 'synonym'], [translations, 'translation'], [below, 'word below another', 'words below others'], [hidden, 'word never suggested', 'words never suggested']];
    told.textContent = `${parts.filter(([n]) => n).map((p) => count(...p)).join(', ') || 'No rules yet'}. It applies to suggestions, writing and search on all your devices, and is stored encrypted with the index. Keywords already written stay.`;
    speak.replaceChildren(...[['', 'in the words of the index'], ...now.languages.map((l) => [l, `in the language ${l}`])].map(([value, t]) => h('option', { value, selected: value === now.language }, t)));
    toml.value = now.text;
    drawRows();
  }

  main.replaceChildren(
    h('p', { class: 'path' }, h('a', { href: '#/words' }, 'All words')),
    h('div', { class: 'head' }, h('div', {}, h('h1', {}, 'Your vocabulary'), told), now.fixed ? null : h('div', { class: 'acts' }, undo)),
    problem,
    now.fixed ? h('p', { class: 'problem' }, now.fixed) : h('div', { class: 'rules' }, form, whole),
    h('form', { class: 'filtering', role: 'search', onsubmit: (e) => e.preventDefault() }, pick('Words that begin with', only)),
    h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Words and how they are written' }, h('table', { class: 'plain mapped' },
      h('thead', {}, h('tr', {}, ['Word', 'Written as', 'Rules'].map((t) => h('th', { scope: 'col' }, t)))), rows)), more);
  draw();
  fill(now.words.find((m) => fold(m.word) === fold(first)));
  pin([], signal);
}

const pick = (label, input, ...more) => h('span', { class: 'pick' }, h('label', { for: input.id }, label), input, ...more);

// rulesOf describes the rules for a word.
function rulesOf(m) {
  return [
    m.synonym ? `synonym of ${m.synonym}` : '',
    m.parents ? `below ${m.parents}` : '',
    ...Object.entries(m.translations ?? {}).map(([l, t]) => `${l}: ${t}`),
    m.never ? 'never suggested' : '',
    m.known ? '' : 'not in the index',
  ].filter(Boolean).join('; ');
}
