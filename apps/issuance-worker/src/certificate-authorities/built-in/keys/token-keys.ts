import { createHash, createPublicKey, randomBytes } from 'node:crypto';
import {
  type CaKey,
  type CaKeys,
  CaKeyUnavailable,
  intermediateBits,
  type IntermediateName,
  type KeyOwner,
  spkiOf,
} from './ca-key';
import {
  type Attribute,
  ck,
  firstLineOf,
  type Handle,
  loadPkcs11,
  type Pkcs11,
  returnValueOf,
} from './pkcs11';

export interface TokenSettings {
  /** Folder of the package pkcs11js. */
  readonly packageFolder: string;
  /** The PKCS #11 library of the token's vendor. */
  readonly module: string;
  /** Label of the token. */
  readonly token: string;
  readonly pin: string;
  /** Of the keys: their labels, or `id:` and the CKA_ID in hexadecimal. */
  readonly keys: readonly string[];
}

const { attribute } = ck;

/** DigestInfo of SHA-256 (RFC 8017, section 9.2, note 1); the digest follows. */
const digestInfo = Buffer.from('3031300d060960864801650304020105000420', 'hex');

/** A key with a modulus of 16,384 bits. */
const maxSignatureBytes = 2048;

const pinErrors: readonly (number | undefined)[] = [
  ck.error.pinIncorrect,
  ck.error.pinInvalid,
  ck.error.pinLenRange,
  ck.error.pinExpired,
  ck.error.pinLocked,
];

/** A session with a user who is logged in. */
interface OpenToken {
  readonly pkcs11: Pkcs11;
  readonly session: Handle;
}

interface FoundKey {
  readonly handle: Handle;
  readonly spki: Buffer;
}

/**
 * Keys in a PKCS #11 token. Calls run one after the other over one session. Whatever fails in the library, apart from
 * the PIN, may be a lost session or a token that was replaced: the library is then initialized again, once per call.
 */
export class TokenKeys implements CaKeys {
  private opened: OpenToken | null = null;
  private queue: Promise<unknown> = Promise.resolve();
  /** A token locks after a few wrong PINs: a refused one is not tried again. */
  private refusal: string | null = null;

  constructor(private readonly settings: TokenSettings) {}

  async open({ name, spki }: KeyOwner): Promise<CaKey> {
    await this.exclusively(async (token) => await Promise.resolve(this.keyOf(token, name, spki)));
    return this.signer(name, spki);
  }

  async create(name: IntermediateName, certified: readonly Buffer[]): Promise<CaKey> {
    const spki = await this.exclusively(async (token) => {
      for (const wanted of this.settings.keys) {
        const [found] = this.find(token, wanted);
        if (found === undefined) return await generate(token, wanted);
        if (!certified.some((each) => each.equals(found.spki))) return found.spki;
      }
      throw new CaKeyUnavailable(
        `BUILT_IN_CA_PKCS11_KEYS: each key that it names has a certificate. Add the label of the key of "${name}".`,
      );
    });
    return this.signer(name, spki);
  }

  async close(): Promise<void> {
    await this.queue;
    this.closeToken();
  }

  private signer(name: IntermediateName, spki: Buffer): CaKey {
    return {
      spki,
      sign: async (tbs) => {
        const digest = createHash('sha256').update(tbs).digest();
        return await this.exclusively(async (token) => {
          const { pkcs11, session } = token;
          const { handle } = this.keyOf(token, name, spki);
          pkcs11.C_SignInit(session, { mechanism: ck.rsaPkcs }, handle);
          const room = Buffer.alloc(maxSignatureBytes);
          return Buffer.from(await pkcs11.C_SignAsync(session, Buffer.concat([digestInfo, digest]), room));
        });
      },
    };
  }

  private keyOf(token: OpenToken, name: IntermediateName, spki: Buffer): FoundKey {
    const { keys, token: label } = this.settings;
    const found = keys.flatMap((wanted) => this.find(token, wanted)).find((key) => key.spki.equals(spki));
    if (found !== undefined) return found;
    throw new CaKeyUnavailable(
      `BUILT_IN_CA_PKCS11_KEYS: the token "${label}" has no RSA private key named ${keys.join(' or ')} with the public key of the certificate "${name}".`,
    );
  }

  private find({ pkcs11, session }: OpenToken, wanted: string): FoundKey[] {
    const handles = objects(pkcs11, session, [
      { type: attribute.class, value: ck.privateKey },
      { type: attribute.keyType, value: ck.rsa },
      nameAttribute(wanted),
    ]);
    return handles.map((handle) => ({ handle, spki: publicKeyOf(pkcs11, session, handle) }));
  }

  /** Runs after the earlier calls have ended. @throws CaKeyUnavailable */
  private async exclusively<T>(work: (token: OpenToken) => Promise<T>): Promise<T> {
    const turn = this.queue.then(async () => await this.twice(work));
    this.queue = turn.catch(() => undefined);
    return await turn;
  }

  private async twice<T>(work: (token: OpenToken) => Promise<T>): Promise<T> {
    if (this.opened !== null) {
      try {
        return await work(this.opened);
      } catch {
        // Also a key that is missing: the library may not notice objects that another process creates.
        this.closeToken();
      }
    }
    try {
      this.opened = this.openToken();
      return await work(this.opened);
    } catch (error) {
      this.closeToken();
      if (error instanceof CaKeyUnavailable) throw error;
      throw new CaKeyUnavailable(
        `BUILT_IN_CA_PKCS11_MODULE: the token "${this.settings.token}" failed (${firstLineOf(error)}). Check that it is connected.`,
      );
    }
  }

  private openToken(): OpenToken {
    if (this.refusal !== null) throw new CaKeyUnavailable(this.refusal);
    const { packageFolder, module, token } = this.settings;
    const pkcs11 = loadPkcs11(packageFolder);
    try {
      pkcs11.load(module);
    } catch (error) {
      throw new CaKeyUnavailable(
        `BUILT_IN_CA_PKCS11_MODULE: the library ${module} cannot be loaded (${firstLineOf(error)}).`,
      );
    }
    try {
      tolerating(ck.error.alreadyInitialized, () => pkcs11.C_Initialize({ flags: ck.osLockingOk }));
      const labels = pkcs11.C_GetSlotList(true).map((slot) => ({
        slot,
        label: pkcs11.C_GetTokenInfo(slot).label.trimEnd(),
      }));
      const [found, ...others] = labels.filter(({ label }) => label === token);
      if (found === undefined || others.length > 0) {
        const all = labels.flatMap(({ label }) => (label === '' ? [] : [`"${label}"`])).join(', ');
        throw new CaKeyUnavailable(
          `BUILT_IN_CA_PKCS11_TOKEN: ${found === undefined ? 'no token has' : 'several tokens have'} the label "${token}". Tokens: ${all || 'none'}.`,
        );
      }
      const session = pkcs11.C_OpenSession(found.slot, ck.serialSession | ck.rwSession);
      this.logIn(pkcs11, session);
      return { pkcs11, session };
    } catch (error) {
      finalize(pkcs11);
      throw error;
    }
  }

  private logIn(pkcs11: Pkcs11, session: Handle): void {
    try {
      tolerating(ck.error.alreadyLoggedIn, () => pkcs11.C_Login(session, ck.user, this.settings.pin));
    } catch (error) {
      if (!pinErrors.includes(returnValueOf(error))) throw error;
      this.refusal = `BUILT_IN_CA_PKCS11_PIN: the token "${this.settings.token}" refuses the PIN (${firstLineOf(error)}). Correct it and restart; it is not tried again, because tokens lock after a few wrong PINs.`;
      throw new CaKeyUnavailable(this.refusal);
    }
  }

  private closeToken(): void {
    if (this.opened !== null) finalize(this.opened.pkcs11);
    this.opened = null;
  }
}

/** Creates a key that does not leave the token. @returns its public key */
async function generate({ pkcs11, session }: OpenToken, wanted: string): Promise<Buffer> {
  const named = wanted.startsWith('id:')
    ? [nameAttribute(wanted)]
    : [nameAttribute(wanted), { type: attribute.id, value: randomBytes(8) }];
  const { privateKey } = await pkcs11.C_GenerateKeyPairAsync(
    session,
    { mechanism: ck.rsaKeyPairGen },
    [
      ...named,
      { type: attribute.token, value: true },
      { type: attribute.verify, value: true },
      { type: attribute.modulusBits, value: intermediateBits },
      { type: attribute.publicExponent, value: Buffer.of(1, 0, 1) },
    ],
    [
      ...named,
      { type: attribute.token, value: true },
      { type: attribute.private, value: true },
      { type: attribute.sensitive, value: true },
      { type: attribute.extractable, value: false },
      { type: attribute.sign, value: true },
    ],
  );
  return publicKeyOf(pkcs11, session, privateKey);
}

/** SubjectPublicKeyInfo (DER) of a private key, whose modulus and public exponent are not secret. */
function publicKeyOf(pkcs11: Pkcs11, session: Handle, privateKey: Handle): Buffer {
  const values = pkcs11.C_GetAttributeValue(session, privateKey, [
    { type: attribute.modulus },
    { type: attribute.publicExponent },
  ]);
  const [n = '', e = ''] = values.map(({ value }) => value.toString('base64url'));
  return spkiOf(createPublicKey({ key: { kty: 'RSA', n, e }, format: 'jwk' }));
}

function nameAttribute(wanted: string): Attribute {
  return wanted.startsWith('id:')
    ? { type: attribute.id, value: Buffer.from(wanted.slice('id:'.length), 'hex') }
    : { type: attribute.label, value: wanted };
}

function objects(pkcs11: Pkcs11, session: Handle, template: readonly Attribute[]): Handle[] {
  pkcs11.C_FindObjectsInit(session, template);
  try {
    const found: Handle[] = [];
    for (;;) {
      const more = pkcs11.C_FindObjects(session, 16);
      if (more.length === 0) return found;
      found.push(...more);
    }
  } finally {
    pkcs11.C_FindObjectsFinal(session);
  }
}

function tolerating(returnValue: number, call: () => void): void {
  try {
    call();
  } catch (error) {
    if (returnValueOf(error) !== returnValue) throw error;
  }
}

function finalize(pkcs11: Pkcs11): void {
  try {
    pkcs11.C_Finalize();
  } catch {
    // A library whose token is gone may refuse; it is initialized again, or the process ends.
  }
}
