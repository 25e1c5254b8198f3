import { compact, defined } from '../../collections/defined';
import { type Card, cut, fitFacts, footerOf } from './card';

/**
 * Bodies for chats. A text that exceeds a limit of the receiver is shortened, since the receiver
 * would refuse the whole request.
 */

/**
 * Slack: an incoming webhook with blocks (docs.slack.dev/reference/block-kit/blocks). `text` is the
 * notification. Slack also refuses blocks of more than about 13,200 characters together
 * (`msg_blocks_too_long`).
 */
const SLACK = {
  text: 40_000,
  header: 150,
  section: 3_000,
  fields: 10,
  name: 100,
  value: 1_800,
  facts: 40,
  total: 8_000,
};

const SLACK_ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };
/** Without it, a text such as `<!channel>` would notify everybody. */
const slackText = (character: string) => SLACK_ESCAPES[character] ?? character;

export function slackBody(card: Card) {
  const { facts, leftOut } = fitFacts(card, {
    most: SLACK.facts,
    name: SLACK.name,
    value: SLACK.value,
    total: SLACK.total,
    sizeOf: ({ name, value }) => name.length + value.length,
    escape: slackText,
  });
  const markdown = (text: string) => ({ type: 'mrkdwn', text });
  const fields = facts.map(({ name, value }) => markdown(`*${name}*\n${value}`));
  const sections = Array.from({ length: Math.ceil(fields.length / SLACK.fields) }, (_, i) => ({
    type: 'section',
    fields: fields.slice(i * SLACK.fields, (i + 1) * SLACK.fields),
  }));
  return {
    text: cut(card.title, SLACK.text, slackText),
    blocks: compact([
      {
        type: 'header',
        text: { type: 'plain_text', text: cut(card.title, SLACK.header, slackText), emoji: false },
      },
      card.text
        ? { type: 'section', text: markdown(cut(card.text, SLACK.section, slackText)) }
        : undefined,
      ...sections,
      {
        type: 'context',
        elements: [
          markdown(cut(`${footerOf(card, leftOut)} · ${card.at}`, SLACK.section, slackText)),
        ],
      },
    ]),
  };
}

/** What follows the text of a link in Markdown: an address, or the name or address of one. */
const LINK = /\](?=[([:])/g;
const ZERO_WIDTH_SPACE = '\u200b';

/**
 * Takes the links with a text of their own out of a card for receivers that show Markdown: whoever
 * chooses a text of an event could lead the readers of a chat to another address than they see. An
 * address that stands in the text stays one.
 */
function withoutLinks({ title, text, facts, footer, at }: Card): Card {
  const plain = (each: string) => each.replaceAll(LINK, `]${ZERO_WIDTH_SPACE}`);
  return {
    title: plain(title),
    ...defined({ text: text === undefined ? undefined : plain(text) }),
    facts: facts.map(({ name, value }) => ({ name: plain(name), value: plain(value) })),
    footer: plain(footer),
    at,
  };
}

/**
 * Discord: executing a webhook with one embed
 * (docs.discord.com/developers/resources/message#embed-object).
 */
const DISCORD = {
  content: 2_000,
  description: 1_000,
  footer: 1_000,
  fields: 25,
  name: 256,
  value: 1_024,
  total: 3_500,
};

export function discordBody(given: Card) {
  const card = withoutLinks(given);
  const { facts, leftOut } = fitFacts(card, {
    most: DISCORD.fields,
    name: DISCORD.name,
    value: DISCORD.value,
    total: DISCORD.total,
    sizeOf: ({ name, value }) => name.length + value.length,
  });
  return {
    content: cut(card.title, DISCORD.content),
    embeds: [
      {
        ...defined({
          description: card.text ? cut(card.text, DISCORD.description) : undefined,
        }),
        fields: facts.map((fact) => ({ ...fact, inline: true })),
        footer: { text: cut(footerOf(card, leftOut), DISCORD.footer) },
        timestamp: card.at,
      },
    ],
    // Otherwise a text such as @everyone would notify everybody.
    allowed_mentions: { parse: [] },
  };
}

/**
 * Teams: a message with an Adaptive Card, as the trigger "When a Teams webhook request is received"
 * takes it.
 */
const TEAMS = { title: 500, text: 2_000, footer: 1_000, facts: 100, name: 200, value: 2_000 };
/**
 * Teams takes 28 KB. Title, text and footer take at most 16 KB if every character has four bytes.
 */
const TEAMS_FACT_BYTES = 10_000;

export function teamsBody(given: Card) {
  const card = withoutLinks(given);
  const { facts, leftOut } = fitFacts(card, {
    most: TEAMS.facts,
    name: TEAMS.name,
    value: TEAMS.value,
    total: TEAMS_FACT_BYTES,
    sizeOf: (fact) => Buffer.byteLength(JSON.stringify(fact)) + 4,
  });
  const block = (text: string, style: object) => ({
    type: 'TextBlock',
    text,
    wrap: true,
    ...style,
  });
  return {
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        contentUrl: null,
        content: {
          $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
          type: 'AdaptiveCard',
          version: '1.4',
          body: compact([
            block(cut(card.title, TEAMS.title), { size: 'Medium', weight: 'Bolder' }),
            card.text ? block(cut(card.text, TEAMS.text), {}) : undefined,
            facts.length > 0
              ? {
                  type: 'FactSet',
                  facts: facts.map(({ name, value }) => ({ title: name, value })),
                }
              : undefined,
            block(cut(`${footerOf(card, leftOut)} · ${card.at}`, TEAMS.footer), {
              isSubtle: true,
              size: 'Small',
            }),
          ]),
        },
      },
    ],
  };
}
