import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { CoreDatabaseFixture } from '@certwright/core-testing';
import { coreDataSource } from '@certwright/core-schema';
import { SealingKeys } from '@certwright/sealing';
import { describeCaKeys } from './testing/ca-keys-suite';
import { missingForTokens, SoftToken } from './testing/soft-token';
import { KeyFiles } from './key-files';
import { SealedKeys } from './sealed-keys';
import { CaKeyUnavailable } from './ca-key';

/** The library of this process uses its folder; the environment is restored after the spec file. */
function newToken(): SoftToken {
  const token = SoftToken.create('spec');
  Object.assign(process.env, token.environment);
  return token;
}

const otherKey = () =>
  generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs8', format: 'pem' });

describeCaKeys({
  name: 'keys in files',
  setting: /^BUILT_IN_CA_DIR: /,
  secretSetting: /^BUILT_IN_CA_DIR: other users may read or change .*intermediate\.key.*chmod 600/,
  setUp: async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'certwright-key-files-'));
    const file = (name: string) => path.join(folder, `${name}.key`);
    return await Promise.resolve({
      open: async (how) => {
        if (how?.wrongSecret) chmodSync(file('intermediate'), 0o644);
        return await Promise.resolve(new KeyFiles(folder));
      },
      replace: async (name) => await Promise.resolve(writeFileSync(file(name), otherKey())),
      lose: async (name) => {
        renameSync(file(name), `${file(name)}.lost`);
        return await Promise.resolve(
          async () => await Promise.resolve(renameSync(`${file(name)}.lost`, file(name))),
        );
      },
      remove: null,
      secrets: ['PRIVATE KEY'],
      dispose: async () => await Promise.resolve(rmSync(folder, { recursive: true })),
    });
  },
});

describe('key files', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'certwright-key-modes-'));
  const keys = new KeyFiles(path.join(folder, 'new'));
  const file = path.join(folder, 'new', 'intermediate.key');
  afterAll(() => rmSync(folder, { recursive: true }));

  it('are readable only by the owner, and may be readable by the group as in a mounted Secret', async () => {
    const { spki } = await keys.create('intermediate');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    for (const mode of [0o400, 0o440, 0o640]) {
      chmodSync(file, mode);
      await expect(keys.open({ name: 'intermediate', spki })).resolves.toBeDefined();
    }
    for (const mode of [0o644, 0o604, 0o660, 0o450]) {
      chmodSync(file, mode);
      await expect(keys.open({ name: 'intermediate', spki })).rejects.toThrow('chmod 600');
    }
    chmodSync(file, 0o600);
  });

  it.each([
    ['empty', ''],
    ['text', 'PRIVATE secret text'],
    [
      'an EC key',
      generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' }),
    ],
    [
      'a key with a passphrase',
      generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({
        type: 'pkcs8',
        format: 'pem',
        cipher: 'aes-256-cbc',
        passphrase: 'x',
      }),
    ],
  ])('are refused without quoting them: %s', async (_what, content) => {
    writeFileSync(file, content, { mode: 0o600 });
    const opening = keys.open({ name: 'intermediate', spki: Buffer.alloc(0) });
    await expect(opening).rejects.toThrow(
      /^BUILT_IN_CA_DIR: .* is not an RSA private key in PEM without a passphrase/,
    );
  });
});

describe('with a database', () => {
  let core: CoreDatabaseFixture;
  let asWorker: Awaited<ReturnType<typeof openAsWorker>>;
  const openAsWorker = async () =>
    await coreDataSource({
      url: core.urlOf('issuance-worker'),
      applicationName: 'spec',
      poolSize: 2,
      statementTimeoutMs: 10_000,
    }).initialize();
  const masterKey = randomBytes(32);
  beforeAll(async () => {
    core = await CoreDatabaseFixture.open();
    asWorker = await openAsWorker();
  });
  afterAll(async () => {
    await asWorker.destroy();
    await core.close();
  });

  describeCaKeys({
    name: 'keys sealed in the database',
    setting: /^BUILT_IN_CA_KEYS: /,
    secretSetting: /^CA_ACCOUNT_KEYS: no key of it opens the sealed key "intermediate"/,
    setUp: async () => {
      const sealing = new SealingKeys([masterKey]);
      const owner = new SealedKeys(core.database, sealing);
      const worker = (with_: SealingKeys) => {
        const reads = new SealedKeys(asWorker, with_);
        // The worker's role may only read: the operator creates.
        return {
          open: reads.open.bind(reads),
          create: owner.create.bind(owner),
          close: async () => await Promise.resolve(),
        };
      };
      return await Promise.resolve({
        open: async (how) =>
          await Promise.resolve(worker(how?.wrongSecret ? new SealingKeys([randomBytes(32)]) : sealing)),
        replace: async (name) => {
          await core.database.query(`DELETE FROM ca_key WHERE name = $1`, [name]);
          await owner.create(name);
        },
        lose: async (name) => {
          const rows = await core.database.query<[{ sealed: Buffer }[], number]>(
            `DELETE FROM ca_key WHERE name = $1 RETURNING sealed`,
            [name],
          );
          return async () =>
            void (await core.database.query(`INSERT INTO ca_key (name, sealed) VALUES ($1, $2)`, [
              name,
              rows[0][0]?.sealed,
            ]));
        },
        remove: null,
        secrets: ['PRIVATE KEY', masterKey.toString('base64')],
        dispose: async () => void (await core.database.query(`DELETE FROM ca_key`)),
      });
    },
  });

  it('sealed keys are sealed again with the first of CA_ACCOUNT_KEYS', async () => {
    const fresh = randomBytes(32);
    const { spki } = await new SealedKeys(core.database, new SealingKeys([masterKey])).create('intermediate');
    const rotated = new SealedKeys(core.database, new SealingKeys([fresh, masterKey]));
    expect(await rotated.sealAgain()).toEqual(['intermediate']);
    const onlyFresh = new SealedKeys(asWorker, new SealingKeys([fresh]));
    await expect(onlyFresh.open({ name: 'intermediate', spki })).resolves.toBeDefined();
    const onlyOld = new SealedKeys(asWorker, new SealingKeys([masterKey]));
    await expect(onlyOld.open({ name: 'intermediate', spki })).rejects.toThrow(CaKeyUnavailable);
    const [{ sealed }] = await core.database.query<[{ sealed: Buffer }]>(`SELECT sealed FROM ca_key`);
    expect(sealed.toString('latin1')).not.toContain('PRIVATE KEY');
    await core.database.query(`DELETE FROM ca_key`);
  });
});

describeCaKeys({
  name: 'keys in a PKCS #11 token',
  setting: /^BUILT_IN_CA_PKCS11_KEYS: the token "spec" has no RSA private key/,
  secretSetting: /^BUILT_IN_CA_PKCS11_PIN: the token "spec" refuses the PIN \(CKR_PIN_INCORRECT\)/,
  missing: missingForTokens,
  setUp: async () => {
    const token = newToken();
    return await Promise.resolve({
      open: async (how) =>
        await Promise.resolve(token.keys('spec', how?.wrongSecret ? { pin: 'wrong-pin-1' } : {})),
      replace: async (name) => {
        token.run('--delete-token', '--token', 'spec');
        token.run(
          ...['--init-token', '--free', '--label', 'spec', '--so-pin', 'spec-so-pin', '--pin', token.pin],
        );
        const other = token.keys('spec');
        // Another object with the same label.
        await other.create(name, []);
        await other.close();
      },
      lose: async () => {
        token.remove();
        token.run(
          ...['--init-token', '--free', '--label', 'spec', '--so-pin', 'spec-so-pin', '--pin', token.pin],
        );
        return await Promise.resolve(async () => await Promise.resolve(token.insert()));
      },
      remove: async () => {
        token.remove();
        return await Promise.resolve(async () => await Promise.resolve(token.insert()));
      },
      secrets: [token.pin, 'wrong-pin-1'],
      dispose: async () => await Promise.resolve(token.dispose()),
    });
  },
});

(missingForTokens.length === 0 ? describe : describe.skip)('a token', () => {
  let token: SoftToken;
  beforeEach(() => (token = newToken()));
  afterEach(() => token.dispose());
  const spki = Buffer.alloc(0);
  const opening = async (keys: ReturnType<SoftToken['keys']>) =>
    await keys.open({ name: 'intermediate', spki }).finally(async () => await keys.close());

  it('that lost its sessions signs again', async () => {
    const keys = token.keys('spec');
    const key = await keys.create('intermediate', []);
    const first = await key.sign(Buffer.from('x'));
    token.loseSessions();
    expect(await key.sign(Buffer.from('x'))).toEqual(first);
    const all = Array.from({ length: 10 }, async (_, index) => {
      if (index % 3 === 0) token.loseSessions();
      return await key.sign(Buffer.from('x'));
    });
    expect(new Set((await Promise.all(all)).map(String)).size).toBe(1);
    await keys.close();
  });

  it('is found by its label, and its keys by label or id', async () => {
    const keys = token.keys('spec', { keys: ['id:0a0b'] });
    const key = await keys.create('intermediate', []);
    await expect(keys.open({ name: 'intermediate', spki: key.spki })).resolves.toBeDefined();
    await expect(keys.create('intermediate-2', [key.spki])).rejects.toThrow('Add the label of the key');
    await keys.close();
    await expect(opening(token.keys('another'))).rejects.toThrow(
      'BUILT_IN_CA_PKCS11_TOKEN: no token has the label "another". Tokens: "spec".',
    );
  });

  it('gets a refused PIN once, so that it does not lock', async () => {
    const keys = token.keys('spec', { pin: 'wrong-pin-1' });
    await expect(keys.open({ name: 'intermediate', spki })).rejects.toThrow('BUILT_IN_CA_PKCS11_PIN');
    await expect(keys.open({ name: 'intermediate', spki })).rejects.toThrow('BUILT_IN_CA_PKCS11_PIN');
    expect(token.run('--show-slots')).not.toMatch(/User PIN.*locked: *yes/);
  });

  it('needs the package and the library, whose settings are named', async () => {
    await expect(opening(token.keys('spec', { packageFolder: '/nowhere' }))).rejects.toThrow(
      /^BUILT_IN_CA_PKCS11_PACKAGE: the package pkcs11js is not in \/nowhere\. Install it/,
    );
    await expect(opening(token.keys('spec', { module: '/nowhere.so' }))).rejects.toThrow(
      /^BUILT_IN_CA_PKCS11_MODULE: the library \/nowhere\.so cannot be loaded/,
    );
  });
});
