import { type IncomingMessage } from 'node:http';
import { type Source } from '../../shared/model/config';
import { type Admission } from './admission';
import { type HttpResponse, refusal } from './responses';
import { type Sources } from './write-key';

export interface WithSourceParts {
  sources: Sources;
  admission: Pick<Admission, 'enter' | 'leave' | 'isLimited' | 'searched' | 'refused'>;
}

/**
 * Works on a request once its write key is found, within the share of its source or its address.
 * Responds itself to a wrong key, which is searched at the pace of its address.
 * @param key undefined: the request names none before its body; `work` gets no source then
 */
export async function withSource<T>(
  { sources, admission }: WithSourceParts,
  { req, key }: { req: IncomingMessage; key: string | undefined },
  work: (source: Source | undefined) => T | Promise<T>,
): Promise<T | HttpResponse> {
  const known = key === undefined ? undefined : sources.known(key);
  const slot = admission.enter(req, known);
  if (slot === undefined) return refusal('overloaded');
  try {
    if (known || key === undefined) return await work(known);
    // Whether the address already had too many refusals. It is charged for the refresh of `config`.
    const limited = admission.isLimited(req);
    const found = await sources.find(key, limited);
    if (typeof found !== 'string') return await work(found);
    return limited && found !== 'config_unavailable'
      ? admission.searched(req)
      : admission.refused(req, refusal(found));
  } finally {
    admission.leave(slot);
  }
}
