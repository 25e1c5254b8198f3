import { type Entry } from '../../../shared/config/types';
import { type Token } from '../../../shared/model/config';
import { hashToken } from '../auth/identities';
import { type ConfigEntries, newId } from '../config/config-entries';
import { type Log } from '../../../shared/telemetry/log';
import { type TokenUses } from '../auth/token-uses';
import { type HandlersOf } from '../http/handlers';
import { pageOfEntries } from '../http/paging';
import { createToken, newToken, patchToken, tokenView } from './model';

export interface TokenDeps {
  entries: ConfigEntries;
  tokenUses: Pick<TokenUses, 'all'>;
  now: () => Date;
  log: Log;
}

export function tokenHandlers({ entries, tokenUses, now, log }: TokenDeps): HandlersOf<'tokens'> {
  const view = async (entry: Entry<Token>) =>
    tokenView(entry, (await tokenUses.all()).get(entry.data.id));
  return {
    'GET /tokens': async ({ query }) => {
      const used = await tokenUses.all();
      return pageOfEntries(entries.list('token'), query, (entry) =>
        tokenView(entry, used.get(entry.data.id)),
      );
    },
    'POST /tokens': async ({ body, by, identity }) => {
      const token = newToken();
      const made = { id: newId('tok', now()), hash: hashToken(token), now: now(), by: identity };
      const entry = await entries.create('token', by, () => createToken(body, made));
      log.info({ token: made.id, role: entry.data.role }, 'token.created');
      return { ...(await view(entry)), token };
    },
    'GET /tokens/{id}': ({ id }) => view(entries.get('token', id)),
    'PATCH /tokens/{id}': async (call) => {
      const made = { now: now(), by: call.identity };
      const entry = await entries.change('token', call, (token) =>
        patchToken(token, call.body ?? {}, made),
      );
      log.info({ token: entry.data.id, role: entry.data.role }, 'token.changed');
      return view(entry);
    },
    'DELETE /tokens/{id}': async (call) => {
      await entries.remove('token', call);
      log.info({ token: call.id }, 'token.deleted');
    },
  };
}
