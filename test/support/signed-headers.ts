import { prepareSecrets, signHeaders } from '../../shared/model/sign';

/** Returns the headers of a request that delivery has signed, with lower-case names. */
export function signedHeaders(
  secret: string,
  body: Buffer,
  {
    id = 'dlv_1',
    timestampS = Math.floor(Date.now() / 1000),
  }: { id?: string; timestampS?: number } = {},
): Record<string, string> {
  const secrets = prepareSecrets({ current: secret });
  const list = signHeaders({ id, timestampS, body, secrets, nowMs: timestampS * 1000 });
  return Object.fromEntries(
    list.flatMap((name, i) => (i % 2 === 0 ? [[name.toLowerCase(), list[i + 1]!] as const] : [])),
  );
}
