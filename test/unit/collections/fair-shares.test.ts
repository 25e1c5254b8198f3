import { FairShares } from '../../../shared/collections/fair-shares';

const fill = (shares: FairShares, owner: string) => {
  let taken = 0;
  while (shares.take(shares.of(owner), 1)) taken++;
  return taken;
};

test('one owner gets two thirds of a budget, and each further one a share of the rest', () => {
  const shares = new FairShares(900);
  expect(['a', 'b', 'c'].map((owner) => fill(shares, owner))).toEqual([600, 200, 66]);
});

test('a share that was given back can be taken again', () => {
  const shares = new FairShares(9);
  expect(fill(shares, 'a')).toBe(6);
  shares.give(shares.of('a'), 2);
  expect(fill(shares, 'a')).toBe(2);
});

test('only owners that hold nothing are removed', () => {
  const shares = new FairShares(30_000);
  fill(shares, 'holder');
  for (let i = 0; i < 20_000; i++) {
    const share = shares.of(`passer-by ${i}`);
    shares.take(share, 1);
    shares.give(share, 1);
  }
  expect(shares.of('holder').held).toBe(20_000);
});
