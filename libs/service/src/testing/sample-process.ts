import { createServer } from 'node:net';
import { httpSettings } from '../config/http-settings';
import { oneOf, port } from '../config/setting-kinds';
import { defineSettings } from '../config/settings';
import { processSettings } from '../lifecycle/process-settings';
import { runProcess } from '../lifecycle/run-process';

/** A process for specs: opens two resources, then does what `BEHAVIOUR` says. Run on its own, with `NAME=value` arguments. */
const settings = defineSettings({
  ...httpSettings,
  ...processSettings({ opsPort: 0 }),
  BEHAVIOUR: oneOf(['serve', 'hang', 'reject', 'throw', 'fail-to-start'], {
    meaning: 'what it does',
    default: 'serve',
  }),
  PORT: port({ meaning: 'where it listens', default: 0 }),
});

const environment = Object.fromEntries(process.argv.slice(2).map((each) => each.split('=')));

void runProcess({
  name: 'sample',
  config: () => settings.read(environment),
  start: async ({ BEHAVIOUR, PORT }, running) => {
    running.opened('database', () => running.log.info('database closed'));
    const server = createServer();
    await new Promise<void>((resolve, reject) =>
      server.once('error', reject).listen(PORT, '127.0.0.1', resolve),
    );
    running.opened('http', async () => {
      if (BEHAVIOUR === 'hang') await new Promise(() => undefined);
      server.close();
      running.log.info('http closed');
    });
    if (BEHAVIOUR === 'fail-to-start') throw new Error('no such table');
    if (BEHAVIOUR === 'reject') void Promise.reject(new Error('not caught'));
    if (BEHAVIOUR === 'throw') setImmediate(() => unexpected());
  },
});

function unexpected(): never {
  throw new Error('not caught');
}
