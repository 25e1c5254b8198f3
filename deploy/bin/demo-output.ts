import { styleText } from 'node:util';
import { type Receipt } from './demo-receiver';

/** Prints a few lines for each POST that arrives, all taken from the request itself. */

const BODY_CHARACTERS = 110;

type Style = 'green' | 'red' | 'yellow' | 'bold' | 'dim';

/** Colours a text for a terminal, and leaves it unchanged elsewhere. */
export function paint(style: Style, text: string): string {
  return process.stdout.isTTY && !process.env.NO_COLOR ? styleText(style, text) : text;
}

/** Formats a receipt as lines for people. */
export function printReceipt(receipt: Receipt): string[] {
  const { headers, body } = receipt;
  const again =
    receipt.attempt > 1 ? paint('bold', `  came back: attempt ${String(receipt.attempt)}, same webhook-id`) : '';
  const answer =
    receipt.answered === 200 ? 'answered 200' : paint('yellow', `answered ${String(receipt.answered)}, on purpose`);
  const shown = body.length > BODY_CHARACTERS ? `${body.slice(0, BODY_CHARACTERS)}…` : body;
  return [
    `  ${receipt.at.toISOString().slice(11, 23)}  ${paint('bold', (receipt.type ?? '?').padEnd(8))} → ${receipt.path.padEnd(10)}  ${answer}${again}`,
    `      webhook-id         ${text(headers['webhook-id'])}`,
    `      X-Signature        ${text(headers['x-signature'])}  ${mark(receipt.xSignatureOk)}`,
    `      webhook-signature  ${text(headers['webhook-signature'])}  ${mark(receipt.webhookSignatureOk)}`,
    paint('dim', `      ${shown}`),
  ];
}

function mark(ok: boolean): string {
  return ok ? paint('green', '✓ verified') : paint('red', '✗ does not match');
}

function text(header: string | string[] | undefined): string {
  return header === undefined ? '(none)' : String(header);
}
