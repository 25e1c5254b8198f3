import { verifyWebhook, WebhookError } from '../../clients/node/src/webhook';
import { parseDuration } from '../../shared/model/time';
import { type Group, type Listed } from '../command';
import { paintOf } from '../output/paint';
import { readBytes, readSecretFile } from '../secret-input';
import { FAILED, usage, type ProcessContext } from '../process-context';
import { type CapturedRequest, parseRequest } from '../verify/request';

/** `waypost verify`: verifies the signatures of a captured request. */

interface VerifyOptions {
  secretFile?: string;
  tolerance?: string;
  anyTime?: boolean;
}

interface Verdict {
  scheme: string;
  result: 'ok' | 'failed';
  code?: string;
  message?: string;
}

export function addVerify(program: Group, { syntax, summary }: Listed): void {
  program.leaf<VerifyOptions>(
    syntax,
    {
      summary,
      example: 'verify request.txt --secret-file secret.txt --any-time',
      options: [
        ['--secret-file <file>', 'the shared secret. Or set WAYPOST_SHARED_SECRET'],
        ['--tolerance <duration>', 'maximum difference of webhook-timestamp from now (default 5m)'],
        ['--any-time', 'accept any webhook-timestamp, for old requests'],
      ],
      more:
        'The file contains the headers, an empty line and the exact bytes of the body. A ' +
        're-serialised body has another signature.',
    },
    async ({ world, print }, options, file = '-') => {
      const toleranceS = toleranceOf(options);
      const secret = await secretOf(world, options, file);
      const request = parseRequest(await readBytes(world, file));
      const verdicts = [
        check('standard', request, secret, toleranceS),
        check('x-signature', request, secret, toleranceS),
      ];
      if (request.leftOver > 0) {
        print.note(
          `${String(request.leftOver)} bytes after the body were ignored, because of ` +
            'Content-Length.',
        );
      }
      print.rows(
        [
          { title: 'SIGNATURE', of: ({ scheme }) => scheme },
          { title: 'RESULT', of: ({ result }) => result, paint: ({ result }) => paintOf(result) },
          { title: 'WHY', of: ({ message }) => message },
        ],
        verdicts,
        '',
      );
      return verdicts.every(({ result }) => result === 'ok') ? 0 : FAILED;
    },
  );
}

function check(
  scheme: 'standard' | 'x-signature',
  { headers, body }: CapturedRequest,
  secret: string,
  toleranceS: number,
): Verdict {
  const name = scheme === 'standard' ? 'webhook-signature' : 'X-Signature';
  try {
    verifyWebhook({ headers, body, secret, scheme, toleranceS });
    return { scheme: name, result: 'ok' };
  } catch (error) {
    if (!(error instanceof WebhookError)) throw error;
    const hint = error.code === 'too_old' ? ' (use --any-time to skip this check)' : '';
    return { scheme: name, result: 'failed', code: error.code, message: error.message + hint };
  }
}

function toleranceOf({ tolerance, anyTime }: VerifyOptions): number {
  if (anyTime) return Infinity;
  const ms = parseDuration(tolerance ?? '5m');
  if (ms === undefined) {
    throw usage(`--tolerance must be a duration such as 5m, not "${tolerance ?? ''}".`);
  }
  return ms / 1000;
}

async function secretOf(
  world: ProcessContext,
  { secretFile }: VerifyOptions,
  file: string,
): Promise<string> {
  if (secretFile === undefined) {
    const secret = world.env.WAYPOST_SHARED_SECRET;
    if (!secret) {
      throw usage('A secret is required. Give --secret-file or set WAYPOST_SHARED_SECRET.');
    }
    return secret;
  }
  if (secretFile === '-' && file === '-') {
    throw usage('The request and the secret cannot both come from standard input.');
  }
  return readSecretFile(world, secretFile);
}
