import { useState } from 'react';
import { type Destination } from '../../../shared/api/operations';
import { ADMIN_FIELDS } from '../../../shared/model/destination-fields';
import { fieldProblems } from '../lib/problems';
import { useIsAdmin } from '../lib/session';
import { type Draft, draftOf, type Patch, patchOf, problemsOf } from './draft';
import { type FieldProps } from './fields';
import { type Read, type Saving, useSaveDestination } from './save';

/** A form that changes a stored destination. */

interface DestinationForm {
  draft: Draft;
  setDraft: (draft: Draft) => void;
  /** the changes as a merge patch */
  patch: Patch;
  changed: boolean;
  save: Saving<Destination, Patch>;
  /** the problems that the form itself has found */
  own: ReadonlyMap<string, string>;
  /** for every field */
  fields: FieldProps;
}

export function useDestinationForm(
  destination: Destination,
  onSaved: (response: Read) => void,
): DestinationForm {
  const [draft, setDraft] = useState(() => draftOf(destination));
  const admin = useIsAdmin();
  const patch = patchOf(destination, draft);
  const save = useSaveDestination(destination.id, onSaved);
  // Users without the right to change a field cannot fix it either.
  const own = new Map(
    [...problemsOf(draft)].filter(
      ([field]) => admin || !ADMIN_FIELDS.includes(field.split('/', 1)[0] ?? ''),
    ),
  );
  const problems = new Map([...fieldProblems(save.error), ...own]);
  const fields = { draft, onChange: setDraft, problems };
  return { draft, setDraft, patch, changed: Object.keys(patch).length > 0, save, own, fields };
}
