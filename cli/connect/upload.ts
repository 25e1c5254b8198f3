import { createReadStream, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { ApiProblem } from '../../shared/api/client';
import { type Problem, type UploadedMembers } from '../../shared/api/operations';
import { createMembersNdjson } from '../../shared/model/members-ndjson';
import { messageOf } from '../../shared/runtime/errors';
import { CliError, type ProcessContext } from '../process-context';
import { type Api, sentenceOf } from './api';

/** Streams members from a file or standard input, of any length, in constant memory. */

export interface Input {
  stream: AsyncIterable<Buffer | string>;
  /** bytes; undefined if unknown */
  size: number | undefined;
}

/**
 * @param file `-` is standard input
 * @throws CliError if the file cannot be read
 */
export function openInput(world: ProcessContext, file: string): Input {
  if (file === '-') return { stream: world.stdin as AsyncIterable<Buffer>, size: undefined };
  const path = resolve(world.cwd, file);
  try {
    const { size } = statSync(path);
    return { stream: createReadStream(path), size };
  } catch (error) {
    throw new CliError(`${file} cannot be read: ${messageOf(error)}.`);
  }
}

const NOBODY =
  'The input is empty, which would remove all members. Nothing was changed. Use ' +
  '--allow-empty to do this.';

interface Uploading {
  /** of the audience */
  id: string;
  /** PUT replaces all members; PATCH adds and removes some */
  method: 'PUT' | 'PATCH';
  input: Input;
  /** allows an input without lines: an empty full set removes all members */
  mayBeEmpty: boolean;
  onProgress: (sent: { bytes: number; lines: number }) => void;
}

/** @throws CliError if the API refuses; then nothing has changed */
export async function uploadMembers(api: Api, uploading: Uploading): Promise<UploadedMembers> {
  const { id, method, input, mayBeEmpty, onProgress } = uploading;
  let failed: unknown;
  async function* body(): AsyncGenerator<Uint8Array> {
    const lines = createMembersNdjson();
    const decoder = new TextDecoder();
    const encoder = new TextEncoder();
    let bytes = 0;
    try {
      for await (const chunk of input.stream) {
        const part = typeof chunk === 'string' ? encoder.encode(chunk) : chunk;
        bytes += part.length;
        const made = lines.add(decoder.decode(part, { stream: true }));
        // fetch hangs on an empty chunk.
        if (made !== '') yield encoder.encode(made);
        onProgress({ bytes, lines: lines.count });
      }
      const last = lines.end();
      if (last !== '') yield encoder.encode(last);
      // An aborted upload changes nothing.
      if (lines.count === 0 && !mayBeEmpty) throw new CliError(NOBODY);
      onProgress({ bytes, lines: lines.count });
    } catch (error) {
      failed = error;
      throw error;
    }
  }
  const request = {
    method,
    headers: {
      authorization: `Bearer ${api.installation.token}`,
      'content-type': 'application/x-ndjson',
    },
    body: body(),
    duplex: 'half',
  };
  const url = `${api.base}/audiences/${encodeURIComponent(id)}/members`;
  // The types cover only browser bodies. Node's fetch also accepts an async iterable.
  const response = await fetch(url, request as unknown as RequestInit).catch((error: unknown) => {
    if (failed instanceof CliError) throw failed;
    if (failed !== undefined) throw new CliError(`The input cannot be read: ${messageOf(failed)}.`);
    throw new CliError(sentenceOf(error, api.installation.url), undefined, error);
  });
  const answer = (await response.json().catch(() => ({}))) as UploadedMembers & Partial<Problem>;
  if (response.ok) return answer;
  throw new CliError(sentenceOf(new ApiProblem(response.status, answer), api.installation.url));
}
