import { Button, Group as Row, NativeSelect, Stack, TextInput } from '@mantine/core';
import { type ChangeEvent } from 'react';
import { Suggested } from '../ui/suggested';
import {
  aRule,
  type Group,
  isGroup,
  KINDS,
  kindOf,
  MAX_DEPTH,
  type Row as AnyRow,
  type Rule,
  SUBJECTS,
  testsOf,
  UNITS,
  usesOf,
  withRow,
  withSubject,
} from './rows';
import { type SeenNames } from './suggestions';
import { KIND_WORDS, SUBJECT_WORDS, testInWords, UNIT_WORDS, valueHint } from './labels';
import { text } from '../texts';

const words = text.condition.rowsEditor;

/** Rows of conditions in groups. All, or any, rows of a group must hold. */

interface Props {
  group: Group;
  onChange: (group: Group) => void;
  seenNames: SeenNames;
  problems: ReadonlyMap<string, string>;
}

export function RowsEditor({ group, onChange, ...rest }: Props) {
  const set = (path: readonly number[], row: AnyRow | undefined) => {
    if (path.length > 0) onChange(withRow(group, path, row));
    else if (row && isGroup(row)) onChange(row);
  };
  return <GroupEditor group={group} path={[]} set={set} {...rest} />;
}

interface Common {
  /** its position: `[2, 0]` is the first row of the third row, a group */
  path: readonly number[];
  set: (path: readonly number[], row: AnyRow | undefined) => void;
  seenNames: SeenNames;
  problems: ReadonlyMap<string, string>;
}

const JOINS = [
  { value: 'all', label: words.all },
  { value: 'any', label: words.any },
];

function GroupEditor({ group, ...common }: Common & { group: Group }) {
  const { path, set } = common;
  const add = (row: AnyRow) => set(path, { ...group, rows: [...group.rows, row] });
  const name = nameOf(path);
  return (
    <fieldset className="group">
      <legend>{path.length === 0 ? words.conditions : words.group(name)}</legend>
      <Stack gap="sm">
        <NativeSelect
          className="start"
          label={words.usersWhoMatch}
          data={JOINS}
          value={group.join}
          onChange={(event) =>
            set(path, { ...group, join: event.target.value === 'any' ? 'any' : 'all' })
          }
        />
        {group.rows.map((row, i) => {
          const at = [...path, i];
          // The key is the position, because every other field is being edited.
          return isGroup(row) ? (
            <GroupEditor key={i} {...common} group={row} path={at} />
          ) : (
            <RuleEditor key={i} {...common} rule={row} path={at} />
          );
        })}
        <Row gap="xs">
          <Button size="xs" variant="default" onClick={() => add(aRule())}>
            {path.length > 0 ? words.addConditionTo(name) : words.addCondition}
          </Button>
          {path.length + 1 < MAX_DEPTH && (
            <Button
              size="xs"
              variant="default"
              onClick={() => add({ join: group.join === 'all' ? 'any' : 'all', rows: [aRule()] })}
            >
              {path.length > 0 ? words.addGroupTo(name) : words.addGroup}
            </Button>
          )}
          {path.length > 0 && (
            <Button size="xs" variant="default" onClick={() => set(path, undefined)}>
              {words.removeGroup(name)}
            </Button>
          )}
        </Row>
      </Stack>
    </fieldset>
  );
}

/** `[2, 0]` → 3.1 */
function nameOf(path: readonly number[]): string {
  return path.map((i) => i + 1).join('.');
}

interface RuleProps extends Common {
  rule: Rule;
}

function RuleEditor(props: RuleProps) {
  const { rule, path, set } = props;
  const change = (fields: Partial<Rule>) => set(path, { ...rule, ...fields });
  const uses = usesOf(rule);
  const subjects = SUBJECTS.map((value) => ({ value, label: SUBJECT_WORDS[value] }));
  const tests = testsOf(rule.subject).map((value) => ({
    value,
    label: testInWords(rule.subject, value),
  }));
  const name = nameOf(path);
  return (
    <fieldset className="rule">
      <legend>{words.condition(name)}</legend>
      <div className="filters">
        <NativeSelect
          label={words.what}
          data={subjects}
          value={rule.subject}
          onChange={(event) => set(path, withSubject(rule, event.target.value as Rule['subject']))}
        />
        <Names {...props} change={change} />
        <NativeSelect
          label={rule.subject === 'count' ? words.howOften : words.comparison}
          data={tests}
          value={rule.test}
          onChange={(event) => change({ test: event.target.value as Rule['test'] })}
        />
        <Value {...props} change={change} />
        {uses.window && <Window {...props} change={change} />}
      </div>
      <Button
        className="below"
        size="compact-xs"
        variant="default"
        aria-label={words.removeCondition(name)}
        onClick={() => set(path, undefined)}
      >
        {words.remove}
      </Button>
    </fieldset>
  );
}

type Changing = RuleProps & { change: (fields: Partial<Rule>) => void };

/** The fields that name the trait, or the event and its property. */
function Names(props: Changing) {
  const { rule, seenNames } = props;
  const uses = usesOf(rule);
  return (
    <>
      {rule.subject === 'trait' && (
        <NameField {...props} field="trait" label={words.trait} options={seenNames.traits} />
      )}
      {uses.event && (
        <NameField {...props} field="event" label={words.event} options={seenNames.events} />
      )}
      {uses.property && (
        <NameField
          {...props}
          field="property"
          label={words.property}
          options={seenNames.propertiesOf(rule.event.trim())}
        />
      )}
    </>
  );
}

interface NameProps extends Changing {
  field: 'trait' | 'event' | 'property';
  label: string;
  options: string[];
}

function NameField({ rule, path, problems, change, field, label, options }: NameProps) {
  return (
    <Suggested
      label={label}
      options={options}
      value={rule[field]}
      onChange={(text) => change({ [field]: text })}
      // Show no error for an empty field: the user may not have reached it yet.
      error={rule[field] === '' ? undefined : problems.get(`${path.join('/')}/${field}`)}
    />
  );
}

const YES_NO = [
  { value: '', label: words.choose },
  { value: 'true', label: words.yes },
  { value: 'false', label: words.no },
];

function Value({ rule, path, problems, seenNames, change }: Changing) {
  const kind = kindOf(rule);
  if (kind === 'none') return null;
  const problem = rule.value === '' ? undefined : problems.get(`${path.join('/')}/value`);
  const set = (event: ChangeEvent<HTMLSelectElement>) => change({ value: event.target.value });
  const choice =
    rule.subject !== 'count' &&
    rule.subject !== 'sum' &&
    (rule.test === 'is' || rule.test === 'is_not');
  return (
    <>
      {kind === 'boolean' ? (
        <NativeSelect
          label={words.value}
          data={YES_NO}
          value={rule.value}
          onChange={set}
          error={problem}
        />
      ) : (
        <Suggested
          label={rule.subject === 'count' ? words.times : words.value}
          options={rule.subject === 'trait' ? seenNames.valuesOf(rule.trait.trim()) : []}
          value={rule.value}
          onChange={(value) => change({ value })}
          description={choice ? valueHint(rule) : undefined}
          error={problem}
          {...(kind === 'number' && { inputMode: 'decimal' as const })}
        />
      )}
      {choice && (
        <NativeSelect
          label={words.type}
          data={KINDS.map((value) => ({ value, label: KIND_WORDS[value] }))}
          value={rule.kind}
          onChange={(event) => change({ kind: event.target.value as Rule['kind'] })}
        />
      )}
    </>
  );
}

function Window({ rule, path, problems, change }: Changing) {
  return (
    <>
      <TextInput
        label={words.withinLast}
        placeholder={words.withinLastExample}
        inputMode="numeric"
        value={rule.window}
        onChange={(event) => change({ window: event.target.value.trim() })}
        error={problems.get(`${path.join('/')}/window`)}
      />
      <NativeSelect
        label={words.unit}
        data={UNITS.map((value) => ({ value, label: UNIT_WORDS[value] }))}
        value={rule.unit}
        onChange={(event) => change({ unit: event.target.value as Rule['unit'] })}
      />
    </>
  );
}
