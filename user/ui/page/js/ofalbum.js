// The views of a page that shows an album.

import { album } from './album.js';
import { albumfacts } from './albumfacts.js';

export const pages = [
  [/^#\/album$/, albumfacts, 'Album'],
  [/^/, album, 'Photos'],
];

export function begin() {}
