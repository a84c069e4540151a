import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto';
import {
  type CaKey,
  type CaKeys,
  CaKeyUnavailable,
  type IntermediateName,
  type KeyOwner,
  spkiOf,
} from '../ca-key';

/** A place of keys, and what can go wrong there. */
export interface CaKeysWorld {
  /** As another process opens it; `wrongSecret`: with a wrong PIN, sealing key or file mode. */
  open(how?: { readonly wrongSecret: boolean }): Promise<CaKeys>;
  /** Another key takes the place of that one. */
  replace(name: IntermediateName): Promise<void>;
  /** The key is no longer there; returns how to bring it back. */
  lose(name: IntermediateName): Promise<() => Promise<void>>;
  /** The place is gone, as when a token is removed; returns how to bring it back. Null: keys are then in memory. */
  readonly remove: (() => Promise<() => Promise<void>>) | null;
  /** Secrets that no message may contain. */
  readonly secrets: readonly string[];
  dispose(): Promise<void>;
}

export interface CaKeysAdapter {
  readonly name: string;
  readonly setUp: () => Promise<CaKeysWorld>;
  /** What messages name. */
  readonly setting: RegExp;
  readonly secretSetting: RegExp;
  /** Programs without which the suite is skipped. */
  readonly missing?: readonly string[];
}

const tbs = Buffer.from('to be signed');

/** The contract of CaKeys: docs in ../ca-key.ts. */
export function describeCaKeys(adapter: CaKeysAdapter): void {
  const { missing = [] } = adapter;
  if (missing.length > 0)
    describe.skip(`${adapter.name} (not installed: ${missing.join(', ')})`, () => suite(adapter));
  else describe(adapter.name, () => suite(adapter));
}

function suite({ setUp, setting, secretSetting }: CaKeysAdapter): void {
  let world: CaKeysWorld;
  let keys: CaKeys;
  let key: CaKey;
  const owner = (): KeyOwner => ({ name: 'intermediate', spki: key.spki });

  beforeEach(async () => {
    world = await setUp();
    keys = await world.open();
    key = await keys.create('intermediate', []);
  });
  afterEach(async () => {
    await keys.close();
    await world.dispose();
  });

  const failure = async (work: Promise<unknown>): Promise<string> => {
    const error = await work.then(
      () => null,
      (thrown: unknown) => thrown,
    );
    if (!(error instanceof CaKeyUnavailable)) throw error ?? new Error('nothing was thrown');
    expect(error.message).not.toContain('\n');
    for (const secret of world.secrets) expect(error.message).not.toContain(secret);
    return error.message;
  };
  const isValid = (signature: Buffer, signed = tbs, spki = key.spki) =>
    verify('sha256', signed, createPublicKey({ key: spki, format: 'der', type: 'spki' }), signature);

  it('creates a key once: creating it again returns the same one', async () => {
    await keys.close();
    const other = await world.open();
    expect((await other.create('intermediate', [])).spki).toEqual(key.spki);
    const details = createPublicKey({ key: key.spki, format: 'der', type: 'spki' });
    expect([details.asymmetricKeyType, details.asymmetricKeyDetails?.modulusLength]).toEqual(['rsa', 2048]);
    await other.close();
  });

  it('creates another key for the next intermediate, and opens both', async () => {
    const next = await keys.create('intermediate-2', [key.spki]);
    expect(next.spki).not.toEqual(key.spki);
    const opened = await keys.open({ name: 'intermediate-2', spki: next.spki });
    expect(isValid(await opened.sign(tbs), tbs, next.spki)).toBe(true);
    expect(isValid(await (await keys.open(owner())).sign(tbs))).toBe(true);
  });

  it('signs with RSASSA-PKCS1-v1_5 and SHA-256, the same bytes each time and in each process', async () => {
    const first = await (await keys.open(owner())).sign(tbs);
    expect(isValid(first)).toBe(true);
    expect(await key.sign(tbs)).toEqual(first);
    await keys.close();
    const other = await world.open();
    expect(await (await other.open(owner())).sign(tbs)).toEqual(first);
    await other.close();
  });

  it('signs concurrently', async () => {
    const opened = await keys.open(owner());
    const messages = Array.from({ length: 40 }, (_, index) => Buffer.from(`message ${index}`));
    const signatures = await Promise.all(messages.map(async (message) => await opened.sign(message)));
    expect(signatures.every((signature, index) => isValid(signature, messages[index]))).toBe(true);
  });

  it('refuses a key that is not the one of the certificate, and names the setting', async () => {
    const spki = spkiOf(generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey);
    expect(await failure(keys.open({ name: 'intermediate', spki }))).toMatch(setting);
    await world.replace('intermediate');
    expect(await failure(keys.open(owner()))).toMatch(setting);
  });

  it('reports a missing key with the setting, and finds it when it is back', async () => {
    const restore = await world.lose('intermediate');
    expect(await failure(keys.open(owner()))).toMatch(setting);
    await restore();
    expect(isValid(await (await keys.open(owner())).sign(tbs))).toBe(true);
  });

  it('reports a wrong PIN, sealing key or file mode with its setting', async () => {
    await keys.close();
    const other = await world.open({ wrongSecret: true });
    expect(await failure(other.open(owner()))).toMatch(secretSetting);
    await other.close();
  });

  it('signs again after its place was removed and is back', async () => {
    const opened = await keys.open(owner());
    const first = await opened.sign(tbs);
    if (world.remove === null) return void expect(await opened.sign(tbs)).toEqual(first);
    const restore = await world.remove();
    expect(await failure(opened.sign(tbs))).toMatch(/^BUILT_IN_CA_/);
    await restore();
    expect(await opened.sign(tbs)).toEqual(first);
  });
}
