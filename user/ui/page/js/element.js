// Elements are created without markup in strings, so that text from files and from
// a cloud stays text.

export function h(tag, properties = {}, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) e.addEventListener(name.slice(2), value);
    else if (name === 'bar') e.style.setProperty('--bar', value / 100);
    else e.setAttribute(name, value === true ? '' : value);
  }
  e.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false));
  return e;
}

const shapes = {
  accept: 'M4 12.5l5 5L20 6.5',
  reject: 'M6 6l12 12M18 6L6 18',
  before: 'M15 5l-7 7 7 7',
  after: 'M9 5l7 7-7 7',
  close: 'M6 6l12 12M18 6L6 18',
  save: 'M12 4v11M7 11l5 5 5-5M5 20h14',
  facts: 'M12 11v6M12 7v.01M3 12a9 9 0 1 0 18 0a9 9 0 1 0-18 0',
  larger: 'M10.5 7.5v6M7.5 10.5h6M4 10.5a6.5 6.5 0 1 0 13 0a6.5 6.5 0 1 0-13 0M15.5 15.5L21 21',
  smaller: 'M7.5 10.5h6M4 10.5a6.5 6.5 0 1 0 13 0a6.5 6.5 0 1 0-13 0M15.5 15.5L21 21',
  like: 'M4 8h11v11H4zM9 8V4h11v11h-5',
  undo: 'M9 7L4 12l5 5M4 12h10a5 5 0 0 1 0 10h-2',
};

// icon is hidden from screen readers. Its container has a label.
export function icon(name) {
  const space = 'http://www.w3.org/2000/svg';
  const svg = document.createElementNS(space, 'svg');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('aria-hidden', 'true');
  const path = document.createElementNS(space, 'path');
  path.setAttribute('d', shapes[name]);
  svg.append(path);
  return svg;
}

// bar draws a probability, which is also shown as text.
export const bar = (percent, kind = '') => h('span', { class: `bar ${kind}`, bar: percent, 'aria-hidden': 'true' });

export const count = (n, one, many = one + 's') => `${n.toLocaleString('en')} ${n === 1 ? one : many}`;

export function size(bytes) {
  if (bytes < 10_000) return `${bytes.toLocaleString('en')} bytes`;
  if (bytes < 10_000_000) return `${Math.round(bytes / 1000).toLocaleString('en')} kB`;
  return `${Math.round(bytes / 1_000_000).toLocaleString('en')} MB`;
}

// failed shows an error and its hint.
export const failed = (e) =>
  h('div', { class: 'failed', role: 'alert' }, h('p', {}, e.message), e.hint ? h('p', { class: 'soft' }, e.hint) : null);
