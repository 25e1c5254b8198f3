import { prepareSecrets, signHeaders } from '../../shared/model/sign';

/** The headers of a request as delivery signs it, names in lower case. */
export function signedHeaders(
  secret: string,
  body: Buffer,
  { id = 'dlv_1', timestampS = Math.floor(Date.now() / 1000) }: { id?: string; timestampS?: number } = {},
): Record<string, string> {
  const secrets = prepareSecrets({ current: secret });
  const list = signHeaders({ id, timestampS, body, secrets, nowMs: timestampS * 1000 });
  return Object.fromEntries(
    list.flatMap((name, i) => (i % 2 === 0 ? [[name.toLowerCase(), list[i + 1]!] as const] : [])),
  );
}
