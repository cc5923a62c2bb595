// The photos: the list last shown, and cached views.

import { get, post } from './session.js';

const known = new Map(); // views by id
const kept = 3000; // views
const watchers = new Set();
let order = null; // a source

// rescan makes the program list the folders again.
export const rescan = () => get('photos?again');

// look returns the views of photos, in order.
export async function look(ids, fresh = false) {
  const missing = ids.filter((id) => fresh || !known.has(id));
  for (let i = 0; i < missing.length; i += 60) {
    for (const view of await post('look', { ids: missing.slice(i, i + 60) })) known.set(view.id, view);
  }
  const found = ids.map((id) => known.get(id));
  for (const id of known.keys()) {
    if (known.size <= kept) break;
    if (!ids.includes(id)) known.delete(id);
  }
  return found;
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

// forget drops views after files have changed, for example by an undo. Unless all is
// set, those with decisions stay.
export function forget(all = false) {
  for (const [id, view] of known) if ((all || !view.pending) && !view.dropped) known.delete(id);
}

// watch calls f with every changed view, or without one after many have changed, until
// the signal is aborted.
export function watch(f, signal) {
  watchers.add(f);
  signal.addEventListener('abort', () => watchers.delete(f));
}

export const changed = () => { for (const watch of watchers) watch(null); };

export const setOrder = (source) => { order = source; };
export const hasOrder = () => order !== null;

// beside returns the photo a number of steps away in the list last shown.
export function beside(id, step) {
  const at = order?.indexOf(id) ?? -1;
  return at < 0 ? undefined : order.get(at + step)?.id;
}

// around loads the neighbours of a photo.
export async function around(id) {
  const at = order?.indexOf(id) ?? -1;
  if (at >= 0) await order.load(Math.max(0, at - 1), at + 2).catch(() => {});
}

export const place = (id) => ({ at: (order?.indexOf(id) ?? -1) + 1, of: order?.total ?? 0 });
