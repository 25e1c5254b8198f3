import { randomUUID } from 'node:crypto';
import { type BatchProducer } from '../../shared/kafka/port';
import { RECALLS } from '../../shared/kafka/topics';
import { shardKeys } from '../../shared/model/delivery';
import { type RecallRecord } from '../../shared/model/recall';
import { type Clock } from './clock';
import { type Endpoint, type Lookup } from './destinations';
import { type DeliveryInHand, type Disposition } from './disposition';
import { type CircuitTransition } from './lanes/registry';

/**
 * Asks retry for the parked backlog of an endpoint that has recovered, so that it does not wait for its tiers
 * (shared/model/recall.ts).
 */

/** Deliveries that were parked just before reach their tier within this time, ms, and belong to the backlog. */
const PARKED_WITHIN_MS = 500;
/** A parked delivery that is delivered without an outage that this process knows of asks at most this often, ms. */
const ARRIVED_EVERY_MS = 60_000;

/** Returns whether a delivery came back from an open circuit by itself, and was delivered. */
export function showsRecovery({ delivery }: DeliveryInHand, { kind }: Disposition): boolean {
  return delivery.reason === 'circuit_open' && kind === 'delivered' && delivery.recalled === undefined;
}

export interface RecoveriesOptions {
  producer: Pick<BatchProducer, 'send'>;
  /** Returns whether all processes know recalls. */
  known: () => boolean;
  /** Returns whether this process has the deliveries of this key. */
  owns: (key: string) => boolean;
  time: Pick<Clock, 'after' | 'steadyMs'>;
}

export class Recoveries {
  /** the last request of each destination: its id, and when it was decided */
  readonly #last = new Map<string, { recall: string; at: number }>();

  constructor(private readonly options: RecoveriesOptions) {}

  /** A circuit opened or closed. */
  turned({ endpoint, state }: CircuitTransition): void {
    const { destinationId } = endpoint;
    const last = this.#last.get(destinationId);
    if (state === 'closed') this.#ask(endpoint);
    else if (last) {
      this.#last.delete(destinationId);
      this.#send(destinationId, { kind: 'stop', recall: last.recall });
    }
  }

  /**
   * A delivery that was parked has been delivered. If this process has just started, or another one parked it, no circuit
   * closes here.
   */
  arrived(destinationId: string, lookup: Lookup): void {
    const last = this.#last.get(destinationId);
    if (last && this.options.time.steadyMs() - last.at <= ARRIVED_EVERY_MS) return;
    const endpoint = lookup.kind === 'open' ? lookup.destination.endpoints[0] : undefined;
    if (endpoint) this.#ask(endpoint);
  }

  #ask({ destinationId, shards }: Endpoint): void {
    const { owns, time, known } = this.options;
    if (!known()) return;
    const recall = `rcv_${randomUUID()}`;
    this.#last.set(destinationId, { recall, at: time.steadyMs() });
    time.after(PARKED_WITHIN_MS, () => {
      // The circuit may have opened again, or another may have closed.
      if (this.#last.get(destinationId)?.recall !== recall) return;
      const keys = shardKeys(destinationId, shards).filter(owns);
      this.#send(destinationId, { kind: 'recall', id: recall, action: 'recovered', destination: destinationId, keys });
    });
  }

  #send(key: string, record: RecallRecord): void {
    this.options.producer.send([{ topic: RECALLS, key, value: JSON.stringify(record) }]).catch(() => undefined);
  }
}
