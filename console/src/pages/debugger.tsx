import { CallStream } from '../source/call-stream';
import { SendFirst } from '../source/send-first';
import { Page } from '../ui/ui';
import { text } from '../texts';

const words = text.watch.debugger;

/** Live calls of all sources. */
export function Debugger() {
  return (
    <Page title={words.debugger}>
      <CallStream first={<SendFirst />} />
    </Page>
  );
}
