import { startTelemetry } from '../../shared/telemetry/start';

/** The first import of `main.ts`: what it starts is there before all else. */
startTelemetry('ingest');
