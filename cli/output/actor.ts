/** Names whoever acted: the token in the settings has the name of its setting. */
export function nameOfActor({ name }: { name: string }): string {
  return name === 'WAYPOST_ADMIN_TOKEN' ? 'admin token' : name;
}
