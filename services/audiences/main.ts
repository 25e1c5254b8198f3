import { runService } from '../../shared/runtime/run';
import { assembleAudiences } from './assemble';
import { type Audiences } from './audiences';

/** Computes users' profiles, and sends what follows from them: audiences and computed traits. */

runService('audiences', async (service) => {
  const { settings, log, onFatal, connect, openConfig, openDeletions, onStop } = service;
  let audiences: Audiences | undefined = undefined;
  const kafka = await connect({
    notLive: () => audiences?.notLive() ?? [],
    notReady: () => audiences?.notReady() ?? ['starting'],
  });
  const config = await openConfig();
  const deletions = await openDeletions();
  const assembled = assembleAudiences({ settings, kafka, config, deletions, log, onFatal });
  audiences = assembled;
  await assembled.start();
  onStop((deadlineMs) => assembled.stop(deadlineMs - 1_000));
});
