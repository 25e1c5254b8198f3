import { type Scenario } from './scenario';
import { burst } from './scenarios/burst';
import { clean, hanging } from './scenarios/isolation';
import { outage } from './scenarios/outage';
import { scale } from './scenarios/scale';
import { sweepFailures, sweepWait, sweepWidth } from './scenarios/sweeps';
import { failing, flapping, frozen, slow, throttled } from './scenarios/trouble';

/** All scenarios, the quick ones first. */
export const SCENARIOS: readonly Scenario[] = [
  clean,
  burst,
  frozen,
  failing,
  flapping,
  throttled,
  slow,
  hanging,
  outage,
  scale,
];

/** Played only when named: each plays the same with other settings. */
export const SWEEPS: readonly Scenario[] = [sweepFailures, sweepWidth, sweepWait];
