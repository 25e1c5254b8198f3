/**
 * The changes of the tables since `schema.ts`, oldest first. Each list is one step, which runs once
 * and is never edited afterwards.
 */
export const MIGRATIONS: readonly (readonly string[])[] = [];
