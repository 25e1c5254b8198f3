/** The pages of the documentation that the console links to. */

const BASE = 'https://github.com/waypost/waypost/blob/main/docs';

export const DOCS = {
  start: `${BASE}/README.md`,
  receiving: `${BASE}/guide/receiving.md`,
  filters: `${BASE}/guide/filters.md`,
  networks: `${BASE}/reference/settings.md`,
  failures: `${BASE}/operations/failures.md`,
} as const;
