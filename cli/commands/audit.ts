import { AUDIT_KINDS } from '../../shared/api/operation';
import { type Audit } from '../../shared/api/operations';
import { type Group, type Listed } from '../command';
import { choiceField, idField, textField, timeField } from '../fields';
import { addList, MOST_ROWS } from '../resource';

/** `waypost audit`: the log of changes and actions, with their authors. */

type Entry = Audit['data'][number];

/** Authors without a token in the list: the admin token of the settings, and Waypost itself. */
const NO_TOKENS = ['admin', 'waypost'];

export function addAudit(program: Group, { syntax, summary }: Listed): void {
  addList(program, syntax, {
    from: 'GET /audit',
    summary,
    more: 'Without sign-ins and sign-outs: --kind session lists these.',
    example: 'audit --kind destination --since 24h',
    columns: [
      { title: 'AT', of: ({ at }) => at },
      { title: 'BY', of: ({ by }) => by.name },
      { title: 'ROLE', of: ({ by }) => by.role },
      { title: 'DID', of: didWhat },
      { title: 'NAME', of: ({ name }) => name },
      { title: 'ENTRY', of: ({ entry }) => entry },
      { title: 'CHANGED', of: ({ changes }) => changes.map(changeOf).join('; ') },
    ],
    filters: {
      kind: choiceField('--kind <kind>', AUDIT_KINDS),
      entry: textField('--entry <id>', 'id of a source, destination or other entry'),
      by: idField('--by <token>', 'token', {
        help: 'by id or name; admin: the token in the settings; waypost: Waypost itself',
        // A revoked token is no longer in the list, but its actions still are.
        isId: (by) => NO_TOKENS.includes(by) || by.startsWith('tok_'),
      }),
      since: timeField('--since <time>', 'since then, such as 15m, 24h or 2026-12-01T10:00:00Z'),
      until: timeField('--until <time>', 'before this time'),
    },
    // Sign-ins would hide what changed.
    query: { sessions: 'false' },
    limited: { most: MOST_ROWS, one: 'entry', many: 'entries' },
    empty: 'No matching entries.',
  });
}

/** A session begins with a sign-in. */
function didWhat({ action, kind }: Pick<Entry, 'action' | 'kind'>): string {
  if (kind !== 'session') return `${action} ${kind}`;
  return action === 'created' ? 'signed in' : 'signed out';
}

function changeOf({ field, from, to }: Entry['changes'][number]): string {
  return `${field}: ${textOf(from)} → ${textOf(to)}`;
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return '-';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
