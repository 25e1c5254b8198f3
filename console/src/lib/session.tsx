import { createContext, type ReactNode, useContext } from 'react';
import { type Name } from '../../../shared/api/client';
import { type Session } from '../../../shared/api/operations';
import { allows } from './access';

/** Who is signed in. The page knows a name and a role; the token is in no script's reach. */

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

/** Whether the reader may do this. */
export function useMay(name: Name): boolean {
  return allows(useSession().session, name);
}

/** Whether the reader sees and sets secrets. */
export function useIsAdmin(): boolean {
  return useSession().session.role === 'admin';
}
