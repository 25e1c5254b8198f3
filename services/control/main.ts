import './start-telemetry';
import { run } from '../../shared/service/run';
import { loadSettings } from '../../shared/service/settings';
import { createLog } from '../../shared/telemetry/log';
import { startControl } from './server';

/** The control service: REST API, console and history. */
const log = createLog('control', 'info');

run('control', log, async (fatal) => {
  const settings = loadSettings(process.env);
  log.level = settings.WAYPOST_LOG_LEVEL;
  return startControl(settings, log, fatal);
});
