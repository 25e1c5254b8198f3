import { runService } from '../../shared/runtime/run';
import { startControl } from './server';

/** The control service: REST API, console and history. */

runService('control', async ({ settings, log, onFatal, onStop }) => {
  const control = await startControl(settings, log, onFatal);
  onStop((deadlineMs) => control.stop(deadlineMs));
});
