import { startTelemetry } from '../../shared/telemetry/start';

/** The first import of `main.ts`, so that telemetry starts before everything else. */
startTelemetry('audiences');
