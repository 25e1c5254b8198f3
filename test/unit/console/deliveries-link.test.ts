import { deliveriesLink } from '../../../console/src/replay/deliveries-link';

test('the deliveries of a job are found by it, cancelled ones by their destination', () => {
  const job = { id: 'rpl_1', destination: 'dst_1', preview: false };
  expect(deliveriesLink({ ...job, action: 'replay' })).toBe('/deliveries?replay=rpl_1');
  expect(deliveriesLink({ ...job, action: 'retry' })).toBe('/deliveries?replay=rpl_1');
  expect(deliveriesLink({ ...job, action: 'cancel' })).toBe(
    '/deliveries?destination=dst_1&status=cancelled',
  );
  expect(deliveriesLink({ ...job, action: 'replay', preview: true })).toBeUndefined();
});
