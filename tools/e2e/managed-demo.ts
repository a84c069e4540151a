import { startChild } from '@certwright/testing';
import { missingPrograms } from './installed';
import { workspaceRoot } from './platform';

/** A rollback takes 30 s of probes, and the next attempt follows a minute later. */
const demoWithinMs = 280_000;

/** `npm run demo -- managed`, beside a running `npm start`. @param home its `CERTWRIGHT_HOME` */
export function describeManagedDemo(home: () => string): void {
  const missing = missingPrograms(['nginx', 'openssl', 'curl']);
  if (missing.length > 0) console.warn(`Skipped: ${missing.join(', ')} not installed (tools/test/peers.sh).`);
  (missing.length > 0 ? it.skip : it)(
    'ends with a new certificate in nginx, after a rollback that visitors did not notice',
    async () => {
      const demo = await startChild(process.execPath, {
        args: ['tools/demo/demo.mjs', 'managed'],
        cwd: workspaceRoot,
        env: { CERTWRIGHT_HOME: home(), TMPDIR: home() },
      });
      expect([await demo.ended, demo.output()]).toEqual([
        { code: 0, signal: null },
        expect.stringMatching(
          /"state": "serving"[^]*with another key[^]*"state": "rolled_back"[^]*"state": "serving"/,
        ),
      ]);
    },
    demoWithinMs,
  );
}
