import { type Role } from '../../../shared/model/config';

/** The author of a change or a request. */
export interface Actor {
  /** the token's id; `admin`: the token of the settings */
  id: string;
  name: string;
  role: Role;
}

/** An actor with the limits of the token. */
export interface Identity {
  actor: Actor;
  /** changes with the token: a session ends with it */
  mark: string;
  /** narrow the role (shared/api/access.ts); undefined: all that the role allows */
  rights: readonly string[] | undefined;
  /** ms since 1970; undefined: never */
  expiresAt: number | undefined;
}
