import { type Group, type Listed } from '../command';
import { openApi } from '../connect/api';
import { loginFile, removeLogin, writeLogin } from '../connect/files';
import { checkUrl } from '../connect/resolve-installation';
import { promptSecret } from '../secret-input';
import { rightsText } from './tokens';

/** `waypost login`, `logout`, `whoami`: the stored address and token. */

export function addLogin(program: Group, { syntax, summary }: Listed): void {
  program.leaf<{ ingestUrl?: string }>(
    syntax,
    {
      summary,
      example: 'login --url https://waypost.example.com',
      options: [['--ingest-url <address>', 'address of ingest, for `send`']],
      more: 'Prompts for the token or reads it from standard input; it is never an argument.',
    },
    async ({ installation, world, print }, { ingestUrl }) => {
      const { url, ingestUrl: known } = installation();
      const token = await promptSecret(world, `Token for ${url}`);
      const ingest = ingestUrl === undefined ? known : checkUrl(ingestUrl, '--ingest-url');
      const { data } = await openApi({ url, token, ingestUrl: ingest, from: 'login' }).call(
        'GET /session',
        {},
      );
      const file = writeLogin(world, { url, token, ingestUrl: ingest });
      print.thing({ url, name: data.name, role: data.role, file }, [
        ['logged in', url],
        ['as', `${data.name} (${data.role})`],
        ['kept in', file],
      ]);
    },
  );
}

export function addLogout(program: Group, { syntax, summary }: Listed): void {
  program.leaf(syntax, { summary }, ({ world, print }) => {
    const file = loginFile(world);
    const removed = removeLogin(world);
    print.thing({ file, removed }, [[removed ? 'removed' : 'no login stored', file]]);
    return Promise.resolve();
  });
}

export function addWhoami(program: Group, { syntax, summary }: Listed): void {
  program.leaf(syntax, { summary }, async ({ api, print }) => {
    const { installation, call } = api();
    const { data } = await call('GET /session', {});
    const { url, ingestUrl, from } = installation;
    const { name, role, rights, expiresAt } = data;
    print.thing({ url, ingestUrl: ingestUrl ?? null, from, name, role, rights, expiresAt }, [
      ['control', url],
      ['ingest', ingestUrl ?? 'not known: set WAYPOST_INGEST_URL'],
      ['by', from],
      ['as', `${name} (${role})`],
      ['rights', rightsText(rights)],
      ['expires', expiresAt ?? 'never'],
    ]);
  });
}
