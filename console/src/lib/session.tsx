import { createContext, type ReactNode, useContext } from 'react';
import { type Session } from '../../../shared/api/operations';

/** Who is signed in. The page knows a name and a role; the token is in no script's reach. */

export type Role = Session['role'];
const RANK: Readonly<Record<Role, number>> = { read_only: 0, operator: 1, admin: 2 };

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

/** Whether the one who is signed in may do what asks for this role. */
export function useMay(role: Role): boolean {
  return RANK[useSession().session.role] >= RANK[role];
}
