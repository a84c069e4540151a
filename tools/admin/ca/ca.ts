import { X509Certificate } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rename } from 'node:fs/promises';
import path from 'node:path';
import { claimDeployment } from '@certwright/core-schema';
import { encodePem } from '@certwright/pki';
import { defineSettings } from '@certwright/service';
import { Command } from 'commander';
import type { DataSource } from 'typeorm';
import {
  isRoot,
  type StoredIssuer,
} from '../../../apps/issuance-worker/src/certificate-authorities/built-in/ca-issuers';
import {
  activateIntermediate,
  CaRecords,
  createSandboxCa,
  importIntermediate,
  importRootList,
  requestAgain,
  requestIntermediate,
  retireIntermediate,
  storeListUntilEnd,
} from '../../../apps/issuance-worker/src/certificate-authorities/built-in/ceremony';
import { lastActivated } from '../../../apps/issuance-worker/src/certificate-authorities/built-in/intermediates';
import type { CaKeys } from '../../../apps/issuance-worker/src/certificate-authorities/built-in/keys/ca-key';
import { writeDurably } from '../../../apps/issuance-worker/src/certificate-authorities/built-in/keys/key-files';
import {
  caKeySettings,
  caKeysOf,
  type CaKeyValues,
  rootKeyBeside,
  sealedKeysOf,
} from '../../../apps/issuance-worker/src/certificate-authorities/built-in/keys/key-settings';
import { sealExternalAccountKeysAgain } from '../authorities';
import { sealingKeysOf } from '../sealing-keys';
import { startedPlatform } from '../started-platform';
import type { WithDatabase } from '../with-database';
import { readDer, readRoot, writePem } from './files';
import { offlineCommands } from './offline';

const yearMs = 365 * 86_400_000;

/** With the settings of the worker about its keys, and the core database. */
type WithKeys = (
  work: (opened: { database: DataSource; keys: CaKeys; settings: CaKeyValues }) => Promise<void>,
) => Promise<void>;

export function caCommands(withDatabase: WithDatabase): Command {
  const withKeys: WithKeys = async (work) =>
    await withDatabase(async (database) => {
      const settings = await keyValues();
      const keys = caKeysOf(settings, database);
      try {
        await work({ database, keys, settings });
      } finally {
        await keys.close();
      }
    });
  const ca = new Command('ca')
    .description('the built-in CA: key ceremony, renewal and revocation lists of its root')
    .addHelpText(
      'after',
      `
Commands marked "offline" run on the machine with the root key and use no database. The others use the settings of the
issuance worker: BUILT_IN_CA_KEYS and what belongs to it, BUILT_IN_CA_NAME and CA_PUBLICATION_URL.
docs/operating.md has the steps in "Keys of the built-in CA".`,
    );
  const own = [
    requestCommand('create', 'create the key of the first intermediate and write its CSR', true, withKeys),
    requestCommand('renew', 'create the key of the next intermediate and write its CSR', false, withKeys),
    exportCommand(withKeys),
    importCommand(withKeys),
    activateCommand(withDatabase),
    retireCommand(withDatabase),
    importListCommand(withDatabase),
    showCommand(withDatabase),
    resealCommand(withDatabase),
    sandboxCommand(withKeys),
  ];
  for (const command of [...offlineCommands(), ...own]) ca.addCommand(command);
  return ca;
}

function requestCommand(name: string, description: string, isFirst: boolean, withKeys: WithKeys): Command {
  return new Command(name)
    .description(description)
    .requiredOption('--out <file>', 'where to write the CSR (PEM)')
    .action(async ({ out }: { out: string }) => {
      await withKeys(async ({ database, keys, settings }) => {
        const records = new CaRecords(database);
        const next = await records.nextIntermediate();
        if (isFirst !== (next === 'intermediate'))
          throw new Error(
            isFirst
              ? 'The CA has an intermediate already. Use `ca renew` for the next one.'
              : 'The CA has no intermediate yet. Use `ca create` for the first one.',
          );
        const { csr } = await requestIntermediate(records, keys, settings.BUILT_IN_CA_NAME);
        await writePem(out, 'CERTIFICATE REQUEST', csr);
        console.log(`key of ${next} created (BUILT_IN_CA_KEYS=${settings.BUILT_IN_CA_KEYS}); CSR: ${out}`);
      });
    });
}

function exportCommand(withKeys: WithKeys): Command {
  return new Command('export-csr')
    .description('write the CSR of an existing intermediate, for another certificate of the same key')
    .argument('<name>', 'intermediate, intermediate-2 and so on')
    .requiredOption('--out <file>', 'where to write the CSR (PEM)')
    .action(async (name: string, { out }: { out: string }) => {
      await withKeys(async ({ database, keys }) => {
        const { csr } = await requestAgain(new CaRecords(database), keys, name);
        await writePem(out, 'CERTIFICATE REQUEST', csr);
        console.log(`CSR of ${name}: ${out}`);
      });
    });
}

function importCommand(withKeys: WithKeys): Command {
  return new Command('import')
    .description('check and store the certificate of an intermediate; the first one issues at once')
    .argument('<file>', 'certificate of the intermediate (PEM or DER)')
    .option('--root <file>', 'certificate of its root, unless that is stored')
    .action(async (file: string, { root }: { root?: string }) => {
      const publicationUrl = process.env['CA_PUBLICATION_URL'] ?? null;
      const certificate = await readDer(file, 'CERTIFICATE');
      const rootDer = root === undefined ? null : await readDer(root, 'CERTIFICATE');
      await withKeys(async ({ database, keys }) => {
        const imported = await importIntermediate(
          database,
          keys,
          { certificate, root: rootDer, publicationUrl },
          new Date(),
        );
        const { name, rootName, isReplacement, isActive } = imported;
        console.log(`${isReplacement ? 'replaced' : 'stored'} ${name} of ${rootName}`);
        console.log(
          isActive
            ? 'Workers issue from it within 10 seconds.'
            : `When every copy of the worker is ready: npm run admin -- ca activate ${name}`,
        );
      });
    });
}

function activateCommand(withDatabase: WithDatabase): Command {
  return new Command('activate')
    .description('have workers issue from an intermediate, within 10 seconds')
    .argument('<name>', 'intermediate, intermediate-2 and so on')
    .action(async (name: string) => {
      await withDatabase(async (database) => {
        await activateIntermediate(new CaRecords(database), name, new Date());
        console.log(`Workers issue from ${name} within 10 seconds.`);
      });
    });
}

function retireCommand(withDatabase: WithDatabase): Command {
  return new Command('retire')
    .description('end an intermediate whose certificates have all expired: workers no longer need its key')
    .argument('<name>', 'intermediate, intermediate-2 and so on')
    .action(async (name: string) => {
      await withDatabase(async (database) => {
        await retireIntermediate(new CaRecords(database), name, new Date());
        console.log(`${name} is retired: destroy its key 10 seconds from now.`);
      });
    });
}

function importListCommand(withDatabase: WithDatabase): Command {
  return new Command('import-root-list')
    .description('check and publish a revocation list of a root')
    .argument('<file>', 'revocation list (PEM or DER)')
    .action(async (file: string) => {
      const der = await readDer(file, 'X509 CRL');
      await withDatabase(async (database) => {
        console.log(`published ${await importRootList(new CaRecords(database), der, new Date())}.crl`);
      });
    });
}

function showCommand(withDatabase: WithDatabase): Command {
  return new Command('show').description('list roots and intermediates as JSON').action(async () => {
    await withDatabase(async (database) => {
      const stored = await new CaRecords(database).all();
      const active = lastActivated(stored.filter(({ retiredAt }) => retiredAt === null));
      for (const issuer of stored) console.log(JSON.stringify(shown(issuer, issuer === active)));
    });
  });
}

function shown(issuer: StoredIssuer, isActive: boolean) {
  const { subject, validFrom, validTo, fingerprint256 } = new X509Certificate(issuer.certificate);
  return {
    name: issuer.name,
    state: stateOf(issuer, isActive),
    subject: subject.replaceAll('\n', ', '),
    not_before: new Date(validFrom),
    not_after: new Date(validTo),
    sha256: fingerprint256.replaceAll(':', '').toLowerCase(),
    revocation_list_until: issuer.crlNextUpdate,
  };
}

function stateOf(issuer: StoredIssuer, isActive: boolean): string {
  if (isRoot(issuer)) return 'root';
  if (issuer.retiredAt !== null) return 'retired';
  if (isActive) return 'issues';
  return issuer.activatedAt === null ? 'stored' : 'signs revocation lists';
}

function resealCommand(withDatabase: WithDatabase): Command {
  return new Command('reseal')
    .description(
      'seal the keys of BUILT_IN_CA_KEYS=sealed, and the external account keys of CAs, with the first key of CA_ACCOUNT_KEYS',
    )
    .action(async () => {
      await withDatabase(async (database) => {
        const settings = { ...(await keyValues()), CA_ACCOUNT_KEYS: await sealing() };
        const names = [
          ...(await sealedKeysOf(settings, database).sealAgain()),
          ...(await sealExternalAccountKeysAgain(database, settings.CA_ACCOUNT_KEYS)),
        ];
        console.log(names.length === 0 ? 'No key is sealed.' : `sealed again: ${names.join(', ')}`);
      });
    });
}

function sandboxCommand(withKeys: WithKeys): Command {
  return new Command('create-sandbox')
    .description('create root and intermediate of a sandbox, unless it has them; the root key is discarded')
    .action(async () => {
      const publicationUrl = process.env['CA_PUBLICATION_URL'];
      if (publicationUrl === undefined) throw new Error('CA_PUBLICATION_URL is not set.');
      await withKeys(async ({ database, keys, settings }) => {
        await claimDeployment(database, 'sandbox');
        const sandbox = { name: settings.BUILT_IN_CA_NAME, publicationUrl };
        const isNew = await createSandboxCa(database, keys, sandbox, new Date());
        if (isNew) console.log('Created the CA of the sandbox.');
        else await moveRootKey(new CaRecords(database), settings);
        if (settings.BUILT_IN_CA_KEYS === 'files') await writeRoots(database, settings.BUILT_IN_CA_DIR);
      });
    });
}

/** Releases until November 2026 kept the root key of a sandbox beside the intermediate's. */
async function moveRootKey(records: CaRecords, settings: CaKeyValues): Promise<void> {
  const file = rootKeyBeside(settings);
  if (file === null) return;
  const [root, intermediate] = [await records.find('root'), await records.find('intermediate')];
  const rootFile = path.join(settings.BUILT_IN_CA_DIR, 'root.pem');
  await writePem(rootFile, 'CERTIFICATE', root.certificate);
  if ((root.crlNextUpdate?.getTime() ?? 0) < Date.now() + yearMs) {
    const opened = await readRoot({ root: rootFile, rootKey: file });
    await storeListUntilEnd(records, opened, intermediate.certificate, new Date());
  }
  const offline = path.join(settings.BUILT_IN_CA_DIR, '..', 'root.key');
  if (existsSync(offline))
    throw new Error(`Move ${file} out of the folder of the worker's keys: ${offline} exists already.`);
  await rename(file, offline);
  console.log(`Moved the root key to ${offline}: workers do not need it.`);
}

/** All roots in one file, for programs that trust the sandbox. */
async function writeRoots(database: DataSource, folder: string): Promise<void> {
  const roots = (await new CaRecords(database).all()).filter(isRoot);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const pem = roots.map(({ certificate }) => encodePem('CERTIFICATE', certificate)).join('');
  await writeDurably(path.join(folder, 'root.pem'), pem, 0o644);
}

/** From the environment, with the folder and the sealing key of `npm start` as defaults. */
async function keyValues(): Promise<CaKeyValues> {
  const values = defineSettings(caKeySettings).read(process.env);
  const isSet = (process.env['BUILT_IN_CA_DIR'] ?? '') !== '';
  const started = isSet ? undefined : await startedPlatform();
  const home = process.env['CERTWRIGHT_HOME'] ?? '.certwright';
  return {
    ...values,
    ...(started === undefined ? {} : { BUILT_IN_CA_DIR: path.join(home, 'ca') }),
    ...(values.BUILT_IN_CA_KEYS === 'sealed' ? { CA_ACCOUNT_KEYS: await sealing() } : {}),
  };
}

const sealing = async () => await sealingKeysOf('CA_ACCOUNT_KEYS', 'ca-account.keys');
