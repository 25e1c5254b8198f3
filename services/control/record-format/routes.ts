import { recordFormatBody } from '../../../shared/api/record-format';
import { type ControlContext } from '../context';
import { type HandlersOf } from '../http/mount';
import { parseBody } from '../http/validate';
import { type RecordFormatSwitch } from './switch';

/** /api/v1/record-format */
export function recordFormatHandlers({
  formats,
  log,
}: ControlContext): HandlersOf<'record-format'> {
  return {
    'GET /record-format': async () => shown(await formats.view()),
    'PATCH /record-format': async ({ body, by, ifMatch }) => {
      const { automatic } = parseBody(recordFormatBody, body);
      const { version, data } = await formats.set({ by, ifMatch }, automatic);
      log.info({ version, format: data.format, automatic }, 'record_format.changed');
      return shown(await formats.view());
    },
  };
}

function shown(view: Awaited<ReturnType<RecordFormatSwitch['view']>>) {
  const {
    format,
    newest,
    automatic,
    members,
    missing,
    settling,
    readableSince,
    switchesAt,
    version,
  } = view;
  return {
    format,
    newest,
    automatic,
    members,
    missing,
    settling,
    readableSince,
    switchesAt,
    version,
  };
}
