/** Returns milliseconds of the machine's monotonic clock: the same in every process, and finer than Date. */
export function clockMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
