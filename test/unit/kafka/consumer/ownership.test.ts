import {
  type Ownership,
  ownershipAfter,
  type OwnershipChange,
} from '../../../../shared/kafka/consumer/ownership';

const CHANGES: readonly OwnershipChange[] = ['stop', 'goOn', 'lose', 'takeBack'];

// Each line: the ownership after each of the changes, in their order.
test.each<[Ownership, Ownership[]]>([
  ['reading', ['stopped', 'reading', 'lost', 'reading']],
  ['stopped', ['stopped', 'reading', 'lost', 'stopped']],
  // Only a member that has found its own commit takes it back, and it starts no record before.
  ['lost', ['lost', 'lost', 'lost', 'stopped']],
])('a partition that is %s', (from, expected) => {
  expect(CHANGES.map((change) => ownershipAfter(from, change))).toEqual(expected);
});
