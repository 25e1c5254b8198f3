import { type Sealer } from '../../shared/config/seal';
import { type ConfigView } from '../../shared/config/view';
import { type Log } from '../../shared/telemetry/log';
import { type Entries } from './entries';
import { type TestSends } from './test-sends';

/** What the routes need. */
export interface ControlDeps {
  config: ConfigView;
  entries: Entries;
  sealer: Sealer;
  tests: TestSends;
  log: Log;
  now: () => Date;
}
