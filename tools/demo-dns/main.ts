import { ConfigFault, readConfig } from './config';
import { DemoDns } from './demo-dns';
import { JsonLog } from './json-log';

async function main(): Promise<void> {
  const config = readConfig(process.env);
  const log = new JsonLog(config.logLevel, (line) => process.stdout.write(line));
  const demo = new DemoDns(config, log);
  await demo.start();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => {
      log.info('stopping', { signal });
      void demo.stop();
    });
  }
}

main().catch((error: NodeJS.ErrnoException) => {
  const isExpected = error instanceof ConfigFault || error.code !== undefined;
  console.error(isExpected ? `demo-dns: ${error.message}` : error);
  process.exitCode = 1;
});
