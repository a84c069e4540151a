// @ts-check
// Once per Jest run, before any spec: starts the stores and tells the workers, which inherit this environment.
import path from 'node:path';
import { quickFolder, runFolder, startServices } from './run-services.mjs';

/** Settings of a person's own deployment: no spec may reach it by accident. */
const NOT_FOR_SPECS = ['DATABASE_URL', 'REDIS_URL'];

export default async function setUp() {
  const folder = process.env.CERTWRIGHT_TEST_RUN ?? runFolder(process.pid);
  const { services, stop } = await startServices(folder);
  for (const name of NOT_FOR_SPECS) delete process.env[name];
  Object.assign(process.env, services);
  // Specs start the same programs many times: compiled once, they start a sixth faster.
  process.env.NODE_COMPILE_CACHE = path.join(quickFolder(folder), 'compiled');
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) {
    process.once(signal, () => void stop().finally(() => process.exit(130)));
  }
  Object.assign(globalThis, { stopTestServices: stop });
}
