import { runService } from '../../shared/runtime/run';
import { startControl } from './assemble';

/** The control service: REST API, console and history. */

runService('control', async (service) => {
  await startControl(service);
});
