import { type CircuitEvent, type DeliveryEvent } from '../../../../shared/model/attempt-events';
import { type History, note } from '../../../../tools/bench/cases/attempt-history';

const attempt = (delivery: string, hop: number, outcome: string) =>
  ({ kind: 'attempt', delivery, hop, outcome }) as DeliveryEvent;
const circuit = { kind: 'circuit', state: 'open' } as CircuitEvent;

describe('the history of a benchmark', () => {
  test('keeps the waits before a delivery was delivered, and circuits', () => {
    const history: History = { hops: new Map(), circuits: [] };
    for (const event of [
      attempt('a', 0, 'retry'),
      attempt('a', 2, 'delivered'),
      attempt('b', 1, 'retry'),
      circuit,
    ]) {
      note(history, event);
    }
    expect([...history.hops]).toEqual([['a', 2]]);
    expect(history.circuits).toEqual([circuit]);
  });
});
