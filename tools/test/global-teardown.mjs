// @ts-check
// Once per Jest run, after the last spec, failed or not.
import { keepLog } from './check-grants.mjs';

export default async function tearDown() {
  const { stopTestServices } = /** @type {{ stopTestServices?: () => Promise<void> }} */ (globalThis);
  const { CERTWRIGHT_TEST_COUNTS, CERTWRIGHT_TEST_RUN, CERTWRIGHT_TEST_ROLE_PREFIX } = process.env;
  // Without run.mjs, nothing reads it.
  if (CERTWRIGHT_TEST_COUNTS && CERTWRIGHT_TEST_RUN && CERTWRIGHT_TEST_ROLE_PREFIX)
    keepLog(CERTWRIGHT_TEST_RUN, CERTWRIGHT_TEST_ROLE_PREFIX);
  await stopTestServices?.();
}
