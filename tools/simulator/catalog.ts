import { type Scenario } from './scenario';
import { burst } from './scenarios/burst';
import { early } from './scenarios/early';
import { frozen } from './scenarios/frozen';
import { isolation } from './scenarios/isolation';
import { outage } from './scenarios/outage';
import { quiet } from './scenarios/quiet';
import { scale } from './scenarios/scale';
import { trouble } from './scenarios/trouble';

/** The quick ones first. */
export const SCENARIOS: readonly Scenario[] = [
  quiet,
  burst,
  isolation,
  frozen,
  trouble,
  early,
  outage,
  scale,
];
