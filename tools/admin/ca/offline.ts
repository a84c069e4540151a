import { Command, InvalidArgumentError } from 'commander';
import {
  createRoot,
  signIntermediate,
  signRootList,
} from '../../../apps/issuance-worker/src/certificate-authorities/built-in/ceremony';
import { integer } from '../option-values';
import {
  assertNew,
  assertNoneOfRoot,
  assertOther,
  readDer,
  readNewPassphrase,
  readRoot,
  type RootFiles,
  writePem,
  writeRootKey,
} from './files';

const rootBits = 4096;
const dayMs = 86_400_000;

/** Max days of a root's list: Baseline Requirements 7.2 allow 12 months. */
const maxListDays = 365;

/** ub-organization-name, RFC 5280, appendix A; the common name is cut to the same number of characters. */
const maxOrganizationLength = 64;

/** RFC 5280, section 5.3.1, that apply to an intermediate. */
const reasons = { keyCompromise: 1, caCompromise: 2, superseded: 4, cessationOfOperation: 5 } as const;

interface Revocation {
  readonly file: string;
  readonly reason: keyof typeof reasons;
  readonly at: Date | null;
}

/** Commands for the machine that has the root key. They use no database and no network. */
export function offlineCommands(): readonly Command[] {
  return [createRootCommand(), signCommand(), signListCommand()];
}

function createRootCommand(): Command {
  return new Command('create-root')
    .description('offline: create a root key, encrypted with a passphrase, and its certificate')
    .requiredOption('--name <organisation>', 'organisation in the subject', organization)
    .requiredOption('--passphrase-file <file>', 'file with the passphrase, at least 16 characters')
    .requiredOption('--root-key <file>', 'where to write the key (mode 0600)')
    .requiredOption('--root <file>', 'where to write the certificate (PEM)')
    .action(async ({ name, passphraseFile, rootKey, root }: RootFiles & { name: string }) => {
      assertOther('--root', root, { 'root-key': rootKey, 'passphrase-file': passphraseFile });
      for (const file of [rootKey, root]) await assertNew(file);
      const passphrase = await readNewPassphrase(passphraseFile ?? '');
      const created = await createRoot(name, rootBits, new Date());
      await writeRootKey(rootKey, created.key, passphrase);
      await writePem(root, 'CERTIFICATE', created.certificate);
      console.log(`root key: ${rootKey}; certificate: ${root}`);
    });
}

interface SignOptions extends RootFiles {
  readonly publicationUrl: string;
  readonly rootName: string;
  readonly out: string;
}

function signCommand(): Command {
  return withRoot(new Command('sign-intermediate'))
    .description('offline: certify an intermediate with the root')
    .argument('<csr>', 'file that `ca create`, `ca renew` or `ca export-csr` wrote')
    .requiredOption('--publication-url <url>', 'CA_PUBLICATION_URL of the deployment', publicationUrl)
    .option('--root-name <name>', 'name under which the root is published', rootName, 'root')
    .requiredOption('--out <file>', 'where to write the certificate (PEM)')
    .action(async (csr: string, options: SignOptions) => {
      const publication = { baseUrl: options.publicationUrl, rootName: options.rootName };
      assertNoneOfRoot(options.out, options);
      const request = await readDer(csr, 'CERTIFICATE REQUEST');
      const der = await signIntermediate(await readRoot(options), request, publication, new Date());
      await writePem(options.out, 'CERTIFICATE', der);
      console.log(`certificate: ${options.out}`);
    });
}

interface ListOptions extends RootFiles {
  readonly days: number;
  readonly revoke: readonly Revocation[];
  readonly out: string;
}

function signListCommand(): Command {
  return withRoot(new Command('sign-root-list'))
    .description('offline: sign the revocation list of the root ahead of time')
    .option('--days <days>', `until the next list, 1 to ${maxListDays}`, integer(1, maxListDays), maxListDays)
    .option(
      '--revoke <file:reason[:time]>',
      `certificate of an intermediate, why (${Object.keys(reasons).join(', ')}) and since when (default: now); repeat for each one, also for those on the last list`,
      (text: string, before: readonly Revocation[]) => [...before, revocation(text)],
      [],
    )
    .requiredOption('--out <file>', 'where to write the list (PEM)')
    .action(async ({ days, revoke, out, ...files }: ListOptions) => {
      assertNoneOfRoot(out, files);
      const now = new Date();
      const revoked = await Promise.all(
        revoke.map(async ({ file, reason, at }) => ({
          certificate: await readDer(file, 'CERTIFICATE'),
          reason: reasons[reason],
          revokedAt: at ?? now,
        })),
      );
      const nextUpdate = new Date(now.getTime() + days * dayMs);
      await writePem(out, 'X509 CRL', await signRootList(await readRoot(files), revoked, now, nextUpdate));
      console.log(`revocation list: ${out}; sign the next one before ${nextUpdate.toISOString()}`);
    });
}

const withRoot = (command: Command): Command =>
  command
    .requiredOption('--root <file>', 'certificate of the root')
    .requiredOption('--root-key <file>', 'key of the root (mode 0600)')
    .option('--passphrase-file <file>', 'file with the passphrase of the key');

function organization(text: string): string {
  if (text.trim() === '' || [...text].length > maxOrganizationLength || /\p{Cc}/u.test(text))
    throw new InvalidArgumentError(
      `Expected 1 to ${maxOrganizationLength} characters, without control characters.`,
    );
  return text;
}

function publicationUrl(text: string): string {
  if (!/^http:\/\/[^\s?#]+[^\s?#/]$/.test(text))
    throw new InvalidArgumentError('Expected an http URL without a slash at the end.');
  return text;
}

function rootName(text: string): string {
  if (!/^root(-[1-9]\d{0,5})?$/.test(text))
    throw new InvalidArgumentError('Expected root, root-2 and so on.');
  return text;
}

function revocation(text: string): Revocation {
  const [, file = '', reason = '', time] = /^(.+?):([A-Za-z]+)(?::(.+))?$/.exec(text) ?? [];
  const at = time === undefined ? null : new Date(time);
  if (!Object.hasOwn(reasons, reason) || (at !== null && Number.isNaN(at.getTime())))
    throw new InvalidArgumentError(
      `Expected file:reason or file:reason:time, with a reason of ${Object.keys(reasons).join(', ')}.`,
    );
  return { file, reason: reason as keyof typeof reasons, at };
}
