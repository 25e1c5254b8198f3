import { useDebouncedValue } from '@mantine/hooks';
import { useCallback, useEffect, useState } from 'react';
import { type Preview } from '../../../shared/api/operations';
import { defined } from '../../../shared/collections/defined';
import { call } from '../lib/api';

/**
 * Previews a condition while the user edits it: starts when typing pauses, polls while it runs, and
 * ends when the user leaves.
 */

const TYPING_MS = 500;
const LOOK_MS = 700;

export interface Previewing {
  preview: Preview | undefined;
  error: unknown;
  /** the shown result belongs to the current condition */
  settled: boolean;
  again: () => void;
}

/** @param condition undefined: no condition to preview yet */
export function usePreview(
  condition: string | undefined,
  sources: readonly string[] | null,
): Previewing {
  const asked =
    condition === undefined
      ? undefined
      : JSON.stringify({
          condition,
          ...defined({ sources: sources || undefined }),
        });
  const [body] = useDebouncedValue(asked, TYPING_MS);
  const [times, setTimes] = useState(0);
  const [shown, setShown] = useState<{ body: string; preview?: Preview; error?: unknown }>();
  useEffect(() => {
    if (body === undefined) return undefined;
    return follow(JSON.parse(body) as { condition: string; sources?: string[] }, (result) =>
      setShown({ body, ...result }),
    );
  }, [body, times]);
  const again = useCallback(() => {
    setTimes((before) => before + 1);
  }, []);
  const settled = asked !== undefined && shown?.body === asked;
  return {
    preview: asked === undefined ? undefined : shown?.preview,
    error: settled ? shown.error : undefined,
    settled,
    again,
  };
}

/** @returns a function that ends the preview, also in the service */
function follow(
  body: { condition: string; sources?: string[] },
  show: (result: { preview?: Preview; error?: unknown }) => void,
): () => void {
  let ended = false;
  let id: string | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const end = () => {
    // Ignore the response: if the request is lost, the preview expires.
    if (id !== undefined) {
      void call('DELETE /audiences/previews/{id}', { id }).catch(() => undefined);
    }
  };
  const take = ({ data: preview }: { data: Preview }) => {
    // A finished preview has ended by itself.
    id = preview.phase === 'counting' ? preview.id : undefined;
    if (ended) {
      end();
      return;
    }
    show({ preview });
    if (preview.phase !== 'counting') return;
    timer = setTimeout(() => {
      call('GET /audiences/previews/{id}', { id: preview.id }).then(take, fail);
    }, LOOK_MS);
  };
  const fail = (error: unknown) => {
    if (!ended) show({ error });
  };
  // Do not abort the request when the user leaves: its response has the id of the preview to end.
  call('POST /audiences/preview', { body }).then(take, fail);
  return () => {
    ended = true;
    clearTimeout(timer);
    end();
  };
}
