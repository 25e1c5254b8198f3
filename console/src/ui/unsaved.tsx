import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import {
  createContext,
  type ReactNode,
  useCallback,
  useContext,
  useEffect,
  useId,
  useMemo,
  useRef,
} from 'react';
import { useBlocker } from 'react-router';
import { text } from '../texts';

const words = text.ui.unsaved;

/**
 * Asks before a navigation discards the edits of a form. A change of the filters in the address
 * discards none.
 */

interface Guard {
  set: (form: string, changed: boolean) => void;
}

const Context = createContext<Guard>({ set: () => undefined });

export function UnsavedProvider({ children }: { children: ReactNode }) {
  const changed = useRef(new Set<string>());
  const guard = useMemo<Guard>(
    () => ({
      set: (form, is) => {
        if (is) changed.current.add(form);
        else changed.current.delete(form);
      },
    }),
    [],
  );
  const blocker = useBlocker(
    useCallback(
      ({
        currentLocation,
        nextLocation,
      }: {
        currentLocation: { pathname: string };
        nextLocation: { pathname: string };
      }) => changed.current.size > 0 && currentLocation.pathname !== nextLocation.pathname,
      [],
    ),
  );
  useEffect(() => {
    // The browser shows its own words for closing a tab, a reload, and links to other sites.
    const ask = (event: BeforeUnloadEvent) => {
      if (changed.current.size > 0) event.preventDefault();
    };
    window.addEventListener('beforeunload', ask);
    return () => window.removeEventListener('beforeunload', ask);
  }, []);
  return (
    <Context value={guard}>
      {children}
      <Modal
        opened={blocker.state === 'blocked'}
        onClose={() => blocker.reset?.()}
        title={words.question}
      >
        <Stack>
          <Text>{words.hint}</Text>
          <Group justify="flex-end">
            <Button variant="default" onClick={() => blocker.reset?.()}>
              {words.stay}
            </Button>
            <Button color="red" onClick={() => blocker.proceed?.()}>
              {words.leave}
            </Button>
          </Group>
        </Stack>
      </Modal>
    </Context>
  );
}

/**
 * Reports whether a form has unsaved changes.
 * @returns a function that forgets them, for a form that leaves the page by itself after it has
 *   saved
 */
export function useUnsaved(changed: boolean): () => void {
  const { set } = useContext(Context);
  const form = useId();
  useEffect(() => {
    set(form, changed);
    return () => set(form, false);
  }, [set, form, changed]);
  return useCallback(() => set(form, false), [set, form]);
}
