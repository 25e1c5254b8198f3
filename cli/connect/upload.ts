import { createReadStream, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { ApiProblem } from '../../shared/api/client';
import { type Problem, type UploadedMembers } from '../../shared/api/operations';
import { createMemberLines } from '../../shared/domain/member-lines';
import { messageOf } from '../../shared/errors';
import { CliError, type World } from '../world';
import { type Api, sentenceOf } from './api';

/** Members out of a file or standard input, sent as they are read: of any length, in constant memory. */

export interface Input {
  stream: AsyncIterable<Buffer | string>;
  /** bytes; undefined where nobody knows */
  size: number | undefined;
}

/** @param file `-` is standard input. @throws CliError where it cannot be read */
export function openInput(world: World, file: string): Input {
  if (file === '-') return { stream: world.stdin as AsyncIterable<Buffer>, size: undefined };
  const path = resolve(world.cwd, file);
  try {
    return { stream: createReadStream(path), size: statSync(path).size };
  } catch (error) {
    throw new CliError(`${file} cannot be read: ${messageOf(error)}.`);
  }
}

interface Uploading {
  /** of the audience */
  id: string;
  /** PUT: these are the members; PATCH: these come and go */
  method: 'PUT' | 'PATCH';
  input: Input;
  onProgress: (sent: { bytes: number; lines: number }) => void;
}

/** @throws CliError where the API refuses: then nothing was changed */
export async function uploadMembers(api: Api, { id, method, input, onProgress }: Uploading): Promise<UploadedMembers> {
  let failed: unknown;
  async function* body(): AsyncGenerator<Uint8Array> {
    const lines = createMemberLines();
    const decoder = new TextDecoder();
    const encoder = new TextEncoder();
    let bytes = 0;
    try {
      for await (const chunk of input.stream) {
        const part = typeof chunk === 'string' ? encoder.encode(chunk) : chunk;
        bytes += part.length;
        yield encoder.encode(lines.add(decoder.decode(part, { stream: true })));
        onProgress({ bytes, lines: lines.count });
      }
      yield encoder.encode(lines.end());
      onProgress({ bytes, lines: lines.count });
    } catch (error) {
      failed = error;
      throw error;
    }
  }
  const request = {
    method,
    headers: { authorization: `Bearer ${api.place.token}`, 'content-type': 'application/x-ndjson' },
    body: body(),
    duplex: 'half',
  };
  const url = `${api.base}/audiences/${encodeURIComponent(id)}/members`;
  // The types know bodies of browsers alone: Node's own takes what can be read step by step.
  const response = await fetch(url, request as unknown as RequestInit).catch((error: unknown) => {
    if (failed !== undefined) throw new CliError(`The input cannot be read: ${messageOf(failed)}.`);
    throw new CliError(sentenceOf(error, api.place.url), undefined, error);
  });
  const answer = (await response.json().catch(() => ({}))) as UploadedMembers & Partial<Problem>;
  if (response.ok) return answer;
  throw new CliError(sentenceOf(new ApiProblem(response.status, answer), api.place.url));
}
