import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { type Input } from '../../../shared/api/client';
import { call } from './api';

/** Tries a filter: a question that is asked by POST, since a filter may be long. It changes nothing. */
export function useTrial(body: Input<'POST /filters/try'>['body']) {
  return useQuery({
    queryKey: ['POST /filters/try', body],
    queryFn: ({ signal }) => call('POST /filters/try', { body, signal }),
    enabled: body.filter !== '',
    placeholderData: keepPreviousData,
  });
}
