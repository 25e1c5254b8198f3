import { randomUUID } from 'node:crypto';
import { type BatchProducer } from '../../shared/kafka/port';
import { recallRecord } from '../../shared/kafka/topics';
import { shardKeys } from '../../shared/model/delivery';
import {
  type RecallRecord,
  RECOVERED_REASONS,
  type RecoveredReason,
} from '../../shared/model/recall';
import { type Clock } from './clock/clock';
import { type Lookup } from './destinations/endpoint';
import { type DeliveryInHand, type Disposition } from './decisions/disposition';
import { type CircuitTransition, type LaneUrl } from './lanes/registry';

/**
 * Asks retry for the parked backlog of an endpoint that has recovered, or whose token endpoint or
 * proxy has, so that it does not wait for its tiers (shared/model/recall.ts).
 */

/**
 * Deliveries that were parked just before reach their tier within this time, ms, and belong to the
 * backlog.
 */
const PARKED_WITHIN_MS = 500;
/**
 * While a circuit closes and opens again and again, each close asks at most this often, ms; the
 * last one is not lost.
 */
const ASKS_EVERY_MS = 10_000;
/**
 * A parked delivery that is delivered without an outage that this process knows of asks at most
 * this often, ms.
 */
const ARRIVED_EVERY_MS = 60_000;

/** Returns the wait from which a delivery came back by itself, if it was delivered then. */
export function shownRecovery(
  { delivery }: DeliveryInHand,
  { kind }: Disposition,
): RecoveredReason | undefined {
  if (kind !== 'delivered' || delivery.recalled !== undefined) return undefined;
  return RECOVERED_REASONS.find((reason) => reason === delivery.reason);
}

export interface RecoveriesOptions {
  producer: Pick<BatchProducer, 'send'>;
  /** Returns whether this process has the deliveries of this key. */
  owns: (key: string) => boolean;
  time: Pick<Clock, 'after' | 'steadyMs'>;
}

interface LastRequest {
  /** undefined: its circuit opened again */
  recall: string | undefined;
  decidedAt: number;
  /** id of the last request in Kafka */
  sent: string | undefined;
  /** -Infinity: none was sent yet */
  sentAt: number;
}

export class Recoveries {
  /** the last request of each destination and reason */
  readonly #last = new Map<string, LastRequest>();

  constructor(private readonly options: RecoveriesOptions) {}

  /** A circuit opened or closed. */
  turned({ endpoint, state }: CircuitTransition): void {
    const { destinationId } = endpoint;
    if (state === 'closed') {
      this.#ask(endpoint, 'circuit_open');
      return;
    }
    const last = this.#last.get(keyOf(destinationId, 'circuit_open'));
    if (!last) return;
    if (last.sent !== undefined) this.#send(destinationId, { kind: 'stop', recall: last.sent });
    last.recall = undefined;
    last.sent = undefined;
  }

  /**
   * A delivery that was parked has been delivered. If this process has just started, or another one
   * parked it, no circuit closes here.
   */
  arrived(destinationId: string, lookup: Lookup, reason: RecoveredReason): void {
    const last = this.#last.get(keyOf(destinationId, reason));
    const isAsked =
      last?.recall !== undefined &&
      this.options.time.steadyMs() - last.decidedAt <= ARRIVED_EVERY_MS;
    if (isAsked) return;
    this.recovered(lookup, reason);
  }

  /** The deliveries of a destination that wait for this reason can be sent again. */
  recovered(lookup: Lookup, reason: RecoveredReason): void {
    const endpoint = lookup.kind === 'open' ? lookup.destination.endpoints[0] : undefined;
    if (endpoint) this.#ask(endpoint, reason);
  }

  #ask({ destinationId, shards }: LaneUrl, reason: RecoveredReason): void {
    const { owns, time } = this.options;
    const recall = `rcv_${randomUUID()}`;
    const key = keyOf(destinationId, reason);
    const decidedAt = time.steadyMs();
    const { sent, sentAt = -Infinity } = this.#last.get(key) ?? {};
    const last: LastRequest = { recall, decidedAt, sent, sentAt };
    this.#last.set(key, last);
    time.after(Math.max(PARKED_WITHIN_MS, last.sentAt + ASKS_EVERY_MS - decidedAt), () => {
      // The circuit may have opened again, or another may have closed.
      if (this.#last.get(key)?.recall !== recall) return;
      last.sent = recall;
      last.sentAt = time.steadyMs();
      const keys = shardKeys(destinationId, shards).filter(owns);
      const wanted = {
        id: recall,
        action: 'recovered' as const,
        reason,
        destination: destinationId,
        keys,
      };
      this.#send(destinationId, { kind: 'recall', ...wanted });
    });
  }

  #send(destination: string, record: RecallRecord): void {
    this.options.producer.send([recallRecord(destination, record)]).catch(() => undefined);
  }
}

function keyOf(destinationId: string, reason: RecoveredReason): string {
  return `${destinationId}/${reason}`;
}
