import { createHash, randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream, renameSync, rmSync } from 'node:fs';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Dispatcher, EnvHttpProxyAgent, fetch } from 'undici';
import { sleep } from '../../shared/runtime/async';
import { UnexpectedStatus, WrongChecksum } from './download-problem';

/**
 * Downloads a file whose checksum is known. It appears under its name only when it is complete and
 * right.
 */

/** A server that sends nothing for this time is given up. */
const SILENCE_MS = 30_000;
const CONNECT_MS = 10_000;
/** Between tries; their number is one more. */
const PAUSES_MS = [500, 2_000];

/** Returns connections that go through the proxy of HTTPS_PROXY, HTTP_PROXY and NO_PROXY. */
export function createConnections(): Dispatcher {
  return new EnvHttpProxyAgent({
    connect: { timeout: CONNECT_MS },
    headersTimeout: SILENCE_MS,
    bodyTimeout: SILENCE_MS,
  });
}

/** A file to download. */
export interface Download {
  /** may contain a user and a password */
  url: string;
  file: string;
  sha256: string;
}

/** How to download. */
export interface DownloadOptions {
  connections: Dispatcher;
  /** receives the length of each part, and a negative length if a try starts over */
  onBytes: (count: number) => void;
  pausesMs?: readonly number[];
}

/**
 * Downloads a file. Tries again after a cut connection and after a status of 500 or more.
 * @throws UnexpectedStatus, WrongChecksum, or the error of the connection or of the disk
 */
export async function download(
  wanted: Download,
  { connections, onBytes, pausesMs = PAUSES_MS }: DownloadOptions,
): Promise<void> {
  for (let tries = 0; ; tries++) {
    let arrived = 0;
    try {
      await attempt(wanted, connections, (count) => {
        arrived += count;
        onBytes(count);
      });
      return;
    } catch (error) {
      onBytes(-arrived);
      const pause = pausesMs[tries];
      if (pause === undefined || !mayPass(error)) throw error;
      await sleep(pause);
    }
  }
}

async function attempt(
  { url, file, sha256 }: Download,
  connections: Dispatcher,
  onBytes: (count: number) => void,
) {
  const { address, headers } = splitCredentials(url);
  const response = await fetch(address, { dispatcher: connections, headers });
  if (response.status !== 200 || response.body === null) {
    await response.body?.cancel();
    throw new UnexpectedStatus(response.status);
  }
  const part = `${file}.${randomUUID()}.part`;
  const hash = createHash('sha256');
  const count = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      onBytes(chunk.length);
      done(null, chunk);
    },
  });
  try {
    await pipeline(Readable.fromWeb(response.body), count, createWriteStream(part));
    const found = hash.digest('hex');
    if (found !== sha256) throw new WrongChecksum(url.slice(url.lastIndexOf('/') + 1), found);
    renameSync(part, file);
  } catch (error) {
    rmSync(part, { force: true });
    throw error;
  }
}

/** fetch accepts no user and password in an address. */
function splitCredentials(url: string): { address: URL; headers: Record<string, string> } {
  const address = new URL(url);
  if (address.username === '') return { address, headers: {} };
  const pair = `${decodeURIComponent(address.username)}:${decodeURIComponent(address.password)}`;
  address.username = address.password = '';
  return { address, headers: { authorization: `Basic ${Buffer.from(pair).toString('base64')}` } };
}

/** Returns whether the same request may succeed a moment later. */
function mayPass(error: unknown): boolean {
  if (error instanceof UnexpectedStatus) return error.status >= 500;
  const onDisk = ['open', 'write', 'rename'].includes(
    (error as NodeJS.ErrnoException).syscall ?? '',
  );
  return !(error instanceof WrongChecksum) && !onDisk;
}

/** Returns the SHA-256 of a file in hex. */
export async function sha256Of(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}
