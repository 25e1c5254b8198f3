export async function demo(_env: NodeJS.ProcessEnv, _o: { once: boolean }): Promise<number> {
  return 1;
}
