import { Alert, Button, Group, Stack, Text, Textarea } from '@mantine/core';
import { useState } from 'react';
import { Code } from '../ui/code';
import { celOf } from './rows-to-cel';
import { type AudienceDraft } from './draft';
import { rowsOf } from './rows-from-cel';
import { type Group as Rows, rowProblems } from './rows';
import { RowsEditor } from './rows-editor';
import { type SeenNames } from './suggestions';
import { text } from '../texts';

const words = text.condition.conditionField;

/** The condition: as rows with their CEL text beside them, or as editable CEL text. */

interface Props {
  draft: AudienceDraft;
  onChange: (draft: AudienceDraft) => void;
  seenNames: SeenNames;
  /** the API's error for the text */
  mistake: string | undefined;
}

export function ConditionField(props: Props) {
  return props.draft.as === 'rows' ? <AsRows {...props} /> : <AsText {...props} />;
}

function AsRows({ draft, onChange, seenNames, mistake }: Props) {
  const [undo, setUndo] = useState<Rows>();
  const problems = rowProblems(draft.rows);
  const text = celOf(draft.rows);
  const change = (rows: Rows) => {
    setUndo(sizeOf(rows) < sizeOf(draft.rows) ? draft.rows : undefined);
    onChange({ ...draft, rows });
  };
  const [missing] = problems;
  return (
    <Stack gap="sm">
      <RowsEditor group={draft.rows} onChange={change} seenNames={seenNames} problems={problems} />
      <div role="status">
        {undo && (
          <Group gap="xs">
            <Text size="sm">{words.removed}</Text>
            <Button size="compact-sm" variant="default" onClick={() => change(undo)}>
              {words.restoreIt}
            </Button>
          </Group>
        )}
        {missing && (
          <Text size="sm">
            {pathInWords(missing[0])}: {missing[1]}
          </Text>
        )}
      </div>
      {text !== undefined && <Code label={words.celCode} text={text} />}
      {mistake !== undefined && <Text className="bad">{mistake}</Text>}
      <Button
        className="start"
        size="xs"
        variant="default"
        onClick={() => onChange({ ...draft, as: 'text', text: text ?? draft.text })}
      >
        {words.editAsCel}
      </Button>
    </Stack>
  );
}

function AsText({ draft, onChange, mistake }: Props) {
  const rows = rowsOf(draft.text);
  const blank = draft.text.trim() === '';
  return (
    <Stack gap="sm">
      <Textarea
        label={words.condition}
        description={words.conditionHint}
        value={draft.text}
        onChange={(event) => onChange({ ...draft, text: event.target.value })}
        error={mistake}
        autosize
        minRows={3}
        maxRows={14}
        spellCheck={false}
      />
      {!rows && !blank && mistake === undefined && (
        <Alert color="blue">
          <Text size="sm">{words.notAsRows}</Text>
        </Alert>
      )}
      <Button
        className="start"
        size="xs"
        variant="default"
        disabled={!rows && !blank}
        onClick={() => onChange({ ...draft, as: 'rows', rows: rows ?? draft.rows })}
      >
        {words.editAsRows}
      </Button>
    </Stack>
  );
}

function sizeOf({ rows }: Rows): number {
  return rows.reduce((size, row) => size + ('join' in row ? sizeOf(row) : 1), 1);
}

/** `1/0/event` → Condition 2.1 */
function pathInWords(field: string): string {
  const path = field.split('/').filter((part) => /^\d+$/.test(part));
  return path.length === 0
    ? words.conditions
    : words.conditionAt(path.map((part) => Number(part) + 1).join('.'));
}
