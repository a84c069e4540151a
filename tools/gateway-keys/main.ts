import { failureText } from '../failure-text';
import { ensureGatewayKeys } from './gateway-keys';

const usage = `Creates the keys and certificates of the DNS gateway and its clients, for development and small installations.

  npm run gateway-keys -- <folder>

Existing files are kept; certificates with less than a third of their lifetime left are replaced.
`;

const [folder, ...rest] = process.argv.slice(2);
if (folder === undefined || folder.startsWith('-') || rest.length > 0) {
  process.stderr.write(usage);
  process.exit(folder === '--help' ? 0 : 2);
}
try {
  const created = ensureGatewayKeys(folder, new Date());
  process.stdout.write(created.length === 0 ? 'All files exist.\n' : `Created: ${created.join(', ')}\n`);
} catch (error) {
  console.error(failureText(error));
  process.exitCode = 1;
}
