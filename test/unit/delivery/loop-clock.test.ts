import { LoopClock } from '../../../services/delivery/loop-clock';
import { type Clock } from '../../../services/delivery/clock';

/** A loop whose turns take as long as it is told, and are work to the part that it is told. */
function loop() {
  const at = { steadyMs: 0, busyMs: 0 };
  let tick: () => void = () => undefined;
  const time: Clock = {
    wallMs: () => at.steadyMs,
    brokerMs: () => at.steadyMs,
    steadyMs: () => at.steadyMs,
    busyMs: () => at.busyMs,
    every: (_, act) => {
      tick = act;
      return () => undefined;
    },
  };
  const clock = new LoopClock(time);
  const turn = (ms: number, busy: number) => {
    at.steadyMs += ms;
    at.busyMs += ms * busy;
    tick();
  };
  return { clock, at, turn };
}

describe('the clock of the event loop', () => {
  test('stands still while the loop does, and knows for how long it did', () => {
    const { clock, at, turn } = loop();
    turn(10, 0.1);
    turn(200, 1);
    expect([clock.now(), clock.stoodStillMs]).toEqual([25, 185]);
    at.steadyMs += 80;
    // Not counted yet: it may still turn out to be a stall.
    expect(clock.now() + clock.stoodStillMs).toBe(290);
  });

  test.each<[string, number, number, number, boolean]>([
    ['ten short turns of work', 10, 10, 1, true],
    ['one long turn of work', 1, 150, 1, true],
    ['one long turn of waiting', 1, 150, 0.2, false],
    ['turns that leave a tenth', 10, 10, 0.9, false],
  ])('after %s', (_, turns, ms, busy, saturated) => {
    const { clock, turn } = loop();
    for (let i = 0; i < turns; i++) turn(ms, busy);
    expect(clock.saturated).toBe(saturated);
  });
});
