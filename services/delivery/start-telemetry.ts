import { startTelemetry } from '../../shared/telemetry/start';

/** Must be the first import of `main.ts`, so that telemetry starts before everything else. */
startTelemetry('delivery');
