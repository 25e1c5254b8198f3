import { useDebouncedValue } from '@mantine/hooks';
import { useCallback, useEffect, useState } from 'react';
import { type Preview } from '../../../shared/api/operations';
import { call } from '../lib/api';

/** A condition counted while it is written: asked for when the writing pauses, looked at as it goes on, ended when it is left. */

const TYPING_MS = 500;
const LOOK_MS = 700;

export interface Previewing {
  preview: Preview | undefined;
  error: unknown;
  /** what is shown is of the condition as it is now */
  settled: boolean;
  again: () => void;
}

/** @param condition undefined: there is nothing to count yet */
export function usePreview(condition: string | undefined, sources: readonly string[] | null): Previewing {
  const asked = condition === undefined ? undefined : JSON.stringify({ condition, ...(sources && { sources }) });
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

/** @returns what ends it, also at the service */
function follow(
  body: { condition: string; sources?: string[] },
  show: (result: { preview?: Preview; error?: unknown }) => void,
): () => void {
  let ended = false;
  let id: string | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const end = () => {
    // Nobody waits for the answer: where it does not arrive the preview expires.
    if (id !== undefined) void call('DELETE /audiences/previews/{id}', { id }).catch(() => undefined);
  };
  const take = ({ data: preview }: { data: Preview }) => {
    // One that is done has ended by itself.
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
  // Not aborted when it is left: the answer names what is to be ended.
  call('POST /audiences/preview', { body }).then(take, fail);
  return () => {
    ended = true;
    clearTimeout(timer);
    end();
  };
}
