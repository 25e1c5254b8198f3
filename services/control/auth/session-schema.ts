import { z } from 'zod';

/** The body that starts a session. */
export const sessionSchema = z.strictObject({ token: z.string().min(1).max(500).meta({ writeOnly: true }) });
