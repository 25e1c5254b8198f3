import { Alert, Button, Progress, Stack, Text } from '@mantine/core';
import { type Preview } from '../../../shared/api/operations';
import { Code, json } from '../ui/code';
import { Failure, Table } from '../ui/ui';
import { type Previewing } from './use-preview';
import { basisInWords, sizeInWords, valueInWords } from './labels';
import { text } from '../texts';

const words = text.audience.preview;

/** The size and sample members of an audience before it exists. */
export function PreviewView({
  previewing,
  asked,
  idle,
}: {
  previewing: Previewing;
  asked: boolean;
  idle: string;
}) {
  const { preview, error, settled, again } = previewing;
  return (
    <section className="card" aria-label={words.preview} aria-busy={asked && !settled}>
      <h2>{words.preview}</h2>
      {!asked && <Text size="sm">{idle}</Text>}
      {asked && error !== undefined && (
        <Failure error={error} what={words.countUsers} retry={again} />
      )}
      {asked && error === undefined && preview === undefined && (
        <Text role="status">{words.counting}</Text>
      )}
      {asked && error === undefined && preview && (
        <Shown preview={preview} settled={settled} again={again} />
      )}
    </section>
  );
}

function Shown({
  preview,
  settled,
  again,
}: {
  preview: Preview;
  settled: boolean;
  again: () => void;
}) {
  const { phase, looked, of, sample, detail } = preview;
  if (phase === 'failed') {
    return (
      <Alert color="red" title={words.countingFailed} role="alert">
        <Stack gap="sm" align="flex-start">
          <Text size="sm">{detail}</Text>
          <Button size="xs" variant="default" onClick={again}>
            {words.tryAgain}
          </Button>
        </Stack>
      </Alert>
    );
  }
  return (
    <Stack gap="sm">
      <div role="status">
        <Text fw={600} size="lg">
          {settled ? sizeInWords(preview) : words.countingAgain}
        </Text>
        <Text size="sm" className="quiet">
          {basisInWords(preview)}
        </Text>
      </div>
      {phase === 'counting' && (
        <Progress
          value={of === 0 ? 0 : Math.min(100, (looked / of) * 100)}
          aria-label={words.profilesChecked}
        />
      )}
      {sample.length > 0 && <Sample sample={sample} />}
      {phase === 'done' && sample.length === 0 && <Text size="sm">{words.noneMatches}</Text>}
    </Stack>
  );
}

function Sample({ sample }: { sample: Preview['sample'] }) {
  return (
    <Table label={words.sampleMembers} head={[words.user, words.traits]}>
      {sample.map(({ userId, traits }) => (
        <tr key={userId}>
          <td>{userId}</td>
          <td>
            {Object.keys(traits).length === 0 ? (
              words.none
            ) : (
              <details>
                <summary>
                  {Object.entries(traits)
                    .slice(0, 3)
                    .map(([name, value]) => `${name}: ${valueInWords(value)}`)
                    .join(', ')}
                </summary>
                <Code label={words.traitsOf(userId)} text={json(traits)} />
              </details>
            )}
          </td>
        </tr>
      ))}
    </Table>
  );
}
