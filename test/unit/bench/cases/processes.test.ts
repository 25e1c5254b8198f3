import { byService } from '../../../../tools/bench/cases/processes';

test('the CPU of a service is that of all its processes', () => {
  const cpu = {
    seconds: 1,
    byName: { router: 1, 'router 2': 2, broker: 4 },
    foreignCores: 0,
    stolenCores: 0,
  };
  expect(byService(cpu).byName).toEqual({ router: 3, broker: 4 });
});
