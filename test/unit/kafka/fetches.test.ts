import { Fetches } from '../../../shared/kafka/fetches';

const A = 1;
const B = 2;

/** A turn of a node: asked, answered, and what came was handled, before it is asked again. */
function turn(fetches: Fetches, node: number, records = false): void {
  fetches.begins(node);
  fetches.answered(node);
  if (records) fetches.brought();
}

describe('what fetches brought', () => {
  test('a turn that brought nothing counts when it is over, for its own node', () => {
    const fetches = new Fetches();
    const asked = fetches.moment;
    turn(fetches, A);
    expect(fetches.emptySince(asked, A)).toBe(false);
    fetches.begins(A);
    expect([fetches.emptySince(asked, A), fetches.emptySince(asked, B)]).toEqual([true, false]);
  });

  test('turns of another node end none', () => {
    const fetches = new Fetches();
    const asked = fetches.moment;
    fetches.begins(A);
    for (let i = 0; i < 5; i++) turn(fetches, B);
    expect([fetches.emptySince(asked, A), fetches.emptySince(asked, B)]).toEqual([false, true]);
  });

  test.each<[string, (fetches: Fetches) => void]>([
    ['one that brought records', (fetches) => turn(fetches, A, true)],
    ['one that was never answered', (fetches) => fetches.begins(A)],
    [
      'one in which the group met again',
      (fetches) => {
        turn(fetches, A);
        fetches.interrupted();
      },
    ],
  ])('%s is not empty', (_, act) => {
    const fetches = new Fetches();
    const asked = fetches.moment;
    act(fetches);
    fetches.begins(A);
    expect(fetches.emptySince(asked, A)).toBe(false);
  });

  test('a turn that began before the question does not answer it', () => {
    const fetches = new Fetches();
    turn(fetches, A);
    const asked = fetches.moment;
    turn(fetches, A);
    expect(fetches.emptySince(asked, A)).toBe(false);
    turn(fetches, A, true);
    expect(fetches.emptySince(asked, A)).toBe(true);
  });
});
