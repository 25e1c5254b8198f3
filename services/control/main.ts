import { runService } from '../../shared/service/run';
import { collectGarbage } from './collect-garbage';
import { startControl } from './server';

/** The control service: REST API, console and history. */

runService('control', async ({ settings, log, isShared, onFatal, onStop }) => {
  const control = await startControl(settings, log, onFatal);
  onStop((deadlineMs) => control.stop(deadlineMs));
  // Beside other services a collection would make their messages wait.
  if (!isShared) onStop(collectGarbage());
});
