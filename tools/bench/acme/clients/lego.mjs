// lego, one process per certificate, with an account created before and without its waits for DNS.
import { copyFileSync, cpSync, existsSync } from 'node:fs';
import path from 'node:path';
import { sideBySide } from '../side-by-side.mjs';
import { anyway, runProgram } from './program.mjs';

export async function open({
  directoryUrl,
  tlsRootFile,
  resolver,
  presenterUrl,
  concurrency,
  folder,
  firstOrder,
}) {
  const env = {
    LEGO_CA_CERTIFICATES: tlsRootFile,
    HTTPREQ_ENDPOINT: presenterUrl,
    HTTPREQ_POLLING_INTERVAL: '0',
    HTTPREQ_PROPAGATION_TIMEOUT: '10',
    LEGO_DISABLE_CNAME_SUPPORT: 'true',
  };
  const run = async ({ csrFile }, lane) => {
    const common = ['--server', directoryUrl, '--accept-tos', '--email', 'bench@example.com', '--path', lane];
    const dns = ['--dns', 'httpreq', '--dns.disable-cp', '--dns.resolvers', resolver];
    await runProgram('lego', [...common, ...dns, '--csr', csrFile, 'run'], env);
  };
  const lane = (number) => path.join(folder, `lane-${number}`);
  // Creates the account; its order may be refused for the nonce.
  await anyway(20, async () => await run(firstOrder, lane(0)));
  for (let number = 1; number < concurrency; number += 1) cpSync(lane(0), lane(number), { recursive: true });
  const one = async (order, number) => {
    await run(order, lane(number));
    const file = path.join(lane(number), 'certificates', `${order.name}.crt`);
    if (!existsSync(file)) throw new Error('lego: no certificate');
    copyFileSync(file, path.join(folder, `${order.name}.pem`));
  };
  return { issue: async (orders) => await sideBySide(concurrency, orders, one) };
}
