/** Interprets the `OTEL_*` variables: pure. */

export type Env = Readonly<Record<string, string | undefined>>;

/**
 * Returns whether the environment asks for the SDK by naming an exporter or an endpoint. (By default the SDK would export to
 * this machine's port 4318 unasked.)
 */
export function isSdkWanted(env: Env): boolean {
  if (env.OTEL_SDK_DISABLED?.trim().toLowerCase() === 'true') return false;
  const wanted = Object.entries(env).filter(([, value]) => value?.trim());
  return wanted.some(
    ([name, value]) =>
      /^OTEL_EXPORTER_\w+_ENDPOINT$/.test(name) ||
      (/^OTEL_(TRACES|METRICS|LOGS)_EXPORTER$/.test(name) && value?.trim() !== 'none'),
  );
}

/**
 * Returns the recorded share of new traces, 0 to 1, by OTEL_TRACES_SAMPLER and its argument. Parents do not count, because
 * Waypost starts every trace. Unknown values mean all, as in the SDK.
 */
export function sampledRatio(env: Env): number {
  if (env.OTEL_TRACES_EXPORTER?.trim() === 'none') return 0;
  switch (env.OTEL_TRACES_SAMPLER?.trim() ?? '') {
    case 'always_off':
    case 'parentbased_always_off':
      return 0;
    case 'traceidratio':
    case 'parentbased_traceidratio': {
      const text = env.OTEL_TRACES_SAMPLER_ARG?.trim();
      const ratio = text ? Number(text) : 1;
      return ratio >= 0 && ratio <= 1 ? ratio : 1;
    }
    default:
      return 1;
  }
}
