import { type Scenario } from './scenario';
import { burst } from './scenarios/burst';
import { failing, flapping, frozen, slow, throttled } from './scenarios/endpoints';
import { isolation } from './scenarios/isolation';
import { outage } from './scenarios/outage';
import { scale } from './scenarios/scale';
import { trouble } from './scenarios/trouble';

/** The scenarios of `all`, the quick ones first. */
export const SCENARIOS: readonly Scenario[] = [burst, isolation, trouble, outage, scale];

/** Run only by name: one trouble each. */
export const OTHERS: readonly Scenario[] = [failing, flapping, throttled, slow, frozen];
