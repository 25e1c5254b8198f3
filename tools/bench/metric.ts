/** Returns the sum of a metric of a service; 0 if it does not respond yet. */
export async function metricOf(port: number, name: string): Promise<number> {
  const text = await fetch(`http://127.0.0.1:${String(port)}/metrics`).then(
    (answer) => answer.text(),
    () => '',
  );
  const values = [...text.matchAll(new RegExp(`^${name}(?:{.*})? (\\S+)$`, 'gm'))];
  return values.reduce((sum, [, value]) => sum + Number(value), 0);
}
