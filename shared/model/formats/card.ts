import { stringifyJson } from '../../json/json';
import { type Json, type JsonObject, type Message, type MessageType } from '../message';

/**
 * A message as people read it: a title, facts and a footer, from which the chat formats are made.
 */
export interface Card {
  title: string;
  /** a paragraph below the title */
  text?: string;
  facts: Fact[];
  footer: string;
  /** ISO 8601 */
  at: string;
}

/** Neither is empty: Discord refuses an empty text. */
interface Fact {
  name: string;
  value: string;
}

const ELLIPSIS = '…';

/**
 * Shortens a text, so that it has at most this many UTF-16 units, with an ellipsis at its end. It
 * splits no character.
 * @param escape applied to each character; the limit counts its result
 */
export function cut(
  text: string,
  most: number,
  escape: (character: string) => string = (character) => character,
): string {
  let whole = '';
  let short = '';
  for (const character of text) {
    whole += escape(character);
    if (whole.length > most) return short + ELLIPSIS;
    if (whole.length <= most - ELLIPSIS.length) short = whole;
  }
  return whole;
}

const TITLES: Record<MessageType, (message: Message) => string> = {
  track: ({ event }) => event ?? 'Event',
  page: ({ name }) => named('Page viewed', name),
  screen: ({ name }) => named('Screen viewed', name),
  identify: () => 'User identified',
  group: ({ groupId }) => named('Group joined', groupId),
  alias: ({ previousId }) => named('User renamed', previousId),
  delete: () => 'User to be deleted',
};

function named(what: string, name: string | undefined): string {
  return name ? `${what}: ${name}` : what;
}

/**
 * Returns the card of a message. Its facts are the properties, or the traits of an identify and a
 * group.
 */
export function cardOf(message: Message): Card {
  const { type, userId, anonymousId, timestamp } = message;
  const user =
    userId === undefined ? anonymousId && `anonymous user ${anonymousId}` : `user ${userId}`;
  return {
    title: TITLES[type](message) || type,
    facts: Object.entries(detailsOf(message)).map(([name, value]) => ({
      name: name || '""',
      value: (typeof value === 'string' ? value : stringifyJson(value)) || '""',
    })),
    footer: [type, user].filter((part) => part !== undefined && part !== '').join(' · '),
    at: timestamp,
  };
}

/** Returns the part of a message that says what happened. */
export function detailsOf({ type, properties, traits }: Message): JsonObject {
  return (type === 'identify' || type === 'group' ? traits : properties) ?? {};
}

/** Returns a text of an object; undefined for anything else. */
export function textIn(object: JsonObject, name: string): string | undefined {
  const value: Json | undefined = Object.hasOwn(object, name) ? object[name] : undefined;
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Limits of the facts of a card. Sizes are in units of `sizeOf`. */
interface FactLimits {
  most: number;
  name: number;
  value: number;
  /** of all facts together */
  total: number;
  sizeOf: (fact: Fact) => number;
  escape?: (character: string) => string;
}

/** Returns the first facts, shortened, that fit, and the number of those left out. */
export function fitFacts(card: Card, limits: FactLimits): { facts: Fact[]; leftOut: number } {
  const facts: Fact[] = [];
  let left = limits.total;
  for (const { name, value } of card.facts.slice(0, limits.most)) {
    const fact = {
      name: cut(name, limits.name, limits.escape),
      value: cut(value, limits.value, limits.escape),
    };
    left -= limits.sizeOf(fact);
    if (left < 0) break;
    facts.push(fact);
  }
  return { facts, leftOut: card.facts.length - facts.length };
}

/** Returns the footer of a card, with the number of facts left out. */
export function footerOf({ footer }: Card, leftOut: number): string {
  return leftOut === 0 ? footer : `${footer} · ${leftOut} more`;
}
