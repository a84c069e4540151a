import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { CaKeyUnavailable } from './ca-key';

/** A handle of a slot, a session or an object. */
export type Handle = Buffer;

export interface Attribute {
  readonly type: number;
  readonly value?: Buffer | string | number | boolean;
}

/** The functions of PKCS #11 v2.40 that a signing key needs, as the package pkcs11js offers them. */
export interface Pkcs11 {
  load(file: string): void;
  close(): void;
  C_Initialize(options: { readonly flags: number }): void;
  C_Finalize(): void;
  C_GetSlotList(withToken: boolean): Handle[];
  C_GetTokenInfo(slot: Handle): { readonly label: string };
  C_OpenSession(slot: Handle, flags: number): Handle;
  C_Login(session: Handle, user: number, pin: string): void;
  C_FindObjectsInit(session: Handle, template: readonly Attribute[]): void;
  C_FindObjects(session: Handle, max: number): Handle[];
  C_FindObjectsFinal(session: Handle): void;
  C_GetAttributeValue(
    session: Handle,
    object: Handle,
    template: readonly Attribute[],
  ): { readonly value: Buffer }[];
  C_GenerateKeyPairAsync(
    session: Handle,
    mechanism: { readonly mechanism: number },
    publicKey: readonly Attribute[],
    privateKey: readonly Attribute[],
  ): Promise<{ readonly privateKey: Handle }>;
  C_SignInit(session: Handle, mechanism: { readonly mechanism: number }, key: Handle): void;
  C_SignAsync(session: Handle, data: Buffer, signature: Buffer): Promise<Buffer>;
}

/** Constants of PKCS #11 v2.40. */
export const ck = {
  osLockingOk: 0x2,
  rwSession: 0x2,
  serialSession: 0x4,
  user: 1,
  publicKey: 2,
  privateKey: 3,
  rsa: 0,
  rsaKeyPairGen: 0,
  rsaPkcs: 1,
  attribute: {
    class: 0x0,
    token: 0x1,
    private: 0x2,
    label: 0x3,
    keyType: 0x100,
    id: 0x102,
    sensitive: 0x103,
    sign: 0x108,
    verify: 0x10a,
    modulus: 0x120,
    modulusBits: 0x121,
    publicExponent: 0x122,
    extractable: 0x162,
  },
  error: {
    pinIncorrect: 0xa0,
    pinInvalid: 0xa1,
    pinLenRange: 0xa2,
    pinExpired: 0xa3,
    pinLocked: 0xa4,
    alreadyLoggedIn: 0x100,
    alreadyInitialized: 0x191,
  },
} as const;

/**
 * Loads the package, which is native and not part of Certwright, only when a token is used.
 *
 * @param folder of the installed package
 * @throws CaKeyUnavailable when it is missing, or was built for another platform
 */
export function loadPkcs11(folder: string): Pkcs11 {
  const whatToDo = 'Install it as docs/operating.md says in "Keys in a token", or set the folder.';
  if (!existsSync(path.join(folder, 'package.json')))
    throw new CaKeyUnavailable(
      `BUILT_IN_CA_PKCS11_PACKAGE: the package pkcs11js is not in ${folder}. ${whatToDo}`,
    );
  try {
    const { PKCS11 } = createRequire(path.join(folder, 'package.json'))(path.resolve(folder)) as {
      readonly PKCS11: new () => Pkcs11;
    };
    return new PKCS11();
  } catch (error) {
    throw new CaKeyUnavailable(
      `BUILT_IN_CA_PKCS11_PACKAGE: the package in ${folder} cannot be loaded (${firstLineOf(error)}). ${whatToDo}`,
    );
  }
}

/** Of an error of the package: the name that PKCS #11 gives it, such as CKR_DEVICE_REMOVED. */
export function firstLineOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? '';
}

/** The CK_RV of an error of the package. */
export function returnValueOf(error: unknown): number | undefined {
  const { code } = error as { readonly code?: unknown };
  return typeof code === 'number' ? code : undefined;
}
