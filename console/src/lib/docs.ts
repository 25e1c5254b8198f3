/** The pages of the documentation that the console links to. */

const BASE = 'https://github.com/waypost/waypost/blob/main/docs';

export const DOCS = {
  start: `${BASE}/README.md`,
  receiving: `${BASE}/guide/receiving.md`,
  filters: `${BASE}/guide/filters.md`,
  networks: `${BASE}/reference/settings.md`,
  failures: `${BASE}/operations/failures.md`,
  clients: `${BASE}/guide/clients.md`,
  api: `${BASE}/reference/control-api.md`,
  /** by what a destination is */
  kinds: {
    webhook: `${BASE}/guide/receiving.md`,
    slack: `${BASE}/guide/receivers/slack.md`,
    teams: `${BASE}/guide/receivers/teams.md`,
    discord: `${BASE}/guide/receivers/discord.md`,
    pagerduty: `${BASE}/guide/receivers/pagerduty.md`,
    cloudevents: `${BASE}/guide/receivers/cloudevents.md`,
    oauth2: `${BASE}/guide/receivers/oauth2.md`,
  },
} as const;
