import { lazy } from 'react';

/** Half of the console's code is that of charts: a page shows everything else while they load. */

const load = () => import('./time-charts');

export const Charts = lazy(() => load().then((module) => ({ default: module.Charts })));
export const DestinationCharts = lazy(() =>
  load().then((module) => ({ default: module.DestinationCharts })),
);
export const StepTable = lazy(() => load().then((module) => ({ default: module.StepTable })));
