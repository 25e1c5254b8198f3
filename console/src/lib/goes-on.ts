import { type Delivery, type GoesOn } from '../../../shared/api/operations';
import { isDelivered } from '../../../shared/model/reasons';
import { text } from '../texts';
import { absolute, reasonInWords, relative } from './labels';

/** Says what a waiting delivery waits for, as the API tells it (`goesOn`). Pure. */

const words = text.lib.goesOn;

export function goesOnInWords(goesOn: GoesOn, reason: string | null, nowMs: number): string {
  const { when, at, lastCheck, nextCheckBy } = goesOn;
  const coming = at !== null && Date.parse(at) > nowMs ? at : undefined;
  const notBefore = (what: string) =>
    coming === undefined ? what : words.notBefore(what, absolute(coming, nowMs));
  switch (when) {
    case 'at':
      return coming === undefined
        ? words.due
        : words.at(relative(coming, nowMs), absolute(coming, nowMs));
    case 'not_before':
      return notBefore(named(words.room, reason) ?? words.anyRoom);
    case 'on_answer': {
      const what = notBefore(named(words.answers, reason) ?? words.answers.circuit_open);
      const asked =
        lastCheck === null
          ? what
          : words.lastCheck(what, absolute(lastCheck.at, nowMs), lastCheck.message);
      return nextCheckBy !== null && Date.parse(nextCheckBy) > nowMs
        ? words.nextCheck(asked, relative(nextCheckBy, nowMs))
        : asked;
    }
    case 'on_release':
      return named(words.releases, reason) ?? words.resumed;
  }
}

function named(texts: Readonly<Record<string, string>>, reason: string | null): string | undefined {
  return texts[reason ?? ''];
}

/** Says what follows, which may be all that has room, and then why a delivery waits or ended. */
export function whyOf(
  { status, reason, goesOn }: Pick<Delivery, 'status' | 'reason' | 'goesOn'>,
  nowMs: number,
): string {
  const parts = [
    goesOn ? goesOnInWords(goesOn, reason, nowMs) : '',
    isDelivered(status) ? '' : reasonInWords(reason),
  ];
  return parts.filter((part) => part !== '').join('. ');
}
