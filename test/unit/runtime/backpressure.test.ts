import { Backpressure } from '../../../shared/runtime/load-limits';

/**
 * A step sets the fill; then a record is offered (`offer`), or something has left the buffer
 * (`left`).
 */
type Step = [
  fill: number,
  what: 'offer' | 'left',
  effect: 'accepted' | 'refused' | 'resumed' | 'nothing',
];

test.each<[string, Step[]]>([
  [
    'a buffer with room accepts records',
    [
      [0, 'offer', 'accepted'],
      [0.99, 'offer', 'accepted'],
    ],
  ],
  [
    'a full buffer refuses records',
    [
      [1, 'offer', 'refused'],
      [1.2, 'offer', 'refused'],
    ],
  ],
  [
    'a buffer that refused no record does not resume',
    [
      [0.9, 'offer', 'accepted'],
      [0, 'left', 'nothing'],
    ],
  ],
  [
    'a buffer that refused a record resumes at half, and only once',
    [
      [1, 'offer', 'refused'],
      [0.51, 'left', 'nothing'],
      [0.5, 'left', 'resumed'],
      [0.4, 'left', 'nothing'],
    ],
  ],
  [
    'several refusals cause one resumption',
    [
      [1, 'offer', 'refused'],
      [1, 'offer', 'refused'],
      [0, 'left', 'resumed'],
      [0, 'left', 'nothing'],
    ],
  ],
  [
    'a record accepted after a refusal does not cancel the resumption',
    [
      [1, 'offer', 'refused'],
      [0.8, 'offer', 'accepted'],
      [0.5, 'left', 'resumed'],
    ],
  ],
  [
    'a buffer that fills again refuses and resumes again',
    [
      [1, 'offer', 'refused'],
      [0.5, 'left', 'resumed'],
      [1, 'offer', 'refused'],
      [0.5, 'left', 'resumed'],
    ],
  ],
])('%s', (_, steps) => {
  let fill = 0;
  let resumed = 0;
  const room = new Backpressure(
    () => fill,
    () => resumed++,
  );
  const effects = steps.map(([next, what]) => {
    fill = next;
    if (what === 'offer') return room.accepts() ? 'accepted' : 'refused';
    const before = resumed;
    room.resumeAtHalf();
    return resumed > before ? 'resumed' : 'nothing';
  });
  expect(effects).toEqual(steps.map(([, , effect]) => effect));
});
