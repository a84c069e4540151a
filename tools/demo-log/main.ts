import { createLogger, SettingsError } from '@certwright/service';
import { settings } from './config';
import { DemoLog } from './demo-log';
import { LogFileFault } from './log/log-file';

async function main(): Promise<void> {
  const config = settings.read(process.env);
  const log = createLogger('demo-log', config.LOG_LEVEL);
  const demo = new DemoLog(config, log);
  await demo.start();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => {
      log.info({ signal }, 'stopping');
      void demo.stop().then(() => log.info('stopped'));
    });
  }
}

main().catch((error: NodeJS.ErrnoException) => {
  const isExpected =
    error instanceof SettingsError || error instanceof LogFileFault || error.code !== undefined;
  console.error(isExpected ? `demo-log cannot start: ${error.message}` : error);
  process.exitCode = 1;
});
