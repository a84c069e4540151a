// certbot, one process per certificate. It locks its folders, so each lane has its own, with an account created before.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { sideBySide } from '../side-by-side.mjs';
import { anyway, runProgram } from './program.mjs';

export async function open({ directoryUrl, tlsRootFile, challengesUrl, concurrency, folder }) {
  const hook = path.join(folder, 'publish');
  const body = `{\\"host\\":\\"_acme-challenge.$CERTBOT_DOMAIN.\\",\\"value\\":\\"$CERTBOT_VALIDATION\\"}`;
  writeFileSync(hook, `#!/bin/sh\nexec curl -sf -d "${body}" ${challengesUrl}/set-txt\n`, { mode: 0o700 });
  const env = { REQUESTS_CA_BUNDLE: tlsRootFile };
  const common = (lane) => [
    ...['--non-interactive', '--quiet', '--server', directoryUrl],
    ...['--config-dir', lane, '--work-dir', `${lane}/work`, '--logs-dir', `${lane}/logs`],
  ];
  const lane = (number) => path.join(folder, `lane-${number}`);
  const register = ['--agree-tos', '--register-unsafely-without-email'];
  const lanes = Array.from({ length: concurrency }, (_, number) => number);
  const made = await sideBySide(concurrency, lanes, async (number) => {
    mkdirSync(lane(number), { recursive: true });
    // The account request may also be refused for its nonce; it is not measured.
    await anyway(20, async () => {
      await runProgram('certbot', ['register', ...common(lane(number)), ...register], env);
    });
  });
  if (made.problems.length > 0) throw new Error(made.problems[0]);
  const one = async ({ name, csrFile }, number) => {
    const out = (what) => path.join(lane(number), `${name}.${what}.pem`);
    const files = ['--cert-path', out('leaf'), '--chain-path', out('chain'), '--fullchain-path', out('full')];
    const manual = ['--manual', '--preferred-challenges', 'dns', '--manual-auth-hook', hook];
    await runProgram(
      'certbot',
      ['certonly', ...common(lane(number)), ...manual, '--csr', csrFile, ...files],
      env,
    );
    if (!existsSync(out('leaf'))) throw new Error('certbot: no certificate');
  };
  return { issue: async (orders) => await sideBySide(concurrency, orders, one) };
}
