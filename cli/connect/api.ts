import { ApiProblem, createClient, type Input, type Name } from '../../shared/api/client';
import { type Operations } from '../../shared/api/operations';
import { defined } from '../../shared/collections/defined';
import { messageOf } from '../../shared/runtime/errors';
import { CliError, type ProcessContext } from '../process-context';
import { readLogin, readLocal } from './files';
import { type Installation, resolveInstallation } from './resolve-installation';

/** The client of the control API. It turns problem details into plain sentences. */

type Call = ReturnType<typeof createClient>;

export interface Api {
  installation: Installation & { token: string };
  base: string;
  call: Call;
}

/**
 * @param options `adminToken`: the admin token of the services may be used; default: true
 * @throws CliError if a file with the address cannot be read
 */
export function findInstallation(
  world: ProcessContext,
  url: string | undefined,
  { adminToken = true }: { adminToken?: boolean } = {},
): Installation {
  const { env } = world;
  return resolveInstallation({
    url,
    env,
    kept: readLogin(world),
    local: readLocal(world),
    adminToken,
  });
}

/** @throws CliError if no token is known for it */
export function openApi(installation: Installation): Api {
  const { url, token } = installation;
  if (token === undefined) {
    throw new CliError(
      `There is no token for ${url}. Run \`waypost login --url ${url}\`, or set WAYPOST_TOKEN, or ` +
        'run this in the folder of `npm start`.',
    );
  }
  const base = `${url}/api/v1`;
  const client = createClient({ base, token });
  return {
    installation: { ...installation, token },
    base,
    call: async (name, input) => {
      try {
        return await client(name, input);
      } catch (error) {
        throw new CliError(sentenceOf(error, installation.url), undefined, error);
      }
    },
  };
}

/** @param error any value that a call has thrown */
export function sentenceOf(error: unknown, url: string): string {
  if (!(error instanceof ApiProblem)) {
    if (reasonOf(error) === 'UND_ERR_SOCKET') {
      return `${url} closed the connection before it answered. It has stopped or is overloaded: try again.`;
    }
    return (
      `No response at ${url} (${reasonOf(error)}). Is it running? Set its address with ` +
      `--url, WAYPOST_URL or \`waypost login\`.`
    );
  }
  const { status, problem } = error;
  if (status === 401 && problem.detail?.includes('expired')) return endSentence(problem.detail);
  if (status === 401) {
    return `${url} does not know this token. Run \`waypost login\`, or set WAYPOST_TOKEN.`;
  }
  if (problem.type === undefined) {
    return `${url} responds with ${String(status)}, but not like Waypost. Is this the control API?`;
  }
  // The sentence of an upload names the line already.
  const fields = (problem.errors ?? []).filter(({ pointer }) => !/^#\/\d+$/.test(pointer ?? ''));
  const faults = fields.map(
    ({ pointer, parameter, detail }) =>
      `\n  ${parameter ?? pointer?.replace(/^#\//, '') ?? ''}: ${detail}`,
  );
  return (
    endSentence(problem.detail ?? problem.title ?? `The response status is ${String(status)}`) +
    faults.join('')
  );
}

/** `fetch` says "fetch failed" and puts the reason in `cause`. */
export function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code: unknown = (cause as { code?: unknown } | undefined)?.code;
  return typeof code === 'string' ? code : messageOf(cause);
}

/** Ends a text with a full stop, unless it has one. */
export function endSentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

/** Largest page size of the API. */
const PAGE = 200;

interface Page<R> {
  data: R[];
  next: string | null;
}
/** An operation that answers with pages. */
export type ListId = {
  [N in Name]: Operations[N]['response'] extends Page<unknown> ? N : never;
}[Name];
export type Row<N extends ListId> = Operations[N]['response'] extends Page<infer R> ? R : never;

/** Reads a whole list, or its first `limit` rows. */
export async function readList<N extends ListId>(
  api: Api,
  list: N,
  input: Input<N> & { query?: object },
  limit = Infinity,
): Promise<Row<N>[]> {
  return (await readRows(api, list, input, limit)).rows;
}

/** Reads the same, and tells whether the list has more rows. */
export async function readRows<N extends ListId>(
  api: Api,
  list: N,
  input: Input<N> & { query?: object },
  limit: number,
): Promise<{ rows: Row<N>[]; hasMore: boolean }> {
  const rows: Row<N>[] = [];
  for (let after: string | undefined; ;) {
    const query = {
      ...input.query,
      limit: Math.min(PAGE, limit - rows.length),
      ...defined({ after }),
    };
    const { data } = await api.call(list, { ...input, query });
    // The compiler does not see that each of these answers is a page.
    const page = data as unknown as Page<Row<N>>;
    rows.push(...page.data);
    if (page.next === null || rows.length >= limit) return { rows, hasMore: page.next !== null };
    after = page.next;
  }
}
