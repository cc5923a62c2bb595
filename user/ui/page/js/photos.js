// The photos: their order as last shown, and what is known of those that were looked at.

import { get, post } from './session.js';

const known = new Map(); // views by id
const watchers = new Set();
let all = null;
let order = [];

// list names all photos; again looks into the folders first.
export async function list(again = false) {
  if (!all || again) all = await get(again ? 'photos?again' : 'photos');
  return all;
}

// look tells what is known of photos, in order.
export async function look(ids, fresh = false) {
  const missing = ids.filter((id) => fresh || !known.has(id));
  for (let i = 0; i < missing.length; i += 60) {
    for (const view of await post('look', { ids: missing.slice(i, i + 60) })) known.set(view.id, view);
  }
  return ids.map((id) => known.get(id));
}

// keep takes over a newer view of a photo, and tells whoever shows it.
export function keep(view) {
  known.set(view.id, view);
  for (const watch of watchers) watch(view);
}

// refresh looks anew at those photos that were looked at.
export async function refresh(ids) {
  for (const view of await look(ids.filter((id) => known.has(id)), true)) keep(view);
}

// forget is for when files have changed behind the page's back, as an undo does.
export function forget() {
  for (const [id, view] of known) if (!view.pending && !view.dropped) known.delete(id);
}

// watch calls f with every view that changes, until the signal is aborted.
export function watch(f, signal) {
  watchers.add(f);
  signal.addEventListener('abort', () => watchers.delete(f));
}

export const setOrder = (ids) => { order = ids; };

// beside is the photo so many steps from another, in the order that was shown last.
export function beside(id, step) {
  const at = order.indexOf(id);
  return at < 0 ? undefined : order[at + step];
}

export const place = (id) => ({ at: order.indexOf(id) + 1, of: order.length });

export const pending = () => [...known.values()].some((view) => view.pending);
