// The photos: the order last shown, and cached views.

import { get, post } from './session.js';

const known = new Map(); // views by id
const watchers = new Set();
let all = null;
let order = [];

// list returns all photos. With again it first rescans the folders.
export async function list(again = false) {
  if (!all || again) all = await get(again ? 'photos?again' : 'photos');
  return all;
}

// look returns the views of photos, in order.
export async function look(ids, fresh = false) {
  const missing = ids.filter((id) => fresh || !known.has(id));
  for (let i = 0; i < missing.length; i += 60) {
    for (const view of await post('look', { ids: missing.slice(i, i + 60) })) known.set(view.id, view);
  }
  return ids.map((id) => known.get(id));
}

// keep stores a newer view and notifies the watchers.
export function keep(view) {
  known.set(view.id, view);
  for (const watch of watchers) watch(view);
}

// refresh reloads the cached views of photos.
export async function refresh(ids) {
  for (const view of await look(ids.filter((id) => known.has(id)), true)) keep(view);
}

// forget drops all views after files have changed, for example by an undo.
export function forget() {
  for (const [id, view] of known) if (!view.pending && !view.dropped) known.delete(id);
}

// watch calls f with every changed view until the signal is aborted.
export function watch(f, signal) {
  watchers.add(f);
  signal.addEventListener('abort', () => watchers.delete(f));
}

export const setOrder = (ids) => { order = ids; };

// beside returns the photo a number of steps away in the order last shown.
export function beside(id, step) {
  const at = order.indexOf(id);
  return at < 0 ? undefined : order[at + step];
}

export const place = (id) => ({ at: order.indexOf(id) + 1, of: order.length });

export const pending = () => [...known.values()].some((view) => view.pending);
