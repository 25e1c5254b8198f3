import {
  createContext,
  type ReactNode,
  useCallback,
  useContext,
  useMemo,
  useRef,
  useState,
} from 'react';
import { text } from '../texts';

const words = text.ui.toast;

/** Short messages in a corner that disappear: "Saved". Screen readers announce them. */

interface Toasts {
  say: (text: string) => void;
}

const Context = createContext<Toasts>({ say: () => undefined });

/** Long enough to read a sentence. */
const SHOWN_MS = 5_000;
const MAX_SHOWN = 3;

export function ToastProvider({ children }: { children: ReactNode }) {
  const [shown, setShown] = useState<{ id: number; text: string }[]>([]);
  const last = useRef(0);
  const say = useCallback((text: string) => {
    const id = ++last.current;
    setShown((before) => [...before, { id, text }].slice(-MAX_SHOWN));
    setTimeout(() => {
      setShown((before) => before.filter((toast) => toast.id !== id));
    }, SHOWN_MS);
  }, []);
  const value = useMemo(() => ({ say }), [say]);
  return (
    <Context value={value}>
      {children}
      <div className="toasts" role="status" aria-label={words.messages}>
        {shown.map(({ id, text }) => (
          <div key={id} className="toast">
            {text}
          </div>
        ))}
      </div>
    </Context>
  );
}

/** Returns a function that shows a message for some seconds. */
export function useToast(): Toasts['say'] {
  return useContext(Context).say;
}
