import './component-styles';
import './tokens.css';
import './style.css';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app';

/** In the storage of the tab: the build whose page was loaded again. */
const RELOADED = 'waypost-reloaded';

// An upgrade of Waypost replaces the files that this page has not loaded yet. A file that is
// missing in the new build too does not come by loading again and again.
window.addEventListener('vite:preloadError', () => {
  const build = import.meta.url;
  if (sessionStorage.getItem(RELOADED) === build) return;
  sessionStorage.setItem(RELOADED, build);
  window.location.reload();
});

const root = document.getElementById('root');
if (root) {
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}
