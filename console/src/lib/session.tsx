import { createContext, type ReactNode, useContext } from 'react';
import { type Name } from '../../../shared/api/client';
import { type Session } from '../../../shared/api/operations';
import { allows } from './access';

/** The current session. The page knows a name and a role; scripts cannot reach the token. */

export type Role = Session['role'];

interface SignedIn {
  session: Session;
  signOut: () => void;
}

const Context = createContext<SignedIn | undefined>(undefined);

export function SessionProvider({ value, children }: { value: SignedIn; children: ReactNode }) {
  return <Context value={value}>{children}</Context>;
}

export function useSession(): SignedIn {
  const value = useContext(Context);
  if (!value) throw new Error('This page is shown to those only who are signed in');
  return value;
}

/** Returns whether the user may call this operation. */
export function useMay(name: Name): boolean {
  return allows(useSession().session, name);
}

/** Returns whether the user may see and set secrets. */
export function useIsAdmin(): boolean {
  return useSession().session.role === 'admin';
}
