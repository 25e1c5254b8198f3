import { type Operations } from '../../shared/api/operations';
import { type Group, type Listed, type Session } from '../command';
import { readAgain } from '../connect/read-again';
import { type Fields, idField, optionsOf, readFields } from '../fields';
import { follow } from '../listen/follow';
import { Recent } from '../listen/recent';
import { type AttemptedUrl, type DeliveryRow } from '../output/deliveries';
import { eventLine } from '../output/events';
import { paintOf } from '../output/paint';
import { sleep } from '../../shared/runtime/async';
import { printable } from '../../shared/runtime/printable';
import { usage } from '../process-context';
import { EVENT_FILTERS } from './events';

/** `waypost tail`: prints events or attempts as they happen. */

interface TailOptions {
  rejected?: boolean;
  attempts?: boolean;
  destination?: string;
}

const { accepted: _, ...COMMON_FILTERS } = EVENT_FILTERS;
const ONLY_ATTEMPTS = {
  destination: idField('--destination <destination>', 'destination', {
    help: 'only attempts of this destination, by id or name',
  }),
};
const ATTEMPT_FILTERS: Fields<NonNullable<Operations['GET /deliveries']['query']>> = {
  ...COMMON_FILTERS,
  ...ONLY_ATTEMPTS,
};

/** Attempts have no stream, so they are polled. */
const POLL_MS = 1_000;
const TRIES_KNOWN = 50_000;

export function addTail(program: Group, { syntax, summary }: Listed): void {
  program.leaf<TailOptions>(
    syntax,
    {
      summary,
      example: 'tail --source "My site" --rejected --json',
      options: [
        ...optionsOf(EVENT_FILTERS),
        ['--attempts', 'follow attempts and their responses'],
        ...optionsOf(ONLY_ATTEMPTS),
      ],
      more:
        '--attempts checks the newest 200 deliveries and the newest 200 retried ones once a ' +
        'second; at higher rates it\nshows a sample.',
    },
    (session, options) =>
      options.attempts || options.destination !== undefined
        ? tailAttempts(session, options)
        : tailEvents(session, options),
  );
}

async function tailEvents(session: Session, options: TailOptions): Promise<void> {
  const { print, world } = session;
  await follow({
    api: session.api(),
    query: await readFields(session, options, EVENT_FILTERS),
    stop: world.stop,
    onReady: () => print.note('Following events. Press Ctrl-C to stop.'),
    onEvent: (event) => print.line(event, eventLine(event, print.colour)),
    onGap: (atLeast) =>
      print.note(
        `${atLeast > 0 ? `${String(atLeast)} events or more` : 'Some events'} were missed.`,
      ),
    onAway: (why) => print.note(`The stream ended (${why}). Reconnecting.`),
    onBack: () => print.note('The stream is back.'),
  });
}

async function tailAttempts(session: Session, options: TailOptions): Promise<void> {
  const { print, world } = session;
  if (options.rejected) {
    throw usage('--rejected applies to events: a rejected call has no attempts.');
  }
  const query = { ...(await readFields(session, options, ATTEMPT_FILTERS)), limit: 200 };
  const known = new Recent(TRIES_KNOWN);
  const read = () =>
    Promise.all([
      session.api().call('GET /deliveries', { query }),
      session.api().call('GET /deliveries', { query: { ...query, status: 'retrying' } }),
    ]);
  for (let first = true; !world.stop.aborted; first = false) {
    const pages = first ? await read() : ((await readAgain(session, read)) ?? []);
    for (const tried of newTries(
      pages.flatMap(({ data }) => data.data),
      known,
    )) {
      if (!first) print.line(valueOf(tried), lineOf(tried, print.colour));
    }
    if (first) print.note('Following attempts. Press Ctrl-C to stop.');
    await sleep(POLL_MS, { signal: world.stop });
  }
}

type Row = AttemptedUrl & { delivery: DeliveryRow };

/** Returns the attempts that are new, in order. */
function newTries(deliveries: DeliveryRow[], known: Recent): Row[] {
  return deliveries
    .flatMap((delivery) =>
      delivery.attempts.flatMap((attempt) =>
        attempt.urls.map((url) => ({ delivery, attempt, url })),
      ),
    )
    .filter(({ delivery, attempt, url }) =>
      // Its number is not unique: an attempt that was not sent has that of the next one.
      known.add(`${delivery.id} ${attempt.at} ${url.url}`),
    )
    .sort((a, b) => (a.attempt.at < b.attempt.at ? -1 : 1));
}

function valueOf({ delivery, attempt, url }: Row): object {
  const { id, messageId, destination, type, status } = delivery;
  const { n, at } = attempt;
  return { at, delivery: id, messageId, destination, type, status, n, url };
}

function lineOf({ delivery, attempt, url }: Row, colour: boolean): string {
  const outcome = colour ? paintOf(url.outcome)(url.outcome) : url.outcome;
  const texts = [
    attempt.at,
    outcome,
    url.status,
    `${String(Math.round(url.durationMs))} ms`,
    `try ${String(attempt.n)}`,
    delivery.type,
    delivery.id,
    url.origin,
    url.error && printable(url.error.message),
  ];
  return texts.filter((text) => text !== undefined).join('  ');
}
