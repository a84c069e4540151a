import { SettingsError } from '@certwright/service';
import { settings } from './config';
import { Mailbox } from './mailbox';

const say = (line: object) => process.stdout.write(`${JSON.stringify({ name: 'mailbox', ...line })}\n`);

async function main(): Promise<void> {
  const mailbox = await Mailbox.open(settings.read(process.env));
  // maildev leaves some 25 MB of garbage.
  globalThis.gc?.({ type: 'major', flavor: 'last-resort' });
  say({ smtp: `127.0.0.1:${mailbox.smtpPort}`, web: `http://127.0.0.1:${mailbox.webPort}`, msg: 'started' });
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => {
      void mailbox.close().then(() => {
        say({ msg: 'stopped' });
        process.exit(0);
      });
    });
  }
}

main().catch((error: NodeJS.ErrnoException) => {
  const isExpected = error instanceof SettingsError || error.code !== undefined;
  console.error(isExpected ? `mailbox cannot start: ${error.message}` : error);
  process.exitCode = 1;
});
