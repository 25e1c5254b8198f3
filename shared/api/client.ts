import { defined } from '../collections/defined';
import { parseJson, stringifyJson } from '../json/json';
import { type Operations, type Problem } from './operations';

/**
 * A client of the control API. The compiler checks its calls against the types inferred from the
 * schemas of the API. It runs wherever `fetch` exists: in a page, whose cookie it sends, and in
 * Node.
 */

export type Name = keyof Operations;

export type Input<N extends Name> = {
  ifMatch?: string;
  signal?: AbortSignal;
} & (N extends `${string}{id}${string}` ? { id: string } : unknown) &
  (Operations[N]['query'] extends undefined ? unknown : { query?: Operations[N]['query'] }) &
  (Operations[N]['body'] extends undefined ? unknown : { body: Operations[N]['body'] });

export interface ApiResponse<N extends Name> {
  data: Operations[N]['response'];
  /** tag of one entry: pass it as `ifMatch` to change just the version that was read */
  etag: string | undefined;
}

/** A refusal by the API, with its reason. */
export class ApiProblem extends Error {
  constructor(
    readonly status: number,
    readonly problem: Partial<Problem>,
  ) {
    super(problem.detail ?? problem.title ?? `the API responded with ${String(status)}`);
    this.name = 'ApiProblem';
  }
}

interface ClientOptions {
  /** base URL with /api/v1 */
  base: string;
  /** without it, only the session's cookie is sent */
  token?: string;
}

/** Any input of an operation, independent of its types. */
interface AnyInput {
  id?: string;
  query?: Record<string, string | number | boolean | undefined>;
  body?: unknown;
  ifMatch?: string;
  signal?: AbortSignal;
}

type Call = <N extends Name>(name: N, input: Input<N>) => Promise<ApiResponse<N>>;

/**
 * @returns a function that throws ApiProblem if the API refuses, and the error of `fetch` if it is
 *   unreachable
 */
export function createClient({ base, token }: ClientOptions): Call {
  return async <N extends Name>(name: N, input: Input<N>): Promise<ApiResponse<N>> => {
    const given: AnyInput = input;
    const [method = '', path = ''] = name.split(' ');
    const response = await fetch(urlOf(base + path, given), {
      method,
      headers: defined({
        authorization: token !== undefined ? `Bearer ${token}` : undefined,
        'content-type': given.body !== undefined ? 'application/json' : undefined,
        'if-match': given.ifMatch,
      }),
      ...defined({
        body: given.body !== undefined ? stringifyJson(given.body) : undefined,
        signal: given.signal,
      }),
    });
    const data = jsonOf(await response.text());
    if (!response.ok) throw new ApiProblem(response.status, data ?? {});
    return {
      data: data as Operations[N]['response'],
      etag: response.headers.get('etag') ?? undefined,
    };
  };
}

function urlOf(pattern: string, { id, query = {} }: AnyInput): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== undefined) search.set(key, String(value));
  }
  return (
    pattern.replace('{id}', encodeURIComponent(id ?? '')) +
    (search.size === 0 ? '' : `?${search.toString()}`)
  );
}

function jsonOf(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    // Empty, or the page of a proxy.
    return undefined;
  }
}
