/** What `OTEL_*` asks for: pure. */

export type Env = Readonly<Record<string, string | undefined>>;

/**
 * Whether anything of the SDK is wanted: an exporter or an endpoint is named. (By itself the SDK would export to this
 * machine's port 4318, for which nobody has asked.)
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
 * Which part of the new traces is recorded, 0 to 1, by OTEL_TRACES_SAMPLER and its argument. A parent has no say: roots
 * are ours. What is not known is taken as the SDK takes it: all.
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
