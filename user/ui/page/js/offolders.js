// The views of a page that shows folders.

import { library } from './library.js';
import { photo } from './photo.js';
import { groups } from './groups.js';
import { review } from './review.js';
import { unreadable } from './unreadable.js';
import { search } from './search.js';
import { runs } from './runs.js';
import { vocabulary } from './vocabulary.js';
import { settings } from './settings.js';
import { takeDrops } from './drop.js';
import { pending, refreshPending } from './pinned.js';
import { keys } from './keys.js';

export const pages = [
  [/^#\/photo\/([\w-]+)$/, photo, 'Photo'],
  [/^#\/words\/(.+)$/, review, 'Review'],
  [/^#\/words$/, groups, 'Words'],
  [/^#\/vocabulary(?:\/(.*))?$/, vocabulary, 'Vocabulary'],
  [/^#\/unreadable$/, unreadable, 'Files left out'],
  [/^#\/search(?:\/(.*))?$/, search, 'Search'],
  [/^#\/runs$/, runs, 'Runs'],
  [/^#\/settings$/, settings, 'Settings'],
  [/^(?:#\/)?(?:\?(.*))?.*$/, library, 'Photos'],
];

export function begin() {
  keys({ '/': () => { location.hash = '#/search'; } });
  refreshPending().catch(() => {});
  takeDrops();
  addEventListener('beforeunload', (e) => { if (pending()) e.preventDefault(); });
}
