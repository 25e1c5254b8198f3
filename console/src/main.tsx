import './component-styles';
import './tokens.css';
import './style.css';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app';

// An upgrade of Waypost replaces the files that this page has not loaded yet.
window.addEventListener('vite:preloadError', () => {
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
