// Keyboard shortcuts. They are ignored while the user types and can be switched off
// in the settings, because voice control may trigger them.

const kept = 'keys';
export const enabled = () => localStorage.getItem(kept) !== 'off';
export const enable = (on) => localStorage.setItem(kept, on ? 'on' : 'off');

const typing = (e) => e.target.closest('input:not([type=checkbox]):not([type=file]), textarea, select, dialog[open]');

// keys binds functions to keys until the signal is aborted.
export function keys(table, signal) {
  addEventListener('keydown', (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.isComposing || typing(e) || !enabled()) return;
    const act = table[e.key];
    if (!act) return;
    e.preventDefault();
    act();
  }, { signal });
}
