import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { type Input } from '../../../shared/api/client';
import { call } from './api';
import { useMay } from './session';

/**
 * Tries a filter, if the user may read events. It changes nothing; it is a POST because a filter
 * may be long.
 */
export function useTrial(body: Input<'POST /filters/try'>['body']) {
  const may = useMay('POST /filters/try');
  return useQuery({
    queryKey: ['POST /filters/try', body],
    queryFn: ({ signal }) => call('POST /filters/try', { body, signal }),
    enabled: may && body.filter !== '',
    placeholderData: keepPreviousData,
  });
}
