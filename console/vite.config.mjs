import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

const here = dirname(fileURLToPath(import.meta.url));
const { version } = JSON.parse(readFileSync(join(here, '..', 'package.json'), 'utf8'));

/**
 * Builds the console as files that control serves. Its CSP allows nothing inline: every script and
 * style is a file.
 */
export default defineConfig({
  root: here,
  define: { __WAYPOST_VERSION__: JSON.stringify(version) },
  build: {
    outDir: join(here, '..', 'dist', 'console'),
    emptyOutDir: true,
    // The licenses of what the bundle contains must be where the bundle is.
    license: { fileName: 'licenses.md' },
    // A data: URL in a style or script would be inline.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2022',
    // All pages are in one file, and charts in another.
    chunkSizeWarningLimit: 1_200,
    // Each file of the component library has a "use client" directive, which is redundant here.
    rolldownOptions: {
      onwarn: (warning, warn) => void (warning.code === 'MODULE_LEVEL_DIRECTIVE' || warn(warning)),
    },
  },
  server: { proxy: { '/api': 'http://127.0.0.1:8090' } },
});
