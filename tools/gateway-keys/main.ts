import { ensureGatewayKeys } from './gateway-keys';

const usage = `Makes the keys and certificates of the DNS gateway and of its clients, for development and small installations.

  npm run gateway-keys -- <folder>

What is there already is kept; certificates with less than a third of their time left are made anew.
`;

const [folder, ...rest] = process.argv.slice(2);
if (folder === undefined || folder.startsWith('-') || rest.length > 0) {
  process.stderr.write(usage);
  process.exit(folder === '--help' ? 0 : 2);
}
const made = ensureGatewayKeys(folder, new Date());
process.stdout.write(made.length === 0 ? 'Everything is there.\n' : `Made: ${made.join(', ')}\n`);
