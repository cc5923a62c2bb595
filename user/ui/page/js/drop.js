// Photos dropped onto the page or chosen as a file. The sidecar of a photo outside
// the folders can be downloaded.

import { upload, post } from './session.js';
import { look, keep } from './photos.js';
import { say, complain } from './say.js';

export function takeDrops() {
  const over = document.getElementById('over');
  const file = document.getElementById('file');
  let depth = 0;
  const carries = (e) => e.dataTransfer?.types.includes('Files');
  addEventListener('dragenter', (e) => { if (carries(e)) { depth++; over.hidden = false; } });
  addEventListener('dragleave', (e) => { if (carries(e) && --depth <= 0) { depth = 0; over.hidden = true; } });
  addEventListener('dragover', (e) => { if (carries(e)) e.preventDefault(); });
  addEventListener('drop', (e) => {
    if (!carries(e)) return;
    e.preventDefault();
    depth = 0;
    over.hidden = true;
    take(e.dataTransfer.files);
  });
  file.addEventListener('change', () => { take(file.files); file.value = ''; });
}

async function take(files) {
  if (files.length === 0) return;
  if (files.length > 1) say('One photo at a time: using the first');
  const name = files[0].name;
  say(`Looking at ${name}`);
  try {
    const found = await upload(files[0]);
    if (found.matched) say(`${name} is in your folders`);
    else if (found.whole) say(`${name} is not in your folders. You can download its sidecar.`);
    else say(`${name} was not found in your folders by name or size. You can download its sidecar.`);
    location.hash = `#/photo/${found.id}`;
    const [view] = await look([found.id], true);
    if (!view.asked) {
      const [outcome] = await post('annotate', { ids: [found.id] });
      if (outcome?.error) say(outcome.error, 'bad');
      keep((await look([found.id], true))[0]);
    }
  } catch (e) {
    complain(e);
  }
}
