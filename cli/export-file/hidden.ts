/** Stands for a secret in an export file, since the API does not return it. */
export const HIDDEN = '***' as const;
