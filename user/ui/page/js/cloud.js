// The server's view of a photo: the bytes of the request.

import { h, size, count, failed } from './element.js';
import { get } from './session.js';

const columns = 96; // of the drawing
const lines = 16; // of the dump

// cloud returns the folded view. It is loaded when the user opens it.
export function cloud(view) {
  const inner = h('div', {});
  let loaded = false;
  return h('details', { class: 'cloud', ontoggle: async (e) => {
    if (!e.target.open || loaded) return;
    loaded = true;
    inner.replaceChildren(...await content(view).catch((failure) => [failed(failure)]));
  } }, h('summary', {}, h('h2', {}, 'What the server saw')), inner);
}

async function content(view) {
  const { saw } = view.asked ? await get(`cloud/${view.id}`) : {};
  if (!saw) {
    return [h('p', { class: 'soft' }, view.own ? 'Nothing. The words were found on this machine.' : view.asked
      ? 'No request is shown: the keywords come from an earlier request or from a search on this machine.'
      : 'Nothing so far. The photo itself is never sent.')];
  }
  const bytes = Uint8Array.from(atob(saw.start), (c) => c.charCodeAt(0));
  return [
    h('p', {}, `It learnt ${saw.learnt}.`),
    h('div', { class: 'bytes' }, drawing(bytes), dump(bytes, saw.bytes)),
    h('dl', { class: 'figures' },
      pair('Scheme', saw.scheme), pair('Sent', size(saw.sent)), pair('Received', size(saw.received)), pair('Compared', count(saw.visited, 'record'))),
    h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Parts of the request' }, h('table', {},
      h('caption', {}, 'The request, part by part'),
      h('thead', {}, h('tr', {}, ['Part', 'Bytes', 'What the server learns'].map((t) => h('th', { scope: 'col' }, t)))),
      h('tbody', {}, saw.parts.map((p) => h('tr', {},
        h('th', { scope: 'row' }, p.what), h('td', { class: 'number' }, p.bytes.toLocaleString('en')), h('td', {}, p.learns))))))];
}

const pair = (name, value) => h('div', {}, h('dt', {}, name), h('dd', {}, value));

// drawing shows the encrypted bytes as grey pixels, which look like noise.
function drawing(bytes) {
  const rows = Math.max(1, Math.floor(bytes.length / columns));
  const canvas = h('canvas', { width: columns, height: rows, role: 'img', 'aria-label': 'The first bytes of the request, drawn as grey pixels: noise' });
  const context = canvas.getContext('2d');
  const image = context.createImageData(columns, rows);
  for (let i = 0; i < columns * rows; i++) {
    image.data.set([bytes[i], bytes[i], bytes[i], 255], 4 * i);
  }
  context.putImageData(image, 0, 0);
  return h('figure', {}, canvas, h('figcaption', { class: 'soft' }, 'your photo, as the server saw it'));
}

// dump shows the first bytes in hexadecimal.
function dump(bytes, all) {
  const out = [];
  for (let at = 0; at < Math.min(bytes.length, 16 * lines); at += 16) {
    const some = [...bytes.subarray(at, at + 16)];
    const hex = some.map((b) => b.toString(16).padStart(2, '0')).join(' ').padEnd(47);
    const text = some.map((b) => (b > 32 && b < 127 ? String.fromCharCode(b) : '.')).join('');
    out.push(`${at.toString(16).padStart(4, '0')}  ${hex}  ${text}`);
  }
  const left = all - 16 * out.length;
  if (left > 0) out.push(`and ${left.toLocaleString('en')} more bytes`);
  return h('pre', { tabindex: '0', role: 'region', 'aria-label': 'The first bytes of the request in hexadecimal' }, out.join('\n'));
}
